#include "sweep.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "exact.hpp"
#include "packed.hpp"
#include "pool.hpp"

namespace bckm {
namespace {

constexpr std::int64_t chunk_size = 4096;
constexpr double unit64 = 1.2e-16;  // float64 rounds by at most this share, 2^-53

// Scratch memory and results of one worker.
struct Worker {
    explicit Worker(const Packed& packed, std::int64_t k)
        : tile(packed), costs(padded(k)), listed(chunk_size), gained(k, 0) {}

    Tile tile;
    std::vector<double> costs;
    std::vector<std::int32_t> listed;
    std::vector<std::int64_t> gained;
    std::int64_t looked = 0;
    TileBest leaders;
};

float below(double value) {
    // a float that is certainly not above the value
    const double down = value - 1.3e-7 * std::fabs(value);
    return static_cast<float>(std::clamp(down, -3.0e38, 3.0e38));
}

class Sweep {
public:
    Sweep(const Points& points, const Market& market, const Knowledge& known, const Drift& drift,
          bool keep)
        : points(points), market(market), known(known), keep(keep),
          packed(market, points.pull != nullptr), fixed_fall(drift.fixed, drift.fixed + market.k),
          slope_fall(drift.slope, drift.slope + market.k) {
        const auto any = [](const std::vector<float>& fall) {
            return std::any_of(fall.begin(), fall.end(), [](float f) { return f != 0.0f; });
        };
        moving = any(fixed_fall) || any(slope_fall);
    }

    // Returns the regret or the change of this chunk.
    double chunk(std::int64_t number, Worker& worker) const {
        const std::int64_t from = number * chunk_size, to = std::min(points.n, from + chunk_size);
        const std::int64_t listed = list(from, to, worker.listed.data());
        double sum = 0.0;
        const int size = packed.kernel.samples;
        worker.looked += listed;
        for (std::int64_t s = 0; s < listed; s += size) {
            const int filled = static_cast<int>(std::min<std::int64_t>(size, listed - s));
            worker.tile.fill(points, filled, [&](int r) { return from + worker.listed[s + r]; });
            packed.kernel.run(worker.tile.values(), packed.dims, packed.centres.data(),
                              packed.bias.data(), packed.width, worker.leaders);
            for (int r = 0; r < filled; ++r) sum += decide(from + worker.listed[s + r], r, worker);
        }
        return sum;
    }

    Worker worker() const { return Worker(packed, market.k); }

private:
    // Lowers slacks by the drift and lists the points (from `from` on) that have none left. Without
    // branches: this runs over all points, however few are listed.
    std::int64_t list(std::int64_t from, std::int64_t to, std::int32_t* listed) const {
        if (moving)
            row_loops().fall(known.label + from, fixed_fall.data(), slope_fall.data(),
                             known.radius ? known.radius + from : nullptr, to - from,
                             known.slack + from);
        std::int64_t count = 0;
        for (std::int64_t j = from; j < to; ++j) {
            listed[count] = static_cast<std::int32_t>(j - from);
            count += !(known.slack[j] > 0.0f);
        }
        return count;
    }

    // Takes over what the tile found if the error bound permits, else looks again in float64.
    double decide(std::int64_t j, int r, Worker& worker) const {
        const TileBest& found = worker.leaders;
        const double gap = static_cast<double>(found.second[r]) - found.best[r] -
                           packed.doubt(worker.tile.square(r), found.best[r], found.second[r]);
        if (gap > 0.0 && (!keep || found.label[r] == known.label[j])) {
            const double square_scale = packed.scale * packed.scale;
            known.slack[j] = below(gap * square_scale);
            compete(j, found.label[r], found.runner[r],
                    (static_cast<double>(found.second[r]) - found.best[r]) * square_scale);
            return relabel(j, found.label[r], worker);
        }
        return look_again(j, worker);
    }

    double look_again(std::int64_t j, Worker& worker) const {
        double* value = worker.costs.data();
        exact_costs(market, points.row(j), points.weight(j), value);
        for (std::int64_t i = 0; i < market.k; ++i) value[i] -= market.prices[i];
        const std::int32_t best = argmin(value, -1);
        const std::int32_t label = keep ? known.label[j] : best;
        const std::int32_t other = market.k > 1 ? argmin(value, label) : label;
        const double size =
            std::fabs(value[label]) + std::fabs(value[other]) + 2.0 * market.dearest;
        const double rounding = (market.dims + 4.0) * unit64 * size;
        compete(j, label, other, value[other] - value[label]);
        known.slack[j] = market.k > 1 ? below(value[other] - value[label] - rounding) : 3.0e38f;
        if (keep) return static_cast<double>(points.units(j)) * (value[label] - value[best]);
        return relabel(j, label, worker);
    }

    void compete(std::int64_t j, std::int32_t label, std::int32_t runner, double lead) const {
        known.runner[j] = runner;
        known.detour[j] = static_cast<float>(lead + market.prices[runner] - market.prices[label]);
    }

    // Returns by how much the cost grows.
    double relabel(std::int64_t j, std::int32_t label, Worker& worker) const {
        const std::int32_t before = known.label[j];
        if (label == before) return 0.0;
        known.label[j] = label;
        worker.gained[before] -= points.units(j);
        worker.gained[label] += points.units(j);
        const double* x = points.row(j);
        double change = 0.0;
        for (std::int64_t t = 0; t < market.dims; ++t) {
            const double now = x[t] - market.centres[label * market.dims + t];
            const double then = x[t] - market.centres[before * market.dims + t];
            change += now * now - then * then;
        }
        return points.weight(j) * static_cast<double>(points.units(j)) * change;
    }

    std::int32_t argmin(const double* value, std::int64_t except) const {
        double least = DBL_MAX;
        std::int64_t where = except == 0 && market.k > 1 ? 1 : 0;
        for (std::int64_t i = 0; i < market.k; ++i)
            if (value[i] < least && i != except) {
                least = value[i];
                where = i;
            }
        return static_cast<std::int32_t>(where);
    }

    const Points& points;
    const Market& market;
    const Knowledge& known;
    bool keep;
    Packed packed;
    std::vector<float> fixed_fall, slope_fall;
    bool moving;  // whether prices or centres have moved at all
};

}  // namespace

Swept sweep(const Points& points, const Market& market, const Knowledge& known, const Drift& drift,
            bool keep, int threads) {
    const Sweep task(points, market, known, drift, keep);
    const std::int64_t chunks = (points.n + chunk_size - 1) / chunk_size;
    threads = static_cast<int>(std::min<std::int64_t>(threads, chunks));
    std::vector<Worker> workers;
    for (int w = 0; w < threads; ++w) workers.push_back(task.worker());
    std::vector<double> sums(chunks, 0.0);  // added in the order of chunks: any number of threads
    parallel(chunks, threads, [&](std::int64_t chunk, int worker) {
        sums[chunk] = task.chunk(chunk, workers[worker]);
    });
    Swept swept;
    swept.gained.assign(market.k, 0);
    for (const Worker& w : workers) {
        swept.looked += w.looked;
        for (std::int64_t i = 0; i < market.k; ++i) swept.gained[i] += w.gained[i];
    }
    for (const double sum : sums) (keep ? swept.regret : swept.change) += sum;
    return swept;
}

}  // namespace bckm
