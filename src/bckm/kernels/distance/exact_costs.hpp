// Float64 costs of points in every cluster: slow, and the same bits on every machine.
#pragma once

#include <cstdint>

#include "distance/points.hpp"
#include "distance/row_loops.hpp"

namespace bckm {

// out[i] = weight * |x - c_i|^2; `out` holds padded(k) numbers, those beyond k are meaningless.
void exact_costs(const PricedCenters& priced, const double* x, double weight, double* out);

// The same for points which[0] .. which[count - 1], into rows of padded(k) numbers: the centers are
// read once for several points.
void exact_costs(const PricedCenters& priced, const Points& points, const std::int64_t* which,
                 std::int64_t count, double* out);

// The same numbers for one point in some clusters.
void exact_costs_in(const PricedCenters& priced, const double* x, double weight,
                    const std::int32_t* clusters, int count, double* out);

// The variant for this machine.
const RowLoops& row_loops();

}  // namespace bckm
