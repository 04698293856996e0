// Compiled once per instruction set (BCKM_ISA), without fused operations: all variants give the
// same bits, so that labels do not depend on the machine.
#include "exact_row.hpp"

namespace bckm::BCKM_ISA {
namespace {

// From differences: |x|^2 - 2xc + |c|^2 would cancel where clusters are tight.
void run(const double* x, double weight, const double* columns, std::int64_t dims,
         std::int64_t width, double* out) {
    constexpr int block = 8;
    for (std::int64_t i = 0; i < width; i += block) {
        double sum[block] = {};
        for (std::int64_t t = 0; t < dims; ++t) {
            const double* c = columns + t * width + i;
            for (int q = 0; q < block; ++q) {
                const double gap = x[t] - c[q];
                sum[q] += gap * gap;
            }
        }
        for (int q = 0; q < block; ++q) out[i + q] = weight * sum[q];
    }
}

}  // namespace

ExactKernel exact_kernel() { return run; }

}  // namespace bckm::BCKM_ISA
