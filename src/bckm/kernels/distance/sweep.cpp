#include "distance/sweep.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <memory>
#include <utility>

#include "distance/contenders.hpp"
#include "distance/exact_costs.hpp"
#include "distance/packed.hpp"
#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr std::int64_t chunk_size = 4096;
constexpr double unit64 = 1.2e-16;  // relative rounding of float64, 2^-53

// Scratch memory and results of one worker.
struct Worker {
    Worker(const Packed& packed, std::int64_t k, bool selects)
        : tile(packed), costs(padded(k)), listed(chunk_size), gained(k, 0) {
        if (selects) selection = std::make_unique<Selection>(packed);
    }

    Tile tile;
    std::vector<double> costs;
    std::vector<std::int32_t> listed;
    std::vector<std::int64_t> gained;
    std::int64_t evaluated = 0;
    TileBest leaders;
    std::unique_ptr<Selection> selection;
};

float below(double value) {
    // a float that is certainly not above the value
    const double down = value - 1.3e-7 * std::fabs(value);
    return static_cast<float>(std::clamp(down, -3.0e38, 3.0e38));
}

class Sweep {
public:
    Sweep(const Points& points, const PricedCenters& priced, const PointState& state,
          const Drift& drift, bool keep_labels, Contenders* contenders)
        : points(points), priced(priced), state(state), keep_labels(keep_labels),
          contenders(contenders), packed(priced, points.cost_weight != nullptr),
          square_scale(packed.scale * packed.scale),
          fixed_decay(drift.fixed, drift.fixed + priced.k),
          slope_decay(drift.slope, drift.slope + priced.k) {
        const auto any = [](const std::vector<float>& decay) {
            return std::any_of(decay.begin(), decay.end(), [](float f) { return f != 0.0f; });
        };
        moving = any(fixed_decay) || any(slope_decay);
        if (contenders) contenders->begin(priced, packed);
    }

    // Returns the regret or the change of this chunk.
    double chunk(std::int64_t number, Worker& worker) const {
        const std::int64_t from = number * chunk_size, to = std::min(points.n, from + chunk_size);
        std::int64_t listed = list(from, to, worker.listed.data());
        double sum = 0.0;
        if (contenders) {
            listed = look_up(from, listed, worker, sum);
            listed = decide_from_rows(from, listed, worker, sum);
        }
        const int size = packed.kernel.samples;
        worker.evaluated += listed;
        for (std::int64_t s = 0; s < listed; s += size) {
            const int filled = static_cast<int>(std::min<std::int64_t>(size, listed - s));
            const auto which = [&](int r) { return from + worker.listed[s + r]; };
            worker.tile.fill(points, filled, which);
            packed.kernel.run(worker.tile.values(), packed.dims, packed.centers.data(),
                              packed.bias.data(), packed.width, worker.leaders,
                              contenders ? worker.selection->values() : nullptr);
            if (contenders)
                worker.selection->make_lists(worker.tile, worker.leaders, filled, priced.k,
                                             *contenders, which);
            const TileBest& best = worker.leaders;
            for (int r = 0; r < filled; ++r)
                sum += decide(
                    which(r), {best.best[r], best.second[r], best.label[r], best.runner_up[r]},
                    packed.error_bound(worker.tile.square(r), best.best[r], best.second[r]),
                    worker);
        }
        return sum;
    }

    Worker worker() const { return Worker(packed, priced.k, contenders != nullptr); }

private:
    // Lowers slacks by the drift and lists the points (counted from `from`) that have none left.
    // Without branches: this runs over all points, however few are listed.
    std::int64_t list(std::int64_t from, std::int64_t to, std::int32_t* listed) const {
        if (moving)
            row_loops().decay(state.label + from, fixed_decay.data(), slope_decay.data(),
                              state.radius ? state.radius + from : nullptr, to - from,
                              state.slack + from);
        std::int64_t count = 0;
        for (std::int64_t j = from; j < to; ++j) {
            listed[count] = static_cast<std::int32_t>(j - from);
            count += !(state.slack[j] > 0.0f);
        }
        return count;
    }

    // Decides points by their lists; those for which that is not enough stay listed.
    std::int64_t look_up(std::int64_t from, std::int64_t listed, Worker& worker,
                         double& sum) const {
        std::int64_t left = 0;
        for (std::int64_t s = 0; s < listed; ++s) {
            const std::int64_t j = from + worker.listed[s];
            if (contenders->has(j) && decide_from_list(j, worker, sum)) continue;
            worker.listed[left++] = worker.listed[s];
        }
        return left;
    }

