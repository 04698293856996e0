#include "packed.hpp"

#include "cpu.hpp"

namespace bckm {
namespace {

constexpr double unit32 = 6.0e-8;  // float32 rounds by at most this share, 2^-24

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

// Any origin is right. The median centre is near most points even if one centre is far away.
std::vector<double> median_centre(const Market& market) {
    std::vector<double> origin(market.dims), column(market.k);
    for (std::int64_t t = 0; t < market.dims; ++t) {
        for (std::int64_t i = 0; i < market.k; ++i) column[i] = market.centres[i * market.dims + t];
        std::nth_element(column.begin(), column.begin() + market.k / 2, column.end());
        origin[t] = column[market.k / 2];
    }
    return origin;
}

}  // namespace

Packed::Packed(const Market& market, bool weighted)
    : kernel(kernel_of_machine()), weighted(weighted), features(market.dims),
      dims(market.dims + weighted),
      width((market.k + kernel.block - 1) / kernel.block * kernel.block),
      origin(median_centre(market)), scale(1.0), centres(width * dims, 0.0f),
      bias(width, 3.0e38f), error((static_cast<double>(dims) + 6.0) * unit32) {
    double largest = 0.0;
    for (std::int64_t i = 0; i < market.k; ++i)
        for (std::int64_t t = 0; t < features; ++t)
            largest = std::max(largest, std::fabs(market.centres[i * features + t] - origin[t]));
    if (largest > 0.0) scale = std::exp2(std::ceil(std::log2(largest)));
    const double per_square = 1.0 / (scale * scale);
    dearest = market.dearest * per_square;
    for (std::int64_t i = 0; i < market.k; ++i) {
        double norm = 0.0;
        float* out = centres.data() + i / kernel.block * dims * kernel.block + i % kernel.block;
        for (std::int64_t t = 0; t < features; ++t) {
            const double c = (market.centres[i * features + t] - origin[t]) / scale;
            norm += c * c;
            out[t * kernel.block] = static_cast<float>(-2.0 * c);
        }
        const double price = market.prices[i] * per_square;
        if (weighted) out[features * kernel.block] = static_cast<float>(norm);
        bias[i] = static_cast<float>(weighted ? -price : norm - price);
    }
}

}  // namespace bckm
