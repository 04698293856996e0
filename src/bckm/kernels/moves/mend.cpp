#include "moves/mend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "distance/exact_costs.hpp"
#include "moves/penalty.hpp"
#include "moves/violation.hpp"
#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr double digits = 1e9;    // of costs: round-off decides nothing
constexpr double least = 1e-8;    // smaller changes do not count
constexpr double timid = 0.05;    // first weight of a mean amount beyond a bound without a price
constexpr double conflict = 0.5;  // first weight of a conflict
constexpr std::int64_t most_raises = 60, most_scans = 8;
constexpr std::int64_t patience = 4;       // raises after which longer moves are tried
constexpr std::int64_t entries = 1 << 19;  // of all lists, about
constexpr std::int64_t longest = 32;       // list
constexpr std::int64_t few = 8;            // conflicts of an item that are looked through often
constexpr std::int64_t several = -2;       // no single item
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t heads = 6;  // offers of a list that are tried in paths and cycles

// An item that might go from one cluster to another: what it loses at the prices, and in cost. If
// an item there is in conflict with it (or -1), that must go too; its loss is part of the price.
struct Loss {
    double priced, cost;
    std::int32_t item, blocker;

    bool operator<(const Loss& other) const {
        return priced < other.priced || (priced == other.priced && item < other.item);
    }
};

// The losses of least price from each cluster to each other one.
class Losses {
public:
    explicit Losses(std::int64_t k)
        : k(k), length(std::clamp<std::int64_t>(entries / (k * k), 2, longest)), number(k * k, 0),
          list(k * k * length) {}

    const Loss* begin(std::int64_t a, std::int64_t b) const {
        return list.data() + (a * k + b) * length;
    }
    const Loss* end(std::int64_t a, std::int64_t b) const {
        return begin(a, b) + number[a * k + b];
    }
    double best(std::int64_t a, std::int64_t b) const {
        return number[a * k + b] ? begin(a, b)->priced : infinity;
    }

    void clear() { std::fill(number.begin(), number.end(), 0); }

    void add(std::int64_t a, std::int64_t b, const Loss& loss) {
        Loss* first = list.data() + (a * k + b) * length;
        std::int32_t& held = number[a * k + b];
        if (held == length && !(loss < first[held - 1])) return;
        if (held < length) ++held;
        Loss* at = first + held - 1;
        for (; at != first && loss < at[-1]; --at) *at = at[-1];
        *at = loss;
    }

    void remove(std::int64_t a, std::int64_t b, std::int64_t item) {
        Loss *first = list.data() + (a * k + b) * length, *last = first + number[a * k + b];
        Loss* at = std::find_if(first, last, [&](const Loss& o) { return o.item == item; });
        if (at == last) return;
        std::copy(at + 1, last, at);
        --number[a * k + b];
    }

    const std::int64_t k, length;

private:
    std::vector<std::int32_t> number;
    std::vector<Loss> list;
};

Weights first_weights(const Rules& rules, std::int64_t m, const SumPrices& prices) {
    const std::int64_t r = rules.loads.number, sums = r + 1, k = rules.k;
    Weights weights;
    weights.conflict = conflict;
    std::vector<double> mean(sums, 0.0);
    for (std::int64_t j = 0; j < m; ++j) {
        for (std::int64_t q = 0; q < r; ++q) mean[q] += std::fabs(rules.loads.amount[j * r + q]);
        mean[r] += static_cast<double>(rules.count[j]);
    }
    for (std::int64_t at = 0; at < k * sums; ++at) {
        const double amount = mean[at % sums] / static_cast<double>(m);
        const double base = amount > 0.0 ? timid / amount : timid;
        weights.below.push_back(std::max(prices.sums[at], base));
        weights.above.push_back(std::max(-prices.sums[at], base));
    }
    for (std::int64_t row = 0; row < rules.rows; ++row) {
        weights.row_below.push_back(std::max(prices.rows[row], timid));
        weights.row_above.push_back(std::max(-prices.rows[row], timid));
    }
    return weights;
}

class Mending {
public:
    Mending(const Points& points, const Rules& rules, const Soft& soft, const double* centers,
            const double* costs, const SumPrices& prices, const std::int64_t* items,
            std::int64_t number, const std::int32_t* first, double effort, int threads,
            const std::function<bool()>& stop)
        : items(items), number(items ? number : points.n), given(costs), points(points),
          rules(rules), prices(prices), k(rules.k), sums(rules.loads.number + 1),
          eval_work(static_cast<double>(5 * sums + 10)), no_price(k, 0.0),
          priced(centers, no_price.data(), k, points.dims),
          weights(first_weights(rules, points.n, prices)),
          state(rules, std::vector<std::int32_t>(first, first + points.n), weights),
          penalty(soft, points.n, k), losses(k), dirty(k, true), worth(k), effort(effort),
          threads(threads), stop(stop), gone(k), row(k), parted(k), scratch(k) {
        if (penalty.active) penalty.refresh(state.label);
    }

