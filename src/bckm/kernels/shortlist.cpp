#include "shortlist.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact.hpp"
#include "pool.hpp"

namespace bckm {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-9;              // by which bounds are wider than the numbers say
constexpr std::int64_t many_clusters = 256;    // whose tables of k x k would be large
constexpr std::int64_t longest = 4096;         // offers kept of each pair of clusters, at most
constexpr std::int64_t chunk = 256;            // items that a thread takes at a time
constexpr std::int64_t kept = std::int64_t{1} << 22;  // costs that are kept between the two looks

bool better(const Offer& x, const Offer& y) {
    return x.gain < y.gain || (x.gain == y.gain && x.item < y.item);
}

// Over the items of each cluster. Minima, maxima and the best of all: it does not matter which
// worker looked at which items.
struct Extremes {
    std::vector<Offer> best;    // (k, k, heads): of the items of a in b, sorted
    std::vector<double> enter;  // (k, k): gain below which an offer is one of them
    std::vector<double> reach;  // (k, k): largest (mass |x - c_b|)^2 of the items of a
    std::vector<double> light;  // (k,): least mass
    std::vector<double> heavy;  // (k,): largest mass

    void open(std::int64_t k, std::int64_t heads) {
        best.assign(k * k * heads, {never, 0.0, std::numeric_limits<std::int32_t>::max(), -1});
        enter.assign(k * k, never);
        reach.assign(k * k, 0.0);
        light.assign(k, never);
        heavy.assign(k, 0.0);
    }

    void offer(std::int64_t pair, std::int64_t heads, const Offer& one) {
        Offer* sorted = best.data() + pair * heads;
        if (!better(one, sorted[heads - 1])) return;
        std::int64_t q = heads - 1;
        for (; q > 0 && better(one, sorted[q - 1]); --q) sorted[q] = sorted[q - 1];
        sorted[q] = one;
        enter[pair] = sorted[heads - 1].gain;
    }
};

class Look {
public:
    Look(const Clustering& c, double least_change, std::int64_t heads, int threads)
        : c(c), m(c.m), k(c.k), width(padded(k)), heads(k < many_clusters ? heads : 1),
          least_change(least_change), threads(threads), zero(k, 0.0),
          market(c.centres.data(), zero.data(), k, c.dims), least(m, never) {
        if (m * width <= kept) costs.resize(m * width);
    }

    Shortlist run() {
        Shortlist out;
        out.k = k;
        weightless.resize(k);
        for (std::int64_t j = 0; j < m; ++j)
            if (c.mass(j) == 0.0) weightless[c.label[j]].push_back(static_cast<std::int32_t>(j));
        look(out);
        weigh(out);
        collect(out);
        out.weightless = std::move(weightless);
        return out;
    }

private:
    // The costs of an item; `own` holds them where they are not kept.
    const double* look_at(std::int64_t j, std::vector<double>& own, bool again) {
        double* row = costs.empty() ? own.data() : costs.data() + j * width;
        if (costs.empty() || !again) exact_costs(market, c.points.row(j), c.mass(j), row);
        return row;
    }

    template <class T, class Work> void in_chunks(std::vector<T>& found, const Work& work) {
        std::vector<std::vector<T>> part((m + chunk - 1) / chunk);
        parallel(static_cast<std::int64_t>(part.size()), threads, [&](std::int64_t p, int worker) {
            std::vector<double> own(costs.empty() ? width : 0);
            for (std::int64_t j = p * chunk; j < std::min(m, (p + 1) * chunk); ++j)
                // wherever an item without mass is, the objective does not feel it
                if (c.mass(j) > 0.0) work(j, worker, own, part[p]);
        });
        for (const std::vector<T>& some : part) found.insert(found.end(), some.begin(), some.end());
    }

    void look(Shortlist& out) {
        std::vector<Extremes> part(threads);
        in_chunks(out.relocations, [&](std::int64_t j, int worker, std::vector<double>& own,
                                       std::vector<Relocation>& found) {
            if (part[worker].best.empty()) part[worker].open(k, heads);
            const double* row = look_at(j, own, false);
            note(j, row, part[worker]);
            relocations(j, row, found);
        });
        all.open(k, heads);
        for (const Extremes& some : part) {
            if (some.best.empty()) continue;
            for (std::int64_t i = 0; i < k * k; ++i) {
                for (std::int64_t h = 0; h < heads; ++h)
                    all.offer(i, heads, some.best[i * heads + h]);
                all.reach[i] = std::max(all.reach[i], some.reach[i]);
            }
            for (std::int64_t i = 0; i < k; ++i) {
                all.light[i] = std::min(all.light[i], some.light[i]);
                all.heavy[i] = std::max(all.heavy[i], some.heavy[i]);
            }
        }
        std::stable_sort(
            out.relocations.begin(), out.relocations.end(),
            [](const Relocation& x, const Relocation& y) { return x.change < y.change; });
    }

    void note(std::int64_t j, const double* row, Extremes& some) {
        const double w = c.mass(j);
        const std::int64_t a = c.label[j];
        some.light[a] = std::min(some.light[a], w);
        some.heavy[a] = std::max(some.heavy[a], w);
        const double here = row[a];
        double* reach = some.reach.data() + a * k;
        const double* enter = some.enter.data() + a * k;
        double nearest = never;
        std::int64_t entering = 0;
        for (std::int64_t b = 0; b < k; ++b) {
            reach[b] = std::max(reach[b], w * row[b]);
            entering += row[b] - here < enter[b];
            nearest = std::min(nearest, b == a ? never : row[b]);
        }
        least[j] = nearest - here;
        if (entering == 0) return;
        for (std::int64_t b = 0; b < k; ++b)
            if (b != a && row[b] - here < enter[b])
                some.offer(a * k + b, heads, offer_of(j, b, row[b], here));
    }

