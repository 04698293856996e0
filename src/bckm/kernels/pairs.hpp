// What moving between each two clusters costs at least.
#pragma once

#include <cstdint>
#include <vector>

#include "points.hpp"

namespace bckm {

using ByCluster = std::vector<std::vector<std::int64_t>>;  // points of each cluster

// Lowers bounds[a * padded(k) + b] to at most the cost in b less the cost in a, for every listed
// point of cluster a; from one float32 pass.
void lower_to_pairs(const Points& points, const Market& market, const ByCluster& listed,
                    double* bounds, int threads);

}  // namespace bckm
