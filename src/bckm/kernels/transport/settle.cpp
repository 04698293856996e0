#include "transport/settle.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "distance/exact_costs.hpp"
#include "runtime/pool.hpp"
#include "transport/center_prices.hpp"
#include "transport/pair_bounds.hpp"

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t none = -1;  // no fragment: the move is virtual or does not exist

// Samples of one explicit point that are in one cluster. Most points have one fragment; a point of
// several samples may be split.
struct Fragment {
    std::int32_t row;  // of the explicit point
    std::int32_t cluster;
    std::int64_t units;
    std::int32_t place;    // in the list of its cluster
    std::int32_t sibling;  // next fragment of the same point
};

// The network. Nodes are the k clusters and a hub. Moving a sample of cost c from cluster a to b is
// an arc of cost c_b - c_a; the arc (a, b) is that of the cheapest sample in a. Each cluster must
// hold its lower bound; what it holds above that is `hub_flow`, an arc to the hub at no cost, at
// most `hub_capacity` = upper - lower. `surplus` is the excess of a node. Prices are potentials:
// while move[a][b] + price_a - price_b >= 0 for all arcs, every sample is in its best cluster.
class Settle {
public:
    Settle(const Points& points, const PricedCenters& priced, std::int32_t* label,
           const float* slack, int threads)
        : points(points), priced(priced), label(label), slack(slack), threads(threads),
          loops(row_loops()), k(priced.k), width(padded(k)), move(k * width, infinity),
          top(k * width, none), member(k), price(priced.prices, priced.prices + k),
          surplus(k + 1, 0), hub_flow(k, 0), hub_capacity(k, 0), state(points.n, implicit),
          near_points(k), near_move(k * width, infinity) {
        price.push_back(0.0);
    }

    SettleResult run(const std::int64_t* units, const std::int64_t* lower,
                     const std::int64_t* upper, std::int64_t budget,
                     const std::function<bool()>& stop) {
        SettleResult out;
        start_flow(units, lower, upper);
        try {
            if (std::any_of(surplus.begin(), surplus.end(),
                            [](std::int64_t e) { return e != 0; })) {
                add_first_rows(budget);
                while (!out.stopped && search()) {
                    ++out.rounds;
                    raise_prices();
                    augment(out, stop);
                }
            }
        } catch (const Stopped&) {
            out.stopped = true;
        }
        finish(out);
        return out;
    }

private:
    void start_flow(const std::int64_t* units, const std::int64_t* lower,
                    const std::int64_t* upper) {
        std::int64_t spare = 0;
        for (std::int64_t i = 0; i < k; ++i) {
            spare += units[i];
            hub_capacity[i] = upper[i] - lower[i];
            spare -= lower[i];
            // complementary slackness: a subsidized cluster holds its lower bound, a taxed one its
            // upper bound
            const std::int64_t load_penalty =
                std::clamp<std::int64_t>(units[i] - lower[i], 0, hub_capacity[i]);
            hub_flow[i] = price[i] > 0.0 ? 0 : price[i] < 0.0 ? hub_capacity[i] : load_penalty;
            surplus[i] = units[i] - lower[i] - hub_flow[i];
            surplus[k] += hub_flow[i];
        }
        surplus[k] -= spare;
    }

    // --- explicit points ------------------------------------------------------------------------

    void add_first_rows(std::int64_t budget) {
        far_slack = quantile(budget);
        extend_pool(quantile(16 * budget));
        std::vector<std::int64_t> chosen;
        const auto most = static_cast<std::size_t>(2 * budget);  // ties may make it many more
        for (const std::int64_t j : pool)
            if (slack[j] <= far_slack && chosen.size() < most) {
                chosen.push_back(j);
                state[j] = known;
            }
        for (const std::int64_t j : pool)
            if (state[j] == implicit) far_slack = std::min<double>(far_slack, slack[j]);
        add_rows(chosen);
        for (std::int64_t a = 0; a < k; ++a) rebuild(a);
    }

    // The slack below which about `count` points lie, estimated from a part of them.
    double quantile(std::int64_t count) const {
        const std::int64_t skip = std::max<std::int64_t>(1, points.n / 20000);
        const std::int64_t rank = count / skip;
        if (rank >= (points.n + skip - 1) / skip) return infinity;
        std::vector<float> some;
        for (std::int64_t j = 0; j < points.n; j += skip) some.push_back(slack[j]);
        std::nth_element(some.begin(), some.begin() + rank, some.end());
        return some[rank];
    }

