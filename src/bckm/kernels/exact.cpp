#include "exact.hpp"

#include <algorithm>
#include <cmath>

#include "cpu.hpp"
#include "exact_row.hpp"

namespace bckm {
namespace {

ExactKernel choose() {
#if defined(BCKM_X86_VARIANTS)
    switch (best_isa()) {
        case Isa::avx512: return avx512::exact_kernel();
        case Isa::avx2: return avx2::exact_kernel();
        default: break;
    }
#endif
    return baseline::exact_kernel();
}

}  // namespace

Market::Market(const double* centres, const double* prices, std::int64_t k, std::int64_t dims)
    : k(k), dims(dims), centres(centres), prices(prices), columns(padded(k) * dims, 0.0),
      dearest(0.0) {
    for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t t = 0; t < dims; ++t) columns[t * padded(k) + i] = centres[i * dims + t];
        dearest = std::max(dearest, std::fabs(prices[i]));
    }
}

void exact_costs(const Market& market, const double* x, double weight, double* out) {
    static const ExactKernel kernel = choose();
    kernel(x, weight, market.columns.data(), market.dims, padded(market.k), out);
}

}  // namespace bckm
