#include "transport/pair_bounds.hpp"

#include <algorithm>
#include <limits>

#include "distance/packed.hpp"
#include "runtime/pool.hpp"

namespace bckm {

void lower_pair_bounds(const Points& points, const PricedCenters& priced, const ByCluster& listed,
                       double* bounds, int threads) {
    const Packed packed(priced, points.cost_weight != nullptr);
    const std::int64_t k = priced.k, width = padded(k);
    const int size = packed.kernel.samples, lanes = packed.kernel.lanes;
    const double square_scale = packed.scale * packed.scale;
    parallel(k, threads, [&](std::int64_t a, int) {
        const std::vector<std::int64_t>& mine = listed[a];
        const auto count = static_cast<std::int64_t>(mine.size());
        if (count == 0) return;
        Tile tile(packed);
        std::vector<float> buffer(packed.width * lanes + 16, 3.0e38f);
        const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
        float* minima = reinterpret_cast<float*>((address + 63) / 64 * 64);
        double square = 0.0, own = 0.0;
        for (std::int64_t s = 0; s < count; s += size) {
            const int filled = static_cast<int>(std::min<std::int64_t>(size, count - s));
            tile.fill(points, filled, [&](int r) { return mine[s + r]; });
            for (int r = 0; r < filled; ++r) square = std::max(square, tile.square(r));
            const float largest =
                packed.kernel.lower(tile.values(), packed.dims, packed.centers.data(),
                                    packed.bias.data(), packed.width, a, minima);
            own = std::max<double>(own, largest);
        }
        for (std::int64_t b = 0; b < k; ++b) {
            const double least = *std::min_element(minima + b * lanes, minima + (b + 1) * lanes);
            const double safe = least - packed.error_bound(square, own, std::fabs(least) + own);
            // values include the prices, costs do not
            double& bound = bounds[a * width + b];
            if (!(safe > -std::numeric_limits<double>::infinity())) {  // out of the range of floats
                bound = -std::numeric_limits<double>::infinity();
                continue;
            }
            bound = std::min(bound, safe * square_scale + (priced.prices[b] - priced.prices[a]));
        }
    });
}

}  // namespace bckm