    // Decides points whose values an earlier look has kept; the others stay listed.
    std::int64_t decide_from_rows(std::int64_t from, std::int64_t listed, Worker& worker,
                                  double& sum) const {
        if (contenders->width_of_rows() == 0) return listed;
        std::int64_t left = 0;
        for (std::int64_t s = 0; s < listed; ++s) {
            const std::int64_t j = from + worker.listed[s];
            if (!contenders->has_row(j)) {
                worker.listed[left++] = worker.listed[s];
                continue;
            }
            const Contenders::Row row = contenders->row(j);
            const BestTwo two = row_loops().best_two(row.value, row.shift, priced.k);
            worker.selection->make_list(row, two, priced.k, *contenders, j);
            sum += decide(j, two, contenders->row_error(row.square, two.best, two.second), worker);
        }
        return left;
    }

    // Accepts what float32 found if the bound on its error permits, else evaluates in float64.
    double decide(std::int64_t j, const BestTwo& two, double error, Worker& worker) const {
        double sum = 0.0;
        if (contenders && contenders->has(j) && decide_from_list(j, worker, sum)) return sum;
        const double lead = static_cast<double>(two.second) - two.best, gap = lead - error;
        if (gap > 0.0 && (!keep_labels || two.label == state.label[j]))
            return accept(j, two.label, two.runner_up, gap, lead, worker);
        return evaluate_exactly(j, worker);
    }

    // False where a cluster that is not listed might be the best one.
    bool decide_from_list(std::int64_t j, Worker& worker, double& sum) const {
        const Contenders::List list = contenders->of(j);
        double value[Contenders::most], best = 3.0e38, next = 3.0e38;
        int first = 0, second = 0;
        for (int q = 0; q < list.count; ++q) {
            value[q] = list.value[q] - list.shift.of[list.cluster[q]];
            if (value[q] < best) {
                next = std::exchange(best, value[q]);
                second = std::exchange(first, q);
            } else if (value[q] < next) {
                next = value[q];
                second = q;
            }
        }
        // clusters that are not listed, whose prices rose so much that they might be best
        const std::vector<std::int32_t>& riser = list.shift.riser;
        const auto told = static_cast<int>(riser.size());
        const auto others = [&](int q) { return list.rest - list.shift.of[riser[q]]; };
        int risen = 0;
        while (risen < told && !(others(risen) - best > list.error)) ++risen;
        if (risen > Contenders::risen) return false;
        double rest = risen < told ? others(risen) : 3.0e38;
        // the few that may be best, with the label that is to stay
        Few few;
        for (int q = 0; q < list.count; ++q) {
            const bool stays = keep_labels && list.cluster[q] == state.label[j];
            if (stays || value[q] - best <= list.error) few.add(list.cluster[q]);
            else rest = std::min(rest, value[q]);
        }
        for (int q = 0; q < risen; ++q) few.add(riser[q]);
        if (keep_labels) few.add(state.label[j]);
        if (few.count == 1) {
            sum += accept(j, list.cluster[first], list.cluster[second], rest - best - list.error,
                          next - best, worker);
            return true;
        }
        sum += evaluate_few(j, few, list.cluster[first], (rest - best - list.error) * square_scale,
                            worker);
        return true;
    }

    // Clusters, each once.
    struct Few {
        static constexpr int most = Contenders::most + Contenders::risen + 1;
        std::int32_t cluster[most];
        int count = 0;

        void add(std::int32_t i) {
            if (std::find(cluster, cluster + count, i) == cluster + count) cluster[count++] = i;
        }
    };

    // In float64, where all other clusters cost at least `above` more than cluster `first`.
    double evaluate_few(std::int64_t j, const Few& few, std::int32_t first, double above,
                        Worker& worker) const {
        double value[Few::most];
        exact_costs_in(priced, points.row(j), points.weight(j), few.cluster, few.count, value);
        int best = 0, label = 0, from = 0;
        for (int q = 0; q < few.count; ++q) {
            const std::int32_t i = few.cluster[q];
            value[q] -= priced.prices[i];
            if (value[q] < value[best] || (value[q] == value[best] && i < few.cluster[best]))
                best = q;
            if (i == state.label[j]) label = q;
            if (i == first) from = q;
        }
        if (!keep_labels) label = best;
        int other = label == 0 ? 1 : 0;
        for (int q = 0; q < few.count; ++q)
            if (q != label && value[q] < value[other]) other = q;
        const double size = std::fabs(value[label]) + std::fabs(value[other]) +
                            std::fabs(value[from]) + 3.0 * priced.max_price;
        const double gap = std::min(value[other], value[from] + above) - value[label] -
                           (priced.dims + 4.0) * unit64 * size;
        note_runner_up(j, few.cluster[label], few.cluster[other], value[other] - value[label]);
        state.slack[j] = below(gap);
        if (keep_labels) return static_cast<double>(points.units(j)) * (value[label] - value[best]);
        return relabel(j, few.cluster[label], worker);
    }