    static Offer offer_of(std::int64_t j, std::int64_t b, double there, double here) {
        return {there - here, here, static_cast<std::int32_t>(j), static_cast<std::int32_t>(b)};
    }

    void relocations(std::int64_t j, const double* row, std::vector<Relocation>& found) const {
        const std::int64_t a = c.label[j];
        const double w = c.mass(j), gone = c.leaves(j, row[a] / w);
        std::int64_t promising = 0;
        for (std::int64_t b = 0; b < k; ++b)  // as `joins`, without divisions
            promising += row[b] * c.weight[b] < gone * (c.weight[b] + w);
        if (promising < 2 && !c.fixed && c.heavy[a] > 1) return;  // one of them is its own cluster
        for (std::int64_t b = 0; b < k; ++b) {
            if (b == a) continue;
            const double change = c.joins(j, b, row[b] / w) - gone;
            std::int64_t blocker = 0;
            if (change < -least_change &&
                (c.fits(a, b, c.rules.count[j]) || !weightless[b].empty()) &&
                c.blockers(j, b, blocker) == 0)
                found.push_back({change, {j, b}});
        }
    }

    // How much less than its gains a swap can cost: |u|^2 / W', see Clustering::change, with u and
    // W' bounded over all items of two clusters.
    void weigh(Shortlist& out) const {
        out.bonus.assign(k * k, 0.0);
        if (c.fixed) return;
        for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = 0; b < k; ++b) {
                if (all.heavy[a] == 0.0) continue;
                if (all.heavy[b] == 0.0) {  // what comes to an empty cluster costs nothing there
                    out.bonus[a * k + b] = never;
                    continue;
                }
                const double rest = c.weight[b] - all.heavy[b] + (a == b ? 0.0 : all.light[a]);
                const double u = std::sqrt(all.reach[b * k + b]) +
                                 (a == b ? 0.0 : std::sqrt(all.reach[a * k + b]));
                out.bonus[a * k + b] = rest > 0.0 ? (1.0 + rounding) * (u * u / rest) : never;
            }
    }

    // Offers that may be part of a swap that improves, and the best few of each pair anyway.
    void collect(Shortlist& out) {
        std::vector<double> limit(k * k, -never), widest(k, -never);
        for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = 0; b < k; ++b) {
                const double back = all.best[(b * k + a) * heads].gain;
                if (a == b || back == never) continue;
                limit[a * k + b] = out.bonus[a * k + b] + out.bonus[b * k + a] - back;
                widest[a] = std::max(widest[a], limit[a * k + b]);
            }
        std::vector<Offer> flat;
        in_chunks(flat, [&](std::int64_t j, int, std::vector<double>& own,
                            std::vector<Offer>& found) {
            const std::int64_t a = c.label[j];
            if (least[j] >= widest[a]) return;
            const double* row = look_at(j, own, true);
            const double* most = limit.data() + a * k;
            for (std::int64_t b = 0; b < k; ++b) {
                if (row[b] - row[a] >= most[b] || b == a) continue;
                const Offer offer = offer_of(j, b, row[b], row[a]);
                // the best few are there already
                if (better(all.best[(a * k + b) * heads + heads - 1], offer))
                    found.push_back(offer);
            }
        });
        by_pair(flat, out);
    }

    void by_pair(const std::vector<Offer>& flat, Shortlist& out) const {
        std::vector<std::int64_t> place(k * k + 1, 0);
        for (const Offer& offer : flat) ++place[pair(offer) + 1];
        for (std::int64_t i = 0; i < k * k; ++i) place[i + 1] += place[i];
        std::vector<Offer> sorted(flat.size());
        std::vector<std::int64_t> next(place.begin(), place.end() - 1);
        for (const Offer& offer : flat) sorted[next[pair(offer)]++] = offer;
        out.start.assign(k * k + 1, 0);
        for (std::int64_t i = 0; i < k * k; ++i) {
            for (std::int64_t h = 0; h < heads && all.best[i * heads + h].to >= 0; ++h)
                out.offers.push_back(all.best[i * heads + h]);
            Offer *first = sorted.data() + place[i], *last = sorted.data() + place[i + 1];
            if (last - first > longest) {
                std::nth_element(first, first + longest, last, better);
                last = first + longest;
                out.complete = false;
            }
            std::sort(first, last, better);
            out.offers.insert(out.offers.end(), first, last);
            out.start[i + 1] = static_cast<std::int64_t>(out.offers.size());
        }
    }

    std::int64_t pair(const Offer& offer) const { return c.label[offer.item] * k + offer.to; }

    const Clustering& c;
    const std::int64_t m, k, width, heads;
    const double least_change;
    const int threads;
    const std::vector<double> zero;
    const Market market;
    std::vector<double> costs;  // (m, width), or empty where they would be too many
    std::vector<double> least;  // (m,): least gain of each item
    std::vector<std::vector<std::int32_t>> weightless;  // see Shortlist
    Extremes all;
};

}  // namespace

Shortlist shortlist(const Clustering& clustering, double least_change, std::int64_t heads,
                    int threads) {
    return Look(clustering, least_change, heads, threads).run();
}

}  // namespace bckm
