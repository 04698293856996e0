// Lower bounds on the cost of moving a point from one cluster to another.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/points.hpp"

namespace bckm {

using ByCluster = std::vector<std::vector<std::int64_t>>;  // points of each cluster

// Lowers bounds[a * padded(k) + b] to at most the cost in b minus the cost in a of every listed
// point of cluster a, by one float32 pass.
void lower_pair_bounds(const Points& points, const PricedCenters& priced, const ByCluster& listed,
                       double* bounds, int threads);

}  // namespace bckm
