#include "shortlist.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact.hpp"
#include "pool.hpp"

namespace bckm {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::int64_t nearby = 8;      // clusters remembered for each item
constexpr std::int64_t heads = 4;       // offers of a pair of clusters that are always kept
constexpr std::int64_t longest = 4096;  // and at most so many
constexpr std::int64_t chunk = 512;

// What a worker finds: minima and maxima, so that it does not matter who looked at which items.
struct Extremes {
    std::vector<double> least;  // (k, k): least gain of the items of a in b
    std::vector<double> reach;  // (k, k): largest (mass |x - c_b|)^2 of the items of a
    std::vector<double> light;  // (k,): least mass of the items of a
    std::vector<double> heavy;  // (k,): largest
};

class Look {
public:
    Look(const Clustering& c, double least_change, int threads)
        : c(c), m(c.m), k(c.k), width(padded(k)), most(std::min(nearby, k - 1)),
          least_change(least_change), threads(threads), zero(k, 0.0),
          market(c.centres.data(), zero.data(), k, c.dims) {}

    Shortlist run() {
        Shortlist out;
        out.k = k;
        if (k < 2) {
            out.start.assign(2, 0);
            out.bonus.assign(1, 0.0);
            return out;
        }
        look(out);
        weigh(out);
        collect(out);
        return out;
    }

private:
    void look(Shortlist& out) {
        const std::int64_t chunks = (m + chunk - 1) / chunk;
        near.resize(m * most);
        cut.assign(m, never);
        std::vector<Extremes> part(threads);
        std::vector<std::vector<Relocation>> found(chunks);
        parallel(chunks, threads, [&](std::int64_t p, int worker) {
            Extremes& own = part[worker];
            if (own.least.empty()) {
                own.least.assign(k * k, never);
                own.reach.assign(k * k, 0.0);
                own.light.assign(k, never);
                own.heavy.assign(k, 0.0);
            }
            std::vector<double> row(width);
            for (std::int64_t j = p * chunk; j < std::min(m, (p + 1) * chunk); ++j)
                look_at(j, row, own, found[p]);
        });
        all.least.assign(k * k, never);
        all.reach.assign(k * k, 0.0);
        all.light.assign(k, never);
        all.heavy.assign(k, 0.0);
        for (const Extremes& own : part) {
            if (own.least.empty()) continue;
            for (std::int64_t i = 0; i < k * k; ++i) {
                all.least[i] = std::min(all.least[i], own.least[i]);
                all.reach[i] = std::max(all.reach[i], own.reach[i]);
            }
            for (std::int64_t i = 0; i < k; ++i) {
                all.light[i] = std::min(all.light[i], own.light[i]);
                all.heavy[i] = std::max(all.heavy[i], own.heavy[i]);
            }
        }
        for (auto& some : found)
            out.relocations.insert(out.relocations.end(), some.begin(), some.end());
        std::stable_sort(
            out.relocations.begin(), out.relocations.end(),
            [](const Relocation& x, const Relocation& y) { return x.change < y.change; });
    }

    void look_at(std::int64_t j, std::vector<double>& row, Extremes& own,
                 std::vector<Relocation>& found) {
        Offer* mine = near.data() + j * most;
        const double w = c.mass(j);
        const std::int64_t a = c.label[j];
        for (std::int64_t q = 0; q < most; ++q) mine[q] = {never, static_cast<std::int32_t>(j), -1};
        if (w == 0.0) return;  // wherever it is, the objective does not feel it
        exact_costs(market, c.points.row(j), w, row.data());
        const double here = row[a];
        own.light[a] = std::min(own.light[a], w);
        own.heavy[a] = std::max(own.heavy[a], w);
        double* least = own.least.data() + a * k;
        double* reach = own.reach.data() + a * k;
        for (std::int64_t b = 0; b < k; ++b) {
            reach[b] = std::max(reach[b], w * row[b]);
            if (b != a) least[b] = std::min(least[b], row[b] - here);
        }
        const double gone = c.leaves(j, here / w);
        for (std::int64_t b = 0; b < k; ++b) {
            if (b == a) continue;
            const double gain = row[b] - here;
            keep(mine, gain, b, cut[j]);
            // joining costs at most what the distance says
            if (row[b] >= gone && c.weight[b] / (c.weight[b] + w) * row[b] >= gone && !c.fixed)
                continue;
            const double change = c.joins(j, b, row[b] / w) - gone;
            std::int64_t blocker;
            if (change < -least_change && c.fits(a, b, c.rules.count[j]) &&
                c.blockers(j, b, blocker) == 0)
                found.push_back({change, {j, b}});
        }
    }

