#include "moves/descend.hpp"

#include <algorithm>
#include <cmath>

#include "moves/descent.hpp"

namespace bckm {
namespace {

// Work, in about nanoseconds, fitted over the instances of `benchmarks.mixed.accounting`: of a
// call; of an item, a coordinate and an amount that are summed up in a pass; of a hop that is
// tried, with each of its loads and conflicts, and of one that is made, and of its coordinates, by
// which its change is judged and the means are moved. What is listed counts for itself
constexpr double call_work = 2e4;
constexpr double item_work = 35.0, mean_work = 0.85, amount_work = 10.0;
constexpr double hop_work = 17.0, load_work = 2.0, conflict_work = 1.0, made_work = 18.0;
constexpr double judged_coordinate = 4.5, made_coordinate = 2.0;
constexpr double unblocked_work = 1.5;
constexpr double triple_work = 20.0;  // of three clusters around which no move may lead
constexpr double rounding = 1e-12;    // smaller changes, relative to the objective, do not count
// most work of a pass: for each cost, and each of its dimensions,
constexpr double most_look = 150.0, most_dimension = 8.0;
constexpr double min_pass_work = 1.5e7;  // or at least this

}  // namespace

Descent::Descent(Clustering& c, const std::function<bool()>& stop)
    : c(c), k(c.k), stop(stop), visited(c.m, 0) {
    for (std::int64_t j = 0; j < c.m; ++j)
        if (c.mass(j) == 0.0) without_mass.push_back(j);
}

DescentResult Descent::run(double effort) {
    out.work = call_work;
    while (out.work < effort && !should_stop()) {
        ++out.passes;
        const std::vector<std::int32_t> labels = c.label;
        const double cost = c.cost;
        least_change = rounding * cost;
        work_left = std::min(effort - out.work, std::max(min_pass_work, most_pass_work()));
        const double before = work_left;
        work_left -=
            static_cast<double>(c.m) * (item_work + mean_work * static_cast<double>(c.dims) +
                                        amount_work * static_cast<double>(c.rules.loads.number));
        const bool better = pass();
        out.work += before - work_left;
        if (!better) break;
        c.refresh();
        if (c.cost < cost) continue;
        c.label = labels;  // the gain was only round-off
        c.refresh();
        break;
    }
    return out;
}

bool Descent::pass() {
    Shortlist shortlist(c, least_change, c.threads);
    const std::vector<Relocation> relocations = shortlist.relocations();
    work_left -= shortlist.work;
    if (relocate(relocations)) return true;
    list_offers(shortlist, shortlist.cached() ? 1 : heads);
    const bool complete = offers.complete;
    const bool swapped = swap(), exchanged = swap_linked();
    if (swapped || exchanged) return true;
    if (shortlist.cached()) list_offers(shortlist, heads);
    const bool flipped = flip(), grouped = group();
    if (flipped || grouped) return true;
    const bool exhausted = complete && work_left > 0.0 && !out.stopped;
    if (chain()) return true;
    out.finished = exhausted;
    return false;
}

void Descent::list_offers(Shortlist& shortlist, std::int64_t number) {
    const double before = shortlist.work;
    offers = shortlist.offers(number);
    work_left -= shortlist.work - before;
}

double Descent::most_pass_work() const {
    return static_cast<double>(c.m * k) *
           (most_look + most_dimension * static_cast<double>(c.dims));
}

bool Descent::try_move(const Hop* hops, std::int64_t number, std::int64_t& counter) {
    double work = static_cast<double>(number) *
                  (hop_work + load_work * static_cast<double>(c.rules.loads.number));
    for (std::int64_t h = 0; h < number; ++h)
        work += conflict_work * static_cast<double>(c.degree(hops[h].item));
    spend(work);
    if (c.penalty.active)
        for (std::int64_t h = 0; h < number; ++h)
            work_left -= static_cast<double>(c.penalty.links(hops[h].item));
    if (!c.admits(hops, number)) return false;
    const auto coordinates = static_cast<double>(number * c.dims);
    work_left -= judged_coordinate * coordinates;
    if (!(c.change(hops, number) < -least_change)) return false;
    c.apply(hops, number);
    spend(made_work * static_cast<double>(number) + made_coordinate * coordinates);
    ++counter;
    return true;
}

bool Descent::relocate(const std::vector<Relocation>& relocations) {
    bool better = false;
    for (const Relocation& relocation : relocations) {
        if (out.stopped) break;
        better |= c.label[relocation.hop.item] != relocation.hop.to &&
                  (try_move({relocation.hop}, out.relocated) || swap_with_massless(relocation.hop));
    }
    return better;
}

bool Descent::swap_with_massless(const Hop& hop) {
    const std::int64_t a = c.label[hop.item];
    if (c.without_mass[hop.to] == 0 || !(c.change(&hop, 1) < -least_change)) return false;
    for (const std::int64_t l : without_mass) {
        if (!spend(hop_work)) return false;
        if (c.label[l] == hop.to && try_move({hop, {l, a}}, out.swapped)) return true;
    }
    return false;
}

bool Descent::swap() {
    bool better = false;
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t b = a + 1; b < k && !out.stopped; ++b) better |= swap_between(a, b);
    return better;
}

bool Descent::unblocked(const Offer& offer) {
    std::int64_t blocker = 0;
    work_left -= unblocked_work + static_cast<double>(c.degree(offer.item)) / 4;
    return c.blockers(offer.item, offer.to, blocker) == 0;
}

