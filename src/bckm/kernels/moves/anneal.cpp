#include "moves/anneal.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include "moves/incumbent.hpp"
#include "moves/prospects.hpp"
#include "runtime/random.hpp"

namespace bckm {
namespace {

constexpr double better = 1e-9;     // relative improvement that counts
constexpr double first_fine = 1.0;  // for a mean item, in units of what it gains elsewhere
constexpr double least_fine = 0.3, most_fine = 1e4;
constexpr double dearer = 1.3, cheaper = 1.0 / 1.2;  // a fine that is too low, or too high
constexpr double rarely = 0.05, often = 0.4;         // shares of the time that all rules hold
constexpr double loose = 0.3;         // part of a cycle in which some rules are violated:
constexpr double settled = 0.6;       // part after which fines only rise
constexpr double most_broken = 0.5;   // by this share of the clusters at first,
constexpr double least_broken = 0.3;  // or less than so much of it, if fines are high
constexpr double margin = 0.7;        // of the room that bounds leave, at the beginning of a cycle
constexpr double price_step = 0.1;    // per window
constexpr double windows = 60.0;      // in a cycle: times at which fines and prices change
constexpr double cooler = 0.97;       // hot temperature of a cycle, in that of the one before
constexpr std::int64_t block = 64;    // proposals between two looks at the schedule
constexpr double reach = 4.0;  // temperatures by which a hop that is worth a try makes things worse
constexpr int listed = 12;     // of 16 items, so many are drawn from hops that are worth a try
constexpr int swapping = 8;    // of 16 proposals
constexpr int candidates = 6;  // items of which the best one is offered for a swap
// a miss is dearer where data are many; numbers that are kept of an item beside its row
constexpr double cache_bytes = 0x1p20, miss_work = 20.0;
constexpr std::int64_t row_numbers = 12;
constexpr double refreshes = 20.0;     // of near clusters in a cycle, at most
constexpr double refresh_share = 0.1;  // of the work, at most

class Annealer {
public:
    Annealer(RelaxedClustering& c, const AnnealSchedule& schedule,
             const std::function<bool()>& stop, AnnealResult& result)
        : c(c), schedule(schedule), stop(stop), random(schedule.seed), best(c.label), prospects(c),
          waits(4096), out(result) {
        for (std::size_t q = 0; q < waits.size(); ++q)
            waits[q] =
                -std::log((static_cast<double>(q) + 0.5) / static_cast<double>(waits.size()));
        for (std::size_t q = 0; q < slots.size(); ++q) {
            const double u = (static_cast<double>(q) + 0.5) / static_cast<double>(slots.size());
            slots[q] = static_cast<std::int32_t>(static_cast<double>(prospects.width) * u * u);
        }
    }

    ~Annealer() {
        out.label.swap(best.kept);
        out.cost = best_cost;
    }
    Annealer(const Annealer&) = delete;
    Annealer& operator=(const Annealer&) = delete;

    void run() {
        begin();
        while (c.k > 1 && c.m > 0 && out.work < schedule.effort && !(rules_only && out.feasible) &&
               !(out.stopped = stop())) {
            plan();
            for (std::int64_t b = 0; b < block; ++b) propose();
            out.proposed += block;
            best.tidy();
        }
    }

private:
    void begin() {
        cycle_work = schedule.effort / static_cast<double>(schedule.cycles);
        each_proposal = propose_work();
        each_candidate = candidate_work();
        const double each = each_proposal + candidates * each_candidate;
        window = std::max<std::int64_t>(
            1, static_cast<std::int64_t>(cycle_work / (windows * each)) / block);
        rebuild();
        if (c.feasible()) {
            best_cost = cost;
            out.feasible = true;
        }
        for (std::int64_t kind = 0; kind < c.kinds(); ++kind)
            if (c.asked(kind)) asked.push_back(kind);
        fines.assign(c.kinds(), first_fine);
        held.assign(c.kinds(), 0);
        broken.assign(c.kinds(), 0.0);
        set_fines();
        rules_only = c.indifferent();
        const auto number = static_cast<double>(std::max<std::size_t>(asked.size(), 1));
        too_rarely = std::pow(rarely, 1.0 / number);
        too_often = std::pow(often, 1.0 / number);
    }

    // Everything anew from the labels, with the clusters near each item.
    void rebuild() {
        cost = c.refresh();
        const double work = prospects.find(reach * temperature, stop);
        spend(work);
        unit = prospects.unit();
        if (!(unit > 0.0)) unit = cost > 0.0 ? cost / static_cast<double>(c.m) : 1.0;
        rebuild_every = std::max(work / refresh_share, cycle_work / refreshes);
        if (!fines.empty()) set_fines();
        since_rebuilt = 0.0;
    }

