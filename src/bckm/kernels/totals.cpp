#include "totals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "pool.hpp"

namespace bckm {
namespace {

constexpr std::int64_t chunk_size = 8192;

std::int64_t chunks_of(std::int64_t n) { return (n + chunk_size - 1) / chunk_size; }

// |x - c|^2; four sums at a time need not wait for each other.
double distance(const double* x, const double* c, std::int64_t dims) {
    double sum[4] = {};
    std::int64_t t = 0;
    for (; t + 4 <= dims; t += 4)
        for (int q = 0; q < 4; ++q) sum[q] += (x[t + q] - c[t + q]) * (x[t + q] - c[t + q]);
    for (; t < dims; ++t) sum[0] += (x[t] - c[t]) * (x[t] - c[t]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

double cluster_sums(const Points& points, const std::int32_t* label, std::int64_t k,
                    const double* centres, double* sums, double* mass, int threads) {
    // a few parts, each with sums of its own, added in their order
    const std::int64_t n = points.n, dims = points.dims;
    const std::int64_t parts = std::min<std::int64_t>(8, chunks_of(n)), size = k * (dims + 1);
    std::vector<double> partial(parts * size, 0.0), cost(parts, 0.0);
    parallel(parts, threads, [&](std::int64_t part, int) {
        double* own = partial.data() + part * size;
        for (std::int64_t j = n * part / parts; j < n * (part + 1) / parts; ++j) {
            const double w = points.weight(j);
            double* sum = own + label[j] * (dims + 1);
            const double* x = points.row(j);
            for (std::int64_t t = 0; t < dims; ++t) sum[t] += w * x[t];
            sum[dims] += w;
            if (centres) cost[part] += w * distance(x, centres + label[j] * dims, dims);
        }
    });
    for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t t = 0; t <= dims; ++t) {
            double total = 0.0;
            for (std::int64_t part = 0; part < parts; ++part)
                total += partial[part * size + i * (dims + 1) + t];
            (t < dims ? sums[i * dims + t] : mass[i]) = total;
        }
    }
    return std::accumulate(cost.begin(), cost.end(), 0.0);
}

double assigned_cost(const Points& points, const std::int32_t* label, std::int64_t k,
                     const double* centres, float* radius, double* reach, int threads) {
    const std::int64_t n = points.n, dims = points.dims, chunks = chunks_of(n);
    threads = static_cast<int>(std::min<std::int64_t>(threads, chunks));
    std::vector<double> partial(chunks, 0.0), far(reach ? k * threads : 0, 0.0);
    parallel(chunks, threads, [&](std::int64_t chunk, int worker) {
        double total = 0.0;
        const std::int64_t to = std::min(n, (chunk + 1) * chunk_size);
        for (std::int64_t j = chunk * chunk_size; j < to; ++j) {
            const double* x = points.row(j);
            const double* c = centres + label[j] * dims;
            const double square = distance(x, c, dims);
            if (radius) {
                radius[j] = static_cast<float>(std::sqrt(square) * (1.0 + 2e-7) + 1e-37);
                double& furthest = far[worker * k + label[j]];
                furthest = std::max(furthest, static_cast<double>(radius[j]));
            }
            total += points.weight(j) * static_cast<double>(points.units(j)) * square;
        }
        partial[chunk] = total;
    });
    for (std::int64_t i = 0; reach && i < k; ++i) {
        reach[i] = 0.0;
        for (int w = 0; w < threads; ++w) reach[i] = std::max(reach[i], far[w * k + i]);
    }
    double total = 0.0;
    for (const double part : partial) total += part;
    return total;
}

}  // namespace bckm
