#include "blocks/row_paths.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "distance/exact_costs.hpp"

namespace bckm {
namespace {

constexpr double ahead = 3.0;    // times the longest path: moves of such paths are asked for, too
constexpr int patience = 2;      // so many times far moves of some are asked for, then of all
constexpr double lagging = 8.0;  // that are known no farther than so many times as far
constexpr double tight = 1e-9;   // of the range of prices: less room is none
constexpr int rounds = 40, halvings = 40;  // in which room is looked for
constexpr int sweeps = 6;  // in which prices go to the middle of what the others permit

}  // namespace

RowPaths::RowPaths(const PricedCenters& priced, Sizes sizes, std::vector<double> limit)
    : k(priced.k), priced_(priced), sizes_(std::move(sizes)), far_(std::move(limit)), pairs_(k),
      place_(k), arrived_(k), price_(k + 1, 0.0), surplus_(k + 1, 0), hub_flow_(k),
      hub_capacity_(k), far_before_(k, -infinity), asked_place_(k, none) {
    std::int64_t spare = 0;
    for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t units = sizes_.units[i], lower = sizes_.lower[i];
        hub_capacity_[i] = sizes_.upper[i] - lower;
        spare += units - lower;
        // a subsidized cluster holds its lower bound, a taxed one its upper bound
        const double price = priced.prices[i];
        const std::int64_t held = std::clamp<std::int64_t>(units - lower, 0, hub_capacity_[i]);
        hub_flow_[i] = price > 0.0 ? 0 : price < 0.0 ? hub_capacity_[i] : held;
        surplus_[i] = units - lower - hub_flow_[i];
        surplus_[k] += hub_flow_[i];
    }
    surplus_[k] -= spare;
}

template <class Real> void RowPaths::add_rows(const Rows<Real>& rows) {
    Batch batch{nullptr, nullptr, rows.origin, rows.scale};
    if constexpr (sizeof(Real) == sizeof(float)) batch.small = rows.data;
    else batch.large = rows.data;
    batches_.push_back(batch);
    const auto number = static_cast<std::int32_t>(batches_.size() - 1);
    for (std::int64_t j = 0; j < rows.count; ++j) {
        const auto next = static_cast<std::int32_t>(rows_.size());
        if (row_of_.emplace(rows.number[j], next).second)
            rows_.push_back({rows.label[j], none, number, j});
    }
}
template void RowPaths::add_rows(const Rows<float>&);
template void RowPaths::add_rows(const Rows<double>&);

RowPaths::Pair* RowPaths::find(std::int64_t a, std::int64_t b) {
    const auto found = place_[a].find(static_cast<std::int32_t>(b));
    return found == place_[a].end() ? nullptr : &pairs_[a][found->second];
}

RowPaths::Pair& RowPaths::pair(std::int64_t a, std::int64_t b) {
    const auto to = static_cast<std::int32_t>(b);
    const auto [at, is_new] = place_[a].emplace(to, static_cast<std::int32_t>(pairs_[a].size()));
    if (is_new) pairs_[a].push_back({to, false, 0.0, -infinity, {}});
    return pairs_[a][at->second];
}

const RowPaths::Move* RowPaths::cheapest(std::int64_t a, Pair& one) {
    std::vector<Move>& heap = one.heap;
    while (!heap.empty() && rows_[heap.front().row].label != a) {
        std::pop_heap(heap.begin(), heap.end());
        heap.pop_back();
    }
    return heap.empty() ? nullptr : heap.data();
}

void RowPaths::insert(std::int64_t a, std::int64_t b, Move move) {
    std::vector<Move>& heap = pair(a, b).heap;
    heap.push_back(move);
    std::push_heap(heap.begin(), heap.end());
}

void RowPaths::add_moves(const std::int64_t* number, const std::int32_t* cluster,
                         const double* cost, std::int64_t count) {
    for (std::int64_t e = 0; e < count; ++e) {
        const auto found = row_of_.find(number[e]);
        if (found == row_of_.end()) continue;
        const Row& row = rows_[found->second];
        if (row.costs != none || row.label == cluster[e]) continue;
        const Pair* one = find(row.label, cluster[e]);
        if (cost[e] <= known_before(row.label, one) || cost[e] > limit_of(row.label, one)) continue;
        insert(row.label, cluster[e], {std::max(0.0, cost[e]), found->second});
    }
}