    // About nanoseconds of a quick machine: of a proposal, and of a candidate for a swap.
    double propose_work() const {
        return 32.0 + 3.0 * static_cast<double>(c.dims) + 4.0 * static_cast<double>(c.kinds()) +
               row_work();
    }
    double candidate_work() const {
        return 2.0 + 2.0 * static_cast<double>(c.dims) + 4.0 * static_cast<double>(c.kinds()) +
               row_work();
    }
    // Rows that are not in the cache are slow to come; long ones come while others are awaited.
    double row_work() const {
        const auto bytes = static_cast<double>(8 * c.m * (c.dims + c.kinds() + row_numbers));
        return miss_work * std::max(0.0, std::log2(bytes / cache_bytes));
    }
    double conflict_work(std::int64_t j) const {
        return 10.0 + 2.0 * static_cast<double>(c.degree(j));
    }

    // The share of the schedule that is over.
    double progress() {
        const double done = out.work / schedule.effort;
        const std::chrono::duration<double> since = Clock::now() - began;
        const double late = 2.0 * since.count() / schedule.seconds - 1.0;
        if (late < 0.0) return done;
        if (at_half < 0.0) at_half = done;
        const double due = at_half + (1.0 - at_half) * late;
        if (due <= done) return done;
        out.hurried = true;
        return std::min(due, 1.0 - 1e-9);
    }

    void plan() {
        const double phase = progress() * static_cast<double>(schedule.cycles);
        const auto now = static_cast<std::int64_t>(phase);
        const double part = phase - static_cast<double>(now);
        const double hot = std::max(schedule.hot * std::pow(cooler, static_cast<double>(now)),
                                    std::min(4.0 * schedule.cold, schedule.hot));
        temperature = unit * hot * std::pow(schedule.cold / hot, part);
        const bool again = now != cycle;
        cycle = now;
        if (again && out.feasible) {
            c.label = best.kept;
            best.restart();
        }
        if (again || (since_rebuilt > rebuild_every && !rules_only)) rebuild();
        if (!rules_only) learn(part);  // else there is nothing to balance fines with
    }

    // Fines and prices follow what was violated, and how often.
    void learn(double part) {
        for (const std::int64_t kind : asked) {
            held[kind] += c.holds(kind);
            broken[kind] += c.broken_share(kind);
        }
        if (++looks < window) return;
        const double number = static_cast<double>(looks), most = most_broken * (1.0 - part / loose);
        for (const std::int64_t kind : asked) {
            const double holds = static_cast<double>(held[kind]) / number;
            const double share = broken[kind] / number;
            if (part > loose) {
                if (holds < too_rarely) fines[kind] *= dearer;
                else if (holds > too_often && part < settled) fines[kind] *= cheaper;
            } else {
                if (share > most) fines[kind] *= dearer;
                else if (share < least_broken * most) fines[kind] *= cheaper;
            }
            fines[kind] = std::clamp(fines[kind], least_fine, most_fine);
            held[kind] = 0;
            broken[kind] = 0.0;
        }
        looks = 0;
        if (part < loose) c.adjust_prices(price_step * unit);
        c.set_margin(margin * (1.0 - part));
        set_fines();
    }

    void set_fines() {
        for (std::int64_t kind = 0; kind < c.kinds(); ++kind) c.set_fine(kind, fines[kind] * unit);
        c.update_fines();
    }

    void propose() {
        const std::uint64_t bits = random.bits();
        const Hop hop = draw_hop(bits);
        const std::int64_t j = hop.item, a = c.label[j], b = hop.to;
        spend(each_proposal);
        if (c.rules.conflict_start) spend(conflict_work(j));
        if (b == a) return;
        const double wait = temperature * waits[(bits >> 40U) & 4095U];
        const bool swaps = static_cast<int>((bits >> 52U) & 15U) < swapping;
        if (swaps && !c.members[b].empty()) {
            spend(candidates * each_candidate);
            out.swapped += accept(Relay::swap(j, a, draw_partner(j, a, b), b), wait);
            return;
        }
        std::int64_t blocker = -1;
        if (c.degree(j) > 0 && c.blockers(j, b, blocker) == 1) {
            const std::int64_t d = draw_cluster(blocker, random.bits());
            if (d == b) return;
            out.ejected += accept(
                d == a ? Relay::swap(j, a, blocker, b) : Relay::path(j, a, blocker, b, d), wait);
            return;
        }
        out.relocated += accept(Relay::relocation(j, a, b), wait);
    }

