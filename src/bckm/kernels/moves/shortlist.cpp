#include "moves/shortlist.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "distance/exact_costs.hpp"
#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-9;            // relative margin of all bounds
constexpr std::int64_t many_clusters = 256;  // from here on tables of k x k are large
constexpr std::int64_t longest = 4096;       // most offers of a pair of clusters
constexpr std::int64_t chunk = 256;          // items that a thread takes at a time
constexpr std::int64_t max_cached = std::int64_t{1} << 22;
// Work, in about nanoseconds, fitted over the instances of `benchmarks.mixed.accounting`: of a cost
// that is computed, and of each of its dimensions; of a look at it for relocations, or for offers;
// of one at a cost of an item that is looked at closer, and of an offer that is; of a pair of
// clusters; of a soft bound or link of a cost; of an offer or a relocation that is listed, and of
// sorting it with each doubling of the list
constexpr double computed_work = 0.25, dimension_work = 0.11;
constexpr double relocation_look = 1.0, offer_look = 2.2, closer_look = 3.5, closer_offer = 11.0;
constexpr double pair_work = 15.0, soft_work = 4.0;
constexpr double offer_work = 20.0, offer_sorting = 7.0;
constexpr double relocation_work = 7.0, relocation_sorting = 10.0;

// The work of sorting a list, `each` for an entry and a doubling.
double sorting(double each, std::int64_t number) {
    const auto entries = static_cast<double>(number);
    return each * entries * std::log2(1.0 + entries);
}

bool better(const Offer& x, const Offer& y) {
    return x.gain < y.gain || (x.gain == y.gain && x.item < y.item);
}

Offer offer_of(std::int64_t j, std::int64_t b, double gain, double here) {
    return {gain, here, static_cast<std::int32_t>(j), static_cast<std::int32_t>(b)};
}

// Minima, maxima and best offers over the items of each cluster: the result does not depend on
// which worker saw which items.
struct Extremes {
    std::int64_t k = 0, heads = 0;
    std::vector<Offer> best;       // (k, k, heads): of the items of a in b, sorted
    std::vector<double> enter;     // (k, k): gain below which an offer is one of them
    std::vector<double> reach;     // (k, k): largest (mass |x - c_b|)^2 of the items of a
    std::vector<double> min_mass;  // (k,): least mass
    std::vector<double> max_mass;  // (k,): largest mass

    void open(std::int64_t clusters, std::int64_t number) {
        k = clusters;
        heads = number;
        best.assign(k * k * heads, {infinity, 0.0, std::numeric_limits<std::int32_t>::max(), -1});
        enter.assign(k * k, infinity);
        reach.assign(k * k, 0.0);
        min_mass.assign(k, infinity);
        max_mass.assign(k, 0.0);
    }

    const Offer& last(std::int64_t pair) const { return best[pair * heads + heads - 1]; }

    void add(std::int64_t pair, const Offer& offer) {
        if (!better(offer, last(pair))) return;
        Offer* sorted = best.data() + pair * heads;
        std::int64_t q = heads - 1;
        for (; q > 0 && better(offer, sorted[q - 1]); --q) sorted[q] = sorted[q - 1];
        sorted[q] = offer;
        enter[pair] = sorted[heads - 1].gain;
    }

    // Takes item j of mass w in cluster a, given its costs without and with penalties; returns its
    // least gain.
    double note(std::int64_t j, double w, std::int64_t a, const double* bare, const double* cost) {
        min_mass[a] = std::min(min_mass[a], w);
        max_mass[a] = std::max(max_mass[a], w);
        const double here = cost[a];
        double* far = reach.data() + a * k;
        const double* below = enter.data() + a * k;
        double nearest = infinity;
        std::int64_t entering = 0;
        for (std::int64_t b = 0; b < k; ++b) {
            far[b] = std::max(far[b], w * bare[b]);
            entering += cost[b] - here < below[b];
            nearest = std::min(nearest, b == a ? infinity : cost[b]);
        }
        for (std::int64_t b = 0; b < k && entering > 0; ++b)
            if (b != a && cost[b] - here < below[b])
                add(a * k + b, offer_of(j, b, cost[b] - here, bare[a]));
        return nearest - here;
    }