bool Descent::swap_between(std::int64_t a, std::int64_t b) {
    const Offer* there = offers.begin(a, b);
    const std::int64_t going = offers.number(a, b);
    const double bonus = offers.bonus[a * k + b] + offers.bonus[b * k + a];
    if (going == 0) return false;
    back.clear();
    for (const Offer* o = offers.begin(b, a); o != offers.begin(b, a) + offers.number(b, a); ++o) {
        if (there[0].gain + o->gain >= bonus) break;
        if (unblocked(*o)) back.push_back(*o);
    }
    if (back.empty()) return false;
    bool better = false;
    for (std::int64_t p = 0; p < going; ++p) {
        if (there[p].gain + back[0].gain >= bonus) break;
        if (!unblocked(there[p])) continue;
        for (std::size_t q = 0; q < back.size(); ++q) {
            const std::int64_t j = there[p].item, l = back[q].item;
            const double gains = there[p].gain + back[q].gain;
            if (gains >= bonus || c.label[j] != a) break;
            if (!spend(tried(1))) return better;
            if (c.label[l] != b) continue;
            const Hop both[] = {{j, b}, {l, a}};
            double change =
                gains - mean_correction(there[p], back[q]) - mean_correction(back[q], there[p]);
            if (c.penalty.active)
                change += c.penalty.load_change(a, both, 2, c.label) +
                          c.penalty.load_change(b, both, 2, c.label);
            if (change < -least_change) better |= try_move(both, 2, out.swapped);
        }
    }
    return better;
}

double Descent::mean_correction(const Offer& comes, const Offer& leaves) const {
    if (c.fixed) return 0.0;
    const bool active = c.penalty.active;
    const double in = c.mass(comes.item), out = c.mass(leaves.item);
    const double rest = c.weight[comes.to] + in - out;
    const double far = active ? c.distance(comes.item, comes.to) : (comes.gain + comes.here) / in;
    const double near = active ? c.distance(leaves.item, comes.to) : leaves.here / out;
    const double square = in * in * far + out * out * near -
                          in * out * (far + near - c.apart(comes.item, leaves.item));
    return rest > 0.0 ? square / rest : 0.0;
}

bool Descent::chain() {
    bool better = false;
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t b = 0; b < k; ++b) {
            if (a == b || offers.number(a, b) == 0) continue;
            for (std::int64_t d = 0; d < k; ++d) {
                if (!spend(triple_work)) return better;  // there are k^3 of them
                if (d == a || d == b || offers.number(b, d) == 0) continue;
                better |= path(a, b, d);
                if (a < b && a < d) better |= cycle(a, b, d);
            }
        }
    return better;
}

bool Descent::cycle(std::int64_t a, std::int64_t b, std::int64_t d) {
    if (offers.number(d, a) == 0) return false;
    const double bonus =
        offers.bonus[a * k + b] + offers.bonus[b * k + d] + offers.bonus[d * k + a];
    const Offer *one = offers.begin(a, b), *two = offers.begin(b, d), *three = offers.begin(d, a);
    const std::int64_t ones = std::min(heads, offers.number(a, b));
    const std::int64_t twos = std::min(heads, offers.number(b, d));
    const std::int64_t threes = std::min(heads, offers.number(d, a));
    bool better = false;
    for (std::int64_t p = 0; p < ones; ++p)
        for (std::int64_t q = 0; q < twos; ++q)
            for (std::int64_t r = 0; r < threes; ++r) {
                if (one[p].gain + two[q].gain + three[r].gain >= bonus) break;
                spend(tried(3));
                if (c.label[one[p].item] == a && c.label[two[q].item] == b &&
                    c.label[three[r].item] == d &&
                    (c.penalty.soft.loads.number > 0 ||
                     one[p].gain + two[q].gain + three[r].gain - mean_correction(one[p], two[q]) -
                             mean_correction(two[q], three[r]) - mean_correction(three[r], one[p]) <
                         -least_change))
                    better |= try_move({{one[p].item, b}, {two[q].item, d}, {three[r].item, a}},
                                       out.chained);
            }
    return better;
}

bool Descent::path(std::int64_t a, std::int64_t b, std::int64_t d) {
    if (!c.fits(a, d, 1)) return false;
    double bonus = offers.bonus[a * k + a] + offers.bonus[a * k + b] + offers.bonus[b * k + d];
    if (!offers.arrival.empty()) bonus += offers.arrival[b * k + d];
    const Offer *one = offers.begin(a, b), *two = offers.begin(b, d);
    const std::int64_t ones = std::min(heads, offers.number(a, b));
    const std::int64_t twos = std::min(heads, offers.number(b, d));
    bool better = false;
    for (std::int64_t p = 0; p < ones; ++p)
        for (std::int64_t q = 0; q < twos; ++q) {
            const std::int64_t j = one[p].item, l = two[q].item;
            if (one[p].gain + two[q].gain >= bonus) break;
            if (c.label[j] != a || c.label[l] != b) continue;
            spend(tried(1));
            if (c.penalty.active || path_change(one[p], two[q]) < -least_change)
                better |= try_move({{j, b}, {l, d}}, out.chained);
        }
    return better;
}

double Descent::path_change(const Offer& one, const Offer& two) const {
    const double there = two.gain + two.here;
    return one.gain - mean_correction(one, two) + one.here + two.gain - there -
           c.leaves(one.item, one.here / c.mass(one.item)) +
           c.joins(two.item, two.to, there / c.mass(two.item));
}

DescentResult descend(Clustering& clustering, double effort, const std::function<bool()>& stop) {
    return Descent(clustering, stop).run(effort);
}

}  // namespace bckm
