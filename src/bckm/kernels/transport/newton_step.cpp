#include "transport/newton_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/pool.hpp"
#include "transport/laplacian.hpp"

namespace bckm {
namespace {

constexpr double longest_step = 3.0;  // depths that a step goes at most
constexpr double samples_per_excess =
    2.0;                               // samples near the border for each one too many or too few
constexpr double least_samples = 8.0;  // samples from which a curvature is measured
constexpr double ridge = 1e-4;         // of the mean degree, for clusters without any border
constexpr double accuracy = 1e-3;      // the curvature is no more accurate than this
constexpr int max_rounds = 100;

// Four bins per factor of two, straight from the bits of a float; 64 such factors are enough.
constexpr int mantissa_bits = 21, bins = 256;

int raw_bin(float gap) {
    if (!(gap > 0.0f)) return 0;
    std::uint32_t bits;
    std::memcpy(&bits, &gap, sizeof bits);
    return static_cast<int>(bits >> mantissa_bits);
}

float end_of(int raw) {
    const std::uint32_t bits = static_cast<std::uint32_t>(raw + 1) << mantissa_bits;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Samples near borders, counted in a fixed number of parts, so that sums do not depend on threads.
class Survey {
public:
    Survey(const Borders& borders, int threads)
        : points(borders.points), label(borders.label), runner_up(borders.runner_up),
          borders(borders), k(borders.k), threads(threads), n(borders.points.n),
          parts(n < 50000 ? 1 : 4), lowest(lowest_bin()) {}

    std::vector<float> depths(const double* gradient) const {
        std::vector<std::vector<std::int64_t>> part(parts);
        parallel(parts, threads, [&](std::int64_t p, int) {
            std::vector<std::int64_t>& samples = part[p];
            samples.assign(k * bins, 0);
            for (std::int64_t j = begin(p); j < begin(p + 1); ++j) {
                const int bin = std::clamp(raw_bin(gap(j)) - lowest, 0, bins - 1);
                const std::int64_t units = points.units(j);
                samples[label[j] * bins + bin] += units;
                samples[runner_up[j] * bins + bin] += units;
            }
        });
        std::vector<float> depth(k, 0.0f);
        for (std::int64_t a = 0; a < k; ++a) {
            const double goal =
                std::max(least_samples, samples_per_excess * std::fabs(gradient[a]));
            double sum = 0.0;
            for (int bin = 0; bin < bins && sum < goal; ++bin) {
                std::int64_t here = 0;
                for (const auto& samples : part) here += samples[a * bins + bin];
                sum += static_cast<double>(here);
                if (here > 0) depth[a] = end_of(bin + lowest);
            }
        }
        return depth;
    }

    // Samples per unit of price, in the order of points.
    std::vector<Edge> edges(const std::vector<float>& depth) const {
        std::vector<std::vector<Edge>> part(parts);
        parallel(parts, threads, [&](std::int64_t p, int) {
            for (std::int64_t j = begin(p); j < begin(p + 1); ++j) {
                const float deep = std::max(depth[label[j]], depth[runner_up[j]]);
                if (gap(j) > deep || label[j] == runner_up[j]) continue;
                const double density = static_cast<double>(points.units(j)) / (2.0 * deep);
                part[p].push_back({label[j], runner_up[j], density});
            }
        });
        for (std::int64_t p = 1; p < parts; ++p)
            part[0].insert(part[0].end(), part[p].begin(), part[p].end());
        return std::move(part[0]);
    }

private:
    std::int64_t begin(std::int64_t part) const { return n * part / parts; }

    // so that the largest gap of some points falls into the last bin
    int lowest_bin() const {
        int highest = 0;
        for (std::int64_t j = 0; j < n; j += n / 1000 + 1)
            highest = std::max(highest, raw_bin(gap(j)));
        return std::max(0, highest - bins + 1);
    }

    float gap(std::int64_t j) const {
        const double* prices = borders.prices;
        return borders.margin[j] + static_cast<float>(prices[label[j]] - prices[runner_up[j]]);
    }

    const Points& points;
    const std::int32_t *label, *runner_up;
    const Borders& borders;
    std::int64_t k;
    int threads;
    std::int64_t n, parts;
    int lowest;
};

}  // namespace

bool newton_step(const Borders& borders, const double* gradient, const bool* active, double* step,
                 int threads) {
    const std::int64_t k = borders.k;
    const Survey survey(borders, threads);
    const std::vector<float> depth = survey.depths(gradient);
    const Graph graph(survey.edges(depth), k);
    std::vector<double> degree = graph.degrees();
    double mean = 0.0;
    for (const double d : degree) mean += d / static_cast<double>(k);
    if (!(mean > 0.0) || !std::isfinite(mean)) return false;
    for (double& d : degree) d = d > 0.0 ? d * (1.0 + ridge) : ridge * mean;
    const std::vector<double> x =
        solve_laplacian(graph, degree, gradient, active, accuracy, max_rounds);
    const double limit = longest_step * *std::max_element(depth.begin(), depth.end());
    for (std::int64_t i = 0; i < k; ++i) step[i] = std::clamp(x[i], -limit, limit);
    return true;
}

}  // namespace bckm
