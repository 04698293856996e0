// The dual of the size bounds with softened minima, as far as samples are known: a model that needs
// no look at the data.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/contenders.hpp"
#include "distance/points.hpp"

namespace bckm {

// What is known of the points: labels and slacks as in `PointState`, proven at `prices`.
struct Listed {
    const Points& points;
    const Contenders& contenders;
    const std::int32_t* label;
    const float* slack;
    const double* prices;
    std::int64_t k;
};

// Each sample is shared among clusters by exp(-value / temperature). What is summed up is counted
// from the cost of the labels, without the terms of the bounds.
struct SoftDual {
    double soft = 0.0, hard = 0.0;      // sum of softened minima, and of minima
    std::vector<double> shared, units;  // (k,): samples of each cluster, shared and undivided
    std::vector<double> edge;           // (k, k): samples that change sides per unit of price
};

SoftDual soft_dual(const Listed& listed, const double* prices, double temperature, int threads);

// Solves (H + damping (D + mean of D)) step = gradient over the active clusters, where H is the
// Laplacian of the edges and D its diagonal. `step` is zero for clusters that are not active.
// False, with nothing done, if there is no edge.
bool damped_step(const double* edge, std::int64_t k, const double* gradient, const bool* active,
                 double damping, double* step);

}  // namespace bckm
