#include "moves.hpp"

#include <algorithm>
#include <cmath>

#include "shortlist.hpp"

namespace bckm {
namespace {

constexpr double rounding = 1e-12;        // changes below this share of the objective are none
constexpr double each = 16.0;             // work of a try beyond its distances
constexpr double looks = 32.0;            // work of a pass in looks at all items, at most
constexpr double enough = 1e7;            // or so much
constexpr std::int64_t heads = 4;         // offers of each pair of clusters tried in chains
constexpr std::int64_t largest_flip = 64, largest_group = 64;

class Search {
public:
    Search(Clustering& c, const std::function<bool()>& stop)
        : c(c), k(c.k), stop(stop), stamp(c.m, 0) {
        for (std::int64_t j = 0; j < c.m; ++j)
            if (c.mass(j) == 0.0) weightless.push_back(j);
    }

    Descent run(double effort) {
        while (out.work < effort && !halted()) {
            ++out.passes;
            const std::vector<std::int32_t> labels = c.label;
            const double cost = c.cost;
            least_change = rounding * cost;
            left = std::min(effort - out.work, std::max(enough, looks * look_work(1)));
            const double before = left;
            const bool better = pass();
            out.work += before - left;
            if (!better) break;
            c.refresh();
            if (c.cost < cost) continue;
            c.label = labels;  // what seemed a gain was round-off
            c.refresh();
            break;
        }
        return out;
    }

private:
    // The longer moves only where the shorter ones are exhausted.
    bool pass() {
        Shortlist look(c, least_change, c.threads);
        left -= look_work(1);
        if (relocate(look.relocations())) return true;
        left -= look_work(look.quick() ? 0 : 2);
        list = look.offers(look.quick() ? 1 : heads);
        const bool complete = list.complete;
        const bool swapped = swap(), exchanged = swap_tied();
        if (swapped || exchanged) return true;
        if (look.quick()) {
            left -= look_work(0);
            list = look.offers(heads);
        }
        const bool flipped = flip(), grouped = group();
        if (flipped || grouped) return true;
        const bool whole = complete && left > 0.0 && !out.stopped;
        if (chain()) return true;
        out.finished = whole;
        return false;
    }

    bool halted() { return out.stopped = out.stopped || stop(); }

    // What it costs to compute the costs of all items so many times and to go through them once.
    double look_work(int times) const {
        const auto costs = static_cast<double>(c.m * c.k);
        const double work = costs * (static_cast<double>(times * c.dims) / 2 + 8.0);
        const Soft& soft = c.penalty.soft;
        if (!soft.asks()) return work;
        const double ties = soft.tie_start ? static_cast<double>(soft.tie_start[c.m]) : 0.0;
        return work + 4.0 * (costs * static_cast<double>(1 + soft.loads.number) + ties);
    }

    // Pays for so many distances; false where the work of this pass is used up, or the time.
    bool pay(std::int64_t distances) {
        left -= each + static_cast<double>(distances * c.dims);
        if ((++paid & 1023) == 0) halted();
        return left > 0.0 && !out.stopped;
    }

    bool make(std::initializer_list<Hop> hops, std::int64_t& counter) {
        return make(hops.begin(), static_cast<std::int64_t>(hops.size()), counter);
    }

    bool make(const Hop* hops, std::int64_t number, std::int64_t& counter) {
        pay(4 * number);
        if (c.penalty.asks)
            for (std::int64_t h = 0; h < number; ++h)
                left -= static_cast<double>(c.penalty.ties(hops[h].item));
        if (!c.admits(hops, number) || !(c.change(hops, number) < -least_change)) return false;
        c.apply(hops, number);
        ++counter;
        return true;
    }

    // When one item comes to a cluster and another leaves it, its mean follows: the change is so much
    // less than the gains say. As Clustering::change, from the distances of the look; where there are
    // penalties, gains hide those, and items may have no mass.
    double follows(const Offer& comes, const Offer& leaves) const {
        if (c.fixed) return 0.0;
        const bool asks = c.penalty.asks;
        const double in = c.mass(comes.item), out = c.mass(leaves.item);
        const double rest = c.weight[comes.to] + in - out;
        const double far =
            asks ? c.distance(comes.item, comes.to) : (comes.gain + comes.here) / in;
        const double near = asks ? c.distance(leaves.item, comes.to) : leaves.here / out;
        const double square = in * in * far + out * out * near -
                              in * out * (far + near - c.apart(comes.item, leaves.item));
        return rest > 0.0 ? square / rest : 0.0;
    }

