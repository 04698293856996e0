#include "blocks/pair_scan.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "distance/exact_costs.hpp"
#include "runtime/pool.hpp"

namespace bckm {

void pair_scan(const Points& points, const PricedCenters& priced, const std::int32_t* label,
               const double* limit, double* minima, bool* taken, int threads) {
    constexpr std::int64_t batch = 8;  // rows for which the centers are read together
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
        std::vector<double> costs(batch * padded(k)), shift(k), least(k, infinity);
        for (std::int64_t b = 0; b < k; ++b) shift[b] = price[a] - price[b] - limit[a * k + b];
        shift[a] = infinity;
        for (std::int64_t q = from; q < to; q += batch) {
            const std::int64_t rows = std::min(to - q, batch);
            exact_costs(priced, points, order.data() + q, rows, costs.data());
            for (std::int64_t r = 0; r < rows; ++r) {
                const double* cost = costs.data() + r * padded(k);
                const double own = cost[a];
                const bool near = loops.least(cost, shift.data(), k) <= own;
                taken[order[q + r]] = near;
                if (near) continue;
                for (std::int64_t b = 0; b < k; ++b) {
                    const double more = cost[b] - own;
                    least[b] = more < least[b] ? more : least[b];
                }
            }
        }
        least[a] = infinity;
        double* lowest = minima + a * k;
        for (std::int64_t b = 0; b < k; ++b)
            lowest[b] = std::min(lowest[b], least[b] - (price[b] - price[a]));
    });
}

}  // namespace bckm
