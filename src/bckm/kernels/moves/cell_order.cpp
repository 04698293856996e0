#include "moves/cell_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bckm {
namespace {

constexpr double each_work = 2.0, sort_work = 12.0;  // of a number, and of a point

}  // namespace

CellOrder::CellOrder(const Points& points) : order(points.n), place(points.n) {
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::pair<std::int64_t, std::int64_t>> waiting{{0, points.n}};
    while (!waiting.empty()) {
        const auto [begin, end] = waiting.back();
        waiting.pop_back();
        if (end - begin < 3) continue;
        const std::int64_t middle = cut(points, begin, end);
        waiting.emplace_back(begin, middle);
        waiting.emplace_back(middle, end);
    }
    for (std::int64_t p = 0; p < points.n; ++p) place[order[p]] = static_cast<std::int32_t>(p);
}

std::int64_t CellOrder::cut(const Points& points, std::int64_t begin, std::int64_t end) {
    std::vector<double> least(points.row(order[begin]), points.row(order[begin]) + points.dims);
    std::vector<double> most = least;
    for (std::int64_t p = begin; p < end; ++p) {
        const double* x = points.row(order[p]);
        for (std::int64_t t = 0; t < points.dims; ++t) {
            least[t] = std::min(least[t], x[t]);
            most[t] = std::max(most[t], x[t]);
        }
    }
    std::int64_t widest = 0;
    for (std::int64_t t = 1; t < points.dims; ++t)
        if (most[t] - least[t] > most[widest] - least[widest]) widest = t;
    const std::int64_t middle = begin + (end - begin) / 2;
    std::nth_element(order.begin() + begin, order.begin() + middle, order.begin() + end,
                     [&](std::int32_t a, std::int32_t b) {
                         const double x = points.row(a)[widest], y = points.row(b)[widest];
                         return x < y || (x == y && a < b);
                     });
    work += static_cast<double>(end - begin) *
            (sort_work + each_work * static_cast<double>(points.dims));
    return middle;
}

}  // namespace bckm
