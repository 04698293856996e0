#include "moves/mix.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "moves/cell_order.hpp"
#include "moves/incumbent.hpp"
#include "moves/pair_exchange.hpp"
#include "runtime/random.hpp"

namespace bckm {
namespace {

constexpr double better = 1e-9;  // relative improvement that counts
// Shares of the work: of single moves, with sizes alone and with other rules, and of a last look.
constexpr double plain_single = 0.15, ruled_single = 0.4, sweep_share = 0.1;
// Temperatures of single moves, in units of what a random swap changes,
constexpr double plain_hot = 0.3, ruled_hot = 5.0, cold = 1e-4;
constexpr double frozen_after = 4.0;  // proposals for each item without any change: cold enough
// and of exchanges: as many are to be taken at first, and at last.
constexpr double first_taken = 0.3, last_taken = 0.01;
constexpr double adapt = 1.1;       // by how much the temperature follows, for each exchange
constexpr double first_fine = 2.0;  // for a mean item, in temperatures
constexpr double least_fine = 0.5, most_fine = 1e6;
constexpr double dearer = 1.3, cheaper = 1.0 / 1.2;  // a fine that is too low, or too high
constexpr double rarely = 0.05, often = 0.4;         // shares of the time that all rules hold
constexpr double settled = 0.6;                      // part after which fines only rise
constexpr double margin = 0.7;        // of the room that bounds leave, at the beginning
constexpr double windows = 60.0;      // in a part: times at which fines change
constexpr std::int64_t block = 64;    // proposals between two looks at the schedule,
constexpr std::int64_t between = 16;  // and between two exchanges, where there are rules
constexpr int relocating = 4;         // of 16 proposals, where they may be of use
constexpr int candidates = 4;         // partners of which the best one is offered
constexpr int samples = 512;          // random swaps that tell what one changes
constexpr double gathered = 0.8;      // of a cluster whose items are looked at for an exchange,
constexpr std::int64_t most_gathered = 96;                // but no more than so many
constexpr double cache_bytes = 0x1p20, miss_work = 20.0;  // as in anneal.cpp
constexpr std::int64_t row_numbers = 12;
constexpr double step_work = 1.5;  // of a step in the order of cells
constexpr double infinity = std::numeric_limits<double>::infinity();

class Mixer {
public:
    Mixer(RelaxedClustering& c, const Kinds& kinds, const MixSchedule& schedule,
          const std::function<bool()>& stop, AnnealResult& result)
        : c(c), kinds(kinds), schedule(schedule), stop(stop), random(schedule.seed), best(c.label),
          cells(c.points), pairs(c), waits(4096), offsets(4096), out(result) {
        for (std::size_t q = 0; q < waits.size(); ++q) {
            const double u = (static_cast<double>(q) + 0.5) / static_cast<double>(waits.size());
            waits[q] = -std::log(u);
            // all scales alike: the logarithm of the distance in the order is uniform
            offsets[q] = static_cast<std::int64_t>(std::pow(static_cast<double>(c.m), u));
        }
    }

    ~Mixer() {
        out.label.swap(best.kept);
        out.cost = best_cost;
    }
    Mixer(const Mixer&) = delete;
    Mixer& operator=(const Mixer&) = delete;

    void run() {
        begin();
        if (c.k < 2 || c.m < 2 || c.dims == 0) return;
        cool();
        if (out.stopped || !out.feasible || done()) return;
        exchange();
        if (!out.stopped && best_cost > schedule.enough) sweep();
    }

private:
    void begin() {
        refresh();
        spend(cells.work);
        out.feasible = c.feasible();
        if (out.feasible) best_cost = cost;
        for (std::int64_t kind = 0; kind < c.kinds(); ++kind)
            if (c.asked(kind)) asked.push_back(kind);
        fines.assign(c.kinds(), first_fine);
        held.assign(c.kinds(), 0);
        const auto number = static_cast<double>(std::max<std::size_t>(asked.size(), 1));
        too_rarely = std::pow(rarely, 1.0 / number);
        too_often = std::pow(often, 1.0 / number);
        each_evaluation = 14.0 + 2.5 * static_cast<double>(c.dims) + row_work();
        each_proposal = 60.0 + 8.0 * static_cast<double>(c.kinds());
        for (std::int64_t j = 0; j < c.m; ++j) swaps_only &= c.rules.count[j] == 1;
        for (std::int64_t i = 0; i < c.k; ++i) swaps_only &= c.rules.lower[i] == c.rules.upper[i];
        plain = swaps_only && !c.penalty.active;
        for (const std::int64_t kind : asked) plain &= kind == 0;
    }

