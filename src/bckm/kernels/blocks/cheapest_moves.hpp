// What it costs to move a point from one cluster to another, at least.
#pragma once

#include <cstdint>

#include "distance/points.hpp"

namespace bckm {

// move[a * k + b] becomes the least cost_b - cost_a of points which[i] that are in cluster[i] = a,
// for i < count; infinite without any.
void cheapest_moves(const Points& points, const PricedCenters& priced, const std::int64_t* which,
                    const std::int64_t* cluster, std::int64_t count, double* move, int threads);

}  // namespace bckm
