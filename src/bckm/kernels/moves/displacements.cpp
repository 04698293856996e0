#include "moves/displacements.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "distance/exact_costs.hpp"

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int rounds = 6;  // towards the main axis of a cluster

// Means of the points of one cluster on both sides of its center, along its main axis.
class Halves {
public:
    Halves(const Points& points, const double* center)
        : points_(points), center_(center), axis_(points.dims), next_(points.dims) {}

    void find(const std::int64_t* member, std::int64_t count, double* above, double* below) {
        const std::int64_t dims = points_.dims;
        std::copy(center_, center_ + dims, above);
        std::copy(center_, center_ + dims, below);
        find_axis(member, count);
        double mass[2] = {};
        std::vector<double> sum(2 * dims, 0.0);
        for (std::int64_t p = 0; p < count; ++p) {
            const std::int64_t side = along(member[p]) > 0.0 ? 0 : 1;
            const double w = points_.weight(member[p]);
            const double* x = points_.row(member[p]);
            mass[side] += w;
            for (std::int64_t t = 0; t < dims; ++t) sum[side * dims + t] += w * (x[t] - center_[t]);
        }
        for (std::int64_t t = 0; t < dims; ++t) {
            if (mass[0] > 0.0) above[t] += sum[t] / mass[0];
            if (mass[1] > 0.0) below[t] += sum[dims + t] / mass[1];
        }
    }

private:
    double along(std::int64_t j) const {
        const double* x = points_.row(j);
        double sum = 0.0;
        for (std::int64_t t = 0; t < points_.dims; ++t) sum += (x[t] - center_[t]) * axis_[t];
        return sum;
    }

    void find_axis(const std::int64_t* member, std::int64_t count) {
        const std::int64_t dims = points_.dims;
        std::fill(axis_.begin(), axis_.end(), 0.0);
        for (std::int64_t p = 0; p < count; ++p) {
            const double* x = points_.row(member[p]);
            const double w = points_.weight(member[p]);
            for (std::int64_t t = 0; t < dims; ++t)
                axis_[t] += w * (x[t] - center_[t]) * (x[t] - center_[t]);
        }
        const double most = *std::max_element(axis_.begin(), axis_.end());
        for (double& one : axis_) one = one == most ? 1.0 : 0.0;
        for (int round = 0; round < rounds; ++round) {
            std::fill(next_.begin(), next_.end(), 0.0);
            for (std::int64_t p = 0; p < count; ++p) {
                const double* x = points_.row(member[p]);
                const double w = points_.weight(member[p]) * along(member[p]);
                for (std::int64_t t = 0; t < dims; ++t) next_[t] += w * (x[t] - center_[t]);
            }
            double square = 0.0;
            for (const double one : next_) square += one * one;
            const double length = std::max(std::sqrt(square), 1e-300);
            for (std::int64_t t = 0; t < dims; ++t) axis_[t] = next_[t] / length;
        }
    }

    const Points& points_;
    const double* center_;
    std::vector<double> axis_, next_;
};

struct Taken {
    double sum, limit;  // of changes; those below the limit are taken
};

// What all points together change that gain by an offer, at least and at most so many.
Taken taken(const std::vector<double>& change, std::vector<double>& offers, double least,
            double most) {
    offers.clear();
    for (const double one : change)
        if (one < 0.0) offers.push_back(one);
    const auto number = static_cast<std::int64_t>(
        std::min(std::max(static_cast<double>(offers.size()), least), most));
    if (number >= static_cast<std::int64_t>(change.size())) return {infinity, 0.0};
    if (number > static_cast<std::int64_t>(offers.size())) offers = change;
    const auto size = static_cast<std::int64_t>(offers.size());
    if (number < size) std::nth_element(offers.begin(), offers.begin() + number, offers.end());
    return {std::accumulate(offers.begin(), offers.begin() + number, 0.0),
            number < size ? offers[number] : 0.0};
}

}  // namespace

DisplacementsResult displacements(const Points& points, const PricedCenters& priced,
                                  const std::int32_t* label, const double* least,
                                  const double* most) {
    const std::int64_t n = points.n, k = priced.k, dims = priced.dims, width = padded(k);
    std::vector<std::int64_t> start(k + 1, 0), member(n), which(n);
    std::iota(which.begin(), which.end(), 0);
    for (std::int64_t j = 0; j < n; ++j) ++start[label[j] + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<std::int64_t> next(start.begin(), start.end() - 1);
    for (std::int64_t j = 0; j < n; ++j) member[next[label[j]]++] = j;

    DisplacementsResult out;
    out.halves.resize(2 * k * dims);
    for (std::int64_t i = 0; i < k; ++i)
        Halves(points, priced.centers + i * dims)
            .find(member.data() + start[i], start[i + 1] - start[i], out.halves.data() + i * dims,
                  out.halves.data() + (k + i) * dims);

    // what points would pay in the halves of each cluster beyond what they pay now
    std::vector<std::vector<double>> after(k, std::vector<double>(n));
    std::vector<double>& lost = out.lost;
    std::vector<double> minus(width, infinity);
    std::vector<std::int64_t> heir(n);  // the next best cluster
    lost.assign(k, 0.0);
    out.left.assign(k * k, 0.0);
    out.gaps.assign(k * k, 0.0);
    for (std::int64_t i = 0; i < k; ++i) minus[i] = -priced.prices[i];
    const PricedCenters above(out.halves.data(), priced.prices, k, dims);
    const PricedCenters below(out.halves.data() + k * dims, priced.prices, k, dims);
    constexpr std::int64_t batch = 8;
    Lines<double> now(batch * width), first(batch * width), second(batch * width);
    const RowLoops& loops = row_loops();
    for (std::int64_t from = 0; from < n; from += batch) {
        const std::int64_t rows = std::min(batch, n - from);
        exact_costs(priced, points, which.data() + from, rows, now.data());
        exact_costs(above, points, which.data() + from, rows, first.data());
        exact_costs(below, points, which.data() + from, rows, second.data());
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t j = from + r, a = label[j];
            double* cost = now.data() + r * width;
            const double own = cost[a], best = own + minus[a];
            cost[a] = infinity;
            const Least other = loops.least(cost, minus.data(), k);
            heir[j] = std::max<std::int64_t>(other.at, 0);
            if (other.at >= 0) {
                lost[a] += other.value - own;
                out.left[a * k + other.at] += 1.0;
                out.gaps[a * k + other.at] += std::max(0.0, other.value - best);
            }
            for (std::int64_t i = 0; i < k; ++i)
                after[i][j] = std::min(first[r * width + i], second[r * width + i]) -
                              (i == a ? other.value : best);
        }
    }
    out.gained.resize(k);
    out.drawn.assign(k * k, 0.0);
    std::vector<double> offers;
    offers.reserve(n);
    for (std::int64_t j = 0; j < k; ++j) {
        const Taken most_gain = taken(after[j], offers, least[j], most[j]);
        out.gained[j] = lost[j] + most_gain.sum;
        double* drawn = out.drawn.data() + j * k;
        for (std::int64_t p = 0; p < n; ++p)
            drawn[label[p]] -= static_cast<double>(after[j][p] < most_gain.limit);
        for (std::int64_t p = start[j]; p < start[j + 1]; ++p)
            drawn[heir[member[p]]] += static_cast<double>(after[j][member[p]] >= most_gain.limit);
        drawn[j] = 0.0;
    }
    return out;
}

}  // namespace bckm
