#include "blocks/pair_scan.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "distance/exact_costs.hpp"
#include "runtime/pool.hpp"

namespace bckm {

void pair_scan(const Points& points, const PricedCenters& priced, const std::int32_t* label,
               const double* limit, double* minima, bool* taken, int threads) {
    const std::int64_t k = priced.k;
    // by label, so that each row of minima belongs to one thread
    std::vector<std::int64_t> end(k + 1, 0), order(points.n);
    for (std::int64_t j = 0; j < points.n; ++j) ++end[label[j] + 1];
    for (std::int64_t a = 0; a < k; ++a) end[a + 1] += end[a];
    for (std::int64_t j = points.n; j-- > 0;) order[--end[label[j] + 1]] = j;
    // now end[a + 1] is where a begins
    parallel(k, threads, [&](std::int64_t a, int) {
        const std::int64_t from = end[a + 1], to = a + 2 <= k ? end[a + 2] : points.n;
        if (from == to) return;
        std::vector<double> gap(padded(k));
        const double* most = limit + a * k;
        double* least = minima + a * k;
        for (std::int64_t q = from; q < to; ++q) {
            const std::int64_t j = order[q];
            exact_costs(priced, points.row(j), points.weight(j), gap.data());
            const double own = gap[a] - priced.prices[a];
            bool near = false;
            for (std::int64_t b = 0; b < k; ++b) {
                gap[b] = gap[b] - priced.prices[b] - own;
                near |= gap[b] <= most[b] && b != a;
            }
            taken[j] = near;
            if (near) continue;
            for (std::int64_t b = 0; b < k; ++b) least[b] = std::min(least[b], gap[b]);
        }
        least[a] = std::numeric_limits<double>::infinity();
    });
}

}  // namespace bckm
