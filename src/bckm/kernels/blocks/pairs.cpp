#include "blocks/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "distance/exact_costs.hpp"
#include "runtime/pool.hpp"
#include "transport/laplacian.hpp"

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double accuracy = 1e-3;  // of moves: they are those of random errors
constexpr int max_rounds = 300;

double far_of(const Places& places, std::int64_t a) {
    return 2.0 * std::sqrt(places.farthest[a]) * (1.0 + 1e-9);
}

double least_gap(const Places& places, std::int64_t a, std::int64_t b, double far) {
    const double apart = places.apart[a * places.k + b];
    return apart * (apart - far) - (places.prices[b] - places.prices[a]);
}

}  // namespace

void pair_distances(const PricedCenters& priced, double* apart, int threads) {
    const std::int64_t k = priced.k;
    parallel(k, threads, [&](std::int64_t a, int) {
        std::vector<double> square(padded(k));
        exact_costs(priced, priced.centers + a * priced.dims, 1.0, square.data());
        for (std::int64_t b = 0; b < k; ++b) apart[a * k + b] = std::sqrt(square[b]);
    });
}

void pair_reach(const Places& places, const float* minima, const double* wide,
                const std::int64_t* rest, double rounding, double* reach, int threads) {
    const std::int64_t k = places.k;
    parallel(k, threads, [&](std::int64_t a, int) {
        const double far = far_of(places, a);
        for (std::int64_t b = 0; b < k; ++b) {
            const double told = std::min<double>(minima[a * k + b], wide[a]);
            const double least = std::max(told, least_gap(places, a, b, far)) - rounding;
            reach[a * k + b] = rest[a] > 0 && a != b ? least : infinity;
        }
    });
}

double beyond_reach(std::int64_t k, const double* went, const double* reach, int threads) {
    std::vector<double> most(k, 0.0);
    parallel(k, threads, [&](std::int64_t a, int) {
        for (std::int64_t b = 0; b < k; ++b) {
            const double way = went[b] - went[a], free = reach[a * k + b];
            if (way > free) most[a] = std::max(most[a], way / std::max(free, 1e-300) - 1.0);
        }
    });
    return *std::max_element(most.begin(), most.end());
}

void pair_limits(const Places& places, const double* moves, std::int64_t draws, double sure,
                 const double* beside, double least, double* limit, int threads) {
    const std::int64_t k = places.k;
    parallel(k, threads, [&](std::int64_t a, int) {
        const double far = far_of(places, a);
        for (std::int64_t b = 0; b < k; ++b) {
            double sum = 0.0;
            for (std::int64_t t = 0; t < draws; ++t) {
                const double way = moves[a * draws + t] - moves[b * draws + t];
                sum += way * way;
            }
            const double near = beside[a] + beside[b];
            double here = std::max(sure * std::sqrt(sum / static_cast<double>(draws)), near);
            if (least_gap(places, a, b, far) > 2.0 * here) here = near;
            limit[a * k + b] = std::max(here, least);
        }
    });
}

void pair_ways(const Places& places, const double* ways, std::int64_t number, double* gone,
               int threads) {
    const std::int64_t k = places.k;
    parallel(k, threads, [&](std::int64_t a, int) {
        const double far = far_of(places, a);
        for (std::int64_t b = 0; b < k; ++b) {
            double most = 0.0;
            for (std::int64_t t = 0; t < number; ++t)
                most = std::max(most, std::fabs(ways[t * k + b] - ways[t * k + a]));
            gone[a * k + b] = least_gap(places, a, b, far) > 2.0 * most ? 0.0 : most;
        }
    });
}

bool border_moves(const Near& near, double ridge, const bool* active, const double* errors,
                  std::int64_t draws, double* moves, int threads) {
    const std::int64_t k = near.k;
    std::vector<Edge> edges;
    for (std::int64_t j = 0; j < near.n; ++j)
        if (near.best[j] != near.second[j])
            edges.push_back({static_cast<std::int32_t>(near.best[j]),
                             static_cast<std::int32_t>(near.second[j]), near.weight[j]});
    const Graph graph(edges, k);
    std::vector<double> degree = graph.degrees();
    double mean = 0.0;
    for (const double d : degree) mean += d / static_cast<double>(k);
    if (!(mean > 0.0) || !std::isfinite(mean)) return false;
    for (double& d : degree) d = d > 0.0 ? d * (1.0 + ridge) : ridge * mean;
    parallel(draws, threads, [&](std::int64_t t, int) {
        std::vector<double> gradient(k);
        for (std::int64_t i = 0; i < k; ++i) gradient[i] = errors[i * draws + t];
        const std::vector<double> x =
            solve_laplacian(graph, degree, gradient.data(), active, accuracy, max_rounds);
        for (std::int64_t i = 0; i < k; ++i) moves[i * draws + t] = x[i];
    });
    return true;
}

}  // namespace bckm
