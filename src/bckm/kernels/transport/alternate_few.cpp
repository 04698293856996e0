#include "transport/alternate_few.hpp"

#include <utility>

#include "distance/totals.hpp"
#include "runtime/pool.hpp"
#include "transport/settle.hpp"

namespace bckm {
namespace {

constexpr double equal = 1e-9;  // relative gain that may be rounding

bool is_enough(double before, double after, const Enough& enough) {
    const double gain = before - after;
    if (!(gain > equal * before)) return true;
    if (after > enough.best) return after - enough.best > enough.hope * gain;
    return gain < enough.little * after;
}

// One step; false if it was stopped.
bool step(const Points& points, std::int64_t k, std::int32_t* label, const CostTable& table,
          const std::int64_t* lower, const std::int64_t* upper, int threads,
          const std::function<bool()>& stop, Alternated& out) {
    const std::int64_t dims = points.dims;
    const PricedCenters priced(out.centers.data(), out.prices.data(), k, dims);
    SettleResult settled =
        settle_few(points, priced, label, nullptr, table, lower, upper, threads, stop);
    if (settled.stopped) return false;
    const TotalsResult all = totals(points, label, k, out.centers.data(), nullptr, threads);
    out.cost = all.cost;
    for (std::int64_t i = 0; i < k; ++i) {
        if (!(all.mass[i] > 0.0)) continue;
        for (std::int64_t t = 0; t < dims; ++t) {
            double& center = out.centers[i * dims + t];
            const double moved = all.sums[i * dims + t] / all.mass[i] - center;
            out.cost -= all.mass[i] * moved * moved;
            center = all.sums[i * dims + t] / all.mass[i];
        }
    }
    out.prices = std::move(settled.prices);
    ++out.steps;
    out.rounds += settled.rounds;
    return true;
}

}  // namespace

Alternated alternate_few(const Points& points, const double* centers, const double* prices,
                         std::int64_t k, std::int32_t* label, const CostTable& table,
                         const std::int64_t* lower, const std::int64_t* upper, const Enough& enough,
                         int threads, const std::function<bool()>& stop) {
    Alternated out;
    out.centers.assign(centers, centers + k * points.dims);
    out.prices.assign(prices, prices + k);
    try {
        while (out.steps < enough.steps) {
            const double before = out.cost;
            if (!step(points, k, label, table, lower, upper, threads, stop, out)) {
                out.stopped = true;
                break;
            }
            out.cost += enough.constant;
            if (out.steps > 1 && is_enough(before, out.cost, enough)) break;
        }
    } catch (const Stopped&) {
        out.stopped = true;
    }
    return out;
}

}  // namespace bckm
