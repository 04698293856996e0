// Rows near borders, pair of clusters by pair of clusters.
#pragma once

#include <cstdint>

#include "distance/points.hpp"

namespace bckm {

// The gap of a row with label a to cluster b is what b costs more, prices included. A row is taken
// if its gap to some b is at most limit[a * k + b]; of all others, minima[a * k + b] becomes the
// least gap, if that is lower.
void pair_scan(const Points& points, const PricedCenters& priced, const std::int32_t* label,
               const double* limit, double* minima, bool* taken, int threads);

}  // namespace bckm
