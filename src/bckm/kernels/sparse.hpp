// Squared distances of sparse rows to dense centres, without cancellation.
//
// |x - c|^2 is the sum of (x_t - c_t)^2 over the entries of x, which are differences as they should
// be, and of c_t^2 over all other features, which is |c|^2 less the sum of c_t^2 over the entries.
// Both of these are sums of the same rounded squares, carried in two numbers each (gone + rest), so
// that their difference has the digits of a double even if next to nothing is left of |c|^2: its
// error is at most 2^-104 n^2 |c|^2 for n features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exact.hpp"

namespace bckm {

// Row p has the entries value[e] of the features index[e], start[p] <= e < start[p + 1].
template <class Index> struct SparseRows {
    const Index* start;
    const Index* index;
    const double* value;
    std::int64_t n;
};

// A sum of squares in two numbers.
struct Twice {
    double sum = 0.0, rest = 0.0;
    void add(double value) {  // what rounding takes off is kept (Knuth's two-sum)
        const double next = sum + value, part = next - sum;
        rest += (sum - (next - part)) + (value - part);
        sum = next;
    }
};

// What is left of a sum; nothing, if it is no more than rounding leaves: equal points are equal.
inline double left(const Twice& whole, double gone, double rest) {
    const double part = (whole.sum - gone) + (whole.rest - rest);
    return part > 0x1p-98 * whole.sum ? part : 0.0;
}

// |c_i|^2 of each centre, (k, dims); four sums at a time need not wait for each other.
inline std::vector<Twice> norms(const double* centres, std::int64_t dims, std::int64_t k) {
    std::vector<Twice> found(k);
    for (std::int64_t i = 0; i < k; ++i) {
        const double* c = centres + i * dims;
        Twice part[4];
        std::int64_t t = 0;
        for (; t + 4 <= dims; t += 4)
            for (int q = 0; q < 4; ++q) part[q].add(c[t + q] * c[t + q]);
        for (; t < dims; ++t) part[0].add(c[t] * c[t]);
        for (const Twice& one : part) {
            found[i].add(one.sum);
            found[i].rest += one.rest;
        }
    }
    return found;
}

// out[p * k + i] = |x_p - c_i|^2, from the centres, (k, dims).
template <class Index>
void sparse_distances(const SparseRows<Index>& rows, const double* centres, std::int64_t dims,
                      std::int64_t k, double* out) {
    const RowLoops& loops = row_loops();
    const std::vector<Twice> whole = norms(centres, dims, k);
    std::vector<double> columns(dims * k), gone(k), rest(k);  // the centres by feature
    for (std::int64_t t = 0; t < dims; ++t)
        for (std::int64_t i = 0; i < k; ++i) columns[t * k + i] = centres[i * dims + t];
    for (std::int64_t p = 0; p < rows.n; ++p) {
        double* near = out + p * k;
        std::fill(near, near + k, 0.0);
        std::fill(gone.begin(), gone.end(), 0.0);
        std::fill(rest.begin(), rest.end(), 0.0);
        for (Index e = rows.start[p]; e < rows.start[p + 1]; ++e)
            loops.entry(rows.value[e], columns.data() + static_cast<std::int64_t>(rows.index[e]) * k,
                        k, near, gone.data(), rest.data());
        for (std::int64_t i = 0; i < k; ++i) near[i] += left(whole[i], gone[i], rest[i]);
    }
}

// out[p] = |x_p - c_i|^2 for i = label[p].
template <class Index>
void sparse_own(const SparseRows<Index>& rows, const double* centres, std::int64_t dims,
                std::int64_t k, const std::int64_t* label, double* out) {
    const std::vector<Twice> whole = norms(centres, dims, k);
    for (std::int64_t p = 0; p < rows.n; ++p) {
        const double* c = centres + label[p] * dims;
        double near = 0.0;
        Twice gone;
        for (Index e = rows.start[p]; e < rows.start[p + 1]; ++e) {
            const double at = c[rows.index[e]], gap = rows.value[e] - at;
            near += gap * gap;
            gone.add(at * at);
        }
        out[p] = near + left(whole[label[p]], gone.sum, gone.rest);
    }
}

}  // namespace bckm
