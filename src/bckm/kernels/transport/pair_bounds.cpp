#include "transport/pair_bounds.hpp"

#include <algorithm>
#include <limits>

namespace bckm {

void PairBounds::lower(std::int64_t a, const std::vector<std::int64_t>& listed,
                       double* bounds) const {
    if (contenders_) lower_by_pass(a, lower_from_lists(a, listed, bounds), bounds);
    else lower_by_pass(a, listed, bounds);
}

std::vector<std::int64_t> PairBounds::lower_from_lists(std::int64_t a,
                                                       const std::vector<std::int64_t>& listed,
                                                       double* bounds) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<std::int64_t> others;
    // by look: what all clusters cost more that are not listed, at the prices of that look
    std::vector<double> beyond(contenders_->looks(), infinity);
    const double square_scale = contenders_->square_scale();
    const auto offer = [&](std::int64_t b, double above) {
        // values include the prices, costs do not
        const double cost = above * square_scale + (priced_.prices[b] - priced_.prices[a]);
        bounds[b] = std::min(bounds[b], cost);
    };
    for (const std::int64_t j : listed) {
        double own = infinity;
        if (contenders_->has(j)) {
            const Contenders::List list = contenders_->of(j);
            for (int q = 0; q < list.count; ++q)
                if (list.cluster[q] == a) own = list.value[q] - list.shift.of[a] + list.error;
            for (int q = 0; q < list.count && own < infinity; ++q) {
                const std::int64_t b = list.cluster[q];
                offer(b, list.value[q] - list.shift.of[b] - own);
            }
            double& rest = beyond[contenders_->look(j)];
            if (own < infinity) rest = std::min(rest, list.rest - own);
        }
        if (!(own < infinity)) others.push_back(j);
    }
    const std::vector<Contenders::Shift> shift = contenders_->shifts(priced_.prices, 0);
    for (std::size_t look = 0; look < beyond.size(); ++look)
        for (std::int64_t b = 0; b < priced_.k && beyond[look] < infinity; ++b)
            offer(b, beyond[look] - shift[look].of[b]);
    return others;
}

void PairBounds::lower_by_pass(std::int64_t a, const std::vector<std::int64_t>& listed,
                               double* bounds) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const int size = packed_.kernel.samples, lanes = packed_.kernel.lanes;
    const double square_scale = packed_.scale * packed_.scale;
    const auto count = static_cast<std::int64_t>(listed.size());
    if (count == 0) return;
    Tile tile(packed_);
    std::vector<float> buffer(packed_.width * lanes + 16, 3.0e38f);
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
    float* minima = reinterpret_cast<float*>((address + 63) / 64 * 64);
    double square = 0.0, own = 0.0;
    for (std::int64_t s = 0; s < count; s += size) {
        const int filled = static_cast<int>(std::min<std::int64_t>(size, count - s));
        tile.fill(points_, filled, [&](int r) { return listed[s + r]; });
        for (int r = 0; r < filled; ++r) square = std::max(square, tile.square(r));
        const float largest =
            packed_.kernel.lower(tile.values(), packed_.dims, packed_.centers.data(),
                                 packed_.bias.data(), packed_.width, a, minima);
        own = std::max<double>(own, largest);
    }
    for (std::int64_t b = 0; b < priced_.k; ++b) {
        const double least = *std::min_element(minima + b * lanes, minima + (b + 1) * lanes);
        const double safe = least - packed_.error_bound(square, own, std::fabs(least) + own);
        if (!(safe > -infinity)) {  // out of the range of floats
            bounds[b] = -infinity;
            continue;
        }
        // values include the prices, costs do not
        bounds[b] =
            std::min(bounds[b], safe * square_scale + (priced_.prices[b] - priced_.prices[a]));
    }
}

}  // namespace bckm
