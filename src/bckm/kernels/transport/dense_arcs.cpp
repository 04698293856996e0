#include "transport/dense_arcs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr std::int64_t chunk = 256;  // points
constexpr std::int64_t block = 8;    // clusters
constexpr double infinity = std::numeric_limits<double>::infinity();

std::int64_t chunks(std::int64_t n) { return (n + chunk - 1) / chunk; }

}  // namespace

DenseArcs::DenseArcs(const Points& points, const PricedCenters& priced, std::int32_t* label,
                     const CostTable& table, int threads)
    : n(points.n), k(priced.k), width(padded(priced.k)), priced_(priced), threads_(threads),
      label_(label), cost_(table.cost), move_(k * width), top_(k * width), is_stale_(k, 1),
      stale_(k * (width / block), 1), own_(n), place_(n), member_(k) {
    find_costs(points, table);
    list_members();
}

void DenseArcs::find_costs(const Points& points, const CostTable& table) {
    const std::int64_t dims = priced_.dims;
    std::vector<std::int32_t> moved;
    std::vector<double> place;  // of these, (moved, dims)
    for (std::int64_t i = 0; i < k; ++i) {
        const double *center = priced_.centers + i * dims, *before = table.centers + i * dims;
        if (std::equal(center, center + dims, before)) continue;
        moved.push_back(static_cast<std::int32_t>(i));
        place.insert(place.end(), center, center + dims);
    }
    const auto count = static_cast<std::int64_t>(moved.size());
    const bool most = 4 * count > 3 * k;  // then it is quicker to find all
    const std::vector<double> unpriced(count, 0.0);
    const PricedCenters some(place.data(), unpriced.data(), count, dims);
    const auto mark = [&](bool known) {
        for (std::int64_t q = 0; q < count; ++q)
            for (std::int64_t t = 0; t < dims; ++t)
                table.centers[moved[q] * dims + t] = known ? place[q * dims + t] : NAN;
    };
    Lines<double> minus(width, infinity);
    for (std::int64_t i = 0; i < k; ++i) minus[i] = -priced_.prices[i];
    std::vector<std::int64_t> which(n);
    std::iota(which.begin(), which.end(), 0);
    mark(false);  // in case that it is stopped
    parallel(chunks(n), threads_, [&](std::int64_t c, int) {
        const std::int64_t from = c * chunk, rows = std::min(chunk, n - from);
        if (most) {
            exact_costs(priced_, points, which.data() + from, rows, cost_ + from * width);
        } else {
            std::vector<double> cost(rows * padded(count));
            exact_costs(some, points, which.data() + from, rows, cost.data());
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t q = 0; q < count; ++q)
                    cost_[(from + r) * width + moved[q]] = cost[r * padded(count) + q];
        }
        choose_some(from, from + rows, minus.data());
    });
    mark(true);
}

void DenseArcs::choose(const std::vector<double>& price) {
    Lines<double> minus(width, infinity);
    for (std::int64_t i = 0; i < k; ++i) minus[i] = -price[i];
    parallel(chunks(n), threads_, [&](std::int64_t c, int) {
        choose_some(c * chunk, std::min(n, (c + 1) * chunk), minus.data());
    });
    list_members();
}

void DenseArcs::choose_some(std::int64_t from, std::int64_t to, const double* minus_price) {
    loops_.nearest(cost_ + from * width, width, minus_price, to - from, label_ + from);
}

void DenseArcs::list_members() {
    for (auto& some : member_) some.clear();
    for (std::int64_t j = 0; j < n; ++j) {
        std::vector<std::int32_t>& mine = member_[label_[j]];
        own_[j] = cost_[j * width + label_[j]];
        place_[j] = static_cast<std::int32_t>(mine.size());
        mine.push_back(static_cast<std::int32_t>(j));
    }
    std::fill(is_stale_.begin(), is_stale_.end(), 1);
    std::fill(stale_.begin(), stale_.end(), 1);
}

std::vector<std::int64_t> DenseArcs::units() const {
    std::vector<std::int64_t> units(k);
    for (std::int64_t a = 0; a < k; ++a) units[a] = static_cast<std::int64_t>(member_[a].size());
    return units;
}

void DenseArcs::transfer(std::int32_t j, std::int32_t to) {
    const std::int32_t from = label_[j];
    std::vector<std::int32_t>& mine = member_[from];
    mine[place_[j]] = mine.back();
    place_[mine.back()] = place_[j];
    mine.pop_back();
    is_stale_[from] = 1;
    const std::int32_t* top = top_.data() + from * width;
    char* stale = stale_.data() + from * (width / block);
    for (std::int64_t b = 0; b < width; b += block) {
        std::int32_t here = 0;
        for (std::int64_t q = b; q < b + block; ++q) here |= static_cast<std::int32_t>(top[q] == j);
        stale[b / block] |= static_cast<char>(here);
    }
    label_[j] = to;
    own_[j] = cost_[j * width + to];
    place_[j] = static_cast<std::int32_t>(member_[to].size());
    member_[to].push_back(j);
    loops_.offer(cost_, width, j, own_[j], move_.data() + to * width, top_.data() + to * width);
    bar(to);
}

double DenseArcs::prove(const std::vector<double>& price, float* slack) {
    double dearest = 0.0, regret = 0.0;
    std::vector<double> minus(k);
    for (std::int64_t i = 0; i < k; ++i) {
        minus[i] = -price[i];
        dearest = std::max(dearest, std::fabs(price[i]));
    }
    const double rounding = 2.3e-16 * 2.0 * (static_cast<double>(priced_.dims) + 8.0);
    // a value rounds by a few units of the cost and the price that it is made of
    const auto surely = [=](double gap, double cost) {
        const double least = gap - rounding * (std::fabs(gap) + cost + 4.0 * dearest);
        return static_cast<float>(std::clamp(least * (1.0 - 1e-6), -3e38, 3e38));
    };
    for (std::int64_t a = 0; a < k; ++a) {
        double dearest_here = 0.0;
        for (const std::int32_t j : member_[a]) dearest_here = std::max(dearest_here, own_[j]);
        const double gap = loops_.least(from(a), minus.data(), k).value + price[a];
        const float together = surely(gap, dearest_here);
        for (const std::int32_t j : member_[a]) slack[j] = together;
        if (together > 0.0f) continue;
        std::vector<double> others = minus;
        others[a] = infinity;
        for (const std::int32_t j : member_[a]) {
            const double each =
                loops_.least(cost_ + j * width, others.data(), k).value - (own_[j] - price[a]);
            regret += std::max(0.0, -each);
            slack[j] = surely(each, own_[j]);
        }
    }
    return regret;
}

void DenseArcs::renew(std::int64_t a) {
    is_stale_[a] = 0;
    double* move = move_.data() + a * width;
    char* stale = stale_.data() + a * (width / block);
    for (std::int64_t from = 0; from < width; from += block) {
        if (!stale[from / block]) continue;
        std::int64_t to = from;
        for (; to < width && stale[to / block]; to += block) stale[to / block] = 0;
        loops_.moves(cost_, width, from, to, member_[a].data(),
                     static_cast<std::int64_t>(member_[a].size()), own_.data(), move,
                     top_.data() + a * width);
        from = to;
    }
    bar(a);
}

void DenseArcs::bar(std::int64_t a) {
    double* move = move_.data() + a * width;
    move[a] = infinity;
    for (std::int64_t b = k; b < width; ++b) move[b] = infinity;
}

}  // namespace bckm