char* RowPaths::targets_from(std::int64_t a) {
    std::int32_t& place = asked_place_[a];
    if (place == none) {
        place = static_cast<std::int32_t>(asked_.size());
        asked_.push_back(static_cast<std::int32_t>(a));
        targets_.resize(targets_.size() + k, 0);
    }
    return targets_.data() + place * k;
}

void RowPaths::ask(std::int64_t a, std::int64_t b) {
    const Pair* one = find(a, b);
    if (one != nullptr && one->own) targets_from(a)[b] = 1;
    else ask_far(a);
}

void RowPaths::ask_far(std::int64_t a) {
    if (!(far_[a] < infinity)) return;
    // clusters to which moves are listed get a limit of their own; those to all others are asked
    // for
    for (Pair& near : pairs_[a])
        if (!near.own && !near.heap.empty()) {
            near.own = true;
            near.limit = far_[a];
        }
    std::vector<std::int64_t> others;
    for (std::int64_t c = 0; c < k; ++c) {
        const Pair* other = c == a ? nullptr : find(a, c);
        if (c != a && (other == nullptr || !other->own)) others.push_back(c);
    }
    if (others.empty()) {
        far_[a] = infinity;
        return;
    }
    char* target = targets_from(a);
    for (const std::int64_t c : others) target[c] = 1;
}

void RowPaths::ask_ahead() {
    double farthest = -infinity;
    for (std::size_t q = 0; q < asked_.size(); ++q)
        if (std::count(targets_.begin() + q * k, targets_.begin() + (q + 1) * k, 1) > k / 2)
            farthest = std::max(farthest, far_[asked_[q]]);
    if (farthest >= 0.0 && ++far_asks_ % patience == 0)  // not a matter of a few clusters
        for (std::int64_t u = 0; u < k; ++u)
            if (far_[u] <= lagging * farthest) ask_far(u);
    for (std::int64_t u = 0; u < k; ++u) {
        if (!reached_[u]) continue;
        const double near = ahead * horizon_ - distance_[u] - price_[u];
        for (Pair& one : pairs_[u])
            if (one.own && one.limit - price_[one.to] <= near && cheapest(u, one) == nullptr)
                targets_from(u)[one.to] = 1;
        if (far_[u] - dearest_ <= near) ask_far(u);
    }
}

std::vector<double> RowPaths::known() {
    std::vector<double> least(asked_.size(), infinity);
    for (std::size_t q = 0; q < asked_.size(); ++q)
        for (std::int64_t b = 0; b < k; ++b) {
            if (!targets_[q * k + b]) continue;
            least[q] = std::min(least[q], limit_of(asked_[q], find(asked_[q], b)));
        }
    return least;
}

void RowPaths::raise(const double* limit) {
    for (std::size_t q = 0; q < asked_.size(); ++q) {
        const std::int64_t a = asked_[q];
        const char* target = targets_.data() + q * k;
        bool far = false;
        for (std::int64_t b = 0; b < k; ++b) {
            if (!target[b]) continue;
            Pair* one = find(a, b);
            if (one == nullptr || !one->own) {
                far = true;
                continue;
            }
            one->before = one->limit;
            one->limit = std::max(one->limit, limit[q]);
        }
        if (far) {
            far_before_[a] = far_[a];
            far_[a] = std::max(far_[a], limit[q]);
        }
        // rows that have come here are not listed by who has the rows
        auto& present = arrived_[a];
        std::sort(present.begin(), present.end());
        present.erase(std::unique(present.begin(), present.end()), present.end());
        for (const std::int32_t row : present) {
            if (rows_[row].label != a) continue;
            const double* cost = all_costs(row);
            for (std::int64_t b = 0; b < k; ++b) {
                if (!target[b]) continue;
                const Pair* one = find(a, b);
                const double move = cost[b] - cost[a];
                if (move > known_before(a, one) && move <= limit_of(a, one))
                    insert(a, b, {std::max(0.0, move), row});
            }
        }
        asked_place_[a] = none;
    }
    asked_.clear();
    targets_.clear();
}

const double* RowPaths::all_costs(std::int32_t row) {
    Row& one = rows_[row];
    if (one.costs == none) {
        const std::int64_t d = priced_.dims;
        const Batch& batch = batches_[one.batch];
        std::vector<double> x(d);
        for (std::int64_t t = 0; t < d; ++t) {
            const std::int64_t at = one.place * d + t;
            const double value =
                batch.small ? static_cast<double>(batch.small[at]) : batch.large[at];
            x[t] = (value - batch.origin[t]) * batch.scale;
        }
        one.costs = static_cast<std::int32_t>(costs_.size());
        costs_.emplace_back(padded(k));
        exact_costs(priced_, x.data(), 1.0, costs_.back().data());
        for (std::int64_t i = 0; i < k; ++i) costs_.back()[i] -= priced_.prices[i];
    }
    return costs_[one.costs].data();
}

