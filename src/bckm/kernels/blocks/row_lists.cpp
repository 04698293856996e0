#include "blocks/row_lists.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "distance/exact_costs.hpp"
#include "distance/packed.hpp"
#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr std::int64_t chunk_size = 2048;
constexpr float nobody = 3.0e38f;     // margin of the only cluster
constexpr int fewest = 4;             // clusters in a list
constexpr float wider = 4.0f;         // reaches, until a list holds as many
constexpr double widest = 12.0;       // temperatures above the least value that still count
constexpr double least_share = 1e-3;  // of a sample, for an edge
constexpr int patience = 3;           // slow steps
constexpr double accuracy = 1e-3;     // of a step

std::int64_t chunks_of(std::int64_t n) { return (n + chunk_size - 1) / chunk_size; }

struct Entry {
    double value;
    std::int32_t cluster;
};

struct Best {
    float value;
    std::int32_t cluster;
};

// Scratch memory of one thread.
struct Scratch {
    Scratch(const Packed& packed, std::int64_t k)
        : tile(packed), all(packed.width * packed.kernel.samples + 16), value(k), near(k + 1) {}

    float* values() {
        const auto address = reinterpret_cast<std::uintptr_t>(all.data());
        return reinterpret_cast<float*>((address + 63) / 64 * 64);
    }

    Tile tile;
    TileBest leaders;
    std::vector<float> all, value;
    std::vector<Best> near;
    float rest = nobody;  // what is not listed has no lower value
    std::vector<double> exact;
    std::vector<std::int32_t> order;
};

// By how much the last of a full list exceeds the best, for a row in the middle of a few.
float typical_reach(Scratch& own, int filled, int size, std::int64_t k) {
    constexpr int few = 5;
    if (k <= RowLists::most) return nobody;
    float reach[few];
    const int asked = std::min(filled, few);
    for (int r = 0; r < asked; ++r) {
        for (std::int64_t i = 0; i < k; ++i) own.value[i] = own.values()[i * size + r];
        const auto last = own.value.begin() + RowLists::most;
        std::nth_element(own.value.begin(), last, own.value.end());
        reach[r] = *last - own.leaders.best[r];
    }
    std::nth_element(reach, reach + asked / 2, reach + asked);
    return reach[asked / 2] >= 0.0f ? reach[asked / 2] : 0.0f;  // also where numbers overflow
}

// Lists the clusters of row r of a tile whose value is below a limit in `near`; how many.
std::int64_t list_below(Scratch& own, int r, int size, float limit, std::int64_t k) {
    const float* column = own.values() + r;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < k; ++i) {
        const float value = column[i * size];
        own.near[count] = {value, static_cast<std::int32_t>(i)};
        count += value < limit;
    }
    return count;
}

// The best clusters of row r of a tile as float32 has it, up to as many as a list holds.
int listed(Scratch& own, int r, int size, float reach, std::int64_t k, std::int32_t* cluster) {
    const float best = own.leaders.best[r];
    own.rest = best + reach;
    std::int64_t count = list_below(own, r, size, own.rest, k);
    while (count < std::min<std::int64_t>(fewest, k) && own.rest < nobody) {
        reach *= wider;  // a row of a wider group than the others
        own.rest = best + reach > own.rest ? best + reach : nobody;
        count = list_below(own, r, size, own.rest, k);
    }
    if (count < 2) {  // what float32 does not hold: the best two
        cluster[0] = own.leaders.label[r];
        cluster[1] = own.leaders.runner_up[r];
        return k > 1 && cluster[0] != cluster[1] ? 2 : 1;
    }
    if (count > RowLists::most) {
        std::nth_element(own.near.begin(), own.near.begin() + RowLists::most,
                         own.near.begin() + count, [](const Best& a, const Best& b) {
                             return a.value != b.value ? a.value < b.value : a.cluster < b.cluster;
                         });
        own.rest = own.near[RowLists::most].value;
        count = RowLists::most;
    }
    for (std::int64_t q = 0; q < count; ++q) cluster[q] = own.near[q].cluster;
    return static_cast<int>(count);
}

