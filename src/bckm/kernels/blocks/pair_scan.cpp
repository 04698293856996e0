#include "blocks/pair_scan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "distance/exact_costs.hpp"
#include "distance/packed.hpp"
#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float near = 4.0f,
                doubt = 0.25f;     // ratios up to `near` that are known no better: in float64
constexpr std::int64_t tiles = 8;  // in a chunk of rows

// Scratch memory of one thread, and the least gaps of the label that it is at.
struct Scan {
    Scan(const Packed& packed, std::int64_t k)
        : tile(packed), all(packed.width * packed.kernel.samples + 16), value(k), inverse(k),
          lowest(k), costs(padded(k)), least(k) {}

    float* values() {
        const auto address = reinterpret_cast<std::uintptr_t>(all.data());
        return reinterpret_cast<float*>((address + 63) / 64 * 64);
    }

    Tile tile;
    TileBest leaders;
    std::vector<float> all, value, inverse, lowest;
    std::vector<double> costs, least;
    std::int64_t label = -1;
};

class PairScan {
public:
    PairScan(const Points& points, const PricedCenters& priced, const std::int32_t* label,
             const double* limit, double* minima, float* ratio)
        : points(points), priced(priced), label(label), limit(limit), minima(minima), ratio(ratio),
          packed(priced, false), square_scale(packed.scale * packed.scale), order(points.n) {
        // by label, so that those of one chunk share their rows of limits and minima
        std::vector<std::int64_t> begin(priced.k + 1, 0);
        for (std::int64_t j = 0; j < points.n; ++j) ++begin[label[j] + 1];
        for (std::int64_t a = 0; a < priced.k; ++a) begin[a + 1] += begin[a];
        for (std::int64_t j = 0; j < points.n; ++j) order[begin[label[j]]++] = j;
    }

    std::int64_t chunk_size() const { return tiles * packed.kernel.samples; }
    Scan scratch() const { return {packed, priced.k}; }

    void chunk(std::int64_t number, Scan& scan) {
        const std::int64_t from = number * chunk_size();
        const std::int64_t to = std::min(points.n, from + chunk_size());
        const int size = packed.kernel.samples;
        for (std::int64_t s = from; s < to; s += size) {
            const int filled = static_cast<int>(std::min<std::int64_t>(size, to - s));
            scan.tile.fill(points, filled, [&](int r) { return order[s + r]; });
            packed.kernel.run(scan.tile.values(), packed.dims, packed.centers.data(),
                              packed.bias.data(), packed.width, scan.leaders, scan.values());
            for (int r = 0; r < filled; ++r) {
                const std::int64_t j = order[s + r];
                if (label[j] != scan.label) enter(label[j], scan);
                row(j, r, scan);
            }
        }
        enter(-1, scan);
    }

private:
    // Goes on to the rows of another label.
    void enter(std::int64_t a, Scan& scan) {
        const std::int64_t k = priced.k, before = scan.label;
        if (before >= 0) {
            const std::lock_guard<std::mutex> guard(locks[before % locks.size()]);
            double* lower = minima + before * k;
            for (std::int64_t b = 0; b < k; ++b) {
                const double gap =
                    scan.lowest[b] < 1.0e38f ? scan.lowest[b] * square_scale : infinity;
                if (b != before) lower[b] = std::min({lower[b], gap, scan.least[b]});
            }
        }
        scan.label = a;
        if (a < 0) return;
        std::fill(scan.lowest.begin(), scan.lowest.end(), 3.0e38f);
        std::fill(scan.least.begin(), scan.least.end(), infinity);
        for (std::int64_t b = 0; b < k; ++b) {
            const double most = limit[a * k + b];
            scan.inverse[b] =
                static_cast<float>(most > 0.0 ? std::min(square_scale / most, 1e30) : 1e30);
        }
        scan.inverse[a] = 1.0f;
    }

    void row(std::int64_t j, int r, Scan& scan) {
        const std::int64_t k = priced.k, a = scan.label;
        const float* column = scan.values() + r;
        float* value = scan.value.data();
        for (std::int64_t b = 0; b < k; ++b) value[b] = column[b * packed.kernel.samples];
        const float own = value[a];
        value[a] = 1.0e38f;
        // the error bound of `Packed`, and a little more for the rounding here
        const double unit = 1.1 * packed.error_bound(scan.tile.square(r), own, 0.0);
        const auto fixed = static_cast<float>(unit);
        const auto slope = static_cast<float>(1.1 * 4.4 * packed.error);
        const float* inverse = scan.inverse.data();
        float low = 3.0e38f, high = 3.0e38f;
        for (std::int64_t b = 0; b < k; ++b) {
            const float above = value[b] - own, error = fixed + slope * std::fabs(value[b]);
            low = std::min(low, (above - error) * inverse[b]);
            high = std::min(high, (above + error) * inverse[b]);
        }
        if (low <= near && !(high - low <= doubt)) return row_exactly(j, scan);
        ratio[j] = low;
        if (low <= 1.0f) return;
        float* lowest = scan.lowest.data();
        for (std::int64_t b = 0; b < k; ++b) {
            const float gap = value[b] - own - (fixed + slope * std::fabs(value[b]));
            lowest[b] = std::min(lowest[b], gap);
        }
    }

    void row_exactly(std::int64_t j, Scan& scan) {
        const std::int64_t k = priced.k, a = scan.label;
        double* value = scan.costs.data();
        exact_costs(priced, points.row(j), points.weight(j), value);
        for (std::int64_t b = 0; b < k; ++b) value[b] -= priced.prices[b];
        const double own = value[a];
        value[a] = infinity;
        double least = infinity;
        for (std::int64_t b = 0; b < k; ++b) {
            const double most = limit[a * k + b], gap = value[b] - own;
            const double here = most > 0.0 ? gap / most : gap <= most ? 0.0 : infinity;
            least = std::min(least, here);
        }
        ratio[j] = least > 1.0 ? std::max(static_cast<float>(least), 1.0000001f)
                               : std::min(static_cast<float>(least), 1.0f);
        if (least <= 1.0) return;
        for (std::int64_t b = 0; b < k; ++b)
            scan.least[b] = std::min(scan.least[b], value[b] - own);
    }

    const Points& points;
    const PricedCenters& priced;
    const std::int32_t* label;
    const double* limit;
    double* minima;
    float* ratio;
    Packed packed;
    double square_scale;
    std::vector<std::int64_t> order;
    std::array<std::mutex, 64> locks;
};

}  // namespace

void pair_scan(const Points& points, const PricedCenters& priced, const std::int32_t* label,
               const double* limit, double* minima, float* ratio, int threads) {
    if (points.n == 0) return;
    PairScan task(points, priced, label, limit, minima, ratio);
    const std::int64_t chunks = (points.n + task.chunk_size() - 1) / task.chunk_size();
    threads = static_cast<int>(std::clamp<std::int64_t>(threads, 1, chunks));
    std::vector<Scan> scratch;
    scratch.reserve(threads);
    for (int w = 0; w < threads; ++w) scratch.push_back(task.scratch());
    parallel(chunks, threads, [&](std::int64_t chunk, int w) { task.chunk(chunk, scratch[w]); });
}

}  // namespace bckm