    // The best offers so far, sorted; what is worse than all of them lowers nothing but `rest`.
    void keep(Offer* mine, double gain, std::int64_t b, double& rest) const {
        if (gain >= mine[most - 1].gain) {
            rest = std::min(rest, gain);
            return;
        }
        rest = std::min(rest, mine[most - 1].gain);
        std::int64_t q = most - 1;
        for (; q > 0 && mine[q - 1].gain > gain; --q) {
            mine[q].gain = mine[q - 1].gain;
            mine[q].to = mine[q - 1].to;
        }
        mine[q].gain = gain;
        mine[q].to = static_cast<std::int32_t>(b);
    }

    // How much less than its gains a swap can cost: |u|^2 / W', see Clustering::change, with u and
    // W' bounded over all items of two clusters.
    void weigh(Shortlist& out) const {
        out.bonus.assign(k * k, 0.0);
        if (c.fixed) return;
        for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = 0; b < k; ++b) {
                if (a == b || all.heavy[a] == 0.0 || all.heavy[b] == 0.0) continue;
                const double u = std::sqrt(all.reach[a * k + b]) + std::sqrt(all.reach[b * k + b]);
                const double rest = c.weight[b] - all.heavy[b] + all.light[a];
                out.bonus[a * k + b] = rest > 0.0 ? u * u / rest : never;
            }
    }

    // Offers that may be part of a swap that improves, and the best few of each pair anyway.
    void collect(Shortlist& out) {
        std::vector<double> limit(k * k, -never), dearest(k, -never);
        for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = 0; b < k; ++b) {
                if (a == b || all.least[b * k + a] == never) continue;
                limit[a * k + b] =
                    out.bonus[a * k + b] + out.bonus[b * k + a] - all.least[b * k + a];
                dearest[a] = std::max(dearest[a], limit[a * k + b]);
            }
        std::vector<Offer> flat;
        flat.reserve(near.size());
        std::vector<double> row(width);
        for (std::int64_t j = 0; j < m; ++j) {
            const Offer* mine = near.data() + j * most;
            const std::int64_t a = c.label[j];
            const bool whole = !(cut[j] < dearest[a]);
            for (std::int64_t q = 0; q < most && mine[q].to >= 0; ++q) flat.push_back(mine[q]);
            if (whole || c.mass(j) == 0.0) continue;
            // some cluster that was not remembered may matter: look again
            exact_costs(market, c.points.row(j), c.mass(j), row.data());
            for (std::int64_t b = 0; b < k; ++b) {
                const double gain = row[b] - row[a];
                const bool seen = std::any_of(mine, mine + most,
                                              [b](const Offer& offer) { return offer.to == b; });
                if (b != a && !seen && gain < limit[a * k + b])
                    flat.push_back(
                        {gain, static_cast<std::int32_t>(j), static_cast<std::int32_t>(b)});
            }
        }
        by_pair(flat, limit, out);
    }

    void by_pair(const std::vector<Offer>& flat, const std::vector<double>& limit,
                 Shortlist& out) const {
        std::vector<std::int64_t> place(k * k + 1, 0);
        for (const Offer& offer : flat) ++place[pair(offer) + 1];
        for (std::int64_t i = 0; i < k * k; ++i) place[i + 1] += place[i];
        std::vector<Offer> sorted(flat.size());
        std::vector<std::int64_t> next(place.begin(), place.end() - 1);
        for (const Offer& offer : flat) sorted[next[pair(offer)]++] = offer;
        out.start.assign(k * k + 1, 0);
        const auto better = [](const Offer& x, const Offer& y) {
            return x.gain < y.gain || (x.gain == y.gain && x.item < y.item);
        };
        for (std::int64_t i = 0; i < k * k; ++i) {
            Offer *first = sorted.data() + place[i], *last = sorted.data() + place[i + 1];
            if (last - first > heads) {
                std::nth_element(first, first + heads, last, better);
                last = std::partition(first + heads, last,
                                      [&](const Offer& o) { return o.gain < limit[i]; });
            }
            std::sort(first, last, better);
            if (last - first > longest) {
                last = first + longest;
                out.complete = false;
            }
            out.offers.insert(out.offers.end(), first, last);
            out.start[i + 1] = static_cast<std::int64_t>(out.offers.size());
        }
    }

    std::int64_t pair(const Offer& offer) const { return c.label[offer.item] * k + offer.to; }

    const Clustering& c;
    const std::int64_t m, k, width, most;
    const double least_change;
    const int threads;
    const std::vector<double> zero;
    const Market market;
    std::vector<Offer> near;  // (m, most)
    std::vector<double> cut;  // (m,): least gain among those not remembered
    Extremes all;
};

}  // namespace

Shortlist shortlist(const Clustering& clustering, double least_change, int threads) {
    return Look(clustering, least_change, threads).run();
}

}  // namespace bckm