    MendResult run(std::int64_t rounds, std::int32_t* label) {
        scan();
        std::vector<std::int32_t> best;
        double least_cost = infinity;
        for (std::int64_t round = 0; round < rounds; ++round) {
            if (round > 0) state.set_weights(weights);
            state.set_strict(strict = false);
            if ((round > 0 || !state.none()) && !reach()) break;
            state.set_strict(strict = true);
            std::fill(dirty.begin(), dirty.end(), true);
            descend(true);
            if (!(cost < least_cost - least)) break;
            least_cost = cost;
            best = state.label;
            out.obeys = true;
            if (out.stopped || out.work > effort) break;
        }
        if (out.obeys) std::copy(best.begin(), best.end(), label);
        return out;
    }

private:
    struct Best {
        double change = -least, change_of_cost = 0.0;
        Hop hops[3] = {};
        int number = 0;
    };

    // Costs of an item in each cluster, in units, and the same less what prices pay.
    struct Row {
        explicit Row(std::int64_t k) : cost(padded(k)), priced(k) {}
        std::vector<double> cost, priced;
    };

    struct Scratch {
        explicit Scratch(std::int64_t k) : own(k), other(k), blocker(k) {}
        Row own, other;
        std::vector<std::int64_t> blocker;
    };

    void costs(std::int64_t j, Row& to) const {
        const Soft& soft = penalty.soft;
        if (given) std::copy_n(given + j * k, k, to.cost.begin());
        else exact_costs(priced, points.row(j), points.weight(j), to.cost.data());
        if (penalty.affects(j)) penalty.of_item(j, state.label, to.priced.data());
        else std::fill(to.priced.begin(), to.priced.end(), 0.0);
        const std::int64_t r = sums - 1, soft_r = soft.loads.number;
        const double *amount = rules.loads.amount + j * r, *more = soft.loads.amount + j * soft_r;
        const auto count = static_cast<double>(rules.count[j]);
        for (std::int64_t i = 0; i < k; ++i) {
            to.cost[i] = std::nearbyint(to.cost[i] / prices.unit * digits) / digits;
            double paid = count * prices.sums[i * sums + r];
            for (std::int64_t q = 0; q < r; ++q) paid += amount[q] * prices.sums[i * sums + q];
            for (std::int64_t q = 0; q < soft_r; ++q) paid += more[q] * prices.soft[i * soft_r + q];
            to.priced[i] = to.cost[i] + to.priced[i] / prices.unit - paid;
            if (rules.rows == 0) continue;
            for (auto e = rules.column_start[j * k + i]; e < rules.column_start[j * k + i + 1]; ++e)
                to.priced[i] -= rules.column_value[e] * prices.rows[rules.column_row[e]];
        }
    }

    double row_work() const {
        return static_cast<double>(k) *
               (0.5 * static_cast<double>(points.dims) + 20.0 + static_cast<double>(sums));
    }

    void list(std::int64_t j, Scratch& scratch) {
        Row& own = scratch.own;
        costs(j, own);
        const std::int64_t a = state.label[j];
        find_blockers(j, scratch.blocker);
        for (std::int64_t b = 0; b < k; ++b) {
            const std::int64_t l = scratch.blocker[b];
            if (b == a || l == several) continue;
            double priced = own.priced[b] - own.priced[a];
            if (l >= 0) {
                costs(l, scratch.other);
                double least = infinity;
                for (std::int64_t c = 0; c < k; ++c)
                    if (c != b) least = std::min(least, scratch.other.priced[c]);
                priced += least - scratch.other.priced[b];
            }
            losses.add(a, b,
                       {priced, own.cost[b] - own.cost[a], static_cast<std::int32_t>(j),
                        static_cast<std::int32_t>(l)});
        }
    }

    // Which item is in conflict with j in each cluster: -1 for none. Where conflicts are many, a
    // single one is as bad as several.
    void find_blockers(std::int64_t j, std::vector<std::int64_t>& blocker) const {
        std::fill(blocker.begin(), blocker.end(), -1);
        if (!rules.conflict_start) return;
        const auto first = rules.conflict_start[j], last = rules.conflict_start[j + 1];
        for (auto e = first; e < last; ++e) {
            std::int64_t& held = blocker[state.label[rules.conflict_with[e]]];
            held = held == -1 && last - first <= few ? rules.conflict_with[e] : several;
        }
    }