void RowPaths::transfer(std::int32_t row, std::int32_t to) {
    const double* cost = all_costs(row);
    rows_[row].label = to;
    arrived_[to].push_back(row);
    double most = far_[to];
    for (const Pair& one : pairs_[to]) most = std::max(most, limit_of(to, &one));
    for (std::int64_t c = 0; c < k; ++c) {
        const double move = cost[c] - cost[to];
        if (c == to || move > most) continue;
        if (move <= limit_of(to, find(to, c))) insert(to, c, {move, row});
    }
}

void RowPaths::enqueue(const Waiting& one) {
    queue_.push_back(one);
    std::push_heap(queue_.begin(), queue_.end());
}

void RowPaths::relax(std::int64_t u, std::int64_t v, double length, bool listed) {
    if (reached_[v]) return;
    const double reduced = distance_[u] + std::max(0.0, length + price_[u] - price_[v]);
    if (reduced < distance_[v]) {
        distance_[v] = reduced;
        previous_[v] = static_cast<std::int32_t>(u);
        used_[v] = length;
        is_listed_[v] = listed;
        enqueue({reduced, static_cast<std::int32_t>(v), false});
    }
}

void RowPaths::arrive(std::int64_t u) {
    if (u == k) {
        for (std::int64_t b = 0; b < k; ++b)
            if (hub_flow_[b] > 0) relax(u, b, -priced_.prices[b], true);
    } else if (hub_flow_[u] < hub_capacity_[u]) {
        relax(u, k, priced_.prices[u], true);
    }
    if (surplus_[u] < 0) {
        deficits_.push_back(static_cast<std::int32_t>(u));
        --missing_;
    }
}

void RowPaths::leave(std::int64_t u) {
    for (Pair& one : pairs_[u]) {
        if (const Move* move = cheapest(u, one)) relax(u, one.to, move->cost, true);
        else if (one.own) relax(u, one.to, one.limit, false);
    }
    const double next = distance_[u] + std::max(0.0, far_[u] + price_[u] - dearest_);
    if (next < infinity) enqueue({next, static_cast<std::int32_t>(u), true});
}

void RowPaths::leave_far(std::int64_t u) {
    for (std::int64_t b = 0; b < k; ++b) {
        if (b == u || reached_[b]) continue;
        Pair* one = find(u, b);
        if (one == nullptr || (!one->own && cheapest(u, *one) == nullptr))
            relax(u, b, far_[u], false);
    }
}

// Dijkstra from all nodes with a surplus until half of those with a deficit are reached: far ones
// would raise all prices by much. False if there is none.
bool RowPaths::search() {
    distance_.assign(k + 1, infinity);
    used_.assign(k + 1, 0.0);
    previous_.assign(k + 1, none);
    reached_.assign(k + 1, 0);
    is_listed_.assign(k + 1, 1);
    queue_.clear();
    deficits_.clear();
    missing_ = 0;
    dearest_ = *std::max_element(price_.begin(), price_.begin() + k);
    for (std::int64_t v = 0; v <= k; ++v) {
        if (surplus_[v] > 0) {
            distance_[v] = 0.0;
            enqueue({0.0, static_cast<std::int32_t>(v), false});
        }
        missing_ += surplus_[v] < 0;
    }
    const std::int64_t left = missing_ / 2;
    horizon_ = 0.0;
    while (missing_ > left && !queue_.empty()) {
        std::pop_heap(queue_.begin(), queue_.end());
        const Waiting next = queue_.back();
        queue_.pop_back();
        const std::int64_t u = next.node;
        if (next.far) {
            horizon_ = next.distance;
            leave_far(u);
            continue;
        }
        if (reached_[u]) continue;
        horizon_ = next.distance;
        reached_[u] = 1;
        arrive(u);
        if (u < k) leave(u);
    }
    return !deficits_.empty();
}

