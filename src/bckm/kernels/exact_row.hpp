// The variants of the float64 kernel, one per instruction set.
#pragma once

#include <cstdint>

namespace bckm {

// out[i] = weight * |x - c_i|^2, from the centres by feature, (dims, width)
using ExactKernel = void (*)(const double* x, double weight, const double* columns,
                             std::int64_t dims, std::int64_t width, double* out);

namespace baseline { ExactKernel exact_kernel(); }
namespace avx2 { ExactKernel exact_kernel(); }
namespace avx512 { ExactKernel exact_kernel(); }

}  // namespace bckm