    bool relocate(const std::vector<Relocation>& relocations) {
        bool better = false;
        for (const Relocation& found : relocations) {
            if (out.stopped) break;
            better |= c.label[found.hop.item] != found.hop.to &&
                      (make({found.hop}, out.relocated) || in_exchange(found.hop));
        }
        return better;
    }

    // An item without mass costs nothing wherever it goes: it may make room for one that has.
    bool in_exchange(const Hop& hop) {
        const std::int64_t a = c.label[hop.item];
        if (c.weightless[hop.to] == 0 || !(c.change(&hop, 1) < -least_change)) return false;
        for (const std::int64_t l : weightless) {
            if (!pay(0)) return false;
            if (c.label[l] == hop.to && make({hop, {l, a}}, out.swapped)) return true;
        }
        return false;
    }

    bool swap() {
        bool better = false;
        for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = a + 1; b < k && !out.stopped; ++b) better |= swap_between(a, b);
        return better;
    }

    // Two items in conflict with each other alone are a flip; with others they cannot be swapped.
    bool free(const Offer& offer) const {
        std::int64_t blocker = 0;
        return c.blockers(offer.item, offer.to, blocker) == 0;
    }

    bool swap_between(std::int64_t a, std::int64_t b) {
        const Offer* there = list.begin(a, b);
        const std::int64_t going = list.number(a, b);
        const double bonus = list.bonus[a * k + b] + list.bonus[b * k + a];
        if (going == 0) return false;
        back.clear();
        for (const Offer* o = list.begin(b, a); o != list.begin(b, a) + list.number(b, a); ++o) {
            if (there[0].gain + o->gain >= bonus) break;
            if (free(*o)) back.push_back(*o);
        }
        if (back.empty()) return false;
        bool better = false;
        for (std::int64_t p = 0; p < going; ++p) {
            if (there[p].gain + back[0].gain >= bonus) break;
            if (!free(there[p])) continue;
            for (std::size_t q = 0; q < back.size(); ++q) {
                const std::int64_t j = there[p].item, l = back[q].item;
                const double gains = there[p].gain + back[q].gain;
                if (gains >= bonus || c.label[j] != a) break;
                if (!pay(1)) return better;
                if (c.label[l] != b) continue;
                const Hop both[] = {{j, b}, {l, a}};
                double change = gains - follows(there[p], back[q]) - follows(back[q], there[p]);
                if (c.penalty.asks)
                    change += c.penalty.of_sums(a, both, 2, c.label) +
                              c.penalty.of_sums(b, both, 2, c.label);
                if (change < -least_change) better |= make(both, 2, out.swapped);
            }
        }
        return better;
    }

    // Two items that should be apart, and are: each alone would come to the other, so their gains
    // say too little, and offers may leave them out.
    bool swap_tied() {
        const Soft& soft = c.penalty.soft;
        bool better = false;
        for (std::int64_t j = 0; soft.tie_start && j < c.m; ++j)
            for (auto e = soft.tie_start[j]; e < soft.tie_start[j + 1]; ++e) {
                const std::int64_t l = soft.tie_with[e], a = c.label[j], b = c.label[l];
                if (soft.tie_price[e] > 0.0 || l < j || a == b) continue;
                if (left <= 0.0 || out.stopped) return better;
                better |= make({{j, b}, {l, a}}, out.swapped);
            }
        return better;
    }

    // All items of a cluster that hang together by ties above zero go to another one; at need others
    // come back.
    bool group() {
        bool better = false;
        ++stamped;
        for (std::int64_t j = 0; c.penalty.soft.tie_start && j < c.m; ++j) {
            if (stamp[j] == stamped || !gather(j)) continue;
            const std::int64_t a = c.label[j];
            for (std::int64_t b = 0; b < k && c.label[j] == a; ++b) {
                if (left <= 0.0 || out.stopped) return better;
                better |= b != a && (move_group(b) || exchange_group(a, b));
            }
        }
        return better;
    }