    // Adds the points with a slack of up to `most` to the pool.
    void extend_pool(double most) {
        constexpr std::int64_t chunk_size = 1 << 16;
        const std::int64_t chunks = (points.n + chunk_size - 1) / chunk_size;
        std::vector<std::vector<std::int64_t>> found(chunks);
        const auto above = static_cast<float>(pooled), up_to = static_cast<float>(most);
        parallel(chunks, threads, [&](std::int64_t chunk, int) {
            const std::int64_t from = chunk * chunk_size;
            const std::int64_t to = std::min(points.n, from + chunk_size);
            std::vector<std::int64_t> mine(to - from + 1);
            std::int64_t count = 0;
            for (std::int64_t j = from; j < to; ++j) {  // no branches: this runs over all points
                mine[count] = j;
                count += (slack[j] > above) & (slack[j] <= up_to);
            }
            found[chunk].assign(mine.begin(), mine.begin() + count);
        });
        for (const auto& part : found) pool.insert(pool.end(), part.begin(), part.end());
        pooled = up_to;
    }

    void add_rows(const std::vector<std::int64_t>& chosen) {
        const auto count = static_cast<std::int64_t>(chosen.size()), from = rows();
        cost.resize((from + count) * width);
        row_point.insert(row_point.end(), chosen.begin(), chosen.end());
        first_fragment.resize(from + count, none);
        constexpr std::int64_t batch = 64;
        parallel((count + batch - 1) / batch, threads, [&](std::int64_t chunk, int) {
            const std::int64_t to = std::min(count, (chunk + 1) * batch);
            for (std::int64_t r = chunk * batch; r < to; ++r)
                exact_costs(priced, points.row(chosen[r]), points.weight(chosen[r]),
                            cost.data() + (from + r) * width);
        });
        for (std::int64_t r = 0; r < count; ++r)
            add_fragment(static_cast<std::int32_t>(from + r), label[chosen[r]],
                         points.units(chosen[r]));
    }

    std::int64_t rows() const { return static_cast<std::int64_t>(row_point.size()); }

    // A path would move an implicit sample from a to b.
    void refine(std::int64_t a, std::int64_t b) {
        if (far_move(a, b) < near_move[a * width + b]) bound_more_points();
        else add_near_rows(a, b);
    }

