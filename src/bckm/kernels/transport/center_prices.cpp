#include "transport/center_prices.hpp"

#include <algorithm>
#include <limits>

#include "distance/exact_costs.hpp"

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t fewest_rounds = 2, round_work = 2000000;
constexpr double rounding = 1e-12;  // of the range of prices

// All arcs between nodes, including the hub, by where they begin and by where they end.
class AllArcs {
public:
    explicit AllArcs(const Network& net)
        : nodes(padded(net.k + 1)), net(net), leaving(nodes * nodes, infinity),
          entering(nodes * nodes), exact(nodes * nodes, 1) {
        const std::int64_t hub = net.k;
        for (std::int64_t a = 0; a < net.k; ++a) {
            const double* move = net.move + a * net.width;
            std::copy(move, move + net.k, leaving.data() + a * nodes);
            if (net.hub_flow[a] < net.hub_capacity[a]) leaving[a * nodes + hub] = 0.0;
            if (net.hub_flow[a] > 0) leaving[hub * nodes + a] = 0.0;
            if (!net.exact_move) continue;
            for (std::int64_t b = 0; b < net.k; ++b)
                exact[a * nodes + b] = a == b || net.top[a * net.width + b] >= 0;
        }
        for (std::int64_t from = 0; from < nodes; from += 8)  // whole lines are written
            for (std::int64_t b = 0; b < nodes; ++b)
                for (std::int64_t a = from; a < from + 8; ++a)
                    entering[b * nodes + a] = leaving[a * nodes + b];
    }

    const double* from(std::int64_t v) const { return leaving.data() + v * nodes; }
    const double* to(std::int64_t v) const { return entering.data() + v * nodes; }

    // Whether the bound of an arc was too weak, so that all have been raised.
    bool raised(std::int64_t a, std::int64_t b) const {
        return !exact[a * nodes + b] && net.raise_bounds(a, b);
    }

    // Replaces a bound by the move itself; false if it was no bound.
    bool tighten(std::int64_t a, std::int64_t b) {
        if (exact[a * nodes + b]) return false;
        exact[a * nodes + b] = 1;
        leaving[a * nodes + b] = entering[b * nodes + a] = net.exact_move(a, b);
        return true;
    }

    const std::int64_t nodes;  // in whole registers: no arcs lead to or from those beyond the hub

private:
    const Network& net;
    Lines<double> leaving, entering;
    std::vector<char> exact;
};

// How far the price of each node may rise (or fall) while that of `still` stays: shortest paths by
// reduced costs. A node is reached once the last arc to it is exact. Nothing if bounds were raised.
Lines<double> permitted(AllArcs& arcs, const std::vector<double>& price, std::int64_t still,
                        bool falling) {
    const RowLoops& loops = row_loops();
    const std::int64_t nodes = arcs.nodes;
    Lines<double> length(nodes, infinity), signed_price(nodes, 0.0), seen(nodes, 0.0);
    Lines<std::int64_t> from(nodes, still);
    for (std::size_t v = 0; v < price.size(); ++v) signed_price[v] = falling ? -price[v] : price[v];
    length[still] = 0.0;
    Least next{0.0, still};
    while (next.value < infinity) {
        const std::int64_t u = next.at;
        const std::int64_t tail = falling ? u : from[u], head = falling ? from[u] : u;
        if (u != still && arcs.raised(tail, head)) return {};
        if (u != still && arcs.tighten(tail, head)) {
            const double* last = falling ? arcs.from(u) : arcs.to(u);
            length[u] = infinity;
            for (std::int64_t v = 0; v < nodes; ++v) {
                if (seen[v] == 0.0) continue;
                const double whole =
                    length[v] + std::max(0.0, last[v] + signed_price[v] - signed_price[u]);
                if (whole < length[u]) {
                    length[u] = whole;
                    from[u] = v;
                }
            }
            next = loops.least(length.data(), seen.data(), nodes);
            continue;
        }
        seen[u] = infinity;
        next = loops.relax(falling ? arcs.to(u) : arcs.from(u), signed_price[u], next.value,
                           signed_price.data(), seen.data(), u, nodes, length.data(), from.data());
    }
    return length;
}

// The least of value[w] + shift[w] over nodes, once the arc that it belongs to is exact.
template <typename Tighten>
double least_exact(const double* value, const std::vector<double>& shift, const Tighten& tighten) {
    const auto nodes = static_cast<std::int64_t>(shift.size());
    for (;;) {
        const Least least = row_loops().least(value, shift.data(), nodes);
        if (least.at < 0 || !tighten(least.at)) return least.value;
    }
}

// The node whose price stays.
std::int64_t still_of(const Network& net) {
    const bool free = std::any_of(net.hub_capacity, net.hub_capacity + net.k,
                                  [](std::int64_t room) { return room > 0; });
    return free ? net.k : 0;
}

// Moves each price to the middle of what the others permit, a few times.
void to_middles(AllArcs& arcs, std::int64_t most_rounds, std::int64_t still,
                std::vector<double>& price) {
    const auto nodes = static_cast<std::int64_t>(price.size());
    std::vector<double> minus(nodes);
    for (std::int64_t v = 0; v < nodes; ++v) minus[v] = -price[v];
    const std::int64_t rounds =
        std::clamp<std::int64_t>(round_work / (nodes * nodes), fewest_rounds, most_rounds);
    for (std::int64_t round = 0; round < rounds; ++round)
        for (std::int64_t v = 0; v + 1 < nodes; ++v) {
            if (v == still) continue;
            const double rise =
                least_exact(arcs.to(v), price, [&](std::int64_t a) { return arcs.tighten(a, v); }) -
                price[v];
            const double fall = least_exact(arcs.from(v), minus,
                                            [&](std::int64_t b) { return arcs.tighten(v, b); }) +
                                price[v];
            if (!(rise < infinity && fall < infinity)) continue;
            price[v] += 0.5 * (std::max(0.0, rise) - std::max(0.0, fall));
            minus[v] = -price[v];
        }
}

}  // namespace

bool center_prices(const Network& net, std::vector<double>& price, double* room) {
    const std::int64_t nodes = net.k + 1, still = still_of(net);
    AllArcs arcs(net);
    const Lines<double> up = permitted(arcs, price, still, false);
    if (up.empty()) return false;
    const Lines<double> down = permitted(arcs, price, still, true);
    if (down.empty()) return false;
    double most = 0.0;
    for (std::int64_t v = 0; v < nodes; ++v)
        for (const double length : {up[v], down[v]})
            if (length < infinity) most = std::max(most, length);
    for (std::int64_t v = 0; v < nodes; ++v)
        price[v] += 0.5 * (std::min(up[v], most) - std::min(down[v], most));

    if (room) {
        const auto [least, largest] = std::minmax_element(price.begin(), price.end());
        const double none = rounding * (*largest - *least);  // the price is fixed
        *room = infinity;
        for (std::int64_t v = 0; v < nodes; ++v)
            if (up[v] + down[v] > none) *room = std::min(*room, (up[v] + down[v]) / 2);
    }

    // the middle of two corners may still lie on an edge
    to_middles(arcs, net.rounds, still, price);
    return true;
}

}  // namespace bckm
