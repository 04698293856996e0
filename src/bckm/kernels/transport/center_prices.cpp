#include "transport/center_prices.hpp"

#include <algorithm>
#include <limits>

#include "distance/exact_costs.hpp"

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int rounds = 10;

// All arcs from each node (or to it, if reversed), including the hub.
struct Arcs {
    Arcs(const Network& net, bool reversed) : nodes(net.k + 1), length(nodes * nodes, infinity) {
        const std::int64_t hub = net.k;
        const auto put = [&](std::int64_t a, std::int64_t b, double arc) {
            length[reversed ? b * nodes + a : a * nodes + b] = arc;
        };
        for (std::int64_t a = 0; a < net.k; ++a) {
            for (std::int64_t b = 0; b < net.k; ++b) put(a, b, net.move[a * net.width + b]);
            if (net.hub_flow[a] < net.hub_capacity[a]) put(a, hub, 0.0);
            if (net.hub_flow[a] > 0) put(hub, a, 0.0);
        }
    }

    const double* from(std::int64_t v) const { return length.data() + v * nodes; }

    std::int64_t nodes;
    std::vector<double> length;
};

// How far the price of each node may rise (or fall: arcs reversed, sign -1) while that of `still`
// stays: shortest paths by reduced costs.
std::vector<double> permitted(const Arcs& arcs, const std::vector<double>& price,
                              std::int64_t still, double sign) {
    const RowLoops& loops = row_loops();
    const std::int64_t nodes = arcs.nodes;
    std::vector<double> length(nodes, infinity), signed_price(nodes), seen(nodes, 0.0),
        unused(nodes);
    std::vector<std::int64_t> from(nodes);
    for (std::int64_t v = 0; v < nodes; ++v) signed_price[v] = sign * price[v];
    length[still] = 0.0;
    for (;;) {
        const double nearest = loops.least(length.data(), seen.data(), nodes);
        if (nearest == infinity) return length;
        std::int64_t u = 0;
        while (seen[u] != 0.0 || length[u] != nearest) ++u;
        seen[u] = infinity;
        loops.relax(arcs.from(u), signed_price[u], nearest, signed_price.data(), u, nodes,
                    length.data(), from.data(), unused.data());
    }
}

}  // namespace

void center_prices(const Network& net, std::vector<double>& price) {
    const RowLoops& loops = row_loops();
    const std::int64_t k = net.k, nodes = k + 1;
    const bool free =
        std::any_of(net.hub_capacity, net.hub_capacity + k, [](std::int64_t r) { return r > 0; });
    const std::int64_t still = free ? k : 0;  // the node whose price stays
    const Arcs out(net, false), in(net, true);
    const std::vector<double> up = permitted(out, price, still, 1.0);
    const std::vector<double> down = permitted(in, price, still, -1.0);
    double most = 0.0;
    for (std::int64_t v = 0; v < nodes; ++v)
        for (const double length : {up[v], down[v]})
            if (length < infinity) most = std::max(most, length);
    for (std::int64_t v = 0; v < nodes; ++v)
        price[v] += 0.5 * (std::min(up[v], most) - std::min(down[v], most));

    // the middle of two corners may still lie on an edge: so each price is moved to the middle of
    // what the others permit, a few times
    std::vector<double> minus(nodes);
    for (std::int64_t v = 0; v < nodes; ++v) minus[v] = -price[v];
    for (int round = 0; round < rounds; ++round)
        for (std::int64_t v = 0; v < k; ++v) {
            if (v == still) continue;
            const double rise = loops.least(in.from(v), price.data(), nodes) - price[v];
            const double fall = loops.least(out.from(v), minus.data(), nodes) + price[v];
            if (!(rise < infinity && fall < infinity)) continue;
            price[v] += 0.5 * (std::max(0.0, rise) - std::max(0.0, fall));
            minus[v] = -price[v];
        }
}

}  // namespace bckm
