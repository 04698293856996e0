#include "blocks/climb.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

namespace bckm {
namespace {

constexpr int max_rounds = 200, trials = 8;
constexpr double first_damping = 1e-3, weakest = 1e-6, stronger = 8.0;
constexpr double good = 0.6, fair = 0.1;  // share of the promised rise that weakens damping; that
                                          // is accepted
constexpr double slow = 0.9;              // a step that leaves more of the wrong samples is slow

using Values = std::vector<double>;

double sides(const SizeLimits& sizes, const Values& price) {
    double sum = 0.0;
    for (std::size_t i = 0; i < price.size(); ++i)
        sum += sizes.lower[i] * std::max(price[i], 0.0) + sizes.upper[i] * std::min(price[i], 0.0);
    return sum;
}

double wrong(const Values& gradient) {
    double sum = 0.0;
    for (const double g : gradient) sum += std::fabs(g) / 2;
    return sum;
}

// Moves all prices by a constant to where the dual is largest: some cluster with room has no price.
void shift(const SizeLimits& sizes, double units, Values& price) {
    std::vector<std::size_t> loose;
    double held = 0.0;
    for (std::size_t i = 0; i < price.size(); ++i) {
        held += sizes.upper[i];
        if (!(sizes.lower[i] < sizes.upper[i])) continue;
        if (price[i] == 0.0) return;
        loose.push_back(i);
    }
    if (loose.empty()) return;
    std::stable_sort(loose.begin(), loose.end(),
                     [&](std::size_t a, std::size_t b) { return price[a] > price[b]; });
    std::size_t at = loose.back();
    for (const std::size_t i : loose) {
        held -= sizes.upper[i] - sizes.lower[i];
        if (held <= units) {
            at = i;
            break;
        }
    }
    const double zero = price[at];
    for (double& one : price) one -= zero;
}

}  // namespace

std::vector<double> lacking(const SizeLimits& sizes, const Values& units, const Values& price) {
    Values out(price.size());
    for (std::size_t i = 0; i < price.size(); ++i) {
        const double short_of = sizes.lower[i] - units[i], room = sizes.upper[i] - units[i];
        out[i] = price[i] > 0.0   ? short_of
                 : price[i] < 0.0 ? room
                                  : std::max(short_of, 0.0) + std::min(room, 0.0);
    }
    return out;
}

std::vector<double> climb(const std::function<Softened(const Values&)>& model, Softened now,
                          const SizeLimits& sizes, double target, int steps, int patience,
                          double accuracy, Values& price) {
    const auto k = static_cast<std::int64_t>(price.size());
    const double units = std::accumulate(now.units.begin(), now.units.end(), 0.0);
    double damping = first_damping, fewest = std::numeric_limits<double>::infinity();
    const auto active = std::make_unique<bool[]>(k);
    Values slope;
    for (int step = 0, stale = 0;; ++step) {
        slope = lacking(sizes, now.units, price);
        const double left = wrong(slope);
        stale = left > slow * fewest ? stale + 1 : 0;
        fewest = std::min(fewest, left);
        if (left <= target || step == steps || stale == patience) break;
        const Graph graph(now.edges, k);
        const Values degree = graph.degrees();
        const double mean =
            std::accumulate(degree.begin(), degree.end(), 0.0) / static_cast<double>(k);
        if (!(mean > 0.0) || !std::isfinite(mean)) break;
        for (std::int64_t i = 0; i < k; ++i)
            active[i] = slope[i] != 0.0 || price[i] != 0.0 || sizes.lower[i] == sizes.upper[i];
        bool risen = false;
        for (int trial = 0; trial < trials && !risen; ++trial) {
            Values diagonal(degree);
            for (double& d : diagonal) d += damping * (d + mean);
            const Values x =
                solve_laplacian(graph, diagonal, slope.data(), active.get(), accuracy, max_rounds);
            Values there(price);
            for (std::int64_t i = 0; i < k;
                 ++i) {  // no price jumps over zero, where the dual bends
                const double side = price[i] != 0.0 ? price[i] : slope[i];
                there[i] += x[i];
                if (there[i] * side < 0.0 && sizes.lower[i] < sizes.upper[i]) there[i] = 0.0;
            }
            shift(sizes, units, there);
            double promised = 0.0;
            for (std::int64_t i = 0; i < k; ++i) {
                const double way = there[i] - price[i];
                double pull = degree[i] * way;
                for (std::size_t e = graph.begin[i]; e < graph.begin[i + 1]; ++e)
                    pull -= graph.weight[e] * (there[graph.node[e]] - price[graph.node[e]]);
                promised += way * slope[i] - way * pull / 2;
            }
            Softened after = model(there);
            const double rise = after.value - now.value + sides(sizes, there) - sides(sizes, price);
            risen = rise > std::max(fair * promised, 0.0);
            if (risen) {
                if (rise > good * promised) damping = std::max(damping / stronger, weakest);
                price = std::move(there);
                now = std::move(after);
            } else {
                damping *= stronger;
            }
        }
        if (!risen) break;
    }
    return slope;
}

}  // namespace bckm
