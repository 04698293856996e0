// The input of every kernel: rows of a float64 array, and centers with their prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/lines.hpp"

namespace bckm {

// A view of every `step`-th of `n * step` points. Equal points may be listed once (`rows` names the
// row of each) with the number of samples they stand for (`supply`).
struct Points {
    const double* data = nullptr;  // row-major, `dims` numbers per row
    std::int64_t dims = 0;
    std::int64_t n = 0;
    std::int64_t step = 1;
    const std::int64_t* rows = nullptr;    // null: point i is row i
    const double* cost_weight = nullptr;   // weight of each row in the cost; null: 1
    const std::int64_t* supply = nullptr;  // samples at each point; null: 1

    std::int64_t index(std::int64_t j) const { return rows ? rows[j * step] : j * step; }
    const double* row(std::int64_t j) const { return data + index(j) * dims; }
    double weight(std::int64_t j) const { return cost_weight ? cost_weight[index(j)] : 1.0; }
    std::int64_t units(std::int64_t j) const { return supply ? supply[j * step] : 1; }
};

// Clusters are padded to whole blocks, so that inner loops need no remainder.
constexpr std::int64_t padded(std::int64_t k) { return (k + 7) / 8 * 8; }

// Centers and the price of each cluster: a point x of weight w is charged w |x - c_i|^2 - price_i
// for cluster i. Prices are the dual variables of the size bounds; a positive one is a subsidy that
// draws points to a cluster that would be too small.
struct PricedCenters {
    std::int64_t k;
    std::int64_t dims;
    const double* centers;  // (k, dims)
    const double* prices;   // (k,)
    Lines<double> columns;  // centers in blocks of features, (padded k / 8, dims, 8)
    double max_price;       // largest absolute price

    PricedCenters(const double* centers, const double* prices, std::int64_t k, std::int64_t dims);
};

// |x - y|^2; four partial sums do not wait for each other.
inline double squared_distance(const double* x, const double* y, std::int64_t dims) {
    double sum[4] = {};
    std::int64_t t = 0;
    for (; t + 4 <= dims; t += 4)
        for (int q = 0; q < 4; ++q) sum[q] += (x[t + q] - y[t + q]) * (x[t + q] - y[t + q]);
    for (; t < dims; ++t) sum[0] += (x[t] - y[t]) * (x[t] - y[t]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace bckm
