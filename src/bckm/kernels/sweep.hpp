#pragma once

namespace bckm {

double sweep(const double* values, int count);

}  // namespace bckm