// The same from costs in float64, which the list needs in any case.
int listed_exactly(Scratch& own, const PricedCenters& priced, const double* x, double weight,
                   std::int32_t* cluster) {
    const std::int64_t k = priced.k;
    own.exact.resize(padded(k));
    own.order.resize(k);
    exact_costs(priced, x, weight, own.exact.data());
    for (std::int64_t i = 0; i < k; ++i) {
        own.exact[i] -= priced.prices[i];
        own.order[i] = static_cast<std::int32_t>(i);
    }
    const std::int64_t count = std::min<std::int64_t>(RowLists::most, k);
    std::partial_sort(own.order.begin(), own.order.begin() + count, own.order.end(),
                      [&own](std::int32_t a, std::int32_t b) {
                          return own.exact[a] != own.exact[b] ? own.exact[a] < own.exact[b] : a < b;
                      });
    std::copy_n(own.order.begin(), count, cluster);
    return static_cast<int>(count);
}

}  // namespace

RowLists::RowLists(const Points& points, const PricedCenters& priced, int threads)
    : k(priced.k), count(points.n), cluster(points.n * most), cost(points.n * most) {
    const std::int64_t n = points.n, chunks = chunks_of(n);
    threads =
        static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(1, chunks)));
    const Packed packed(priced, points.cost_weight != nullptr);
    std::vector<Scratch> scratch;
    scratch.reserve(threads);
    for (int w = 0; w < threads; ++w) scratch.emplace_back(packed, k);
    parallel(chunks, threads, [&](std::int64_t chunk, int worker) {
        Scratch& own = scratch[worker];
        const int size = packed.kernel.samples;
        const std::int64_t end = std::min(n, (chunk + 1) * chunk_size);
        float reach = -1.0f;
        for (std::int64_t from = chunk * chunk_size; from < end; from += size) {
            const int filled = static_cast<int>(std::min<std::int64_t>(size, end - from));
            own.tile.fill(points, filled, [&](int r) { return from + r; });
            packed.kernel.run(own.tile.values(), packed.dims, packed.centers.data(),
                              packed.bias.data(), packed.width, own.leaders, own.values());
            if (reach < 0.0f) reach = typical_reach(own, filled, size, k);
            for (int r = 0; r < filled; ++r) {
                const std::int64_t j = from + r;
                std::int32_t* here = cluster.data() + j * most;
                int found = listed(own, r, size, reach, k, here);
                // groups may be so far from each other that float32 does not see inside of one
                const double best = own.leaders.best[r], last = own.rest;
                if (last < nobody &&
                    packed.error_bound(own.tile.square(r), best, last) > last - best)
                    found = listed_exactly(own, priced, points.row(j), points.weight(j), here);
                count[j] = static_cast<std::uint8_t>(found);
                exact_costs_in(priced, points.row(j), points.weight(j), here, found,
                               cost.data() + j * most);
            }
        }
    });
}

