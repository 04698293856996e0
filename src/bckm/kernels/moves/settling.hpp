// What it costs, by second order, until sizes are right again after a center was displaced.
#pragma once

#include <cstdint>
#include <vector>

namespace bckm {

// Of clusters, row by row, (k, k).
struct Crowds {
    const double *left, *drawn;  // points too many without each center; with one more in each
    // what the points of a cluster would pay in their next best one beyond what they pay now, in
    // all; by which one that is, as in `left`
    const double* gaps;
    const double* room;  // (k,): above zero where a cluster may hold more or less at its price
    double near;         // no gap counts less
};

struct Settling {
    // (k,): what is to pay for each crowd; (k, k): how much more if both come, [left, drawn]
    std::vector<double> left, drawn, both;
};

// Prices P r make up for crowds r, which costs half of r P r. P is the inverse of how many points
// leave clusters as their prices rise: a Laplacian, but for what clusters take up. Points at a
// border lie as if spread evenly from no gap to twice the mean.
Settling settling(const Crowds& crowds, std::int64_t k);

}  // namespace bckm
