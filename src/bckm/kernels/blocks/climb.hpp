// Newton's method, damped, on a smooth concave model of the dual of sizes.
#pragma once

#include <functional>
#include <vector>

#include "transport/laplacian.hpp"

namespace bckm {

// How many samples each cluster may hold, (k,).
struct SizeLimits {
    std::vector<double> lower, upper;
};

// A model of the dual at some prices, but for what the prices of bounds add.
struct Softened {
    double value = 0.0;
    std::vector<double> units;  // samples of each cluster
    std::vector<Edge> edges;    // how many of them change cluster per unit of price
};

// Gradient of the dual: what clusters lack. Where a price is zero, the smallest subgradient.
std::vector<double> lacking(const SizeLimits& sizes, const std::vector<double>& units,
                            const std::vector<double>& price);

// Raises the dual by a model, whose value where it begins is `now`. `price` is where it begins and
// ends: once at most `target` samples are in the wrong cluster, after `steps`, or after `patience`
// slow ones; linear systems are solved to `accuracy`. Returns the gradient there.
std::vector<double> climb(const std::function<Softened(const std::vector<double>&)>& model,
                          Softened now, const SizeLimits& sizes, double target, int steps,
                          int patience, double accuracy, std::vector<double>& price);

}  // namespace bckm