    void join(const Extremes& other) {
        if (other.best.empty()) return;
        for (std::int64_t i = 0; i < k * k; ++i) {
            for (std::int64_t h = 0; h < heads; ++h) add(i, other.best[i * heads + h]);
            reach[i] = std::max(reach[i], other.reach[i]);
        }
        for (std::int64_t i = 0; i < k; ++i) {
            min_mass[i] = std::min(min_mass[i], other.min_mass[i]);
            max_mass[i] = std::max(max_mass[i], other.max_mass[i]);
        }
    }
};

// By how much less than its gains a swap can change the objective: |u|^2 / W' (see
// Clustering::change), with u and W' bounded over all items of two clusters.
std::vector<double> bonuses(const Clustering& c, const Extremes& all) {
    const std::int64_t k = c.k;
    std::vector<double> bonus(k * k, 0.0);
    if (c.fixed) return bonus;
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t b = 0; b < k; ++b) {
            // b may be empty: an item that comes there costs nothing
            if (all.max_mass[a] == 0.0 && (a == b || all.min_mass[a] == infinity)) continue;
            const double rest = c.weight[b] - all.max_mass[b] + (a == b ? 0.0 : all.min_mass[a]);
            const double u =
                std::sqrt(all.reach[b * k + b]) + (a == b ? 0.0 : std::sqrt(all.reach[a * k + b]));
            bonus[a * k + b] = rest > 0.0 ? (1.0 + rounding) * (u * u / rest) : infinity;
        }
    return bonus;
}

// Adds the most that penalties of loads can shrink to the bonuses.
void add_reliefs(const Clustering& c, const Penalty::Ranges& range, Offers& out) {
    const std::int64_t k = c.k, r = c.penalty.soft.loads.number;
    if (r == 0) return;
    out.arrival.assign(k * k, 0.0);
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t b = 0; b < k; ++b) {
            const double *in = range.least.data() + a * r, *in_most = range.most.data() + a * r;
            const double *gone = range.least.data() + b * r, *gone_most = range.most.data() + b * r;
            const bool same = a == b;  // then none comes
            out.bonus[a * k + b] +=
                (1.0 + rounding) *
                c.penalty.relief(b, same ? nullptr : in, same ? nullptr : in_most, gone, gone_most);
            out.arrival[a * k + b] =
                (1.0 + rounding) * c.penalty.relief(b, in, in_most, nullptr, nullptr);
        }
}

// Whether an offer may be part of a swap that improves: the limit of its pair again, now with its
// own mass, costs (`there` in b) and amounts. In small clusters the bounds over all items would let
// nearly every offer pass.
bool may_improve(const Clustering& c, const Extremes& all, const Penalty::Ranges& range,
                 const Offer& offer, double there) {
    const std::int64_t k = c.k, a = c.label[offer.item], b = offer.to;
    const std::int64_t r = c.penalty.soft.loads.number;
    if (c.fixed && r == 0) return true;
    double relief = 0.0;
    if (r > 0) {
        const double* own = c.penalty.soft.loads.amount + offer.item * r;
        const double *least = range.least.data() + b * r, *most = range.most.data() + b * r;
        relief = (1.0 + rounding) * (c.penalty.relief(b, own, own, least, most) +
                                     c.penalty.relief(a, least, most, own, own));
    }
    if (c.fixed) return offer.gain + all.best[(b * k + a) * all.heads].gain < relief;
    const double w = c.mass(offer.item);
    const double u_b = std::sqrt(w * there) + std::sqrt(all.reach[b * k + b]);
    const double u_a = std::sqrt(w * offer.here) + std::sqrt(all.reach[b * k + a]);
    const double rest_b = c.weight[b] - all.max_mass[b] + w,
                 rest_a = c.weight[a] - w + all.min_mass[b];
    if (!(rest_a > 0.0 && rest_b > 0.0)) return true;
    const double bonus = (1.0 + rounding) * (u_b * u_b / rest_b + u_a * u_a / rest_a);
    return offer.gain + all.best[(b * k + a) * all.heads].gain < bonus + relief;
}

