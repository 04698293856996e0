// A Newton step for the prices, from the samples near the borders between clusters.
#pragma once

#include <cstdint>

#include "distance/points.hpp"

namespace bckm {

// What is known of the points; see `PointState`.
struct Borders {
    const Points& points;
    const std::int32_t* label;
    const std::int32_t* runner_up;
    const float* margin;
    const double* prices;
    std::int64_t k;
};

// Solves H step = gradient over the active clusters. H is the Laplacian of the graph whose edge
// (a, b) weighs the number of samples that change between a and b per unit of price. It is measured
// at the distance where the step leads: the depth of a cluster is such that a few times as many
// samples are that near to its borders as it has too many or too few. No step is longer than three
// times the largest depth. `step` is zero for clusters that are not active. Returns false, with
// nothing done, if no sample is near any border.
bool newton_step(const Borders& borders, const double* gradient, const bool* active, double* step,
                 int threads);

}  // namespace bckm