    // Fills the lists; each thread those of its own clusters.
    void scan() {
        std::vector<std::vector<std::int64_t>> members(k);
        losses.clear();
        std::fill(gone.begin(), gone.end(), 0);
        ++scans;
        for (std::int64_t p = 0; p < number; ++p) {
            const std::int64_t j = items ? items[p] : p;
            members[state.label[j]].push_back(j);
        }
        std::vector<Scratch> scratch(threads, Scratch(k));
        try {
            parallel(k, threads, [&](std::int64_t a, int worker) {
                for (const std::int64_t j : members[a]) list(j, scratch[worker]);
            });
        } catch (const Stopped&) {
            out.stopped = true;
        }
        out.work += static_cast<double>(number) * row_work();
        effort += static_cast<double>(number) * row_work();  // it is beyond that
    }

    bool going_on() {
        if (out.work > next_look) {
            next_look = out.work + 1e6;
            out.stopped = out.stopped || stop();
        }
        return !out.stopped && out.work < effort;
    }

    // Lowers cost and weighted violation, and raises weights, until all rules hold.
    bool reach() {
        std::fill(dirty.begin(), dirty.end(), true);
        for (std::int64_t raises = 0; raises < most_raises; ++raises) {
            if (!descend(raises % patience == patience - 1)) return false;
            if (state.none()) return true;
            if (!state.raise(2.0)) return false;
            ++out.raises;
            row_violation = state.rows();
            // lists run dry where many leave
            const bool dry = *std::max_element(gone.begin(), gone.end()) >= losses.length / 2;
            if (raises % patience == 0 && dry && scans < most_scans) scan();
            const bool everywhere = row_violation > 0.0;
            for (std::int64_t i = 0; i < k; ++i) dirty[i] = everywhere || state.of(i) > 0.0;
        }
        return false;
    }

    // Moves that lower cost and weighted violation, until there is none; false if it was ended.
    bool descend(bool deep) {
        for (;;) {
            while (part()) {
            }
            row_violation = state.rows();
            row_worth = row_violation + state.row_room(prices.rows);
            std::int64_t next = -1;
            for (std::int64_t i = 0; i < k; ++i) {
                worth[i] = state.of(i) + state.room(i, prices.sums);
                if (dirty[i] && (next < 0 || worth[i] > worth[next])) next = i;
            }
            out.work += static_cast<double>(4 * k * sums);
            if (!going_on()) return false;
            if (next < 0) return true;
            best = Best{};
            extra = penalty.active ? infinity : row_violation;
            relocations(next);
            if (best.number == 0) swaps(next, deep ? longest : heads);
            if (best.number == 0 && deep && (strict || state.of(next) > 0.0)) paths(next);
            if (best.number > 0) apply();
            else dirty[next] = false;
        }
    }

    // Remembers a move if it is the best so far, given by how much it changes the distances, in
    // units, and the violation of sums.
    void consider(std::initializer_list<Hop> hops, double cost_change, double sums_change) {
        out.work += eval_work;
        double own = cost_change, change = cost_change + sums_change;
        if (!(change < best.change + std::max(hope, extra))) return;
        const auto number = static_cast<std::int64_t>(hops.size());
        change += state.rows_change(hops.begin(), number);
        if (penalty.active) {
            touched.clear();
            for (const Hop& hop : hops)
                for (const std::int64_t i : {std::int64_t{state.label[hop.item]}, hop.to})
                    if (std::find(touched.begin(), touched.end(), i) == touched.end())
                        touched.push_back(i);
            const double soft = penalty.change(hops.begin(), number, state.label, touched);
            own += soft / prices.unit;
            change += soft / prices.unit;
        }
        if (!(change < best.change + hope)) return;
        const double conflicts = state.conflicts_change(hops.begin(), number);
        if (!(change + conflicts < best.change)) return;
        best.change = change + conflicts;
        best.change_of_cost = own;
        best.number = static_cast<int>(number);
        std::copy(hops.begin(), hops.end(), best.hops);
    }

    void relocation(std::int64_t j, std::int64_t b, double cost_change) {
        const std::int64_t a = state.label[j];
        const double after = state.after(a, -1, j) + state.after(b, j, -1);
        consider({{j, b}}, cost_change, after - state.of(a) - state.of(b));
    }

