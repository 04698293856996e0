#include "blocks/cheapest_moves.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "distance/exact_costs.hpp"
#include "runtime/pool.hpp"

namespace bckm {

void cheapest_moves(const Points& points, const PricedCenters& priced, const std::int64_t* which,
                    const std::int64_t* cluster, std::int64_t count, double* move, int threads) {
    constexpr std::int64_t together = 16;  // points whose costs are computed at once
    const std::int64_t k = priced.k, width = padded(k);
    std::vector<std::int64_t> begin(k + 1, 0), member(count);
    for (std::int64_t i = 0; i < count; ++i) ++begin[cluster[i] + 1];
    for (std::int64_t a = 0; a < k; ++a) begin[a + 1] += begin[a];
    std::vector<std::int64_t> place(begin.begin(), begin.end() - 1);
    for (std::int64_t i = 0; i < count; ++i) member[place[cluster[i]]++] = which[i];
    threads = static_cast<int>(std::clamp<std::int64_t>(threads, 1, k));
    std::vector<std::vector<double>> scratch(threads, std::vector<double>(together * width));
    parallel(k, threads, [&](std::int64_t a, int worker) {
        double *least = move + a * k, *cost = scratch[worker].data();
        std::fill_n(least, k, std::numeric_limits<double>::infinity());
        for (std::int64_t from = begin[a]; from < begin[a + 1]; from += together) {
            const std::int64_t some = std::min(together, begin[a + 1] - from);
            exact_costs(priced, points, member.data() + from, some, cost);
            for (std::int64_t r = 0; r < some; ++r) {
                const double* row = cost + r * width;
                const double own = row[a];
                for (std::int64_t b = 0; b < k; ++b) least[b] = std::min(least[b], row[b] - own);
            }
        }
    });
}

}  // namespace bckm
