// Squared distances of sparse rows to dense centers, without cancellation.
//
// |x - c|^2 is the sum of (x_t - c_t)^2 over the entries of x, which are exact differences, and of
// c_t^2 over all other features, which is |c|^2 less the sum of c_t^2 over the entries.
// Both are sums of the same rounded squares, each carried in two numbers (high + low), so that
// their difference is accurate to double precision even if next to nothing is left of |c|^2: its
// error is at most 2^-104 n^2 |c|^2 for n features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "distance/compensated.hpp"
#include "distance/exact_costs.hpp"

namespace bckm {

// Row p has the entries value[e] of the features index[e], start[p] <= e < start[p + 1].
template <class Index> struct SparseRows {
    const Index* start;
    const Index* index;
    const double* value;
    std::int64_t n;
};

// What remains of a sum when a part of it is taken off; zero if that is no more than rounding
// leaves, so that equal points have distance zero.
inline double remaining(const Compensated& all, double high, double low) {
    const double rest = (all.high - high) + (all.low - low);
    return rest > 0x1p-98 * all.high ? rest : 0.0;
}

// |c_i|^2 of each center, (k, dims); four partial sums do not wait for each other.
inline std::vector<Compensated> norms(const double* centers, std::int64_t dims, std::int64_t k) {
    std::vector<Compensated> norm(k);
    for (std::int64_t i = 0; i < k; ++i) {
        const double* c = centers + i * dims;
        Compensated part[4];
        std::int64_t t = 0;
        for (; t + 4 <= dims; t += 4)
            for (int q = 0; q < 4; ++q) part[q].add(c[t + q] * c[t + q]);
        for (; t < dims; ++t) part[0].add(c[t] * c[t]);
        for (const Compensated& sum : part) {
            norm[i].add(sum.high);
            norm[i].low += sum.low;
        }
    }
    return norm;
}

// out[p * k + i] = |x_p - c_i|^2, from the centers, (k, dims).
template <class Index>
void sparse_distances(const SparseRows<Index>& rows, const double* centers, std::int64_t dims,
                      std::int64_t k, double* out) {
    const RowLoops& loops = row_loops();
    const std::vector<Compensated> norm = norms(centers, dims, k);
    std::vector<double> columns(dims * k), high(k), low(k);  // the centers by feature
    for (std::int64_t t = 0; t < dims; ++t)
        for (std::int64_t i = 0; i < k; ++i) columns[t * k + i] = centers[i * dims + t];
    for (std::int64_t p = 0; p < rows.n; ++p) {
        double* near = out + p * k;
        std::fill(near, near + k, 0.0);
        std::fill(high.begin(), high.end(), 0.0);
        std::fill(low.begin(), low.end(), 0.0);
        for (Index e = rows.start[p]; e < rows.start[p + 1]; ++e)
            loops.entry(rows.value[e],
                        columns.data() + static_cast<std::int64_t>(rows.index[e]) * k, k, near,
                        high.data(), low.data());
        for (std::int64_t i = 0; i < k; ++i) near[i] += remaining(norm[i], high[i], low[i]);
    }
}

// out[p] = |x_p - c_i|^2 for i = label[p].
template <class Index>
void sparse_distances_to_own(const SparseRows<Index>& rows, const double* centers,
                             std::int64_t dims, std::int64_t k, const std::int64_t* label,
                             double* out) {
    const std::vector<Compensated> norm = norms(centers, dims, k);
    for (std::int64_t p = 0; p < rows.n; ++p) {
        const double* c = centers + label[p] * dims;
        double near = 0.0;
        Compensated used;
        for (Index e = rows.start[p]; e < rows.start[p + 1]; ++e) {
            const double at = c[rows.index[e]], gap = rows.value[e] - at;
            near += gap * gap;
            used.add(at * at);
        }
        out[p] = near + remaining(norm[label[p]], used.high, used.low);
    }
}

}  // namespace bckm