    // Takes a label that is proven to be ahead of all others by `gap`; in the units of `Packed`.
    double accept(std::int64_t j, std::int32_t label, std::int32_t runner_up, double gap,
                  double lead, Worker& worker) const {
        state.slack[j] = below(gap * square_scale);
        note_runner_up(j, label, runner_up, lead * square_scale);
        return relabel(j, label, worker);
    }

    double evaluate_exactly(std::int64_t j, Worker& worker) const {
        double* value = worker.costs.data();
        exact_costs(priced, points.row(j), points.weight(j), value);
        for (std::int64_t i = 0; i < priced.k; ++i) value[i] -= priced.prices[i];
        const std::int32_t best = argmin(value, -1);
        const std::int32_t label = keep_labels ? state.label[j] : best;
        const std::int32_t other = priced.k > 1 ? argmin(value, label) : label;
        const double size =
            std::fabs(value[label]) + std::fabs(value[other]) + 2.0 * priced.max_price;
        const double rounding = (priced.dims + 4.0) * unit64 * size;
        note_runner_up(j, label, other, value[other] - value[label]);
        state.slack[j] = priced.k > 1 ? below(value[other] - value[label] - rounding) : 3.0e38f;
        if (keep_labels) return static_cast<double>(points.units(j)) * (value[label] - value[best]);
        return relabel(j, label, worker);
    }

    void note_runner_up(std::int64_t j, std::int32_t label, std::int32_t runner_up,
                        double lead) const {
        state.runner_up[j] = runner_up;
        state.margin[j] =
            static_cast<float>(lead + priced.prices[runner_up] - priced.prices[label]);
    }

    // Returns by how much the cost grows.
    double relabel(std::int64_t j, std::int32_t label, Worker& worker) const {
        const std::int32_t before = state.label[j];
        if (label == before) return 0.0;
        state.label[j] = label;
        worker.gained[before] -= points.units(j);
        worker.gained[label] += points.units(j);
        const double* x = points.row(j);
        double change = 0.0;
        for (std::int64_t t = 0; t < priced.dims; ++t) {
            const double now = x[t] - priced.centers[label * priced.dims + t];
            const double then = x[t] - priced.centers[before * priced.dims + t];
            change += now * now - then * then;
        }
        return points.weight(j) * static_cast<double>(points.units(j)) * change;
    }

    std::int32_t argmin(const double* value, std::int64_t except) const {
        double least = DBL_MAX;
        std::int64_t where = except == 0 && priced.k > 1 ? 1 : 0;
        for (std::int64_t i = 0; i < priced.k; ++i)
            if (value[i] < least && i != except) {
                least = value[i];
                where = i;
            }
        return static_cast<std::int32_t>(where);
    }

    const Points& points;
    const PricedCenters& priced;
    const PointState& state;
    bool keep_labels;
    Contenders* contenders;
    Packed packed;
    double square_scale;
    std::vector<float> fixed_decay, slope_decay;
    bool moving;  // whether prices or centers have moved at all
};

}  // namespace

SweepResult sweep(const Points& points, const PricedCenters& priced, const PointState& state,
                  const Drift& drift, bool keep_labels, int threads, Contenders* contenders) {
    const Sweep task(points, priced, state, drift, keep_labels, contenders);
    const std::int64_t chunks = (points.n + chunk_size - 1) / chunk_size;
    threads = static_cast<int>(std::min<std::int64_t>(threads, chunks));
    std::vector<Worker> workers;
    workers.reserve(threads);
    for (int w = 0; w < threads; ++w) workers.push_back(task.worker());
    // added in the order of chunks, whatever the number of threads
    std::vector<double> sums(chunks, 0.0);
    parallel(chunks, threads, [&](std::int64_t chunk, int worker) {
        sums[chunk] = task.chunk(chunk, workers[worker]);
    });
    SweepResult result;
    result.gained.assign(priced.k, 0);
    for (const Worker& w : workers) {
        result.evaluated += w.evaluated;
        for (std::int64_t i = 0; i < priced.k; ++i) result.gained[i] += w.gained[i];
    }
    for (const double sum : sums) (keep_labels ? result.regret : result.change) += sum;
    return result;
}

}  // namespace bckm