// Merges the best offers of each pair with the others, sorted by pair and gain; returns the work.
double sort_by_pair(const Clustering& c, const Extremes& extremes, const std::vector<Offer>& others,
                    Offers& out) {
    const std::int64_t k = c.k, heads = extremes.heads;
    const auto pair = [&](const Offer& offer) { return c.label[offer.item] * k + offer.to; };
    std::vector<std::int64_t> place(k * k + 1, 0);
    for (const Offer& offer : others) ++place[pair(offer) + 1];
    for (std::int64_t i = 0; i < k * k; ++i) place[i + 1] += place[i];
    std::vector<Offer> sorted(others.size());
    std::vector<std::int64_t> next(place.begin(), place.end() - 1);
    for (const Offer& offer : others) sorted[next[pair(offer)]++] = offer;
    out.start.assign(k * k + 1, 0);
    double work = pair_work * static_cast<double>(k * k);
    for (std::int64_t i = 0; i < k * k; ++i) {
        const Offer* best = extremes.best.data() + i * heads;
        for (std::int64_t h = 0; h < heads && best[h].to >= 0; ++h) out.all.push_back(best[h]);
        Offer *first = sorted.data() + place[i], *last = sorted.data() + place[i + 1];
        if (last - first > longest) {
            std::nth_element(first, first + longest, last, better);
            last = first + longest;
            out.complete = false;
        }
        std::sort(first, last, better);
        work += sorting(offer_sorting, last - first);
        out.all.insert(out.all.end(), first, last);
        out.start[i + 1] = static_cast<std::int64_t>(out.all.size());
    }
    return work + offer_work * static_cast<double>(out.all.size());
}

}  // namespace

Shortlist::Shortlist(const Clustering& clustering, double least_change, int threads)
    : c(clustering), m(c.m), k(c.k), width(padded(k)), least_change(least_change), threads(threads),
      zero(k, 0.0), priced(c.centers.data(), zero.data(), k, c.dims) {
    if (m * width > max_cached) return;
    cache.resize(m * width);
    work += static_cast<double>(m) * row_work();
    parallel((m + chunk - 1) / chunk, threads, [&](std::int64_t p, int) {
        for (std::int64_t j = p * chunk; j < std::min(m, (p + 1) * chunk); ++j)
            exact_costs(priced, c.points.row(j), c.mass(j), cache.data() + j * width);
    });
}

double Shortlist::row_work() const {
    return static_cast<double>(width) *
           (computed_work + dimension_work * static_cast<double>(c.dims));
}

void Shortlist::count(double each, const std::vector<Closer>& closer) {
    Closer all;
    for (const Closer& some : closer) {
        all.items += some.items;
        all.offers += some.offers;
    }
    const auto costs = static_cast<double>(m * k), again = static_cast<double>(all.items * k);
    work += each * costs + closer_look * again + closer_offer * static_cast<double>(all.offers);
    if (!cached()) work += static_cast<double>(m) * row_work();
    const Soft& soft = c.penalty.soft;
    if (!soft.any()) return;
    const double links = soft.link_start ? static_cast<double>(soft.link_start[m]) : 0.0;
    work += soft_work * (costs * static_cast<double>(1 + soft.loads.number) + links);
}

Shortlist::Costs Shortlist::costs_of(std::int64_t j, std::vector<double>& own) const {
    own.resize(2 * width);
    const double* bare = own.data();
    if (cache.empty()) exact_costs(priced, c.points.row(j), c.mass(j), own.data());
    else bare = cache.data() + j * width;
    if (!c.penalty.active || !c.penalty.affects(j)) return {bare, bare};
    double* full = own.data() + width;
    c.penalty.of_item(j, c.label, full);
    for (std::int64_t b = 0; b < k; ++b) full[b] += bare[b];
    return {bare, full};
}

// Calls work(item, its costs, worker, out) for all items; results are in the order of the items.
template <class T, class Work> std::vector<T> Shortlist::in_chunks(const Work& work) const {
    std::vector<std::vector<T>> part((m + chunk - 1) / chunk);
    parallel(static_cast<std::int64_t>(part.size()), threads, [&](std::int64_t p, int worker) {
        std::vector<double> own;
        for (std::int64_t j = p * chunk; j < std::min(m, (p + 1) * chunk); ++j)
            // without mass and penalties an item costs the same in every cluster
            if (c.mass(j) > 0.0 || c.penalty.active)
                work(j, [&] { return costs_of(j, own); }, worker, part[p]);
    });
    std::vector<T> all;
    for (const std::vector<T>& some : part) all.insert(all.end(), some.begin(), some.end());
    return all;
}

