#include "blocks/gap_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr double part = 0.25, fewest = 16.0;  // of the wrong samples of a cluster, and of samples
constexpr int detours = 2;                    // each doubles the clusters on the way
constexpr std::int64_t few = 1 << 18;         // detours: more are worth several threads
constexpr std::int64_t group = 16;            // clusters
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

GapTable::GapTable(const Counts& counts, const double* prices, const double* units_, int threads_)
    : k(counts.k), m(counts.m), bins(counts.bins), threads(k * m * m < few ? 1 : threads_),
      end(counts.end, counts.end + bins), limit(k * m), origin(prices, prices + k),
      units(units_, units_ + k) {
    find_limits(counts);
    const std::int64_t groups = (k + group - 1) / group;
    std::vector<std::vector<Arc>> found(groups);
    parallel(groups, threads, [&](std::int64_t g, int) {
        for (std::int64_t pair = g * group * m; pair < std::min(k, (g + 1) * group) * m; ++pair) {
            const std::uint32_t* count = counts.count + pair * bins;
            const std::int64_t first =
                std::find_if(count, count + bins, [](auto rows) { return rows > 0; }) - count;
            const double from = first > 0 ? counts.shift[pair] + end[first - 1] : 0.0;
            if (first < bins && from < limit[pair])
                found[g].push_back({static_cast<std::int32_t>(pair / m), counts.other[pair], pair,
                                    counts.shift[pair]});
        }
    });
    for (const auto& some : found) arcs.insert(arcs.end(), some.begin(), some.end());
    held.resize(arcs.size() * bins);
    each_arc([&](std::int64_t e) {
        const std::int64_t pair = arcs[e].pair;
        double rows = 0.0;
        for (std::int64_t bin = 0; bin < bins; ++bin)
            held[e * bins + bin] = rows += counts.share[pair] * counts.count[pair * bins + bin];
    });
}

template <class Work> void GapTable::each_arc(const Work& work) const {
    const auto groups = static_cast<std::int64_t>(threads > 1 ? 4 * threads : 1);
    const auto number = static_cast<std::int64_t>(arcs.size());
    parallel(groups, threads, [&](std::int64_t g, int) {
        for (std::int64_t e = g * number / groups; e < (g + 1) * number / groups; ++e) work(e);
    });
}

// What `many` rows of a pair cost, or, where that is less, as many by way of other clusters.
void GapTable::find_limits(const Counts& counts) {
    const std::int64_t groups = (k + group - 1) / group;
    parallel(groups, threads, [&](std::int64_t g, int) {
        for (std::int64_t pair = g * group * m; pair < std::min(k, (g + 1) * group) * m; ++pair) {
            const double most = std::max(counts.many[pair / m], counts.many[counts.other[pair]]);
            double rows = 0.0;
            std::int64_t bin = 0;
            while (bin < bins && (rows += counts.count[pair * bins + bin]) < most) ++bin;
            if (bin == bins) {
                limit[pair] = infinity;
                continue;
            }
            const double to = counts.shift[pair] + end[bin];
            const double from = bin > 0 ? counts.shift[pair] + end[bin - 1] : 0.0;
            limit[pair] = to - (rows - most) / counts.count[pair * bins + bin] * (to - from);
        }
    });
    for (int round = 0; round < detours; ++round) {
        std::vector<double> shorter(limit);
        parallel(groups, threads, [&](std::int64_t g, int) {
            std::vector<double> way(k);
            for (std::int64_t a = g * group; a < std::min(k, (g + 1) * group); ++a) {
                std::fill(way.begin(), way.end(), infinity);
                for (std::int64_t by = a * m; by < (a + 1) * m; ++by) {
                    const std::int64_t c = counts.other[by];
                    for (std::int64_t on = c * m; on < (c + 1) * m; ++on) {
                        double& best = way[counts.other[on]];
                        best = std::min(best, limit[by] + limit[on]);
                    }
                }
                for (std::int64_t pair = a * m; pair < (a + 1) * m; ++pair)
                    shorter[pair] = std::min(limit[pair], way[counts.other[pair]]);
            }
        });
        limit = std::move(shorter);
    }
}

GapTable::Place GapTable::place(std::size_t arc, double far) const {
    const double* rows = held.data() + arc * bins;
    double before = 0.0, from = 0.0, area = 0.0;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
        const double to = arcs[arc].shift + end[bin];
        const double wide = to - from, more = rows[bin] - before;
        if (far <= to) {
            const double in = far - from, density = more / wide;
            return {before + density * in, area + (before + density * in / 2) * in, density};
        }
        area += (before + more / 2) * wide;
        before = rows[bin], from = to;
    }
    return {before, area + before * (far - from), 0.0};
}

double GapTable::ahead(std::size_t arc, double far, double rows, double more) const {
    const double* here = held.data() + arc * bins;
    const std::int64_t bin = std::lower_bound(here, here + bins, rows + more) - here;
    return bin == bins ? 0.0 : more / (arcs[arc].shift + end[bin] - far);
}

Softened GapTable::at(const SizeLimits& sizes, const std::vector<double>& price) const {
    std::vector<double> far(k);
    for (std::int64_t a = 0; a < k; ++a) far[a] = price[a] - origin[a];
    std::vector<Place> places(arcs.size(), Place{});
    each_arc([&](std::int64_t e) {
        const double went = far[arcs[e].to] - far[arcs[e].from];
        if (went > 0.0) places[e] = place(e, went);
    });
    Softened all;
    all.units = units;
    for (std::int64_t a = 0; a < k; ++a) all.value -= units[a] * far[a];
    for (std::size_t e = 0; e < arcs.size(); ++e) {  // in their order, whatever the threads
        all.value -= places[e].area;
        all.units[arcs[e].from] -= places[e].rows;
        all.units[arcs[e].to] += places[e].rows;
    }
    const std::vector<double> wrong = lacking(sizes, all.units, price);
    all.edges.resize(arcs.size());
    each_arc([&](std::int64_t e) {
        const auto [a, b, pair, shift] = arcs[e];
        const double least = std::min(std::fabs(wrong[a]), std::fabs(wrong[b]));
        const double next =
            ahead(e, far[b] - far[a], places[e].rows, part * std::max(fewest, least));
        all.edges[e] = {a, b, std::max(places[e].density, next)};
    });
    return all;
}

std::vector<double> GapTable::moves(const std::vector<double>& price) const {
    std::vector<double> rows(k * m, 0.0);
    for (std::size_t e = 0; e < arcs.size(); ++e) {
        const auto [a, b, pair, shift] = arcs[e];
        const double went = (price[b] - origin[b]) - (price[a] - origin[a]);
        if (went > 0.0) rows[pair] = place(e, went).rows;
    }
    return rows;
}

}  // namespace bckm