    // The slack of a point is a weak bound on its moves to far clusters. Points with less slack
    // than some multiple of the longest path so far get a bound for each cluster.
    void bound_more_points() {
        double most = std::max(8.0 * horizon, 3.0 * far_slack);
        if (!(most > 0.0)) most = infinity;
        if (most > pooled) extend_pool(std::max(most, 4.0 * pooled));
        ByCluster fresh(k);
        std::vector<double> bounds(k * width, infinity);
        // no bound may decrease: the prices rely on the higher ones
        std::vector<double> before(k * width);
        for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = 0; b < k; ++b) before[a * width + b] = far_move(a, b);
        for (const std::int64_t j : pool)
            if (state[j] == implicit && slack[j] <= most) {
                fresh[label[j]].push_back(j);
                state[j] = near;
            }
        far_slack = most;
        lower_pair_bounds(points, priced, fresh, bounds.data(), threads);
        for (std::int64_t a = 0; a < k; ++a) {
            for (std::int64_t i = a * width; i < a * width + k; ++i)
                near_move[i] = std::min(near_move[i], std::max(bounds[i], before[i]));
            near_points[a].insert(near_points[a].end(), fresh[a].begin(), fresh[a].end());
            rebuild(a);
        }
    }

    // Of the points of a that have such bounds, those that b costs least become explicit.
    void add_near_rows(std::int64_t a, std::int64_t b) {
        std::vector<std::int64_t>& listed = near_points[a];
        const auto size = static_cast<std::int64_t>(listed.size());
        const std::int64_t count = std::min<std::int64_t>(size, 32);
        const std::vector<double> key = move_bounds(listed, a, b);
        std::vector<std::int64_t> order(size);
        std::iota(order.begin(), order.end(), std::int64_t{0});
        const auto less = [&key](std::int64_t p, std::int64_t q) {
            return key[p] != key[q] ? key[p] < key[q] : p < q;
        };
        double& rest = near_move[a * width + b];
        rest = infinity;
        if (count < size) {
            std::nth_element(order.begin(), order.begin() + count, order.end(), less);
            rest = key[order[count]];
        }
        order.resize(count);
        std::sort(order.begin(), order.end(), std::greater<>());  // so that places stay valid
        std::vector<std::int64_t> chosen;
        for (const std::int64_t place : order) {
            chosen.push_back(listed[place]);
            listed[place] = listed.back();
            listed.pop_back();
        }
        const std::size_t before = member[a].size();
        add_rows(chosen);
        for (std::size_t q = before; q < member[a].size(); ++q) offer(member[a][q]);
        recompute(a, b);
    }

    // Lower bounds on moving points from a to b, up to the rounding of the costs.
    std::vector<double> move_bounds(const std::vector<std::int64_t>& listed, std::int64_t a,
                                    std::int64_t b) const {
        const auto count = static_cast<std::int64_t>(listed.size());
        const double *ca = priced.centers + a * priced.dims, *cb = priced.centers + b * priced.dims;
        // |x - cb|^2 - |x - ca|^2 = (cb - ca) ((cb - x) + (ca - x))
        std::vector<double> key(count);
        constexpr std::int64_t batch = 1024;
        parallel((count + batch - 1) / batch, threads, [&](std::int64_t chunk, int) {
            const std::int64_t to = std::min(count, (chunk + 1) * batch);
            for (std::int64_t q = chunk * batch; q < to; ++q) {
                const double* x = points.row(listed[q]);
                double sum = 0.0, size = 0.0;
                for (std::int64_t t = 0; t < priced.dims; ++t) {
                    const double term = (cb[t] - ca[t]) * ((cb[t] - x[t]) + (ca[t] - x[t]));
                    sum += term;
                    size += std::fabs(term);
                }
                const double rounding = 2.3e-16 * (static_cast<double>(priced.dims) + 4.0) * size;
                key[q] = points.weight(listed[q]) * (sum - rounding);
            }
        });
        return key;
    }

    // --- fragments and arcs ---------------------------------------------------------------------

    std::int32_t add_fragment(std::int32_t row, std::int32_t cluster, std::int64_t units) {
        std::int32_t f;
        if (free_fragments.empty()) {
            f = static_cast<std::int32_t>(fragment.size());
            fragment.emplace_back();
        } else {
            f = free_fragments.back();
            free_fragments.pop_back();
        }
        fragment[f] = {row, cluster, units, static_cast<std::int32_t>(member[cluster].size()),
                       first_fragment[row]};
        first_fragment[row] = f;
        member[cluster].push_back(f);
        return f;
    }

    void drop_fragment(std::int32_t f) {
        const Fragment gone = fragment[f];
        std::int32_t* link = &first_fragment[gone.row];
        while (*link != f) link = &fragment[*link].sibling;
        *link = gone.sibling;
        auto& list = member[gone.cluster];
        list[gone.place] = list.back();
        fragment[list.back()].place = gone.place;
        list.pop_back();
        free_fragments.push_back(f);
    }

    const double* costs(std::int32_t f) const { return cost.data() + fragment[f].row * width; }

    // Labels are best in float64: a slack below zero is rounding.
    double far_move(std::int64_t a, std::int64_t b) const {
        return std::max(0.0, far_slack) + (priced.prices[b] - priced.prices[a]);
    }

    // A lower bound on moving a sample that is not explicit from a to b.
    double virtual_move(std::int64_t a, std::int64_t b) const {
        return std::min(near_move[a * width + b], far_move(a, b));
    }

    void rebuild(std::int64_t a) {
        for (std::int64_t b = 0; b < k; ++b) {
            move[a * width + b] = b == a ? infinity : virtual_move(a, b);
            top[a * width + b] = none;
        }
        for (const std::int32_t f : member[a]) offer(f);
    }

    // Makes a fragment the sample of the arcs of its cluster where it is cheapest.
    void offer(std::int32_t f) {
        const std::int64_t a = fragment[f].cluster;
        double* m = move.data() + a * width;
        std::int64_t* t = top.data() + a * width;
        const double kept = m[a];
        loops.offer(costs(f), costs(f)[a], f, k, m, t);
        m[a] = kept;
        t[a] = none;
    }

    void withdraw(std::int32_t f) {
        const std::int64_t a = fragment[f].cluster;
        drop_fragment(f);
        for (std::int64_t b = 0; b < k; ++b)
            if (top[a * width + b] == f) recompute(a, b);
    }

    void recompute(std::int64_t a, std::int64_t b) {
        double least = virtual_move(a, b);
        std::int32_t best = none;
        for (const std::int32_t f : member[a]) {
            const double change = costs(f)[b] - costs(f)[a];
            if (change < least) {
                least = change;
                best = f;
            }
        }
        move[a * width + b] = least;
        top[a * width + b] = best;
    }

    void transfer(std::int32_t f, std::int32_t to, std::int64_t units) {
        const std::int32_t row = fragment[f].row;
        fragment[f].units -= units;
        if (fragment[f].units == 0) withdraw(f);
        std::int32_t there = first_fragment[row];
        while (there != none && fragment[there].cluster != to) there = fragment[there].sibling;
        if (there != none) fragment[there].units += units;
        else offer(add_fragment(row, to, units));
    }

    // --- shortest paths -------------------------------------------------------------------------

    // Dijkstra from all nodes with a surplus until all nodes with a deficit are reached. False if
    // there is none.
    bool search() {
        const std::int64_t hub = k;
        distance.assign(width + 8, infinity);
        hidden.assign(k + 1, 0.0);
        previous.assign(k + 1, none);
        used.assign(k + 1, 0.0);
        deficits.clear();
        std::int64_t missing = 0;
        for (std::int64_t v = 0; v <= k; ++v) {
            if (surplus[v] > 0) distance[v] = 0.0;
            missing += surplus[v] < 0;
        }
        if (missing == 0) return false;
        while (missing > 0) {
            // `hidden` excludes the nodes that were reached
            const double nearest = loops.least(distance.data(), hidden.data(), k + 1);
            if (nearest == infinity) break;  // cannot happen while the bounds admit all samples
            std::int64_t u = 0;
            while (hidden[u] != 0.0 || distance[u] != nearest) ++u;
            hidden[u] = infinity;
            horizon = nearest;
            if (surplus[u] < 0) {
                deficits.push_back(u);
                --missing;
            }
            if (u == hub) {
                for (std::int64_t b = 0; b < k; ++b)
                    if (hub_flow[b] > 0) relax(u, b, 0.0);
            } else {
                // a node that was reached keeps its distance: lengths never fall below it
                loops.relax(move.data() + u * width, price[u], distance[u], price.data(), u, k,
                            distance.data(), previous.data(), used.data());
                if (hub_flow[u] < hub_capacity[u]) relax(u, hub, 0.0);
            }
        }
        return !deficits.empty();
    }

    void relax(std::int64_t u, std::int64_t v, double arc) {
        const double length = distance[u] + std::max(0.0, arc + price[u] - price[v]);
        if (length < distance[v]) {
            distance[v] = length;
            previous[v] = u;
            used[v] = arc;
        }
    }

    void raise_prices() {
        for (std::int64_t v = 0; v <= k; ++v) price[v] += std::min(distance[v], horizon);
    }

    // Now that prices are raised, all arcs of the shortest paths have reduced cost zero. One search
    // serves all paths that do not change each other's arcs; the first is always used or refined.
    void augment(SettleResult& out, const std::function<bool()>& stop) {
        out.stopped = stop();
        for (const std::int64_t target : deficits)
            while (!out.stopped && surplus[target] < 0 && push(target)) {
                ++out.paths;
                if (out.paths % 64 == 0) out.stopped = stop();
            }
    }

    struct Hop {
        std::int64_t from, to;
        std::int32_t fragment;  // none: through the hub
    };

    bool push(std::int64_t target) {
        const std::int64_t hub = k;
        hops.clear();
        std::int64_t units = -surplus[target], v = target;
        while (previous[v] != none) {
            const std::int64_t u = previous[v];
            Hop hop{u, v, none};
            if (u == hub) {
                units = std::min(units, hub_flow[v]);
            } else if (v == hub) {
                units = std::min(units, hub_capacity[u] - hub_flow[u]);
            } else {
                if (move[u * width + v] > used[v]) return false;  // the sample has left
                hop.fragment = static_cast<std::int32_t>(top[u * width + v]);
                if (hop.fragment == none) {
                    refine(u, v);
                    return false;
                }
                units = std::min(units, fragment[hop.fragment].units);
            }
            hops.push_back(hop);
            v = u;
        }
        units = std::min(units, surplus[v]);
        if (units <= 0) return false;
        surplus[v] -= units;
        surplus[target] += units;
        for (const Hop& hop : hops) {
            if (hop.from == hub) hub_flow[hop.to] -= units;
            else if (hop.to == hub) hub_flow[hop.from] += units;
            else transfer(hop.fragment, static_cast<std::int32_t>(hop.to), units);
        }
        return true;
    }

    void finish(SettleResult& out) {
        if (!out.stopped && rows() > 0)
            center_prices({k, width, move.data(), hub_flow.data(), hub_capacity.data()}, price);
        // the price of the hub is zero; where nothing can flow to it, prices may have any shift
        const bool free = std::any_of(hub_capacity.begin(), hub_capacity.end(),
                                      [](std::int64_t r) { return r > 0; });
        double zero = price[k];
        if (!free) {
            zero = 0.0;
            for (std::int64_t i = 0; i < k; ++i) zero += price[i] / static_cast<double>(k);
        }
        for (std::int64_t i = 0; i < k; ++i) out.prices.push_back(price[i] - zero);
        out.rows = rows();
        if (out.stopped) return;
        for (std::int64_t r = 0; r < rows(); ++r) {
            std::int32_t largest = first_fragment[r];
            for (std::int32_t f = largest; f != none; f = fragment[f].sibling)
                if (fragment[f].units > fragment[largest].units) largest = f;
            label[row_point[r]] = fragment[largest].cluster;
            for (std::int32_t f = first_fragment[r]; f != none; f = fragment[f].sibling)
                if (f != largest) {
                    out.split_point.push_back(row_point[r]);
                    out.split_cluster.push_back(fragment[f].cluster);
                    out.split_units.push_back(fragment[f].units);
                }
        }
    }

    const Points& points;
    const PricedCenters& priced;
    std::int32_t* label;
    const float* slack;
    int threads;
    const RowLoops& loops;
    std::int64_t k, width;

    std::vector<double> move;       // (k, width): cheapest move, or a bound below it
    std::vector<std::int64_t> top;  // (k, width): its fragment
    std::vector<std::vector<std::int32_t>> member;  // fragments in each cluster
    std::vector<double> price;                      // (k + 1)
    std::vector<std::int64_t> surplus;              // (k + 1)
    std::vector<std::int64_t> hub_flow, hub_capacity;

    // Of an `implicit` point only the slack is known; a `near` point has bounds on its moves and
    // may become explicit later; a `known` point is explicit from the start.
    enum State : char { implicit, near, known };
    std::vector<State> state;
    double far_slack = infinity;  // all implicit points have at least so much
    std::vector<std::int64_t>
        pool;                   // points with little slack, among them all that are not implicit
    double pooled = -infinity;  // the slack up to which points are in the pool
    ByCluster near_points;
    std::vector<double> near_move;  // (k, width): bounds on the moves of near points
    std::vector<double> cost;       // (rows, width)
    std::vector<std::int64_t> row_point;
    std::vector<std::int32_t> first_fragment, free_fragments;
    std::vector<Fragment> fragment;

    std::vector<double> distance, used;
    std::vector<double> hidden;
    std::vector<std::int64_t> previous;
    std::vector<std::int64_t> deficits;
    std::vector<Hop> hops;
    double horizon = 0.0;
};

}  // namespace

SettleResult settle(const Points& points, const PricedCenters& priced, std::int32_t* label,
                    const float* slack, const std::int64_t* units, const std::int64_t* lower,
                    const std::int64_t* upper, std::int64_t budget, int threads,
                    const std::function<bool()>& stop) {
    return Settle(points, priced, label, slack, threads).run(units, lower, upper, budget, stop);
}

}  // namespace bckm