    bool done() const {
        return out.work >= schedule.effort || (out.feasible && best_cost <= schedule.enough);
    }

    // Single moves, from hot to cold.
    void cool() {
        const double unit = mean_change(), share = plain ? plain_single : ruled_single;
        const double hot = plain ? plain_hot : ruled_hot;
        last_window = -1;
        while (!done() && !(out.stopped = stop())) {
            const double part = progress() / share;
            if (part >= 1.0 || still > frozen_after * static_cast<double>(c.m)) break;
            temperature = unit * hot * std::pow(cold / hot, part);
            learn(part);
            for (std::int64_t b = 0; b < block; ++b) propose();
            best.tidy();
        }
    }

    // Exchanges between two clusters, from the best labels.
    void exchange() {
        const double began_at = progress();
        back_to_best();
        const double freedoms = static_cast<double>((c.k - 1) * c.dims);
        temperature = std::max(best_cost / freedoms, 1e-300);
        fines.assign(c.kinds(), first_fine);
        last_window = -1;
        while (!done() && !(out.stopped = stop())) {
            const double part = (progress() - began_at) / (1.0 - began_at);
            learn(part);
            const bool taken = exchange_some();
            const double goal = first_taken * std::pow(last_taken / first_taken, part);
            temperature *= std::pow(adapt, taken ? goal - 1.0 : goal);
            for (std::int64_t b = 0; b < between && !plain; ++b) propose();
            best.tidy();
        }
    }

    void back_to_best() {
        c.label = best.kept;
        best.restart();
        refresh();
    }

    // What a random swap changes, once means are alike, and what it changes of the penalties.
    double mean_change() {
        double total = 0.0, paid = 0.0, mass = 0.0;
        int number = 0, paying = 0;
        for (std::int64_t j = 0; j < c.m; ++j) mass += c.mass(j);
        for (int t = 0; t < samples; ++t) {
            const std::int64_t j = random.below(c.m), l = random.below(c.m);
            if (j == l) continue;
            const double *x = c.points.row(j), *y = c.points.row(l);
            for (std::int64_t q = 0; q < c.dims; ++q) {
                const double gap = c.mass(j) * x[q] - c.mass(l) * y[q];
                total += gap * gap;
            }
            ++number;
            if (!c.penalty.active || c.label[j] == c.label[l]) continue;
            const double change = c.penalty_change(Relay::swap(j, c.label[j], l, c.label[l]));
            if (change == 0.0) continue;
            paid += std::fabs(change);
            ++paying;
        }
        total = mass > 0.0 ? total * 2.0 * static_cast<double>(c.k) / (mass * number) : 0.0;
        if (paying > 0) total = std::max(total, paid / paying);
        return total > 0.0 ? total : 1.0;
    }

    void refresh() {
        cost = c.refresh();
        penalties = cost - c.between_sum();
        spend(2.0 * static_cast<double>(c.m * (c.dims + c.kinds())));
    }

    // Rows that are not in the cache are slow to come.
    double row_work() const {
        const auto bytes = static_cast<double>(8 * c.m * (c.dims + c.kinds() + row_numbers));
        return miss_work * std::max(0.0, std::log2(bytes / cache_bytes));
    }

    // The share of the schedule that is over; the clock has a say as in anneal.cpp.
    double progress() {
        const double share = out.work / schedule.effort;
        const std::chrono::duration<double> since = Clock::now() - began;
        const double late = 2.0 * since.count() / schedule.seconds - 1.0;
        if (late < 0.0) return share;
        if (at_half < 0.0) at_half = share;
        const double due = at_half + (1.0 - at_half) * late;
        if (due <= share) return share;
        out.hurried = true;
        return std::min(due, 1.0 - 1e-9);
    }

    // Fines follow the temperature, and how often rules hold.
    void learn(double part) {
        for (const std::int64_t kind : asked) held[kind] += c.holds(kind);
        ++looks;
        const auto window = static_cast<std::int64_t>(part * windows);
        if (window == last_window) return;
        last_window = window;
        refresh();  // without the rounding of many changes
        for (const std::int64_t kind : asked) {
            const double holds = static_cast<double>(held[kind]) / static_cast<double>(looks);
            if (holds < too_rarely) fines[kind] *= dearer;
            else if (holds > too_often && part < settled) fines[kind] *= cheaper;
            fines[kind] = std::clamp(fines[kind], least_fine, most_fine);
            held[kind] = 0;
        }
        looks = 0;
        c.set_margin(margin * (1.0 - part));
        set_fines();
    }

