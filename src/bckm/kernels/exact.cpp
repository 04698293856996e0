#include "exact.hpp"

#include <algorithm>
#include <cmath>

#include "cpu.hpp"

namespace bckm {

const RowLoops& row_loops() {
    static const RowLoops loops = [] {
#if defined(BCKM_X86_VARIANTS)
        switch (best_isa()) {
            case Isa::avx512: return avx512::row_loops();
            case Isa::avx2: return avx2::row_loops();
            default: break;
        }
#endif
        return baseline::row_loops();
    }();
    return loops;
}

Market::Market(const double* centres, const double* prices, std::int64_t k, std::int64_t dims)
    : k(k), dims(dims), centres(centres), prices(prices), columns(padded(k) * dims, 0.0),
      dearest(0.0) {
    for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t t = 0; t < dims; ++t) columns[t * padded(k) + i] = centres[i * dims + t];
        dearest = std::max(dearest, std::fabs(prices[i]));
    }
}

void exact_costs(const Market& market, const double* x, double weight, double* out) {
    row_loops().costs(x, weight, market.columns.data(), market.dims, padded(market.k), out);
}

}  // namespace bckm
