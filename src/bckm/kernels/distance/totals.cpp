#include "distance/totals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/pool.hpp"

namespace bckm {
namespace {

void add(const std::vector<double>& part, std::vector<double>& total) {
    for (std::size_t i = 0; i < part.size(); ++i) total[i] += part[i];
}

}  // namespace

TotalsResult totals(const Points& points, const std::int32_t* label, std::int64_t k,
                    const double* centers, float* radius, int threads) {
    // a few parts, each with its own sums, added in order
    const std::int64_t n = points.n, dims = points.dims;
    const std::int64_t parts = std::clamp<std::int64_t>(n / 8192, 1, 8);
    std::vector<TotalsResult> part(parts);
    parallel(parts, threads, [&](std::int64_t p, int) {
        TotalsResult own;
        own.dims = dims;
        own.sums.assign(k * dims, 0.0);
        own.mass.assign(k, 0.0);
        own.reach.assign(k, 0.0);
        double block = 0.0;  // costs are added up in blocks: fewer roundings in a row
        for (std::int64_t j = n * p / parts; j < n * (p + 1) / parts; ++j) {
            const std::int64_t a = label[j];
            const double* x = points.row(j);
            const double w = points.weight(j) * static_cast<double>(points.units(j));
            const double square = squared_distance(x, centers + a * dims, dims);
            double* sum = own.sums.data() + a * dims;
            for (std::int64_t t = 0; t < dims; ++t) sum[t] += w * x[t];
            own.mass[a] += w;
            block += w * square;
            if (j % 1024 == 0) own.cost += std::exchange(block, 0.0);
            if (radius) {
                radius[j] = static_cast<float>(std::sqrt(square) * (1.0 + 2e-7) + 1e-37);
                own.reach[a] = std::max(own.reach[a], static_cast<double>(radius[j]));
            }
        }
        own.cost += block;
        part[p] = std::move(own);
    });
    TotalsResult all = std::move(part[0]);
    for (std::int64_t p = 1; p < parts; ++p) {
        add(part[p].sums, all.sums);
        add(part[p].mass, all.mass);
        for (std::int64_t i = 0; i < k; ++i)
            all.reach[i] = std::max(all.reach[i], part[p].reach[i]);
        all.cost += part[p].cost;
    }
    return all;
}

}  // namespace bckm
