// Sums over clusters, in float64 and in an order that no number of threads changes.
#pragma once

#include <cstdint>

#include "points.hpp"

namespace bckm {

// sums[i] = sum of weight_j x_j and mass[i] = sum of weight_j over the points with label i. Returns
// the sum of weight_j |x_j - c_label(j)|^2, from the same look at the points; 0 without centres.
double cluster_sums(const Points& points, const std::int32_t* label, std::int64_t k,
                    const double* centres, double* sums, double* mass, int threads);

// Sum of weight_j |x_j - c_label(j)|^2 over all samples. Where asked for, `radius` receives a bound
// on |x_j - c_label(j)| from above, and `reach` the largest radius in each cluster.
double assigned_cost(const Points& points, const std::int32_t* label, std::int64_t k,
                     const double* centres, float* radius, double* reach, int threads);

}  // namespace bckm
