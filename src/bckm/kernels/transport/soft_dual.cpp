#include "transport/soft_dual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/pool.hpp"
#include "transport/laplacian.hpp"

namespace bckm {
namespace {

constexpr double widest = 12.0;       // temperatures above the least value that still count
constexpr double least_share = 1e-3;  // of a sample, for an edge
constexpr double accuracy = 1e-4;     // of a step
constexpr int max_rounds = 300;
// how far a cluster that is not listed is thought to lie behind the end of the list, in lists
constexpr double beyond = 4.0;

// Where the edge between a cluster and one before it is added up.
std::int64_t pair(std::int64_t a, std::int64_t before) { return a * (a - 1) / 2 + before; }

// Adds up points of one part.
class Summing {
public:
    Summing(const Listed& listed, const double* prices, double temperature)
        : b(listed), prices(prices), temperature(temperature), drift(b.k) {
        double first = -std::numeric_limits<double>::infinity(), second = first;
        for (std::int64_t i = 0; i < b.k; ++i) {
            const double rise = prices[i] - b.prices[i];
            second = std::max(second, std::min(first, rise));
            first = std::max(first, rise);
        }
        for (std::int64_t i = 0; i < b.k; ++i) {
            const double rise = prices[i] - b.prices[i];
            drift[i] = b.k > 1 ? (rise == first ? second : first) - rise : 0.0;
        }
        shift = b.contenders.shifts(prices, Contenders::most + 1);
    }

    void add(std::int64_t from, std::int64_t to, SoftDual& out) const {
        out.shared.assign(b.k, 0.0);
        out.units.assign(b.k, 0.0);
        out.edge.assign(pair(b.k, 0), 0.0);
        for (std::int64_t j = from; j < to; ++j) {
            const std::int64_t a = b.label[j];
            const auto units = static_cast<double>(b.points.units(j));
            const double value = -units * prices[a];
            out.soft += value;
            out.hard += value;
            Choice choice;
            if (b.slack[j] - drift[a] <= widest * temperature) choose(j, choice);
            if (choice.count == 0 || (choice.count == 1 && choice.cluster[0] == a)) {
                out.shared[a] += units;
                out.units[a] += units;
            } else {
                share(choice, units, out);
            }
        }
    }

private:
    // Clusters that may be best, and what they cost more than the label.
    static constexpr int most = Contenders::most + 1;
    struct Choice {
        std::int64_t cluster[most];
        double above[most];
        int count = 0, best = 0;
    };

    void choose(std::int64_t j, Choice& choice) const {
        const std::int64_t a = b.label[j];
        if (!b.contenders.has(j)) return;
        const Contenders::List list = b.contenders.of(j);
        const Contenders::Shift& risen = shift[b.contenders.look(j)];
        const double scale = b.contenders.square_scale();
        double own = std::numeric_limits<double>::infinity();
        float least = list.value[0];
        for (int q = 0; q < list.count; ++q) {
            const std::int64_t i = list.cluster[q];
            choice.cluster[q] = i;
            choice.above[q] = (list.value[q] - risen.of[i]) * scale;
            least = std::min(least, list.value[q]);
            if (i == a) own = choice.above[q];
            if (choice.above[q] < choice.above[choice.best]) choice.best = q;
        }
        if (!(own < std::numeric_limits<double>::infinity())) return;  // decided without its list
        choice.count = list.count;
        // of all others the one whose price rose most, at a distance that is guessed: no price
        // rises far beyond what lists know
        for (const std::int32_t i : risen.riser)
            if (std::find(list.cluster, list.cluster + list.count, i) ==
                list.cluster + list.count) {
                const double guess = list.rest + beyond * (list.rest - least);
                choice.cluster[choice.count] = i;
                choice.above[choice.count] = (guess - risen.of[i]) * scale;
                if (choice.above[choice.count] < choice.above[choice.best])
                    choice.best = choice.count;
                ++choice.count;
                break;
            }
        // those that get nothing are left out
        const double end = choice.above[choice.best] + widest * temperature;
        int count = 0;
        for (int q = 0; q < choice.count; ++q)
            if (choice.above[q] < end) {
                if (q == choice.best) choice.best = count;
                choice.cluster[count] = choice.cluster[q];
                choice.above[count++] = choice.above[q] - own;
            }
        choice.count = count;
    }

    void share(const Choice& choice, double units, SoftDual& out) const {
        const int best = choice.best;
        const double least = choice.above[best];
        double part[most], sum = 0.0;
        for (int q = 0; q < choice.count; ++q) {
            const double far = (choice.above[q] - least) / temperature;
            part[q] = far < widest ? std::exp(-far) : 0.0;
            sum += part[q];
        }
        out.units[choice.cluster[best]] += units;
        out.hard += units * least;
        out.soft += units * (least - temperature * std::log(sum));
        int many[most], count = 0;
        for (int q = 0; q < choice.count; ++q) {
            if (part[q] == 0.0) continue;
            part[q] /= sum;
            out.shared[choice.cluster[q]] += units * part[q];
            if (part[q] >= least_share) many[count++] = q;
        }
        for (int p = 0; p < count; ++p)
            for (int q = 0; q < p; ++q) {
                const double weight = units * part[many[p]] * part[many[q]] / temperature;
                const std::int64_t a = choice.cluster[many[p]], c = choice.cluster[many[q]];
                out.edge[pair(std::max(a, c), std::min(a, c))] += weight;
            }
    }

    const Listed& b;
    const double* prices;
    double temperature;
    std::vector<double> drift;
    std::vector<Contenders::Shift> shift;
};

void add(const std::vector<double>& part, std::vector<double>& total) {
    for (std::size_t i = 0; i < part.size(); ++i) total[i] += part[i];
}

}  // namespace

SoftDual soft_dual(const Listed& listed, const double* prices, double temperature, int threads) {
    const Summing summing(listed, prices, temperature);
    // a fixed number of parts, added in order: sums do not depend on threads
    const std::int64_t n = listed.points.n, parts = n < 50000 ? 1 : 4, k = listed.k;
    std::vector<SoftDual> part(parts);
    parallel(parts, threads, [&](std::int64_t p, int) {
        summing.add(n * p / parts, n * (p + 1) / parts, part[p]);
    });
    SoftDual all = std::move(part[0]);
    for (std::int64_t p = 1; p < parts; ++p) {
        all.soft += part[p].soft;
        all.hard += part[p].hard;
        add(part[p].shared, all.shared);
        add(part[p].units, all.units);
        add(part[p].edge, all.edge);
    }
    const std::vector<double> below = std::move(all.edge);
    all.edge.assign(k * k, 0.0);
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t c = 0; c < a; ++c)
            all.edge[c * k + a] = all.edge[a * k + c] = below[pair(a, c)];
    return all;
}

bool damped_step(const double* edge, std::int64_t k, const double* gradient, const bool* active,
                 double damping, double* step) {
    const Graph graph(edge, k);
    std::vector<double> degree = graph.degrees();
    double mean = 0.0;
    for (const double d : degree) mean += d / static_cast<double>(k);
    if (!(mean > 0.0) || !std::isfinite(mean)) return false;
    for (double& d : degree) d += damping * (d + mean);
    const std::vector<double> x =
        solve_laplacian(graph, degree, gradient, active, accuracy, max_rounds);
    std::copy(x.begin(), x.end(), step);
    return true;
}

}  // namespace bckm
