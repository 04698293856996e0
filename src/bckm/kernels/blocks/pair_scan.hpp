// Rows near borders, pair of clusters by pair of clusters.
#pragma once

#include <cstdint>

#include "distance/points.hpp"

namespace bckm {

// The gap of a row with label a to cluster b is what b costs more, prices included. `ratio` of a
// row becomes the least gap / limit[a * k + b], or somewhat less: gaps are lower bounds from
// float32, unless the error might matter. Of rows with a ratio above 1, minima[a * k + b] becomes
// the least gap, if that is lower.
void pair_scan(const Points& points, const PricedCenters& priced, const std::int32_t* label,
               const double* limit, double* minima, float* ratio, int threads);

}  // namespace bckm
