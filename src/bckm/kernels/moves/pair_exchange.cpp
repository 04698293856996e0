#include "moves/pair_exchange.hpp"

#include <algorithm>
#include <limits>

#include "distance/exact_costs.hpp"

namespace bckm {
namespace {

constexpr std::size_t listed = 128;                    // swaps of which two are combined, at most
constexpr std::int64_t each = 2;                       // of one item
constexpr double number_work = 0.15, pair_work = 1.6;  // of a coordinate, and of two points
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

PairExchange::PairExchange(const RelaxedClustering& clustering)
    : c(clustering), target(clustering.dims) {}

// All squared distances between two lists of points.
void PairExchange::squares(const std::vector<double>& rows, std::int64_t n,
                           const std::vector<double>& others, std::int64_t m) {
    constexpr int batch = 8;
    const std::int64_t width = padded(m), dims = c.dims;
    columns.assign(width * dims, 0.0);
    for (std::int64_t l = 0; l < m; ++l)
        for (std::int64_t t = 0; t < dims; ++t)
            columns[(l / 8 * dims + t) * 8 + l % 8] = others[l * dims + t];
    square.resize(n * width);
    for (std::int64_t begin = 0; begin < n; begin += batch) {
        const double* x[batch];
        double weight[batch];
        double* out[batch];
        const int count = static_cast<int>(std::min<std::int64_t>(batch, n - begin));
        for (int r = 0; r < count; ++r) {
            x[r] = rows.data() + (begin + r) * dims;
            weight[r] = 1.0;
            out[r] = square.data() + (begin + r) * width;
        }
        row_loops().costs(x, weight, count, columns.data(), dims, width, out);
    }
}

bool PairExchange::alike(std::int64_t j, std::int64_t l) const {
    return std::equal(c.points.row(j), c.points.row(j) + c.dims, c.points.row(l));
}

// The best swaps of each item, of all the best ones.
void PairExchange::list(const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& to,
                        double mass) {
    const auto n = static_cast<std::int64_t>(from.size()), m = static_cast<std::int64_t>(to.size());
    row.resize(n * c.dims);
    other.resize(m * c.dims);
    for (std::int64_t p = 0; p < n; ++p)
        for (std::int64_t t = 0; t < c.dims; ++t)
            row[p * c.dims + t] = mass * c.points.row(from[p])[t] + target[t];
    for (std::int64_t q = 0; q < m; ++q)
        for (std::int64_t t = 0; t < c.dims; ++t)
            other[q * c.dims + t] = mass * c.points.row(to[q])[t];
    squares(row, n, other, m);
    candidates.clear();
    const std::int64_t width = padded(m);
    for (std::int64_t p = 0; p < n; ++p) {
        const double* far = square.data() + p * width;
        double least[each] = {infinity, infinity};
        std::int32_t best[each] = {-1, -1};
        for (std::int64_t q = 0; q < m; ++q) {
            if (!(far[q] < least[1]) || alike(from[p], to[q])) continue;
            const bool first = far[q] < least[0];
            least[1] = first ? least[0] : far[q];
            best[1] = first ? best[0] : to[q];
            if (first) {
                least[0] = far[q];
                best[0] = to[q];
            }
        }
        for (std::int64_t s = 0; s < each; ++s)
            if (best[s] >= 0) candidates.push_back({least[s], from[p], best[s]});
    }
    if (candidates.size() <= listed) return;
    std::nth_element(candidates.begin(), candidates.begin() + listed, candidates.end(),
                     [](const Candidate& x, const Candidate& y) {
                         if (x.far != y.far) return x.far < y.far;
                         return x.j < y.j || (x.j == y.j && x.l < y.l);
                     });
    candidates.resize(listed);
}

PairSwaps PairExchange::find(std::int64_t a, const std::vector<std::int32_t>& from, std::int64_t b,
                             const std::vector<std::int32_t>& to, double& work) {
    PairSwaps found;
    if (from.empty() || to.empty()) return found;
    const double mass = c.mass(from[0]), in_a = c.weight_of(a), in_b = c.weight_of(b);
    const double rate = 1.0 / in_a + 1.0 / in_b;
    double none = 0.0;
    for (std::int64_t t = 0; t < c.dims; ++t) {
        target[t] = (c.total_of(b)[t] / in_b - c.total_of(a)[t] / in_a) / rate / 2.0;
        none += 4.0 * target[t] * target[t];
    }
    list(from, to, mass);
    const auto m = static_cast<std::int64_t>(candidates.size());
    // what each leaves of half the target, and its mirror image
    row.resize(m * c.dims);
    other.resize(m * c.dims);
    double least = infinity;
    for (std::int64_t p = 0; p < m; ++p) {
        const Candidate& one = candidates[p];
        const double *x = c.points.row(one.j), *y = c.points.row(one.l);
        double alone = 0.0;
        for (std::int64_t t = 0; t < c.dims; ++t) {
            const double left = mass * (y[t] - x[t]) - target[t];
            row[p * c.dims + t] = left;
            other[p * c.dims + t] = -left;
            alone += (left - target[t]) * (left - target[t]);
        }
        if (!(alone < least)) continue;
        least = alone;
        found.number = 1;
        found.j[0] = one.j;
        found.l[0] = one.l;
    }
    squares(row, m, other, m);
    const std::int64_t width = padded(m);
    for (std::int64_t p = 0; p < m; ++p)
        for (std::int64_t q = 0; q < p; ++q) {
            if (!(square[p * width + q] < least) || candidates[p].j == candidates[q].j ||
                candidates[p].l == candidates[q].l)
                continue;
            least = square[p * width + q];
            found.number = 2;
            found.j[0] = candidates[p].j;
            found.l[0] = candidates[p].l;
            found.j[1] = candidates[q].j;
            found.l[1] = candidates[q].l;
        }
    found.change = rate * (least - none);
    const auto pairs = static_cast<double>(from.size() * to.size()) + static_cast<double>(m * m);
    work += 200.0 + pairs * (pair_work + number_work * static_cast<double>(c.dims));
    return found;
}

}  // namespace bckm
