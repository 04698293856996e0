#include "blocks/row_paths.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "distance/exact_costs.hpp"

namespace bckm {
namespace {

constexpr double ahead = 3.0;    // times the longest path: moves of such paths are asked for, too
constexpr double enough = 1e-3;  // of the room of the narrowest price, for each row
constexpr double tight = 1e-9;   // of the range of prices: less room is none
constexpr int rounds = 40, halvings = 40;  // in which room is looked for
constexpr int sweeps = 6;  // in which prices go to the middle of what the others permit

}  // namespace

RowPaths::RowPaths(const PricedCenters& priced, Sizes sizes, const std::int32_t* other,
                   const double* limit, std::int64_t m_)
    : k(priced.k), m(m_), priced_(priced), sizes_(std::move(sizes)), pairs_(k), place_(k),
      arrived_(k), price_(k + 1, 0.0), surplus_(k + 1, 0), hub_flow_(k), hub_capacity_(k) {
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t j = a * m; j < (a + 1) * m; ++j) pair(a, other[j]).limit = limit[j];
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
    if (is_new) pairs_[a].push_back({to, infinity, -infinity, false, {}});
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
        if ((one != nullptr && cost[e] <= one->before) || cost[e] > limit_of(one)) continue;
        insert(row.label, cluster[e], {std::max(0.0, cost[e]), found->second});
    }
}

void RowPaths::ask(Pair& one) {
    asks_ += !one.asked;
    one.asked = true;
}

void RowPaths::ask_ahead() {
    for (std::int64_t u = 0; u < k; ++u) {
        if (!reached_[u]) continue;
        const double near = ahead * horizon_ - distance_[u] - price_[u];
        for (Pair& one : pairs_[u])
            if (one.limit - price_[one.to] <= near && cheapest(u, one) == nullptr) ask(one);
    }
}

std::vector<std::uint8_t> RowPaths::asked() const {
    std::vector<std::uint8_t> found(k * m);
    for (std::int64_t a = 0; a < k; ++a)  // the first ones of each cluster, in their order
        for (std::int64_t j = 0; j < m; ++j) found[a * m + j] = pairs_[a][j].asked;
    return found;
}

void RowPaths::raise(const double* limit) {
    for (std::int64_t a = 0; a < k; ++a) {
        bool higher = false;
        for (std::int64_t j = 0; j < m; ++j) {
            Pair& one = pairs_[a][j];
            one.before = one.limit;
            one.limit = std::max(one.limit, limit[a * m + j]);
            one.asked = false;
            higher |= one.limit > one.before;
        }
        // rows that have come here are not listed by who has the rows
        auto& present = arrived_[a];
        std::sort(present.begin(), present.end());
        present.erase(std::unique(present.begin(), present.end()), present.end());
        for (const std::int32_t row : present) {
            if (!higher || rows_[row].label != a) continue;
            const double* cost = all_costs(row);
            for (std::int64_t j = 0; j < m; ++j) {
                const Pair& one = pairs_[a][j];
                const double move = cost[one.to] - cost[a];
                if (move > one.before && move <= one.limit)
                    insert(a, one.to, {std::max(0.0, move), row});
            }
        }
    }
    asks_ = 0;
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
    for (std::int64_t c = 0; c < k; ++c) {
        const double move = cost[c] - cost[to];
        if (c != to && move <= limit_of(find(to, c))) insert(to, c, {move, row});
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
        enqueue({reduced, static_cast<std::int32_t>(v)});
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
        else if (one.limit < infinity) relax(u, one.to, one.limit, false);
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
    for (std::int64_t v = 0; v <= k; ++v) {
        if (surplus_[v] > 0) {
            distance_[v] = 0.0;
            enqueue({0.0, static_cast<std::int32_t>(v)});
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
            ask(*find(u, v));
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
        if (!pushed && asks_ > 0) {
            ask_ahead();
            return State::asking;
        }
        if (asks_ > 0) {  // asked for again where it is still needed
            for (auto& each : pairs_)
                for (Pair& one : each) one.asked = false;
            asks_ = 0;
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
            else if (one.limit < infinity) arcs.push_back({from, one.to, one.limit, Arc::limit});
        }
        const auto hub = static_cast<std::int32_t>(k);
        if (hub_flow_[a] < hub_capacity_[a])
            arcs.push_back({from, hub, priced_.prices[a], Arc::other});
        if (hub_flow_[a] > 0) arcs.push_back({hub, from, -priced_.prices[a], Arc::other});
    }
    const std::int64_t nodes = k + 1;
    std::vector<double> price(price_);
    const bool loose = std::any_of(hub_capacity_.begin(), hub_capacity_.end(),
                                   [](std::int64_t room) { return room > 0; });
    const std::int64_t still = loose ? k : 0;
    std::vector<std::vector<std::int32_t>> out(nodes), in(nodes);
    for (std::size_t e = 0; e < arcs.size(); ++e) {
        out[arcs[e].from].push_back(static_cast<std::int32_t>(e));
        in[arcs[e].to].push_back(static_cast<std::int32_t>(e));
    }
    // how far each price may rise, or fall, while that of one node stays
    const auto permitted = [&](bool rise) {
        std::vector<double> way(nodes, infinity);
        std::vector<Waiting> queue{{0.0, static_cast<std::int32_t>(still)}};
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
                    queue.push_back({length, to});
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
    // one by one to the middle of what others permit
    const auto sweep = [&] {
        for (int turn = 0; turn < sweeps; ++turn)
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
    };
    sweep();
    const auto narrow = [&](const Arc& arc) {
        return arc.kind == Arc::row &&
               arc.length + price[arc.from] - price[arc.to] <= enough * room;
    };
    if (room < infinity && std::any_of(arcs.begin(), arcs.end(), narrow)) {
        for (int halved = 0; halved < halvings && !leaves(room); ++halved) room /= 2;
        sweep();
    }
    // where a limit leaves no room, more has to be known
    const auto [least_price, largest_price] = std::minmax_element(price.begin(), price.begin() + k);
    const double little = tight * (*largest_price - *least_price);
    for (const Arc& arc : arcs) {
        if (arc.kind != Arc::limit || !(arc.length + price[arc.from] - price[arc.to] <= little))
            continue;
        ask(*find(arc.from, arc.to));
    }
    price_ = std::move(price);
    return asks_ == 0;
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