std::vector<Relocation> Shortlist::relocations() {
    std::vector<Closer> closer(threads);
    auto found = in_chunks<Relocation>(
        [&](std::int64_t j, const auto& costs, int worker, std::vector<Relocation>& some) {
            const Costs row = costs();
            const double* cost = row.bare;
            const std::int64_t a = c.label[j];
            const double w = c.mass(j), per = w > 0.0 ? w : 1.0;
            const double gone = c.leaves(j, cost[a] / per);
            std::int64_t promising = 0;
            for (std::int64_t b = 0; b < k; ++b)  // as `joins`, without divisions
                promising += cost[b] * c.weight[b] < gone * (c.weight[b] + w);
            const bool active = c.penalty.active && c.penalty.affects(j);
            // its own cluster is one of them
            if (promising < 2 && !c.fixed && c.with_mass[a] > 1 && !active) return;
            ++closer[worker].items;
            const double relieved = active ? c.penalty.load_change(a, j, -1) : 0.0;
            for (std::int64_t b = 0; b < k; ++b) {
                if (b == a) continue;
                double change = c.joins(j, b, cost[b] / per) - gone;
                if (active)
                    change += (row.full[b] - cost[b]) - (row.full[a] - cost[a]) + relieved +
                              c.penalty.load_change(b, j, 1);
                std::int64_t blocker = 0;
                if (change < -least_change &&
                    (c.fits(a, b, c.rules.count[j]) || c.without_mass[b] > 0) &&
                    c.blockers(j, b, blocker) == 0)
                    some.push_back({change, {j, b}});
            }
        });
    count(relocation_look, closer);
    const auto listed = static_cast<std::int64_t>(found.size());
    work += relocation_work * static_cast<double>(listed) + sorting(relocation_sorting, listed);
    std::stable_sort(found.begin(), found.end(),
                     [](const Relocation& x, const Relocation& y) { return x.change < y.change; });
    return found;
}

Offers Shortlist::offers(std::int64_t heads) {
    if (k >= many_clusters) heads = 1;
    std::vector<Extremes> part(threads);
    std::vector<double> least(m, infinity);
    in_chunks<char>([&](std::int64_t j, const auto& costs, int worker, std::vector<char>&) {
        if (part[worker].best.empty()) part[worker].open(k, heads);
        const Costs cost = costs();
        least[j] = part[worker].note(j, c.mass(j), c.label[j], cost.bare, cost.full);
    });
    Extremes extremes;
    extremes.open(k, heads);
    for (const Extremes& some : part) extremes.join(some);

    Offers out;
    out.k = k;
    out.bonus = bonuses(c, extremes);
    const Penalty::Ranges ranges = c.penalty.ranges(c.label);
    add_reliefs(c, ranges, out);
    // an offer above the limit of its pair improves nothing, whatever comes back
    std::vector<double> limit(k * k, -infinity), widest(k, -infinity);
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t b = 0; b < k; ++b) {
            const double back = extremes.best[(b * k + a) * heads].gain;
            if (a == b || back == infinity) continue;
            limit[a * k + b] = out.bonus[a * k + b] + out.bonus[b * k + a] - back;
            widest[a] = std::max(widest[a], limit[a * k + b]);
        }
    std::vector<Closer> closer(threads);
    const auto others = in_chunks<Offer>(
        [&](std::int64_t j, const auto& costs, int worker, std::vector<Offer>& some) {
            const std::int64_t a = c.label[j];
            if (least[j] >= widest[a]) return;
            const auto [bare, cost] = costs();
            ++closer[worker].items;
            for (std::int64_t b = 0; b < k; ++b) {
                if (cost[b] - cost[a] >= limit[a * k + b] || b == a) continue;
                const Offer offer = offer_of(j, b, cost[b] - cost[a], bare[a]);
                ++closer[worker].offers;
                if (better(extremes.last(a * k + b), offer) &&
                    may_improve(c, extremes, ranges, offer, bare[b]))
                    some.push_back(offer);
            }
        });
    count(offer_look, closer);
    work += sort_by_pair(c, extremes, others, out);
    return out;
}

}  // namespace bckm
