// A Newton step for the prices, from the samples that stand at the borders between clusters.
#pragma once

#include <cstdint>

#include "points.hpp"

namespace bckm {

// What is known of the points when a step is looked for; see `Knowledge`.
struct Borders {
    const Points& points;
    const std::int32_t* label;
    const std::int32_t* runner;
    const float* detour;
    const double* prices;
    std::int64_t k;
};

// Solves H step = slope over the active clusters. H is the Laplacian of the graph whose edge (a, b)
// weighs as many samples per unit of price as change between a and b. It is measured where the step
// leads to: the depth of a cluster is such that a few times as many samples stand so near to its
// borders as it has too many or too few. A step goes at most three times the largest depth.
// `step` is zero where nothing is active. Returns false, with nothing done, if no sample stands at
// any border.
bool border_step(const Borders& borders, const double* slope, const bool* active, double* step,
                 int threads);

}  // namespace bckm