    Hop draw_hop(std::uint64_t bits) {
        if (rules_only) {
            const std::int64_t j = draw_violating(bits);
            return {j, random.below(c.k)};
        }
        if (static_cast<int>(bits & 15U) < listed && !prospects.hops.empty())
            return random.of(prospects.hops);
        const std::int64_t j = draw_item((bits >> 4U) & 3U);
        return {j, draw_cluster(j, bits >> 6U)};
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

    // Only what violates rules is worth a move, but for one in 16.
    std::int64_t draw_violating(std::uint64_t bits) {
        const bool sums = !c.broken_clusters.all.empty(), clash = !c.clashing.all.empty();
        if ((bits & 15U) == 0 || !(sums || clash)) return random.below(c.m);
        if (clash && !(sums && (bits & 16U))) return random.of(c.clashing.all);
        const std::vector<std::int32_t>& list = c.members[random.of(c.broken_clusters.all)];
        return list.empty() ? random.below(c.m) : random.of(list);
    }

    std::int64_t draw_cluster(std::int64_t j, std::uint64_t bits) {
        if (rules_only) return random.below(c.k);
        if ((bits & 15U) == 0) return random.below(c.k);
        const std::int32_t* near = prospects.near.data() + j * prospects.width;
        const std::int64_t slot = slots[(bits >> 4U) & 63U];
        return near[slot] != c.label[j] ? near[slot] : near[(slot + 1) % prospects.width];
    }

    // Of some items of b, most of which are worth a try, the one that is best off in a.
    std::int64_t draw_partner(std::int64_t j, std::int64_t a, std::int64_t b) {
        double least = std::numeric_limits<double>::infinity();
        std::int64_t partner = -1;
        const std::int32_t* pair = prospects.start.data() + b * c.k + a;
        for (int t = 0; t < candidates; ++t) {
            std::int64_t l = -1;
            if (t > 0 && pair[1] > pair[0])
                l = prospects.returning[pair[0] + random.below(pair[1] - pair[0])];
            if (l < 0 || c.label[l] != b) l = random.of(c.members[b]);
            const double change = c.gain(l, b, a) + c.swap_sums_change(j, a, l, b);
            if (change < least || partner < 0) {
                least = change;
                partner = l;
            }
        }
        return partner;
    }

    bool accept(const Relay& move, double wait) {
        double change = c.distance_change(move);
        if (c.penalty.active) change += c.penalty_change(move);
        if (change + c.least_charge_change(move) > wait) return false;
        if (change + c.charge_change(move) > wait) return false;
        best.note(move);
        c.apply(move);
        cost += change;
        if (c.feasible() && (!out.feasible || cost < best_cost * (1.0 - better))) {
            best_cost = cost;
            out.feasible = true;
            best.take(c.label);
        }
        return true;
    }

    void spend(double work) {
        out.work += work;
        since_rebuilt += work;
    }

    using Clock = std::chrono::steady_clock;

    RelaxedClustering& c;
    const AnnealSchedule& schedule;
    const std::function<bool()>& stop;
    Random random;
    Incumbent best;
    Prospects prospects;
    std::vector<double> waits;  // what a proposal may cost, in temperatures
    std::array<std::int32_t, 64> slots{};
    std::vector<std::int64_t> asked;  // kinds of rules
    std::vector<double> fines;        // in units of what a mean item gains
    std::vector<std::int64_t> held;   // how often each kind held,
    std::vector<double> broken;       // and by what share of the clusters it did not, in all
    double cost = 0.0, best_cost = std::numeric_limits<double>::infinity();
    double unit = 1.0, temperature = std::numeric_limits<double>::infinity();
    double too_rarely = 0.0, too_often = 0.0;
    double since_rebuilt = 0.0, rebuild_every = 0.0, cycle_work = 0.0;
    double each_proposal = 0.0, each_candidate = 0.0;
    const Clock::time_point began = Clock::now();
    double at_half = -1.0;    // what was done when half of the time was over
    bool rules_only = false;  // whether moves cost nothing but fines
    std::int64_t cycle = 0, window = 1, looks = 0;
    AnnealResult& out;
};

}  // namespace

void anneal(RelaxedClustering& clustering, const AnnealSchedule& schedule,
            const std::function<bool()>& stop, AnnealResult& result) {
    Annealer(clustering, schedule, stop, result).run();
}

}  // namespace bckm