    void set_fines() {
        for (std::int64_t kind = 0; kind < c.kinds(); ++kind)
            c.set_fine(kind, fines[kind] * temperature);
        c.update_fines();
    }

    void propose() {
        const std::uint64_t bits = random.bits();
        const std::int64_t j = draw_item(bits & 3U), a = c.label[j];
        const double wait = temperature * waits[(bits >> 40U) & 4095U];
        spend(each_proposal);
        ++out.proposed;
        ++still;
        if (static_cast<int>((bits >> 52U) & 15U) < relocating && !swaps_only) {
            relocate(j, a, wait);
            return;
        }
        const std::int64_t l = draw_partner(j, a);
        if (l >= 0) out.swapped += accept(Relay::swap(j, a, l, c.label[l]), wait);
    }

    void relocate(std::int64_t j, std::int64_t a, double wait) {
        const std::int64_t b = random.below(c.k);
        spend(each_evaluation + 2.0 * static_cast<double>(c.degree(j)));
        if (b == a) return;
        std::int64_t blocker = -1;
        if (c.degree(j) > 0 && c.blockers(j, b, blocker) == 1) {
            const std::int64_t d = random.below(c.k);
            if (d == b) return;
            out.ejected += accept(
                d == a ? Relay::swap(j, a, blocker, b) : Relay::path(j, a, blocker, b, d), wait);
            return;
        }
        out.relocated += accept(Relay::relocation(j, a, b), wait);
    }

    // Where rules are violated, half of the items are drawn from there.
    std::int64_t draw_item(std::uint64_t bits) {
        if (bits == 0 && !c.broken_clusters.all.empty()) {
            const std::vector<std::int32_t>& list = c.members[random.of(c.broken_clusters.all)];
            if (!list.empty()) return random.of(list);
        }
        if (bits == 1 && !c.clashing.all.empty()) return random.of(c.clashing.all);
        return random.below(c.m);
    }

    // Of some items near j and in other clusters, the one whose swap is best.
    std::int64_t draw_partner(std::int64_t j, std::int64_t a) {
        double least = infinity;
        std::int64_t partner = -1;
        for (int t = 0; t < candidates; ++t) {
            const std::uint64_t bits = random.bits();
            const std::int64_t offset = offsets[bits & 4095U], at = cells.place[j];
            std::int64_t to = (bits >> 12U) & 1U ? at + offset : at - offset;
            if (to < 0 || to >= c.m) to = 2 * at - to;  // the other way
            if (to < 0 || to >= c.m) continue;
            const std::int64_t l = cells.order[to], b = c.label[l];
            if (b == a) continue;
            spend(each_evaluation);
            const Relay swap = Relay::swap(j, a, l, b);
            const double change = c.distance_change(swap) + c.swap_sums_change(j, a, l, b);
            if (change < least) {
                least = change;
                partner = l;
            }
        }
        return partner;
    }

    bool accept(const Relay& move, double wait) {
        const double paid = c.penalty.active ? c.penalty_change(move) : 0.0;
        const double change = c.distance_change(move) + paid;
        if (change + c.least_charge_change(move) > wait) return false;
        if (change + c.charge_change(move) > wait) return false;
        best.note(move);
        c.apply(move);
        if (change != 0.0) still = 0;
        penalties += paid;
        keep();
        return true;
    }

    void keep() {
        cost = c.between_sum() + penalties;
        if (!c.feasible() || (out.feasible && !(cost < best_cost * (1.0 - better)))) return;
        best_cost = cost;
        out.feasible = true;
        best.take(c.label);
    }

    // The best exchange between two clusters, if it is not too bad.
    bool exchange_some() {
        const std::int64_t a = random.below(c.k);
        std::int64_t b = random.below(c.k - 1);
        b += b >= a;
        if (c.members[a].empty() || c.members[b].empty()) return false;
        gather(a, b);
        const PairSwaps found = pairs.find(a, from, b, to, out.work);
        const double wait = temperature * waits[random.below(4096)];
        if (found.number == 0 || found.change > wait) return false;
        double change = 0.0, paid = 0.0;
        for (int s = 0; s < found.number; ++s) {
            const Relay move = Relay::swap(found.j[s], a, found.l[s], b);
            if (!plain) {
                const double penalty = c.penalty.active ? c.penalty_change(move) : 0.0;
                change += c.distance_change(move) + penalty + c.charge_change(move);
                paid += penalty;
            }
            best.note(move);
            c.apply(move);
            spend(each_proposal);
        }
        if (change <= wait) {
            out.swapped += found.number;
            penalties += paid;
            keep();
            return true;
        }
        for (int s = found.number - 1; s >= 0; --s)
            c.apply(Relay::swap(found.j[s], b, found.l[s], a));
        return false;
    }