    void relocations(std::int64_t i) {
        for (std::int64_t other = 0; other < k; ++other) {
            if (other == i) continue;
            const double most = worth[i] + worth[other] + row_worth;
            for (const bool goes : {true, false}) {
                const std::int64_t a = goes ? i : other, b = goes ? other : i;
                for (const Loss* o = losses.begin(a, b); o != losses.end(a, b); ++o) {
                    if (o->priced >= most) break;
                    if (o->blocker < 0) relocation(o->item, b, o->cost);
                    else unblock(o->item, b, o->cost);
                }
            }
        }
    }

    // An item is kept from cluster b by one that is in conflict with it: that goes elsewhere.
    void unblock(std::int64_t j, std::int64_t b, double cost_change) {
        std::int64_t l = -1;
        const std::int64_t a = state.label[j];
        if (state.blockers(j, b, l) != 1) return;
        costs(l, row);
        out.work += row_work();
        for (std::int64_t c = 0; c < k; ++c) {
            if (c == b) continue;
            double change = state.after(b, j, l) - state.of(b) - state.of(a);
            if (c == a) change += state.after(a, l, j);
            else change += state.after(a, -1, j) + state.after(c, l, -1) - state.of(c);
            consider({{j, b}, {l, c}}, cost_change + row.cost[c] - row.cost[b], change);
        }
    }

    void swaps(std::int64_t a, std::int64_t heads) {
        for (std::int64_t b = 0; b < k && going_on(); ++b) {
            if (b == a) continue;
            const double most = worth[a] + worth[b] + row_worth, back = losses.best(b, a);
            const double now = state.of(a) + state.of(b);
            const Loss *end = std::min(losses.end(a, b), losses.begin(a, b) + heads),
                       *end_back = std::min(losses.end(b, a), losses.begin(b, a) + heads);
            for (const Loss* o = losses.begin(a, b); o != end; ++o) {
                if (o->priced + back >= most) break;
                if (o->blocker >= 0) continue;
                for (const Loss* p = losses.begin(b, a); p != end_back; ++p) {
                    if (o->priced + p->priced >= most) break;
                    if (p->blocker >= 0) continue;
                    const double lost = o->cost + p->cost;
                    const double here = state.after(a, p->item, o->item) - now;
                    out.work += eval_work;
                    if (lost + here >= best.change + extra) continue;
                    consider({{o->item, b}, {p->item, a}}, lost,
                             here + state.after(b, o->item, p->item));
                }
            }
        }
    }

    // One item from a to b and one from b to c; and one from c to a.
    void paths(std::int64_t i) {
        for (std::int64_t x = 0; x < k && going_on(); ++x)
            for (std::int64_t y = 0; y < k; ++y) {
                if (x == i || y == i || x == y) continue;
                path(i, x, y);
                path(x, i, y);
                path(x, y, i);
                out.work += 24.0;
            }
    }

    void path(std::int64_t a, std::int64_t b, std::int64_t c) {
        const double most = worth[a] + worth[b] + worth[c] + row_worth, then = losses.best(b, c);
        const double last = strict ? std::min(0.0, losses.best(c, a)) : 0.0;
        if (losses.best(a, b) + then + last >= most) return;
        const Loss *end1 = std::min(losses.end(a, b), losses.begin(a, b) + heads),
                   *end2 = std::min(losses.end(b, c), losses.begin(b, c) + heads);
        const double now = state.of(a) + state.of(b) + state.of(c);
        for (const Loss* o = losses.begin(a, b); o != end1; ++o) {
            if (o->priced + then + last >= most) break;
            if (o->blocker >= 0) continue;
            const double left = state.after(a, -1, o->item);
            for (const Loss* p = losses.begin(b, c); p != end2; ++p) {
                if (o->priced + p->priced + last >= most) break;
                if (p->blocker >= 0) continue;
                const double middle = state.after(b, o->item, p->item) - now;
                out.work += eval_work;
                if (o->cost + p->cost + middle + left < best.change + extra)
                    consider({{o->item, b}, {p->item, c}}, o->cost + p->cost,
                             left + middle + state.after(c, p->item, -1));
                // a cycle has three beginnings
                if (strict && a < b && a < c && std::isfinite(middle)) cycle(a, c, *o, *p, most);
            }
        }
    }

