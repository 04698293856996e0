#include "distance/exact_costs.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/cpu.hpp"

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

PricedCenters::PricedCenters(const double* centers, const double* prices, std::int64_t k,
                             std::int64_t dims)
    : k(k), dims(dims), centers(centers), prices(prices), columns(padded(k) * dims, 0.0),
      max_price(0.0) {
    for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t t = 0; t < dims; ++t) columns[t * padded(k) + i] = centers[i * dims + t];
        max_price = std::max(max_price, std::fabs(prices[i]));
    }
}

void exact_costs(const PricedCenters& priced, const double* x, double weight, double* out) {
    row_loops().costs(x, weight, priced.columns.data(), priced.dims, padded(priced.k), out);
}

}  // namespace bckm
