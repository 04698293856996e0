// What a move would change; `relaxed.cpp` holds the labels and makes it.
#include <algorithm>
#include <limits>

#include "moves/relaxed.hpp"

namespace bckm {
namespace {

// If a cluster keeps less than this share of its mass, the remainder is round-off.
constexpr double mass_rounding = 1e-15;

}  // namespace

double RelaxedClustering::distance_change(const Relay& move) const {
    double total = 0.0;
    for (int e = 0; e < move.n_exchanges; ++e)
        total += mixed ? between_change(move.exchanges[e]) : distance_change(move.exchanges[e]);
    return total;
}

// |s + u|^2 / W' - |s|^2 / W, where s sums the points of a cluster, and u what comes and goes.
double RelaxedClustering::between_change(const Exchange& e) const {
    const double* s = total.data() + e.cluster * dims;
    const double in = e.in < 0 ? 0.0 : mass(e.in), out = e.out < 0 ? 0.0 : mass(e.out);
    if (with_mass[e.cluster] + (in > 0.0) - (out > 0.0) == 0) return -square[e.cluster];
    const double* x = e.in < 0 ? zeros.data() : points.row(e.in);
    const double* y = e.out < 0 ? zeros.data() : points.row(e.out);
    double after = 0.0;
    for (std::int64_t t = 0; t < dims; ++t) {
        const double u = s[t] + in * x[t] - out * y[t];
        after += u * u;
    }
    const double before = weight[e.cluster];
    return after / std::max(before + in - out, mass_rounding * before) - square[e.cluster];
}

// As in Clustering::change.
double RelaxedClustering::distance_change(const Exchange& e) const {
    const double* c = centers.data() + e.cluster * dims;
    const double before = weight[e.cluster];
    if (e.out < 0) {
        const double w = mass(e.in), far = squared_distance(points.row(e.in), c, dims);
        if (fixed) return w * far;
        return before > 0.0 ? w * far * (before / (before + w)) : 0.0;
    }
    const double out = mass(e.out);
    std::int64_t held = with_mass[e.cluster] - (out > 0.0);
    if (e.in < 0) {
        const double near = squared_distance(points.row(e.out), c, dims);
        if (fixed || held == 0) return -out * near;
        return -out * near * (before / std::max(before - out, mass_rounding * before));
    }
    const double in = mass(e.in);
    held += in > 0.0;
    const double *x = points.row(e.in), *y = points.row(e.out);
    double far = 0.0, near = 0.0, both = 0.0;
    for (std::int64_t t = 0; t < dims; ++t) {
        const double p = x[t] - c[t], q = y[t] - c[t];
        far += p * p;
        near += q * q;
        both += p * q;
    }
    const double linear = in * far - out * near;
    if (fixed || held == 0) return linear;
    const double square = in * in * far + out * out * near - 2.0 * in * out * both;
    return linear - square / std::max(before + in - out, mass_rounding * before);
}

double RelaxedClustering::penalty_change(const Relay& move) {
    touched.clear();
    for (int e = 0; e < move.n_exchanges; ++e) touched.push_back(move.exchanges[e].cluster);
    return penalty.change(move.hops, move.n_hops, label, touched);
}

double RelaxedClustering::least_charge_change(const Relay& move) const {
    double total = 0.0;
    for (int e = 0; e < move.n_exchanges; ++e) {
        const Exchange& x = move.exchanges[e];
        total += prices_change(x) - fined[x.cluster];
    }
    if (clashes > 0)
        for (int h = 0; h < move.n_hops; ++h) total -= fine[sums] * clash[move.hops[h].item];
    if (broken_rows > 0) total = -std::numeric_limits<double>::infinity();
    return total;
}

double RelaxedClustering::charge_change(const Relay& move) {
    double total = sums_change(move);
    if (rules.conflict_start) total += fine[sums] * static_cast<double>(clash_change(move));
    if (rules.rows > 0) total += row_change(move);
    return total;
}

double RelaxedClustering::sums_change(const Relay& move) const {
    double total = 0.0;
    for (int e = 0; e < move.n_exchanges; ++e)
        total += charge(move.exchanges[e]) - fined[move.exchanges[e].cluster];
    return total;
}

double RelaxedClustering::prices_change(const Exchange& e) const {
    const Sum* s = sum.data() + e.cluster * sums;
    const double *in = amounts(e.in), *out = amounts(e.out);
    double total = 0.0;
    for (std::int64_t q = 0; q < sums; ++q) total += s[q].price * (in[q] - out[q]);
    return total;
}

double RelaxedClustering::charge(const Exchange& e) const {
    const Sum* s = sum.data() + e.cluster * sums;
    const double *in = amounts(e.in), *out = amounts(e.out);
    double total = 0.0;
    for (std::int64_t q = 0; q < sums; ++q) {
        const double more = in[q] - out[q];
        total += s[q].price * more + fine[q] * s[q].beyond(s[q].held + more);
    }
    return total;
}

// The same as sums_change, in one loop.
double RelaxedClustering::swap_sums_change(std::int64_t j, std::int64_t a, std::int64_t l,
                                           std::int64_t b) const {
    const Sum *from = sum.data() + a * sums, *to = sum.data() + b * sums;
    const double *goes = amounts(j), *comes = amounts(l);
    double total = -fined[a] - fined[b];
    for (std::int64_t q = 0; q < sums; ++q) {
        const double more = goes[q] - comes[q];
        total += (to[q].price - from[q].price) * more +
                 fine[q] * (to[q].beyond(to[q].held + more) + from[q].beyond(from[q].held - more));
    }
    return total;
}

std::int64_t RelaxedClustering::clash_change(const Relay& move) const {
    std::int64_t twice = 0;
    for (int h = 0; h < move.n_hops; ++h) {
        const std::int64_t j = move.hops[h].item, a = label[j], b = move.hops[h].to;
        for (auto e = rules.conflict_start[j]; e < rules.conflict_start[j + 1]; ++e) {
            const std::int64_t other = rules.conflict_with[e];
            const std::int64_t before = label[other];
            std::int64_t after = before, weight_of = 2;
            for (int g = 0; g < move.n_hops; ++g)
                if (move.hops[g].item == other) {  // the pair is seen twice
                    after = move.hops[g].to;
                    weight_of = 1;
                }
            twice += weight_of * ((after == b) - (before == a));
        }
    }
    return twice / 2;
}

double RelaxedClustering::beyond_row(std::int64_t r, double value) const {
    const double lower = rules.row_lower[r], upper = rules.row_upper[r];
    return (value < lower ? lower - value : value > upper ? value - upper : 0.0) / row_unit[r];
}

double RelaxedClustering::row_change(const Relay& move) {
    row_touched.clear();
    double total = 0.0;
    // first the rows that hops touch, then what comes and goes
    for (const bool noted : {false, true})
        for (int h = 0; h < move.n_hops; ++h)
            for (const bool comes : {false, true}) {
                const std::int64_t j = move.hops[h].item;
                const std::int64_t column = j * k + (comes ? move.hops[h].to : label[j]);
                for (auto e = rules.column_start[column]; e < rules.column_start[column + 1]; ++e) {
                    const std::int64_t r = rules.column_row[e];
                    if (noted) {
                        row_after[r] += comes ? rules.column_value[e] : -rules.column_value[e];
                    } else {
                        row_touched.push_back(r);
                        row_after[r] = activity[r].value();
                    }
                }
            }
    std::sort(row_touched.begin(), row_touched.end());
    row_touched.erase(std::unique(row_touched.begin(), row_touched.end()), row_touched.end());
    for (const std::int64_t r : row_touched)
        total += beyond_row(r, row_after[r]) - beyond_row(r, activity[r].value());
    return fine[sums + 1] * total;
}

}  // namespace bckm