    // Items of two clusters that are of one kind: most of them, or some that are near each other.
    void gather(std::int64_t a, std::int64_t b) {
        from.clear();
        to.clear();
        const std::int64_t first = random.of(c.members[a]);
        const std::int64_t* kind = random.bits() & 1U ? kinds.mass : kinds.all;
        const std::size_t larger = std::max(c.members[a].size(), c.members[b].size());
        if (larger <= 2 * most_gathered) {
            const double share =
                std::min(gathered, most_gathered / static_cast<double>(larger)) * 0x1p24;
            for (const auto& [i, list] : {std::pair{a, &from}, std::pair{b, &to}})
                for (const std::int32_t j : c.members[i])
                    if (kind[j] == kind[first] && static_cast<double>(random.bits() >> 40U) < share)
                        list->push_back(j);
            spend(3.0 * static_cast<double>(c.members[a].size() + c.members[b].size()));
            return;
        }
        std::int64_t at = cells.place[first], steps = std::min(c.m, 2 * most_gathered * c.k);
        spend(step_work * static_cast<double>(steps));
        for (; steps > 0; --steps, at = at + 1 < c.m ? at + 1 : 0) {
            const std::int32_t j = cells.order[at];
            if (c.label[j] != a && c.label[j] != b) continue;
            std::vector<std::int32_t>& list = c.label[j] == a ? from : to;
            if (list.size() < most_gathered && kind[j] == kind[first]) list.push_back(j);
        }
    }

    // Looks at all swaps and relocations of the best labels, and makes those that help.
    void sweep() {
        const double each = static_cast<double>(c.m) * each_evaluation;
        if (each * static_cast<double>(c.m) > sweep_share * schedule.effort) return;
        back_to_best();
        c.set_margin(0.0);
        set_fines();
        std::int64_t since = 0;  // items after the last one that helped
        for (std::int64_t j = 0; since < c.m; j = (j + 1) % c.m, ++since) {
            spend(each);
            if ((j & 15) == 0) out.stopped = stop();
            if (out.stopped || out.work > (1.0 + sweep_share) * schedule.effort) return;
            if (improve(j)) since = 0;
        }
    }

    bool improve(std::int64_t j) {
        const std::int64_t a = c.label[j];
        Relay move;
        double least = -better * best_cost;
        const auto look = [&](const Relay& one) {
            double change = c.distance_change(one);
            if (c.penalty.active) change += c.penalty_change(one);
            if (change >= least || c.charge_change(one) > 0.0) return;
            least = change;
            move = one;
        };
        for (std::int64_t l = 0; l < c.m; ++l)
            if (c.label[l] != a) look(Relay::swap(j, a, l, c.label[l]));
        for (std::int64_t b = 0; b < c.k && !swaps_only; ++b)
            if (b != a) look(Relay::relocation(j, a, b));
        return move.n_hops > 0 && accept(move, infinity);
    }

    void spend(double work) { out.work += work; }

    using Clock = std::chrono::steady_clock;

    RelaxedClustering& c;
    const Kinds& kinds;
    const MixSchedule& schedule;
    const std::function<bool()>& stop;
    Random random;
    Incumbent best;
    CellOrder cells;
    PairExchange pairs;
    std::vector<double> waits;           // what a proposal may cost, in temperatures
    std::vector<std::int64_t> offsets;   // places between an item and its partner
    std::vector<std::int64_t> asked;     // kinds of rules
    std::vector<double> fines;           // in temperatures
    std::vector<std::int64_t> held;      // how often each kind held
    std::vector<std::int32_t> from, to;  // items of an exchange
    double cost = 0.0, penalties = 0.0, best_cost = infinity, temperature = 1.0;
    double too_rarely = 0.0, too_often = 0.0;
    double each_proposal = 0.0, each_evaluation = 0.0;
    const Clock::time_point began = Clock::now();
    double at_half = -1.0;   // what was done when half of the time was over
    bool swaps_only = true;  // whether items are samples and sizes are given
    bool plain = true;       // whether swaps violate nothing
    std::int64_t looks = 0, last_window = -1;
    double still = 0.0;  // proposals since the last change
    AnnealResult& out;
};

}  // namespace

void mix(RelaxedClustering& clustering, const Kinds& kinds, const MixSchedule& schedule,
         const std::function<bool()>& stop, AnnealResult& result) {
    Mixer(clustering, kinds, schedule, stop, result).run();
}

}  // namespace bckm
