// Successive shortest paths over arcs between clusters: what `settle` and `RowPaths` have in
// common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "distance/row_loops.hpp"
#include "runtime/pool.hpp"
#include "transport/center_prices.hpp"
#include "transport/dense_arcs.hpp"
#include "transport/settle.hpp"
#include "transport/short_arcs.hpp"
#include "transport/tree_search.hpp"

namespace bckm {

// The network. Nodes are the k clusters, with arcs between them, and a hub. Each cluster must
// hold its lower bound; what it holds above that is `hub_flow`, an arc to the hub at no cost, at
// most `hub_capacity` = upper - lower. `surplus` is the excess of a node. Prices are potentials:
// while cost_ab + price_a - price_b >= 0 for all arcs, every sample is in its best cluster.
template <typename Arcs> class PathFlow {
public:
    PathFlow(Arcs& arcs, const PricedCenters& priced)
        : k(priced.k), price(priced.prices, priced.prices + k), surplus(k + 1, 0), hub_flow(k, 0),
          hub_capacity(k, 0), tree(k, arcs.width), arcs(arcs), short_arcs(k) {
        price.push_back(0.0);
    }

    // The flow of labels that are best at the present prices; how many samples must go elsewhere.
    std::int64_t start_flow(const std::int64_t* units, const std::int64_t* lower,
                            const std::int64_t* upper) {
        std::fill(surplus.begin(), surplus.end(), 0);
        std::int64_t spare = 0;
        for (std::int64_t i = 0; i < k; ++i) {
            spare += units[i];
            hub_capacity[i] = upper[i] - lower[i];
            spare -= lower[i];
            // complementary slackness: a subsidized cluster holds its lower bound, a taxed one its
            // upper bound
            const std::int64_t held =
                std::clamp<std::int64_t>(units[i] - lower[i], 0, hub_capacity[i]);
            hub_flow[i] = price[i] > 0.0 ? 0 : price[i] < 0.0 ? hub_capacity[i] : held;
            surplus[i] = units[i] - lower[i] - hub_flow[i];
            surplus[k] += hub_flow[i];
        }
        surplus[k] -= spare;
        return wrong();
    }

    void find_paths(SettleResult& out, std::int64_t most_rounds,
                    const std::function<bool()>& stop) {
        while (!out.stopped && search()) {
            if (out.rounds == most_rounds) {
                out.stopped = true;
                return;
            }
            ++out.rounds;
            raise_prices();
            augment(out, stop);
        }
    }

    void center(bool exact, std::int64_t rounds, const std::function<bool()>& stop) {
        Network net = network(rounds);
        if constexpr (!dense) {
            if (exact) {
                arcs.list_members();
                net.exact_move = [this, &stop](std::int64_t a, std::int64_t b) {
                    if (stop()) throw Stopped();
                    return arcs.exact_cost_of(a, b);
                };
                net.raise_bounds = [this](std::int64_t a, std::int64_t b) {
                    return arcs.raise_limits(a, b, tree.horizon);
                };
            }
        }
        while (!center_prices(net, price)) {
        }
    }

    // The price of the hub is zero; where nothing can flow to it, prices may have any shift.
    std::vector<double> prices() const {
        const bool free = std::any_of(hub_capacity.begin(), hub_capacity.end(),
                                      [](std::int64_t r) { return r > 0; });
        double zero = price[k];
        if (!free) {
            zero = 0.0;
            for (std::int64_t i = 0; i < k; ++i) zero += price[i] / static_cast<double>(k);
        }
        std::vector<double> out(k);
        for (std::int64_t i = 0; i < k; ++i) out[i] = price[i] - zero;
        return out;
    }

    std::vector<double> least_moves(const std::vector<double>& at) const {
        std::vector<double> least(k), minus(k);
        for (std::int64_t i = 0; i < k; ++i) minus[i] = -at[i];
        for (std::int64_t a = 0; a < k; ++a)  // the arc to itself is infinite
            least[a] = loops.least(arcs.from(a), minus.data(), k).value + at[a];
        return least;
    }

    // Dijkstra from all nodes with a surplus until those with a deficit are reached, or half of
    // them where there are many clusters: far ones would raise all prices by much, and then few
    // short arcs stay short. False if there is none.
    bool search() {
        std::int64_t missing = 0;
        for (std::int64_t v = 0; v <= k; ++v) missing += surplus[v] < 0;
        if (missing == 0) return false;
        // all arcs from a node in one vectorized loop are quicker than a heap
        if (dense || k < many)
            tree.run(arcs.all(), price.data(), surplus.data(), hub_flow.data(),
                     hub_capacity.data());
        else if constexpr (!dense) search_short_arcs(missing);
        if constexpr (!dense) arcs.lowered.clear();
        return !tree.targets.empty();
    }

    void raise_prices() {
        for (std::int64_t v = 0; v <= k; ++v) price[v] += std::min(tree.distance[v], tree.horizon);
        short_arcs.prices_rose(tree.horizon);
    }

    // Now that prices are raised, all arcs of the shortest paths have reduced cost zero. One search
    // serves all paths that do not change each other's arcs; the first is always used or refined.
    void augment(SettleResult& out, const std::function<bool()>& stop) {
        out.stopped = stop();
        for (const std::int64_t target : tree.targets)
            while (!out.stopped && surplus[target] < 0 && push(target)) {
                ++out.paths;
                if (out.paths % 64 == 0) out.stopped = stop();
            }
    }

    // Samples that must go elsewhere.
    std::int64_t wrong() const {
        std::int64_t sum = 0;
        for (const std::int64_t over : surplus) sum += std::max<std::int64_t>(0, over);
        return sum;
    }

    // Where the flow is, for who moves prices.
    Network network(std::int64_t rounds) const {
        return {k,  arcs.width, arcs.all(), arcs.samples(), hub_flow.data(), hub_capacity.data(),
                {}, {},         rounds};
    }

    const std::int64_t k;
    std::vector<double> price;          // (k + 1)
    std::vector<std::int64_t> surplus;  // (k + 1)
    std::vector<std::int64_t> hub_flow, hub_capacity;
    TreeSearch tree;

private:
    static constexpr bool dense = std::is_same_v<Arcs, DenseArcs>;
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr std::int32_t none = Arcs::none;
    static constexpr std::int64_t many = 256;  // clusters, from which lists of short arcs pay off
    static constexpr double ahead = 4.0;       // arcs are listed up to so many times what is needed

    void search_short_arcs(std::int64_t missing) {
        tree.distance.assign(k + 1, infinity);
        tree.previous.assign(k + 1, none);
        tree.used.assign(k + 1, 0.0);
        tree.targets.clear();
        queue.clear();
        for (std::int64_t v = 0; v <= k; ++v)
            if (surplus[v] > 0) tree.distance[v] = 0.0;
        if (raises != arcs.raises) short_arcs.forget();
        raises = arcs.raises;
        for (const auto pair : arcs.lowered) short_arcs.add(pair);
        reached.assign(k + 1, 0);
        for (std::int64_t v = 0; v <= k; ++v)
            if (tree.distance[v] == 0.0) enqueue({0.0, v, false});
        const double length =
            ahead * tree.horizon;  // of the last search: this one is about as long
        const std::int64_t left = missing / 2;
        while (missing > left && !queue.empty()) {
            std::pop_heap(queue.begin(), queue.end());
            const Waiting next = queue.back();
            queue.pop_back();
            const std::int64_t u = next.node;
            if (reached[u] && !next.again) continue;
            tree.horizon = next.distance;
            if (next.again) {  // from here on, longer arcs matter too
                short_arcs.list(u, arcs, price, ahead * (tree.horizon - tree.distance[u]));
                leave(u);
                continue;
            }
            reached[u] = 1;
            missing -= arrive(u);
            if (u == k) continue;
            if (!(short_arcs.surely(u, price) > 0.0)) short_arcs.list(u, arcs, price, length);
            leave(u);
        }
    }

    // A node is reached: what it has to do with the hub; whether it has a deficit.
    bool arrive(std::int64_t u) {
        const std::int64_t hub = k;
        if (u == hub) {
            for (std::int64_t b = 0; b < k; ++b)
                if (hub_flow[b] > 0) relax(u, b, 0.0);
        } else if (hub_flow[u] < hub_capacity[u]) {
            relax(u, hub, 0.0);
        }
        if (surplus[u] < 0) tree.targets.push_back(u);
        return surplus[u] < 0;
    }

    void leave(std::int64_t u) {
        const double* arc = arcs.from(u);
        for (const std::int32_t b : short_arcs.from(u)) relax(u, b, arc[b]);
        const double next = tree.distance[u] + short_arcs.surely(u, price);
        if (next < infinity) enqueue({next, u, true});
    }

    void relax(std::int64_t u, std::int64_t v, double arc) {
        const double length = tree.distance[u] + std::max(0.0, arc + price[u] - price[v]);
        if (length < tree.distance[v]) {
            tree.distance[v] = length;
            tree.previous[v] = u;
            tree.used[v] = arc;
            enqueue({length, v, false});
        }
    }

    struct Waiting {
        double distance;
        std::int64_t node;
        bool again;  // the node was reached; from this distance on its longer arcs matter
        // so that the heap has the nearest first
        bool operator<(const Waiting& other) const {
            return distance != other.distance ? distance > other.distance : node > other.node;
        }
    };

    void enqueue(const Waiting& one) {
        queue.push_back(one);
        std::push_heap(queue.begin(), queue.end());
    }

    struct Hop {
        std::int64_t from, to;
        std::int32_t fragment;  // none: through the hub
    };

    bool push(std::int64_t target) {
        const std::int64_t hub = k;
        hops.clear();
        std::int64_t units = -surplus[target], v = target;
        bool known = true;
        while (tree.previous[v] != none) {
            const std::int64_t u = tree.previous[v];
            Hop hop{u, v, none};
            if (u == hub) {
                units = std::min(units, hub_flow[v]);
            } else if (v == hub) {
                units = std::min(units, hub_capacity[u] - hub_flow[u]);
            } else if constexpr (dense) {
                hop.fragment = arcs.sample(u, v);
                if (hop.fragment == none) return false;  // the sample has left
                units = 1;
            } else {
                if (arcs.cost_of(u, v) > tree.used[v]) return false;
                hop.fragment = arcs.sample(u, v);
                if (hop.fragment == none) {
                    arcs.refine(u, v, tree.horizon);
                    known = false;
                } else {
                    units = std::min(units, arcs.units_of(hop.fragment));
                }
            }
            hops.push_back(hop);
            v = u;
        }
        units = std::min(units, surplus[v]);
        if (!known || units <= 0) return false;
        surplus[v] -= units;
        surplus[target] += units;
        for (const Hop& hop : hops) {
            if (hop.from == hub) hub_flow[hop.to] -= units;
            else if (hop.to == hub) hub_flow[hop.from] += units;
            else if constexpr (dense)
                arcs.transfer(hop.fragment, static_cast<std::int32_t>(hop.to));
            else arcs.transfer(hop.fragment, static_cast<std::int32_t>(hop.to), units);
        }
        return true;
    }

    Arcs& arcs;
    ShortArcs short_arcs;
    std::int64_t raises = 0;
    const RowLoops& loops = row_loops();
    std::vector<char> reached;
    std::vector<Waiting> queue;
    std::vector<Hop> hops;
};

}  // namespace bckm
