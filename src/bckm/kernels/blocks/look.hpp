// One look at a block of rows: the best cluster of each at given prices, and exact sums.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/points.hpp"
#include "distance/sweep.hpp"

namespace bckm {

// Rows of any array of floats, seen as (x - origin) * scale; strides count numbers, not bytes.
template <class Real> struct Block {
    const Real* data;
    std::int64_t row_stride, column_stride;
    std::int64_t n, dims;
    const double* origin;
    double scale;
};

// A number of at most 1 is the sum of pieces, each a whole multiple of 2^-28, 2^-56 and so on, the
// last one rounded. Pieces are added up as whole numbers, so sums do not depend on the order.
constexpr int piece_bits = 28, cost_pieces = 4;
constexpr std::int64_t most_rows = 1 << 24;  // whole numbers stay below 2^53 while they are doubles

struct LookResult {
    std::int64_t dims = 0;
    std::vector<std::int64_t> counts;     // (k,)
    std::vector<std::int64_t> high, low;  // (k, dims): sums of both pieces; empty if not asked for
    std::vector<std::int64_t> cost;       // (cost_pieces,): of |x - c_label|^2 * cost_scale
    std::vector<double> farthest;         // (k,): largest |x - c_label|^2 of each cluster
};

// Fills `known` (labels, slacks and so on; see `PointState`) for each row of a block whose seen
// rows are at most 1 in absolute value; `cost_scale` is a power of two that brings all costs below
// 1.
template <class Real>
LookResult look(const Block<Real>& block, const PricedCenters& priced, const PointState& known,
                double cost_scale, bool sums, int threads);

}  // namespace bckm