    // The items that ties above zero connect to j inside its cluster, as hops; false if j is alone,
    // or if they are too many.
    bool gather(std::int64_t j) {
        const Soft& soft = c.penalty.soft;
        hops.assign(1, {j, -1});
        stamp[j] = stamped;
        for (std::size_t h = 0; h < hops.size(); ++h) {
            const std::int64_t item = hops[h].item;
            for (auto e = soft.tie_start[item]; e < soft.tie_start[item + 1]; ++e) {
                const std::int64_t other = soft.tie_with[e];
                if (soft.tie_price[e] < 0.0 || c.label[other] != c.label[j] ||
                    stamp[other] == stamped)
                    continue;
                stamp[other] = stamped;
                hops.push_back({other, -1});
            }
        }
        return hops.size() > 1 && static_cast<std::int64_t>(hops.size()) <= largest_group;
    }

    bool move_group(std::int64_t b) {
        for (Hop& hop : hops) hop.to = b;
        return make(hops.data(), static_cast<std::int64_t>(hops.size()), out.grouped);
    }

    // Where sizes do not admit the group alone, those come back that are best off.
    bool exchange_group(std::int64_t a, std::int64_t b) {
        const std::size_t alone = hops.size();
        std::int64_t samples = 0;
        for (const Hop& hop : hops) samples += c.rules.count[hop.item];
        if (c.fits(a, b, samples)) return false;
        const Offer* end = list.begin(b, a) + list.number(b, a);
        for (const Offer* o = list.begin(b, a); o != end && samples > 0; ++o) {
            if (c.label[o->item] != b || c.rules.count[o->item] > samples) continue;
            samples -= c.rules.count[o->item];
            hops.push_back({o->item, a});
        }
        const bool made = samples == 0 && make(hops.data(), static_cast<std::int64_t>(hops.size()),
                                               out.grouped);
        hops.resize(alone);
        return made;
    }

    // Around a cycle of three clusters, or along a path of three.
    bool chain() {
        bool better = false;
        for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = 0; b < k; ++b) {
                if (a == b || list.number(a, b) == 0) continue;
                for (std::int64_t d = 0; d < k; ++d) {
                    if (!pay(0)) return better;  // of triples there are k^3
                    if (d == a || d == b || list.number(b, d) == 0) continue;
                    better |= path(a, b, d);
                    if (a < b && a < d) better |= cycle(a, b, d);
                }
            }
        return better;
    }

    bool cycle(std::int64_t a, std::int64_t b, std::int64_t d) {
        if (list.number(d, a) == 0) return false;
        const double bonus = list.bonus[a * k + b] + list.bonus[b * k + d] + list.bonus[d * k + a];
        const Offer *one = list.begin(a, b), *two = list.begin(b, d), *three = list.begin(d, a);
        const std::int64_t ones = std::min(heads, list.number(a, b));
        const std::int64_t twos = std::min(heads, list.number(b, d));
        const std::int64_t threes = std::min(heads, list.number(d, a));
        bool better = false;
        for (std::int64_t p = 0; p < ones; ++p)
            for (std::int64_t q = 0; q < twos; ++q)
                for (std::int64_t r = 0; r < threes; ++r) {
                    if (one[p].gain + two[q].gain + three[r].gain >= bonus) break;
                    pay(3);
                    if (c.label[one[p].item] == a && c.label[two[q].item] == b &&
                        c.label[three[r].item] == d &&
                        (c.penalty.soft.loads.number > 0 ||
                         one[p].gain + two[q].gain + three[r].gain - follows(one[p], two[q]) -
                                 follows(two[q], three[r]) - follows(three[r], one[p]) <
                             -least_change))
                        better |= make({{one[p].item, b}, {two[q].item, d}, {three[r].item, a}},
                                       out.chained);
                }
        return better;
    }

    bool path(std::int64_t a, std::int64_t b, std::int64_t d) {
        if (!c.fits(a, d, 1)) return false;
        double bonus = list.bonus[a * k + a] + list.bonus[a * k + b] + list.bonus[b * k + d];
        if (!list.arrival.empty()) bonus += list.arrival[b * k + d];
        const Offer *one = list.begin(a, b), *two = list.begin(b, d);
        const std::int64_t ones = std::min(heads, list.number(a, b));
        const std::int64_t twos = std::min(heads, list.number(b, d));
        bool better = false;
        for (std::int64_t p = 0; p < ones; ++p)
            for (std::int64_t q = 0; q < twos; ++q) {
                const std::int64_t j = one[p].item, l = two[q].item;
                if (one[p].gain + two[q].gain >= bonus) break;
                if (c.label[j] != a || c.label[l] != b) continue;
                pay(1);
                if (c.penalty.asks || path_change(one[p], two[q]) < -least_change)
                    better |= make({{j, b}, {l, d}}, out.chained);
            }
        return better;
    }

