#include "moves/descend.hpp"

#include <algorithm>
#include <cmath>

#include "moves/shortlist.hpp"

namespace bckm {
namespace {

constexpr double rounding = 1e-12;     // smaller changes, relative to the objective, do not count
constexpr double try_work = 16.0;      // work of a try in addition to its distances
constexpr double pass_scans = 32.0;    // most work of a pass, in passes over all items,
constexpr double min_pass_work = 1e7;  // or at least this
constexpr std::int64_t heads = 4;      // offers of each pair of clusters that are tried in chains
constexpr std::int64_t largest_flip = 64, largest_group = 64;

class LocalSearch {
public:
    LocalSearch(Clustering& c, const std::function<bool()>& stop)
        : c(c), k(c.k), stop(stop), visited(c.m, 0) {
        for (std::int64_t j = 0; j < c.m; ++j)
            if (c.mass(j) == 0.0) without_mass.push_back(j);
    }

    DescentResult run(double effort) {
        while (out.work < effort && !should_stop()) {
            ++out.passes;
            const std::vector<std::int32_t> labels = c.label;
            const double cost = c.cost;
            least_change = rounding * cost;
            work_left =
                std::min(effort - out.work, std::max(min_pass_work, pass_scans * scan_work(1)));
            const double before = work_left;
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

private:
    // Longer moves are tried only where shorter ones are exhausted.
    bool pass() {
        Shortlist shortlist(c, least_change, c.threads);
        work_left -= scan_work(1);
        if (relocate(shortlist.relocations())) return true;
        work_left -= scan_work(shortlist.cached() ? 0 : 2);
        offers = shortlist.offers(shortlist.cached() ? 1 : heads);
        const bool complete = offers.complete;
        const bool swapped = swap(), exchanged = swap_linked();
        if (swapped || exchanged) return true;
        if (shortlist.cached()) {
            work_left -= scan_work(0);
            offers = shortlist.offers(heads);
        }
        const bool flipped = flip(), grouped = group();
        if (flipped || grouped) return true;
        const bool exhausted = complete && work_left > 0.0 && !out.stopped;
        if (chain()) return true;
        out.finished = exhausted;
        return false;
    }

    bool should_stop() { return out.stopped = out.stopped || stop(); }

    // The work of computing the costs of all items `times` times and going through them once.
    double scan_work(int times) const {
        const auto costs = static_cast<double>(c.m * c.k);
        const double work = costs * (static_cast<double>(times * c.dims) / 2 + 8.0);
        const Soft& soft = c.penalty.soft;
        if (!soft.any()) return work;
        const double links = soft.link_start ? static_cast<double>(soft.link_start[c.m]) : 0.0;
        return work + 4.0 * (costs * static_cast<double>(1 + soft.loads.number) + links);
    }

    // Accounts for the work of so many distances; false if that of this pass, or the time, is used
    // up.
    bool spend(std::int64_t distances) {
        work_left -= try_work + static_cast<double>(distances * c.dims);
        if ((++spend_calls & 1023) == 0) should_stop();
        return work_left > 0.0 && !out.stopped;
    }

    bool try_move(std::initializer_list<Hop> hops, std::int64_t& counter) {
        return try_move(hops.begin(), static_cast<std::int64_t>(hops.size()), counter);
    }

    bool try_move(const Hop* hops, std::int64_t number, std::int64_t& counter) {
        spend(4 * number);
        if (c.penalty.active)
            for (std::int64_t h = 0; h < number; ++h)
                work_left -= static_cast<double>(c.penalty.links(hops[h].item));
        if (!c.admits(hops, number) || !(c.change(hops, number) < -least_change)) return false;
        c.apply(hops, number);
        ++counter;
        return true;
    }

    // When one item comes to a cluster and another leaves it, the mean follows: by this much the
    // change is less than the gains say. As Clustering::change, from the distances in the offers;
    // with penalties these are not in the offers, and items may have no mass.
    double mean_correction(const Offer& comes, const Offer& leaves) const {
        if (c.fixed) return 0.0;
        const bool active = c.penalty.active;
        const double in = c.mass(comes.item), out = c.mass(leaves.item);
        const double rest = c.weight[comes.to] + in - out;
        const double far =
            active ? c.distance(comes.item, comes.to) : (comes.gain + comes.here) / in;
        const double near = active ? c.distance(leaves.item, comes.to) : leaves.here / out;
        const double square = in * in * far + out * out * near -
                              in * out * (far + near - c.apart(comes.item, leaves.item));
        return rest > 0.0 ? square / rest : 0.0;
    }

    bool relocate(const std::vector<Relocation>& relocations) {
        bool better = false;
        for (const Relocation& relocation : relocations) {
            if (out.stopped) break;
            better |=
                c.label[relocation.hop.item] != relocation.hop.to &&
                (try_move({relocation.hop}, out.relocated) || swap_with_massless(relocation.hop));
        }
        return better;
    }

    // An item without mass costs nothing in any cluster: it may make room for one that has mass.
    bool swap_with_massless(const Hop& hop) {
        const std::int64_t a = c.label[hop.item];
        if (c.without_mass[hop.to] == 0 || !(c.change(&hop, 1) < -least_change)) return false;
        for (const std::int64_t l : without_mass) {
            if (!spend(0)) return false;
            if (c.label[l] == hop.to && try_move({hop, {l, a}}, out.swapped)) return true;
        }
        return false;
    }

    bool swap() {
        bool better = false;
        for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = a + 1; b < k && !out.stopped; ++b) better |= swap_between(a, b);
        return better;
    }

    // Two items in conflict with each other only are a flip; in conflict with others they cannot
    // swap.
    bool unblocked(const Offer& offer) const {
        std::int64_t blocker = 0;
        return c.blockers(offer.item, offer.to, blocker) == 0;
    }

    bool swap_between(std::int64_t a, std::int64_t b) {
        const Offer* there = offers.begin(a, b);
        const std::int64_t going = offers.number(a, b);
        const double bonus = offers.bonus[a * k + b] + offers.bonus[b * k + a];
        if (going == 0) return false;
        back.clear();
        for (const Offer* o = offers.begin(b, a); o != offers.begin(b, a) + offers.number(b, a);
             ++o) {
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
                if (!spend(1)) return better;
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

    // Two items that should be apart, and are: each gain assumes that the other stays, so gains say
    // too little, and offers may leave them out.
    bool swap_linked() {
        const Soft& soft = c.penalty.soft;
        bool better = false;
        for (std::int64_t j = 0; soft.link_start && j < c.m; ++j)
            for (auto e = soft.link_start[j]; e < soft.link_start[j + 1]; ++e) {
                const std::int64_t l = soft.link_with[e], a = c.label[j], b = c.label[l];
                if (soft.link_penalty[e] > 0.0 || l < j || a == b) continue;
                if (work_left <= 0.0 || out.stopped) return better;
                better |= try_move({{j, b}, {l, a}}, out.swapped);
            }
        return better;
    }

    // All items of a cluster that are connected by links of positive penalty go to another one; if
    // necessary, others come back.
    bool group() {
        bool better = false;
        ++visit;
        for (std::int64_t j = 0; c.penalty.soft.link_start && j < c.m; ++j) {
            if (visited[j] == visit || !collect_group(j)) continue;
            const std::int64_t a = c.label[j];
            for (std::int64_t b = 0; b < k && c.label[j] == a; ++b) {
                if (work_left <= 0.0 || out.stopped) return better;
                better |= b != a && (move_group(b) || exchange_group(a, b));
            }
        }
        return better;
    }

    // The items that links of positive penalty connect to j inside its cluster, as hops; false if
    // there are none or too many.
    bool collect_group(std::int64_t j) {
        const Soft& soft = c.penalty.soft;
        hops.assign(1, {j, -1});
        visited[j] = visit;
        for (std::size_t h = 0; h < hops.size(); ++h) {
            const std::int64_t item = hops[h].item;
            for (auto e = soft.link_start[item]; e < soft.link_start[item + 1]; ++e) {
                const std::int64_t other = soft.link_with[e];
                if (soft.link_penalty[e] < 0.0 || c.label[other] != c.label[j] ||
                    visited[other] == visit)
                    continue;
                visited[other] = visit;
                hops.push_back({other, -1});
            }
        }
        return hops.size() > 1 && static_cast<std::int64_t>(hops.size()) <= largest_group;
    }

    bool move_group(std::int64_t b) {
        for (Hop& hop : hops) hop.to = b;
        return try_move(hops.data(), static_cast<std::int64_t>(hops.size()), out.grouped);
    }

    // Where sizes do not permit the group to go alone, the items with the best offers come back.
    bool exchange_group(std::int64_t a, std::int64_t b) {
        const std::size_t own_costs = hops.size();
        std::int64_t samples = 0;
        for (const Hop& hop : hops) samples += c.rules.count[hop.item];
        if (c.fits(a, b, samples)) return false;
        const Offer* end = offers.begin(b, a) + offers.number(b, a);
        for (const Offer* o = offers.begin(b, a); o != end && samples > 0; ++o) {
            if (c.label[o->item] != b || c.rules.count[o->item] > samples) continue;
            samples -= c.rules.count[o->item];
            hops.push_back({o->item, a});
        }
        const bool made =
            samples == 0 &&
            try_move(hops.data(), static_cast<std::int64_t>(hops.size()), out.grouped);
        hops.resize(own_costs);
        return made;
    }

    // Around a cycle of three clusters, or along a path of three.
    bool chain() {
        bool better = false;
        for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = 0; b < k; ++b) {
                if (a == b || offers.number(a, b) == 0) continue;
                for (std::int64_t d = 0; d < k; ++d) {
                    if (!spend(0)) return better;  // there are k^3 triples
                    if (d == a || d == b || offers.number(b, d) == 0) continue;
                    better |= path(a, b, d);
                    if (a < b && a < d) better |= cycle(a, b, d);
                }
            }
        return better;
    }

    bool cycle(std::int64_t a, std::int64_t b, std::int64_t d) {
        if (offers.number(d, a) == 0) return false;
        const double bonus =
            offers.bonus[a * k + b] + offers.bonus[b * k + d] + offers.bonus[d * k + a];
        const Offer *one = offers.begin(a, b), *two = offers.begin(b, d),
                    *three = offers.begin(d, a);
        const std::int64_t ones = std::min(heads, offers.number(a, b));
        const std::int64_t twos = std::min(heads, offers.number(b, d));
        const std::int64_t threes = std::min(heads, offers.number(d, a));
        bool better = false;
        for (std::int64_t p = 0; p < ones; ++p)
            for (std::int64_t q = 0; q < twos; ++q)
                for (std::int64_t r = 0; r < threes; ++r) {
                    if (one[p].gain + two[q].gain + three[r].gain >= bonus) break;
                    spend(3);
                    if (c.label[one[p].item] == a && c.label[two[q].item] == b &&
                        c.label[three[r].item] == d &&
                        (c.penalty.soft.loads.number > 0 ||
                         one[p].gain + two[q].gain + three[r].gain -
                                 mean_correction(one[p], two[q]) -
                                 mean_correction(two[q], three[r]) -
                                 mean_correction(three[r], one[p]) <
                             -least_change))
                        better |= try_move({{one[p].item, b}, {two[q].item, d}, {three[r].item, a}},
                                           out.chained);
                }
        return better;
    }

    bool path(std::int64_t a, std::int64_t b, std::int64_t d) {
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
                spend(1);
                if (c.penalty.active || path_change(one[p], two[q]) < -least_change)
                    better |= try_move({{j, b}, {l, d}}, out.chained);
            }
        return better;
    }

    // As Clustering::change, without penalties.
    double path_change(const Offer& one, const Offer& two) const {
        const double there = two.gain + two.here;
        return one.gain - mean_correction(one, two) + one.here + two.gain - there -
               c.leaves(one.item, one.here / c.mass(one.item)) +
               c.joins(two.item, two.to, there / c.mass(two.item));
    }

    // An item in conflict with j in the cluster where j goes is ejected: to where j was (with all
    // items connected to it by conflicts), or to a third cluster, from which, if necessary, another
    // one comes to where j was.
    bool flip() {
        bool better = false;
        if (!c.rules.conflict_start) return better;
        std::vector<bool> seen(k);
        for (std::int64_t j = 0; j < c.m; ++j) {
            if (work_left <= 0.0 || ((j & 255) == 0 && should_stop())) return better;
            if (c.degree(j) == 0) continue;
            std::fill(seen.begin(), seen.end(), false);
            for (auto e = c.rules.conflict_start[j]; e < c.rules.conflict_start[j + 1]; ++e) {
                const std::int64_t b = c.label[c.rules.conflict_with[e]];
                if (seen[b] || b == c.label[j]) continue;
                seen[b] = true;
                better |= flip_kempe_chain(j, b) || eject(j, b);
            }
        }
        return better;
    }

    bool flip_kempe_chain(std::int64_t j, std::int64_t b) {
        const std::int64_t a = c.label[j];
        ++visit;
        hops.assign(1, {j, b});
        visited[j] = visit;
        for (std::size_t h = 0; h < hops.size(); ++h) {
            const std::int64_t item = hops[h].item, to = hops[h].to;
            for (auto e = c.rules.conflict_start[item]; e < c.rules.conflict_start[item + 1]; ++e) {
                const std::int64_t other = c.rules.conflict_with[e];
                if (c.label[other] != to || visited[other] == visit) continue;
                if (static_cast<std::int64_t>(hops.size()) == largest_flip) return false;
                visited[other] = visit;
                hops.push_back({other, to == a ? b : a});
            }
        }
        return try_move(hops.data(), static_cast<std::int64_t>(hops.size()), out.flipped);
    }

    bool eject(std::int64_t j, std::int64_t b) {
        const std::int64_t a = c.label[j];
        std::int64_t l = -1;
        if (c.blockers(j, b, l) != 1) return false;
        const double first = c.mass(j) * (c.distance(j, b) - c.distance(j, a));
        const double here = c.distance(l, b);
        const bool active = c.penalty.active;  // then distances alone decide nothing
        spend(k);
        for (std::int64_t d = 0; d < k; ++d) {
            if (d == a || d == b) continue;
            const double gains = first + c.mass(l) * (c.distance(l, d) - here);
            const double bonus = offers.bonus[a * k + b] + offers.bonus[b * k + d];
            if ((active || gains < bonus + offers.bonus[a * k + a]) &&
                try_move({{j, b}, {l, d}}, out.chained))
                return true;
            const Offer* back = offers.begin(d, a);
            for (std::int64_t q = 0; q < std::min(heads, offers.number(d, a)); ++q) {
                if (!active && gains + back[q].gain >= bonus + offers.bonus[d * k + a]) break;
                if (c.label[back[q].item] == d &&
                    try_move({{j, b}, {l, d}, {back[q].item, a}}, out.chained))
                    return true;
            }
        }
        return false;
    }

    Clustering& c;
    const std::int64_t k;
    const std::function<bool()>& stop;
    double least_change = 0.0;
    double work_left = 0.0;
    std::int64_t spend_calls = 0;
    Offers offers;
    std::vector<Hop> hops;
    std::vector<Offer> back;
    std::vector<std::int64_t> without_mass;
    std::vector<std::int64_t> visited;
    std::int64_t visit = 0;
    DescentResult out;
};

}  // namespace

DescentResult descend(Clustering& clustering, double effort, const std::function<bool()>& stop) {
    return LocalSearch(clustering, stop).run(effort);
}

}  // namespace bckm
