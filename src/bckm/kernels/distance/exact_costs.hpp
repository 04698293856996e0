// Float64 costs of one point in every cluster: slow, and the same bits on every machine.
#pragma once

#include <cstdint>

#include "distance/points.hpp"
#include "distance/row_loops.hpp"

namespace bckm {

// out[i] = weight * |x - c_i|^2; `out` holds padded(k) numbers, those beyond k are meaningless.
void exact_costs(const PricedCenters& priced, const double* x, double weight, double* out);

// The variant for this machine.
const RowLoops& row_loops();

}  // namespace bckm
