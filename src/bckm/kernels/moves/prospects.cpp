#include "moves/prospects.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace bckm {
namespace {

constexpr std::int64_t nearest = 8;  // clusters that an item is offered
constexpr std::int64_t around = 24;  // clusters near its own, of which these are chosen
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

Prospects::Prospects(const RelaxedClustering& clustering)
    : width(std::min(nearest, clustering.k)), near(clustering.m * width),
      start(clustering.k * clustering.k + 1), c(clustering), number(std::min(around, c.k)),
      pool(c.k * number), change(c.m * width), least(c.k * c.k) {}

// The clusters around each cluster; all of them where they are few.
void Prospects::find_pool() {
    std::vector<std::pair<double, std::int32_t>> order(c.k);
    for (std::int64_t a = 0; a < c.k; ++a) {
        for (std::int64_t b = 0; b < c.k; ++b)
            order[b] = {number == c.k ? static_cast<double>(b) : c.between(a, b),
                        static_cast<std::int32_t>(b)};
        if (number < c.k) std::partial_sort(order.begin(), order.begin() + number, order.end());
        for (std::int64_t q = 0; q < number; ++q) pool[a * number + q] = order[q].second;
    }
}

double Prospects::find(double reach, const std::function<bool()>& stop) {
    const std::int64_t m = c.m, k = c.k;
    if (m == 0 || k < 2) return 0.0;  // there is no other cluster
    find_pool();
    std::fill(least.begin(), least.end(), infinity);
    std::vector<std::pair<double, std::int32_t>> order(number);
    std::vector<double> worse(m);
    for (std::int64_t j = 0; j < m; ++j) {
        if ((j & 1023) == 0 && stop()) return 0.0;
        const std::int64_t a = c.label[j];
        const double here = c.distance(j, a);
        for (std::int64_t q = 0; q < number; ++q) {
            const std::int32_t b = pool[a * number + q];
            order[q] = {c.distance(j, b), b};
        }
        std::partial_sort(order.begin(), order.begin() + width, order.end());
        worse[j] = c.mass(j) * std::fabs(order[order[0].second == a].first - here);
        for (std::int64_t q = 0; q < width; ++q) {
            const std::int32_t b = order[q].second;
            near[j * width + q] = b;
            change[j * width + q] =
                b == a ? infinity : c.mass(j) * (order[q].first - here) + c.price_change(j, a, b);
            least[a * k + b] = std::min(least[a * k + b], change[j * width + q]);
        }
    }
    std::nth_element(worse.begin(), worse.begin() + m / 2, worse.end());
    median = worse[m / 2];
    hops.clear();
    std::fill(start.begin(), start.end(), 0);
    for (std::int64_t j = 0; j < m; ++j)
        for (std::int64_t q = 0; q < width; ++q) {
            const std::int64_t a = c.label[j], b = near[j * width + q];
            const double back = std::min(least[b * k + a], 0.0);
            if (!(change[j * width + q] + back <= reach)) continue;
            hops.push_back({j, b});
            ++start[a * k + b + 1];
        }
    for (std::int64_t p = 0; p < k * k; ++p) start[p + 1] += start[p];
    returning.resize(hops.size());
    for (const Hop& hop : hops)  // each start becomes that of the next pair
        returning[start[c.label[hop.item] * k + hop.to]++] = static_cast<std::int32_t>(hop.item);
    for (std::int64_t p = k * k; p > 0; --p) start[p] = start[p - 1];
    start[0] = 0;
    const auto items = static_cast<double>(m), clusters = static_cast<double>(k);
    const auto dims = static_cast<double>(c.dims);
    return items * static_cast<double>(number) * (dims + 8.0) +
           items * static_cast<double>(width) * (8.0 + static_cast<double>(c.kinds())) +
           clusters * clusters * (number < k ? dims + 8.0 : 4.0);
}

}  // namespace bckm