    // A path from a to c, and one item back; only where all rules hold.
    void cycle(std::int64_t a, std::int64_t c, const Loss& one, const Loss& two, double most) {
        const Loss* end = std::min(losses.end(c, a), losses.begin(c, a) + heads);
        for (const Loss* o = losses.begin(c, a); o != end; ++o) {
            const double lost = one.cost + two.cost + o->cost;
            if (one.priced + two.priced + o->priced >= most) break;
            if (o->blocker >= 0 || lost >= best.change + extra) continue;
            const double after = state.after(c, two.item, o->item);
            out.work += eval_work;
            if (!std::isfinite(after)) continue;
            consider({{one.item, state.label[two.item]}, {two.item, c}, {o->item, a}}, lost,
                     after + state.after(a, o->item, one.item));
        }
    }

    // Parts items in conflict where that lowers cost and weighted violation; false if nowhere.
    bool part() {
        std::vector<std::int64_t>& broken = state.broken;
        bool moved = false;
        for (std::size_t p = 0; p < broken.size() && going_on(); ++p) {
            const std::int64_t j = broken[p];
            std::int64_t foe = -1;
            if (state.blockers(j, state.label[j], foe) == 0) continue;
            best = Best{};
            hope = infinity;
            for (const std::int64_t item : {j, foe}) {
                costs(item, parted);
                out.work += row_work();
                const std::int64_t a = state.label[item];
                for (std::int64_t b = 0; b < k; ++b)
                    if (b != a) {
                        relocation(item, b, parted.cost[b] - parted.cost[a]);
                        unblock(item, b, parted.cost[b] - parted.cost[a]);
                    }
            }
            hope = 0.0;
            if (best.number == 0) continue;
            apply();
            moved = true;
        }
        std::int64_t foe = -1;
        broken.erase(std::remove_if(broken.begin(), broken.end(),
                                    [&](std::int64_t j) {
                                        return state.blockers(j, state.label[j], foe) == 0;
                                    }),
                     broken.end());
        return moved && going_on();
    }

    void apply() {
        ++out.moves;
        cost += best.change_of_cost;
        if (penalty.active) penalty.apply(best.hops, best.number, state.label);
        for (int h = 0; h < best.number; ++h) {
            const std::int64_t j = best.hops[h].item, a = state.label[j];
            unlist(j);
            ++gone[a];
            dirty[a] = dirty[best.hops[h].to] = true;
            state.apply(j, best.hops[h].to);
        }
        // once all have moved: the ways of each, and of the items in conflict with it, are others
        for (int h = 0; h < best.number; ++h) {
            const std::int64_t j = best.hops[h].item;
            list_again(j);
            if (!rules.conflict_start) continue;
            const auto first = rules.conflict_start[j], last = rules.conflict_start[j + 1];
            if (last - first > few) continue;
            for (auto e = first; e < last; ++e) list_again(rules.conflict_with[e]);
        }
        row_violation = state.rows();
    }

    void list_again(std::int64_t j) {
        unlist(j);
        list(j, scratch);
        out.work += row_work() + 40.0 * static_cast<double>(k);
    }

    void unlist(std::int64_t j) {
        const std::int64_t a = state.label[j];
        for (std::int64_t b = 0; b < k; ++b)
            if (b != a) losses.remove(a, b, j);
    }

    const std::int64_t* items;
    const std::int64_t number;
    const double* given;
    const Points& points;
    const Rules& rules;
    const SumPrices& prices;
    const std::int64_t k, sums;
    const double eval_work;
    const std::vector<double> no_price;
    const PricedCenters priced;
    const Weights weights;
    Violation state;
    Penalty penalty;
    Losses losses;
    std::vector<bool> dirty;    // clusters whose moves have not been looked at since they changed
    std::vector<double> worth;  // what moves can gain in each cluster, at most,
    double row_worth = 0.0, row_violation = 0.0;  // and in rows
    double extra = 0.0, hope = 0.0;  // what a move may gain beside sums, or by conflicts, at most
    double cost = 0.0;               // above that of the given labels
    Best best;
    double effort;
    const int threads;
    const std::function<bool()>& stop;
    double next_look = 0.0;
    std::int64_t scans = 0;
    std::vector<std::int64_t> gone;  // items that left each cluster since the lists were made
    std::vector<std::int64_t> touched;
    Row row, parted;
    Scratch scratch;
    bool strict = false;
    MendResult out;
};

}  // namespace

MendResult mend(const Points& points, const Rules& rules, const Soft& soft, const double* centers,
                const double* costs, const SumPrices& prices, const std::int64_t* items,
                std::int64_t number, std::int32_t* label, std::int64_t rounds, double effort,
                int threads, const std::function<bool()>& stop) {
    Mending mending(points, rules, soft, centers, costs, prices, items, number, label, effort,
                    threads, stop);
    return mending.run(rounds, label);
}

}  // namespace bckm
