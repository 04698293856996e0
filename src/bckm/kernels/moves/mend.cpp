#include "moves/mend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "distance/exact_costs.hpp"
#include "moves/mending.hpp"
#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr double digits = 1e9;    // of costs: round-off decides nothing
constexpr double timid = 0.05;    // first weight of a mean amount beyond a bound without a price
constexpr double conflict = 0.5;  // first weight of a conflict
constexpr std::int64_t most_raises = 60, most_scans = 8;
constexpr std::int64_t patience = 4;  // raises after which longer moves are tried
constexpr std::int64_t few = 8;       // conflicts of an item that are looked through often
constexpr std::int64_t several = -2;  // no single item
constexpr double infinity = std::numeric_limits<double>::infinity();

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

}  // namespace

Mending::Mending(const Points& points, const Rules& rules, const Soft& soft, const double* centers,
                 const double* costs, const SumPrices& prices, const std::int64_t* items,
                 std::int64_t number, const std::int32_t* first, double effort, int threads,
                 const std::function<bool()>& stop)
    : items(items), number(items ? number : points.n), given(costs), points(points), rules(rules),
      prices(prices), k(rules.k), sums(rules.loads.number + 1),
      eval_work(static_cast<double>(5 * sums + 10)), no_price(k, 0.0),
      priced(centers, no_price.data(), k, points.dims),
      weights(first_weights(rules, points.n, prices)),
      state(rules, std::vector<std::int32_t>(first, first + points.n), weights),
      penalty(soft, points.n, k), losses(k), dirty(k, true), worth(k), effort(effort),
      threads(threads), stop(stop), gone(k), row(k), parted(k), scratch(k) {
    if (penalty.active) penalty.refresh(state.label);
}

MendResult Mending::run(std::int64_t rounds, std::int32_t* label) {
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

bool Mending::reach() {
    std::fill(dirty.begin(), dirty.end(), true);
    for (std::int64_t raises = 0; raises < most_raises; ++raises) {
        if (!descend(raises % patience == patience - 1)) return false;
        if (state.none()) return true;
        if (!state.raise(2.0)) return false;
        row_violation = state.rows();
        // lists run dry where many leave
        const bool dry = *std::max_element(gone.begin(), gone.end()) >= losses.length / 2;
        if (raises % patience == 0 && dry && scans < most_scans) scan();
        const bool everywhere = row_violation > 0.0;
        for (std::int64_t i = 0; i < k; ++i) dirty[i] = everywhere || state.of(i) > 0.0;
    }
    return false;
}

bool Mending::descend(bool deep) {
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
        if (best.number == 0) swaps(next, deep ? losses.length : heads);
        if (best.number == 0 && deep && (strict || state.of(next) > 0.0)) paths(next);
        if (best.number > 0) apply();
        else dirty[next] = false;
    }
}

bool Mending::part() {
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
    broken.erase(
        std::remove_if(broken.begin(), broken.end(),
                       [&](std::int64_t j) { return state.blockers(j, state.label[j], foe) == 0; }),
        broken.end());
    return moved && going_on();
}

void Mending::apply() {
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

void Mending::costs(std::int64_t j, Row& to) const {
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

void Mending::scan() {
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

void Mending::list(std::int64_t j, Scratch& scratch) {
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

void Mending::unlist(std::int64_t j) {
    const std::int64_t a = state.label[j];
    for (std::int64_t b = 0; b < k; ++b)
        if (b != a) losses.remove(a, b, j);
}

void Mending::list_again(std::int64_t j) {
    unlist(j);
    list(j, scratch);
    out.work += row_work() + 40.0 * static_cast<double>(k);
}

void Mending::find_blockers(std::int64_t j, std::vector<std::int64_t>& blocker) const {
    std::fill(blocker.begin(), blocker.end(), -1);
    if (!rules.conflict_start) return;
    const auto first = rules.conflict_start[j], last = rules.conflict_start[j + 1];
    for (auto e = first; e < last; ++e) {
        std::int64_t& held = blocker[state.label[rules.conflict_with[e]]];
        held = held == -1 && last - first <= few ? rules.conflict_with[e] : several;
    }
}

MendResult mend(const Points& points, const Rules& rules, const Soft& soft, const double* centers,
                const double* costs, const SumPrices& prices, const std::int64_t* items,
                std::int64_t number, std::int32_t* label, std::int64_t rounds, double effort,
                int threads, const std::function<bool()>& stop) {
    Mending mending(points, rules, soft, centers, costs, prices, items, number, label, effort,
                    threads, stop);
    return mending.run(rounds, label);
}

}  // namespace bckm
