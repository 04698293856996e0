// What the kernels look at: rows of a float64 array, centres, and the price of each cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bckm {

// A view of every `step`-th of `n * step` points. Equal points may be listed once (`rows` names the
// row of each) with the number of samples they stand for (`supply`).
struct Points {
    const double* data = nullptr;          // row-major, `dims` numbers per row
    std::int64_t dims = 0;
    std::int64_t n = 0;
    std::int64_t step = 1;
    const std::int64_t* rows = nullptr;    // null: point i is row i
    const double* pull = nullptr;          // weight of each row in the cost; null: 1
    const std::int64_t* supply = nullptr;  // samples at each point; null: 1

    std::int64_t index(std::int64_t j) const { return rows ? rows[j * step] : j * step; }
    const double* row(std::int64_t j) const { return data + index(j) * dims; }
    double weight(std::int64_t j) const { return pull ? pull[index(j)] : 1.0; }
    std::int64_t units(std::int64_t j) const { return supply ? supply[j * step] : 1; }
};

// Clusters are padded to whole blocks, so that inner loops need no remainder.
constexpr std::int64_t padded(std::int64_t k) { return (k + 7) / 8 * 8; }

// Centres and prices. A point x of weight w sees cluster i at  w |x - c_i|^2 - price_i.
struct Market {
    std::int64_t k;
    std::int64_t dims;
    const double* centres;  // (k, dims)
    const double* prices;   // (k,)
    std::vector<double> columns;  // centres by feature, (dims, padded k)
    double dearest;               // largest absolute price

    Market(const double* centres, const double* prices, std::int64_t k, std::int64_t dims);
};

}  // namespace bckm
