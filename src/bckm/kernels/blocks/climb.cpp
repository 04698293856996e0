// Newton's method on the softened dual of listed points, damped (Levenberg, Marquardt).
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "blocks/row_lists.hpp"
#include "runtime/pool.hpp"
#include "transport/laplacian.hpp"

namespace bckm {
namespace {

constexpr std::int64_t chunk_size = 2048;
constexpr double widest = 12.0;       // temperatures above the least value that still count
constexpr double least_share = 1e-3;  // of a sample, for an edge
constexpr double accuracy = 1e-3;     // of a step
constexpr int max_rounds = 200, trials = 8;
constexpr double first_damping = 1e-3, weakest = 1e-6, stronger = 8.0;
constexpr double good = 0.6, fair = 0.1;  // share of the promised rise that weakens damping; that
                                          // is accepted
constexpr double slow = 0.9;              // a step that leaves more of the wrong samples is slow
constexpr int patience = 3;

using Values = std::vector<double>;

double sides(const RowLists::Sizes& sizes, const Values& price) {
    double sum = 0.0;
    for (std::size_t i = 0; i < price.size(); ++i)
        sum += sizes.lower[i] * std::max(price[i], 0.0) + sizes.upper[i] * std::min(price[i], 0.0);
    return sum;
}

// Of the dual; where a price is zero, the smallest subgradient.
Values gradient(const RowLists::Sizes& sizes, const Values& units, const Values& price) {
    Values out(price.size());
    for (std::size_t i = 0; i < price.size(); ++i) {
        const double lacking = sizes.lower[i] - units[i], room = sizes.upper[i] - units[i];
        out[i] = price[i] > 0.0   ? lacking
                 : price[i] < 0.0 ? room
                                  : std::max(lacking, 0.0) + std::min(room, 0.0);
    }
    return out;
}

double wrong(const Values& gradient) {
    double sum = 0.0;
    for (const double g : gradient) sum += std::fabs(g) / 2;
    return sum;
}

// Moves all prices by a constant to where the dual is largest: some cluster with room has no price.
void shift(const RowLists::Sizes& sizes, double units, Values& price) {
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

struct RowLists::Soft {
    double value = 0.0;
    Values shared;
    std::vector<Edge> edges;
};

RowLists::Soft RowLists::soften(const Points& points, const float* temperature,
                                const Values& prices, int threads) const {
    const std::int64_t n = size();
    const std::int64_t chunks = (n + chunk_size - 1) / chunk_size;
    std::vector<Soft> part(chunks);
    parallel(chunks, threads, [&](std::int64_t chunk, int) {
        Soft& out = part[chunk];
        out.shared.assign(k, 0.0);
        const std::int64_t end = std::min(n, (chunk + 1) * chunk_size);
        for (std::int64_t j = chunk * chunk_size; j < end; ++j) {
            const std::int32_t* here = cluster.data() + j * most;
            double value[most], least = std::numeric_limits<double>::infinity();
            for (int q = 0; q < count[j]; ++q) {
                value[q] = cost[j * most + q] - prices[here[q]];
                least = std::min(least, value[q]);
            }
            const double heat = temperature[j], limit = least + widest * heat;
            const auto units = static_cast<double>(points.units(j));
            int near[most], number = 0;
            for (int q = 0; q < count[j]; ++q)
                if (value[q] < limit || value[q] == least) near[number++] = q;
            out.value += units * least;
            if (number == 1) {
                out.shared[here[near[0]]] += units;
                continue;
            }
            double share[most], sum = 0.0;
            for (int q = 0; q < number; ++q) {
                const double far = value[near[q]] - least;
                share[q] = far > 0.0 ? std::exp(-far / heat) : 1.0;
                sum += share[q];
            }
            out.value -= units * heat * std::log(sum);
            for (int q = 0; q < number; ++q) {
                share[q] /= sum;
                out.shared[here[near[q]]] += units * share[q];
                if (share[q] < least_share) continue;
                for (int s = 0; s < q; ++s)
                    if (share[s] >= least_share)
                        out.edges.push_back(
                            {here[near[q]], here[near[s]], units * share[q] * share[s] / heat});
            }
        }
    });
    Soft all;
    all.shared.assign(k, 0.0);
    for (const Soft& one : part) {  // in the order of chunks, whatever the threads
        all.value += one.value;
        for (std::int64_t i = 0; i < k; ++i) all.shared[i] += one.shared[i];
        all.edges.insert(all.edges.end(), one.edges.begin(), one.edges.end());
    }
    return all;
}

std::vector<double> RowLists::climb(const Points& points, const float* temperature, Sizes sizes,
                                    double target, int steps, Values& price, int threads) const {
    Soft now = soften(points, temperature, price, threads);
    for (std::int64_t i = 0; i < k; ++i) {
        sizes.lower[i] += now.shared[i] - sizes.units[i];
        sizes.upper[i] += now.shared[i] - sizes.units[i];
    }
    const double units = std::accumulate(now.shared.begin(), now.shared.end(), 0.0);
    double damping = first_damping, fewest = std::numeric_limits<double>::infinity();
    const auto active = std::make_unique<bool[]>(k);
    Values slope;
    for (int step = 0, stale = 0;; ++step) {
        slope = gradient(sizes, now.shared, price);
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
            Soft after = soften(points, temperature, there, threads);
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
