#include "blocks/pair_scan.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "distance/exact_costs.hpp"
#include "runtime/pool.hpp"

namespace bckm {

void pair_scan(const Points& points, const PricedCenters& priced, const std::int32_t* label,
               const double* limit, double* minima, bool* taken, int threads) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::int64_t k = priced.k;
    const RowLoops& loops = row_loops();
    // by label, so that each row of minima belongs to one thread
    std::vector<std::int64_t> end(k + 1, 0), order(points.n);
    for (std::int64_t j = 0; j < points.n; ++j) ++end[label[j] + 1];
    for (std::int64_t a = 0; a < k; ++a) end[a + 1] += end[a];
    for (std::int64_t j = points.n; j-- > 0;) order[--end[label[j] + 1]] = j;
    // now end[a + 1] is where a begins
    parallel(k, threads, [&](std::int64_t a, int) {
        const std::int64_t from = end[a + 1], to = a + 2 <= k ? end[a + 2] : points.n;
        if (from == to) return;
        // the loops see costs; prices and limits are the same for all rows of a
        const double* price = priced.prices;
        std::vector<double> cost(padded(k)), shift(padded(k)), least(padded(k), infinity);
        for (std::int64_t b = 0; b < k; ++b) shift[b] = price[a] - price[b] - limit[a * k + b];
        shift[a] = infinity;
        for (std::int64_t q = from; q < to; ++q) {
            const std::int64_t j = order[q];
            exact_costs(priced, points.row(j), points.weight(j), cost.data());
            taken[j] = loops.least(cost.data(), shift.data(), k) <= cost[a];
            if (!taken[j]) loops.offer(cost.data(), cost[a], k, least.data());
        }
        least[a] = infinity;
        double* lowest = minima + a * k;
        for (std::int64_t b = 0; b < k; ++b)
            lowest[b] = std::min(lowest[b], least[b] - (price[b] - price[a]));
    });
}

}  // namespace bckm
