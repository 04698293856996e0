// Sums over clusters, in float64 and in an order that no number of threads changes.
#pragma once

#include <cstdint>
#include <vector>

#include "points.hpp"

namespace bckm {

struct Totals {
    std::vector<double> sums;   // (k, dims): weighted sums of the points of each cluster
    std::vector<double> mass;   // (k,): their weights
    std::vector<double> reach;  // (k,): largest radius of each cluster, if asked for
    double cost = 0.0;          // sum of weight_j |x_j - c_label(j)|^2
};

// One look at all points. `radius`, where given, receives a bound on |x_j - c_label(j)| from above.
Totals totals(const Points& points, const std::int32_t* label, std::int64_t k,
              const double* centres, float* radius, int threads);

}  // namespace bckm
