// Sums over clusters, in float64 and in an order that does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/points.hpp"

namespace bckm {

struct TotalsResult {
    std::int64_t dims = 0;
    std::vector<double> sums;   // (k, dims): weighted sums of the points of each cluster
    std::vector<double> mass;   // (k,): their weights
    std::vector<double> reach;  // (k,): largest radius of each cluster, if asked for
    double cost = 0.0;          // sum of weight_j |x_j - c_label(j)|^2
};

// One pass over all points. `radius`, where given, receives an upper bound on |x_j - c_label(j)|.
TotalsResult totals(const Points& points, const std::int32_t* label, std::int64_t k,
                    const double* centers, float* radius, int threads);

}  // namespace bckm
