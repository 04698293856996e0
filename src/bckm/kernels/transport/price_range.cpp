#include "transport/price_range.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "distance/exact_costs.hpp"
#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t strip = 64;  // nodes that a thread does at once

// By shortest paths: how far each price may rise while that of `still` stays.
std::vector<double> permitted_rise(const double* length, std::int64_t nodes, std::int64_t still,
                                   const std::vector<double>& price) {
    std::vector<double> way(nodes, infinity), hidden(nodes, 0.0);
    std::vector<std::int64_t> from(nodes, still);
    way[still] = 0.0;
    Least next{0.0, still};
    while (next.at >= 0 && next.value < infinity) {
        const std::int64_t u = next.at;
        hidden[u] = infinity;
        next = row_loops().relax(length + u * nodes, price[u], next.value, price.data(),
                                 hidden.data(), u, nodes, way.data(), from.data());
    }
    return way;
}

}  // namespace

bool obeying_prices(const double* length, std::int64_t nodes, double rounding, int tries,
                    std::vector<double>& price, int threads) {
    const std::int64_t strips = (nodes + strip - 1) / strip;
    std::vector<double> lower(nodes);
    for (int round = 0; round < tries; ++round) {
        parallel(strips, threads, [&](std::int64_t s, int) {
            const std::int64_t begin = s * strip, end = std::min(nodes, begin + strip);
            std::copy(price.begin() + begin, price.begin() + end, lower.begin() + begin);
            for (std::int64_t a = 0; a < nodes; ++a)
                for (std::int64_t b = begin; b < end; ++b)
                    lower[b] = std::min(lower[b], length[a * nodes + b] + price[a]);
        });
        double fell = 0.0, largest = 0.0;
        for (std::int64_t v = 0; v < nodes; ++v) {
            fell = std::max(fell, price[v] - lower[v]);
            largest = std::max(largest, std::fabs(price[v]));
        }
        price.swap(lower);
        if (fell <= rounding * largest) return true;
    }
    return false;
}

void middle_prices(const double* length, std::int64_t nodes, std::int64_t still, int rounds,
                   std::vector<double>& price) {
    std::vector<double> entering(nodes * nodes), minus(nodes);
    for (std::int64_t a = 0; a < nodes; a += strip)
        for (std::int64_t b = 0; b < nodes; ++b)
            for (std::int64_t v = a; v < std::min(nodes, a + strip); ++v)
                entering[b * nodes + v] = length[v * nodes + b];
    for (std::int64_t v = 0; v < nodes; ++v) minus[v] = -price[v];
    const std::vector<double> up = permitted_rise(length, nodes, still, price);
    const std::vector<double> down = permitted_rise(entering.data(), nodes, still, minus);
    double most = 0.0;
    for (std::int64_t v = 0; v < nodes; ++v)
        for (const double way : {up[v], down[v]})
            if (way < infinity) most = std::max(most, way);
    for (std::int64_t v = 0; v < nodes; ++v) {
        price[v] += (std::min(up[v], most) - std::min(down[v], most)) / 2;
        minus[v] = -price[v];
    }
    // the middle of two corners may lie on an edge
    for (int round = 0; round < rounds; ++round)
        for (std::int64_t v = 0; v < nodes - 1; ++v) {
            if (v == still) continue;
            const double* in = entering.data() + v * nodes;
            const double rise = row_loops().least(in, price.data(), nodes).value - price[v];
            const double* out = length + v * nodes;
            const double fall = row_loops().least(out, minus.data(), nodes).value + price[v];
            if (!(rise < infinity && fall < infinity)) continue;
            price[v] += (std::max(rise, 0.0) - std::max(fall, 0.0)) / 2;
            minus[v] = -price[v];
        }
}

}  // namespace bckm