// Sends a sample along the path to a cluster that lacks one; false if the path is not there.
bool RowPaths::push(std::int64_t target) {
    std::int64_t units = -surplus_[target], v = target;
    bool known = true;
    for (; previous_[v] != none; v = previous_[v]) {
        const std::int64_t u = previous_[v];
        if (u == k) {
            units = std::min(units, hub_flow_[v]);
        } else if (v == k) {
            units = std::min(units, hub_capacity_[u] - hub_flow_[u]);
        } else if (!is_listed_[v]) {
            ask(u, v);
            known = false;
        } else {
            const Move* move = cheapest(u, *find(u, v));
            if (move == nullptr || move->cost > used_[v]) return false;
            units = 1;
        }
    }
    units = std::min(units, surplus_[v]);
    if (!known || units <= 0) return false;
    surplus_[v] -= units;
    surplus_[target] += units;
    for (v = target; previous_[v] != none; v = previous_[v]) {
        const std::int64_t u = previous_[v];
        if (u == k) hub_flow_[v] -= units;
        else if (v == k) hub_flow_[u] += units;
        else transfer(cheapest(u, *find(u, v))->row, static_cast<std::int32_t>(v));
    }
    ++paths_;
    return true;
}

RowPaths::State RowPaths::run(std::int64_t searches) {
    for (std::int64_t s = 0; s < searches; ++s) {
        if (wrong() == 0) return State::settled;
        if (!search()) return State::stuck;
        for (std::int64_t v = 0; v <= k; ++v) price_[v] += std::min(distance_[v], horizon_);
        bool pushed = false;
        for (const std::int32_t target : deficits_)
            while (surplus_[target] < 0 && push(target)) pushed = true;
        if (!pushed && !asked_.empty()) {
            ask_ahead();
            return State::asking;
        }
        if (pushed) {  // asked for again where it is still needed
            for (const std::int32_t a : asked_) asked_place_[a] = none;
            asked_.clear();
            targets_.clear();
        }
    }
    return wrong() == 0 ? State::settled : State::working;
}

std::int64_t RowPaths::wrong() const {
    std::int64_t sum = 0;
    for (const std::int64_t over : surplus_) sum += std::max<std::int64_t>(0, over);
    return sum;
}

