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
        double* column = columns.data() + i / 8 * dims * 8 + i % 8;
        for (std::int64_t t = 0; t < dims; ++t) column[t * 8] = centers[i * dims + t];
        max_price = std::max(max_price, std::fabs(prices[i]));
    }
}

void exact_costs(const PricedCenters& priced, const double* x, double weight, double* out) {
    row_loops().costs(&x, &weight, 1, priced.columns.data(), priced.dims, padded(priced.k), &out);
}

void exact_costs(const PricedCenters& priced, const Points& points, const std::int64_t* which,
                 std::int64_t count, double* out) {
    constexpr int batch = 8;
    const std::int64_t width = padded(priced.k);
    for (std::int64_t from = 0; from < count; from += batch) {
        const double* x[batch];
        double weight[batch];
        double* to[batch];
        const int rows = static_cast<int>(std::min<std::int64_t>(batch, count - from));
        for (int r = 0; r < rows; ++r) {
            x[r] = points.row(which[from + r]);
            weight[r] = points.weight(which[from + r]);
            to[r] = out + (from + r) * width;
        }
        row_loops().costs(x, weight, rows, priced.columns.data(), priced.dims, width, to);
    }
}

void exact_costs_in(const PricedCenters& priced, const double* x, double weight,
                    const std::int32_t* clusters, int count, double* out) {
    constexpr int together = 4;  // sums that do not wait for each other
    for (int from = 0; from < count; from += together) {
        const int last = count - 1;
        const double* center[together];
        for (int q = 0; q < together; ++q)
            center[q] = priced.centers + clusters[std::min(from + q, last)] * priced.dims;
        double sum[together] = {};
        for (std::int64_t t = 0; t < priced.dims; ++t)
            for (int q = 0; q < together; ++q) {
                const double gap = x[t] - center[q][t];
                sum[q] += gap * gap;
            }
        for (int q = 0; q < std::min(together, count - from); ++q) out[from + q] = weight * sum[q];
    }
}

}  // namespace bckm