double RowLists::look(const Points& points, const double* prices, std::int32_t* label,
                      std::int32_t* runner_up, float* margin, std::int64_t* units,
                      int threads) const {
    const std::int64_t n = size(), chunks = chunks_of(n);
    threads =
        static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(1, chunks)));
    std::vector<std::vector<std::int64_t>> held(threads, std::vector<std::int64_t>(k, 0));
    std::vector<double> sums(chunks, 0.0);  // added in the order of chunks
    parallel(chunks, threads, [&](std::int64_t chunk, int worker) {
        const std::int64_t end = std::min(n, (chunk + 1) * chunk_size);
        double sum = 0.0;
        for (std::int64_t j = chunk * chunk_size; j < end; ++j) {
            const std::int32_t* here = cluster.data() + j * most;
            const double* charged = cost.data() + j * most;
            Entry best{charged[0] - prices[here[0]], 0}, next{1.0e300, 0};
            for (std::int32_t q = 1; q < count[j]; ++q) {
                const Entry one{charged[q] - prices[here[q]], q};
                if (one.value < best.value) next = std::exchange(best, one);
                else if (one.value < next.value) next = one;
            }
            label[j] = here[best.cluster];
            runner_up[j] = here[next.cluster];
            margin[j] = count[j] > 1
                            ? static_cast<float>(charged[next.cluster] - charged[best.cluster])
                            : nobody;
            held[worker][label[j]] += points.units(j);
            sum += static_cast<double>(points.units(j)) * charged[best.cluster];
        }
        sums[chunk] = sum;
    });
    std::fill_n(units, k, 0);
    for (const auto& part : held)
        for (std::int64_t i = 0; i < k; ++i) units[i] += part[i];
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

Softened RowLists::soften(const Points& points, const float* temperature,
                          const std::vector<double>& prices, int threads) const {
    const std::int64_t n = size();
    const std::int64_t chunks = (n + chunk_size - 1) / chunk_size;
    std::vector<Softened> part(chunks);
    parallel(chunks, threads, [&](std::int64_t chunk, int) {
        Softened& out = part[chunk];
        out.units.assign(k, 0.0);
        const std::int64_t end = std::min(n, (chunk + 1) * chunk_size);
        for (std::int64_t j = chunk * chunk_size; j < end; ++j) {
            const std::int32_t* here = cluster.data() + j * most;
            double value[most], least = std::numeric_limits<double>::infinity();
            for (int q = 0; q < count[j]; ++q) {
                value[q] = cost[j * most + q] - prices[here[q]];
                least = std::min(least, value[q]);
            }
            const double heat = temperature[j], limit = least + widest * heat;
            const auto samples = static_cast<double>(points.units(j));
            int near[most], number = 0;
            for (int q = 0; q < count[j]; ++q)
                if (value[q] < limit || value[q] == least) near[number++] = q;
            out.value += samples * least;
            if (number == 1) {
                out.units[here[near[0]]] += samples;
                continue;
            }
            double share[most], sum = 0.0;
            for (int q = 0; q < number; ++q) {
                const double far = value[near[q]] - least;
                share[q] = far > 0.0 ? std::exp(-far / heat) : 1.0;
                sum += share[q];
            }
            out.value -= samples * heat * std::log(sum);
            for (int q = 0; q < number; ++q) {
                share[q] /= sum;
                out.units[here[near[q]]] += samples * share[q];
                if (share[q] < least_share) continue;
                for (int s = 0; s < q; ++s)
                    if (share[s] >= least_share)
                        out.edges.push_back(
                            {here[near[q]], here[near[s]], samples * share[q] * share[s] / heat});
            }
        }
    });
    Softened all;
    all.units.assign(k, 0.0);
    for (const Softened& one : part) {  // in the order of chunks, whatever the threads
        all.value += one.value;
        for (std::int64_t i = 0; i < k; ++i) all.units[i] += one.units[i];
        all.edges.insert(all.edges.end(), one.edges.begin(), one.edges.end());
    }
    return all;
}

std::vector<double> RowLists::climb(const Points& points, const float* temperature, Sizes sizes,
                                    double target, int steps, std::vector<double>& price,
                                    int threads) const {
    const auto model = [&](const std::vector<double>& at) {
        return soften(points, temperature, at, threads);
    };
    Softened now = model(price);
    for (std::int64_t i = 0; i < k; ++i) {
        sizes.lower[i] += now.units[i] - sizes.units[i];
        sizes.upper[i] += now.units[i] - sizes.units[i];
    }
    return bckm::climb(model, std::move(now), {sizes.lower, sizes.upper}, target, steps, patience,
                       accuracy, price);
}

}  // namespace bckm