    // As Clustering::change, without penalties.
    double path_change(const Offer& one, const Offer& two) const {
        const double there = two.gain + two.here;
        return one.gain - follows(one, two) + one.here + two.gain - there -
               c.leaves(one.item, one.here / c.mass(one.item)) +
               c.joins(two.item, two.to, there / c.mass(two.item));
    }

    // Where j wants to go, an item in conflict with it is pushed on: to where j was (and all that
    // hangs on it), or to a third cluster, from which at need another one comes to where j was.
    bool flip() {
        bool better = false;
        if (!c.rules.conflict_start) return better;
        std::vector<bool> seen(k);
        for (std::int64_t j = 0; j < c.m; ++j) {
            if (left <= 0.0 || ((j & 255) == 0 && halted())) return better;
            if (c.degree(j) == 0) continue;
            std::fill(seen.begin(), seen.end(), false);
            for (auto e = c.rules.conflict_start[j]; e < c.rules.conflict_start[j + 1]; ++e) {
                const std::int64_t b = c.label[c.rules.conflict_with[e]];
                if (seen[b] || b == c.label[j]) continue;
                seen[b] = true;
                better |= flip_component(j, b) || push(j, b);
            }
        }
        return better;
    }

    bool flip_component(std::int64_t j, std::int64_t b) {
        const std::int64_t a = c.label[j];
        ++stamped;
        hops.assign(1, {j, b});
        stamp[j] = stamped;
        for (std::size_t h = 0; h < hops.size(); ++h) {
            const std::int64_t item = hops[h].item, to = hops[h].to;
            for (auto e = c.rules.conflict_start[item]; e < c.rules.conflict_start[item + 1]; ++e) {
                const std::int64_t other = c.rules.conflict_with[e];
                if (c.label[other] != to || stamp[other] == stamped) continue;
                if (static_cast<std::int64_t>(hops.size()) == largest_flip) return false;
                stamp[other] = stamped;
                hops.push_back({other, to == a ? b : a});
            }
        }
        return make(hops.data(), static_cast<std::int64_t>(hops.size()), out.flipped);
    }

    bool push(std::int64_t j, std::int64_t b) {
        const std::int64_t a = c.label[j];
        std::int64_t l = -1;
        if (c.blockers(j, b, l) != 1) return false;
        const double first = c.mass(j) * (c.distance(j, b) - c.distance(j, a));
        const double here = c.distance(l, b);
        const bool asks = c.penalty.asks;  // then distances say too little
        pay(k);
        for (std::int64_t d = 0; d < k; ++d) {
            if (d == a || d == b) continue;
            const double gains = first + c.mass(l) * (c.distance(l, d) - here);
            const double bonus = list.bonus[a * k + b] + list.bonus[b * k + d];
            if ((asks || gains < bonus + list.bonus[a * k + a]) &&
                make({{j, b}, {l, d}}, out.chained))
                return true;
            const Offer* back = list.begin(d, a);
            for (std::int64_t q = 0; q < std::min(heads, list.number(d, a)); ++q) {
                if (!asks && gains + back[q].gain >= bonus + list.bonus[d * k + a]) break;
                if (c.label[back[q].item] == d &&
                    make({{j, b}, {l, d}, {back[q].item, a}}, out.chained))
                    return true;
            }
        }
        return false;
    }

    Clustering& c;
    const std::int64_t k;
    const std::function<bool()>& stop;
    double least_change = 0.0;
    double left = 0.0;
    std::int64_t paid = 0;
    Offers list;
    std::vector<Hop> hops;
    std::vector<Offer> back;
    std::vector<std::int64_t> weightless;
    std::vector<std::int64_t> stamp;
    std::int64_t stamped = 0;
    Descent out;
};

}  // namespace

Descent descend(Clustering& clustering, double effort, const std::function<bool()>& stop) {
    return Search(clustering, stop).run(effort);
}

}  // namespace bckm
