#include "distance/packed.hpp"

#include <limits>

#include "runtime/cpu.hpp"

namespace bckm {
namespace {

constexpr double unit32 = 6.0e-8;  // relative rounding of float32, 2^-24

// Any origin will do. The median center is near most points even if one center is far away.
std::vector<double> median_center(const PricedCenters& priced) {
    std::vector<double> origin(priced.dims), column(priced.k);
    for (std::int64_t t = 0; t < priced.dims; ++t) {
        for (std::int64_t i = 0; i < priced.k; ++i) column[i] = priced.centers[i * priced.dims + t];
        std::nth_element(column.begin(), column.begin() + priced.k / 2, column.end());
        origin[t] = column[priced.k / 2];
    }
    return origin;
}

}  // namespace

const TileKernel& kernel_of_machine() {
    static const TileKernel kernel = [] {
#if defined(BCKM_X86_VARIANTS)
        switch (best_isa()) {
            case Isa::avx512: return avx512::tile_kernel();
            case Isa::avx2: return avx2::tile_kernel();
            default: break;
        }
#endif
        return baseline::tile_kernel();
    }();
    return kernel;
}

Packed::Packed(const PricedCenters& priced, bool weighted)
    : kernel(kernel_of_machine()), weighted(weighted), features(priced.dims),
      dims(priced.dims + weighted),
      width((priced.k + kernel.block - 1) / kernel.block * kernel.block),
      origin(median_center(priced)), scale(1.0), centers(width * dims, 0.0f), bias(width, 3.0e38f),
      error((static_cast<double>(dims) + 6.0) * unit32),
      farthest(weighted ? std::numeric_limits<double>::infinity() : 0.0) {
    double largest = 0.0;
    for (std::int64_t i = 0; i < priced.k; ++i)
        for (std::int64_t t = 0; t < features; ++t)
            largest = std::max(largest, std::fabs(priced.centers[i * features + t] - origin[t]));
    if (largest > 0.0) scale = std::exp2(std::ceil(std::log2(largest)));
    const double per_square = 1.0 / (scale * scale);
    max_price = priced.max_price * per_square;
    for (std::int64_t i = 0; i < priced.k; ++i) {
        double norm = 0.0;
        float* out = centers.data() + i / kernel.block * dims * kernel.block + i % kernel.block;
        for (std::int64_t t = 0; t < features; ++t) {
            const double c = (priced.centers[i * features + t] - origin[t]) / scale;
            norm += c * c;
            out[t * kernel.block] = static_cast<float>(-2.0 * c);
        }
        farthest = std::max(farthest, 1.001 * std::sqrt(norm));
        const double price = priced.prices[i] * per_square;
        if (weighted) out[features * kernel.block] = static_cast<float>(norm);
        bias[i] = static_cast<float>(weighted ? -price : norm - price);
    }
}

}  // namespace bckm