bool RowPaths::center() {
    struct Arc {
        std::int32_t from, to;
        double length;
        enum { row, limit, other } kind;
    };
    std::vector<Arc> arcs;
    for (std::int64_t a = 0; a < k; ++a) {
        const auto from = static_cast<std::int32_t>(a);
        for (Pair& one : pairs_[a]) {
            if (const Move* move = cheapest(a, one))
                arcs.push_back({from, one.to, move->cost, Arc::row});
            else if (one.own) arcs.push_back({from, one.to, one.limit, Arc::limit});
        }
        const auto hub = static_cast<std::int32_t>(k);
        if (hub_flow_[a] < hub_capacity_[a])
            arcs.push_back({from, hub, priced_.prices[a], Arc::other});
        if (hub_flow_[a] > 0) arcs.push_back({hub, from, -priced_.prices[a], Arc::other});
    }
    // pairs without a limit of their own are connected by one node more, or one by one where a
    // price is farther above that of a cluster than its limit is
    const std::int64_t nodes = k + 2, all = k + 1;
    std::vector<double> price(price_);
    const double dearest = *std::max_element(price.begin(), price.begin() + k);
    double least = infinity;
    for (std::int64_t a = 0; a < k; ++a) {
        const auto from = static_cast<std::int32_t>(a);
        arcs.push_back({static_cast<std::int32_t>(all), from, 0.0, Arc::other});
        if (far_[a] + price[a] >= dearest) {
            arcs.push_back({from, static_cast<std::int32_t>(all), far_[a], Arc::limit});
            least = std::min(least, far_[a] + price[a]);
            continue;
        }
        for (std::int64_t b = 0; b < k; ++b) {
            Pair* one = b == a ? nullptr : find(a, b);
            if (b == a || (one != nullptr && (one->own || cheapest(a, *one) != nullptr))) continue;
            arcs.push_back({from, static_cast<std::int32_t>(b), far_[a], Arc::limit});
        }
    }
    price.push_back(least < infinity ? least : dearest);
    const bool loose = std::any_of(hub_capacity_.begin(), hub_capacity_.end(),
                                   [](std::int64_t room) { return room > 0; });
    const std::int64_t still = loose ? k : 0;
    std::vector<std::vector<std::int32_t>> out(nodes), in(nodes);
    for (std::size_t e = 0; e < arcs.size(); ++e) {
        if (!(arcs[e].length < infinity)) continue;
        out[arcs[e].from].push_back(static_cast<std::int32_t>(e));
        in[arcs[e].to].push_back(static_cast<std::int32_t>(e));
    }
    // how far each price may rise, or fall, while that of one node stays
    const auto permitted = [&](bool rise) {
        std::vector<double> way(nodes, infinity);
        std::vector<Waiting> queue{{0.0, static_cast<std::int32_t>(still), false}};
        way[still] = 0.0;
        while (!queue.empty()) {
            std::pop_heap(queue.begin(), queue.end());
            const Waiting next = queue.back();
            queue.pop_back();
            if (next.distance > way[next.node]) continue;
            for (const std::int32_t e : rise ? out[next.node] : in[next.node]) {
                const Arc& arc = arcs[e];
                const std::int32_t to = rise ? arc.to : arc.from;
                const double length =
                    next.distance + std::max(0.0, arc.length + price[arc.from] - price[arc.to]);
                if (length < way[to]) {
                    way[to] = length;
                    queue.push_back({length, to, false});
                    std::push_heap(queue.begin(), queue.end());
                }
            }
        }
        return way;
    };
    const std::vector<double> up = permitted(true), down = permitted(false);
    double most = 0.0;
    for (std::int64_t v = 0; v < nodes; ++v)
        for (const double way : {up[v], down[v]})
            if (way < infinity) most = std::max(most, way);
    for (std::int64_t v = 0; v < nodes; ++v)
        price[v] += (std::min(up[v], most) - std::min(down[v], most)) / 2;
    // the middle of two corners may lie on an edge: some room for each row, as much as there is
    double room = infinity;
    for (std::int64_t v = 0; v < nodes; ++v)
        if (v != still && up[v] + down[v] > 0.0) room = std::min(room, (up[v] + down[v]) / 2);
    const auto leaves = [&](double some) {
        std::vector<double> there(price);
        for (int round = 0; round < rounds; ++round) {
            bool moved = false;
            for (const Arc& arc : arcs) {
                const double most =
                    there[arc.from] + arc.length - (arc.kind == Arc::row ? some : 0.0);
                if (there[arc.to] > most) there[arc.to] = most, moved = true;
            }
            if (!moved) {
                price = std::move(there);
                return true;
            }
        }
        return false;
    };
    for (int halved = 0; room < infinity && halved < halvings && !leaves(room); ++halved) room /= 2;
    // and one by one to the middle of what others permit
    for (int sweep = 0; sweep < sweeps; ++sweep)
        for (std::int64_t v = 0; v < nodes; ++v) {
            if (v == still) continue;
            double rise = infinity, fall = infinity;
            for (const std::int32_t e : in[v])
                rise = std::min(rise, arcs[e].length + price[arcs[e].from] - price[v]);
            for (const std::int32_t e : out[v])
                fall = std::min(fall, arcs[e].length + price[v] - price[arcs[e].to]);
            if (rise < infinity && fall < infinity)
                price[v] += (std::max(rise, 0.0) - std::max(fall, 0.0)) / 2;
        }
    // where a limit leaves no room, more has to be known
    const auto [least_price, largest_price] = std::minmax_element(price.begin(), price.begin() + k);
    const double little = tight * (*largest_price - *least_price);
    for (const Arc& arc : arcs) {
        if (arc.kind != Arc::limit || !(arc.length + price[arc.from] - price[arc.to] <= little))
            continue;
        if (arc.to == all) ask_far(arc.from);
        else ask(arc.from, arc.to);
    }
    price.pop_back();
    price_ = std::move(price);
    return asked_.empty();
}

std::vector<double> RowPaths::prices() const {
    const bool loose = std::any_of(hub_capacity_.begin(), hub_capacity_.end(),
                                   [](std::int64_t room) { return room > 0; });
    double zero = price_[k];
    if (!loose) {
        zero = 0.0;
        for (std::int64_t i = 0; i < k; ++i) zero += price_[i] / static_cast<double>(k);
    }
    std::vector<double> out(k);
    for (std::int64_t i = 0; i < k; ++i) out[i] = price_[i] - zero;
    return out;
}

std::vector<std::int64_t> RowPaths::sizes() const {
    std::vector<std::int64_t> out(k);
    for (std::int64_t i = 0; i < k; ++i) out[i] = sizes_.lower[i] + hub_flow_[i] + surplus_[i];
    return out;
}

}  // namespace bckm
