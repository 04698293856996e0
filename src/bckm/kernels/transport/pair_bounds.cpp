#include "transport/pair_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "distance/exact_costs.hpp"

namespace bckm {

void PairBounds::lower(std::int64_t a, const std::vector<std::int64_t>& listed, double* bounds) {
    if (rows_) lower_by_pass(a, lower_from_rows(a, listed, bounds), bounds);
    else if (contenders_) lower_by_pass(a, lower_from_lists(a, listed, bounds), bounds);
    else lower_by_pass(a, listed, bounds);
}

std::vector<std::int64_t> PairBounds::lower_from_lists(std::int64_t a,
                                                       const std::vector<std::int64_t>& listed,
                                                       double* bounds) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<std::int64_t> others;
    // by look: what all clusters cost more that are not listed, at the prices of that look
    std::vector<double> beyond(contenders_->looks(), infinity);
    const double square_scale = contenders_->square_scale();
    const auto offer = [&](std::int64_t b, double above) {
        // values include the prices, costs do not
        const double cost = above * square_scale + (priced_.prices[b] - priced_.prices[a]);
        bounds[b] = std::min(bounds[b], cost);
    };
    for (const std::int64_t j : listed) {
        double own = infinity;
        if (contenders_->has(j)) {
            const Contenders::List list = contenders_->of(j);
            for (int q = 0; q < list.count; ++q)
                if (list.cluster[q] == a) own = list.value[q] - list.shift.of[a] + list.error;
            for (int q = 0; q < list.count && own < infinity; ++q) {
                const std::int64_t b = list.cluster[q];
                offer(b, list.value[q] - list.shift.of[b] - own);
            }
            double& rest = beyond[contenders_->look(j)];
            if (own < infinity) rest = std::min(rest, list.rest - own);
        }
        if (!(own < infinity)) others.push_back(j);
    }
    const std::vector<Contenders::Shift> shift = contenders_->shifts(priced_.prices, 0);
    for (std::size_t look = 0; look < beyond.size(); ++look)
        for (std::int64_t b = 0; b < priced_.k && beyond[look] < infinity; ++b)
            offer(b, beyond[look] - shift[look].of[b]);
    return others;
}

std::vector<std::int64_t> PairBounds::lower_from_rows(std::int64_t a,
                                                      const std::vector<std::int64_t>& listed,
                                                      double* bounds) const {
    std::vector<std::int64_t> others;
    std::vector<float> least(priced_.k, 3.0e38f);
    double square = 0.0, largest = 0.0;
    for (const std::int64_t j : listed) {
        if (!rows_->has_row(j)) {
            others.push_back(j);
            continue;
        }
        const Contenders::Row row = rows_->row(j);
        const float own = row.value[a] - row.shift[a];
        row_loops().lower_row(row.value, row.shift, own, priced_.k, least.data());
        square = std::max(square, row.square);
        largest = std::max<double>(largest, std::fabs(own));
    }
    for (std::int64_t b = 0; b < priced_.k; ++b) {
        const double error =
            rows_->row_error(square, largest, std::fabs(double{least[b]}) + largest);
        if (least[b] < 3.0e38f) bounds[b] = std::min(bounds[b], cost_of_gap(a, b, least[b], error));
    }
    return others;
}

void PairBounds::moves(std::int64_t j, std::int64_t a, double* bounds) const {
    const Contenders::Row row = rows_->row(j);
    const double own = row.value[a] - row.shift[a];
    for (std::int64_t b = 0; b < priced_.k; ++b) {
        const double there = row.value[b] - row.shift[b];
        bounds[b] = cost_of_gap(a, b, there - own, rows_->row_error(row.square, own, there));
    }
}

double PairBounds::move(std::int64_t j, std::int64_t a, std::int64_t b) const {
    const Contenders::Row row = rows_->row(j);
    const double own = row.value[a] - row.shift[a], there = row.value[b] - row.shift[b];
    return cost_of_gap(a, b, there - own, rows_->row_error(row.square, own, there));
}

double PairBounds::cost_of_gap(std::int64_t a, std::int64_t b, double gap, double error) const {
    // values include the prices, costs do not
    return (gap - error) * (packed_.scale * packed_.scale) +
           (priced_.prices[b] - priced_.prices[a]);
}

void PairBounds::lower_by_pass(std::int64_t a, const std::vector<std::int64_t>& listed,
                               double* bounds) {
    const int size = packed_.kernel.samples, lanes = packed_.kernel.lanes;
    const auto count = static_cast<std::int64_t>(listed.size());
    if (count == 0) return;
    if (keeps_) {
        Kept& kept = kept_[a];
        kept.points.reserve(kept.points.size() + count);
        kept.tiles.reserve(kept.tiles.size() + (count + size - 1) / size * lines_of_tile());
    }
    Tile tile(packed_);
    std::vector<float> buffer(packed_.width * lanes + 16, 3.0e38f);
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
    float* minima = reinterpret_cast<float*>((address + 63) / 64 * 64);
    double square = 0.0, own = 0.0;
    for (std::int64_t s = 0; s < count; s += size) {
        const int filled = static_cast<int>(std::min<std::int64_t>(size, count - s));
        tile.fill(points_, filled, [&](int r) { return listed[s + r]; });
        double largest = 0.0;
        for (int r = 0; r < filled; ++r) largest = std::max(largest, tile.square(r));
        square = std::max(square, largest);
        if (keeps_) keep(a, listed.data() + s, filled, tile, largest);
        own = std::max<double>(
            own, packed_.kernel.lower(tile.values(), packed_.dims, packed_.centers.data(),
                                      packed_.bias.data(), packed_.width, a, minima));
    }
    for (std::int64_t b = 0; b < priced_.k; ++b) {
        float* lane = minima + b * lanes;
        for (int half = lanes / 2; half > 0; half /= 2)  // what a vector does at once
            for (int q = 0; q < half; ++q) lane[q] = std::min(lane[q], lane[q + half]);
        bounds[b] = std::min(bounds[b], cost_of(a, b, lane[0], square, own));
    }
}

void PairBounds::keep(std::int64_t a, const std::int64_t* listed, int filled, Tile& tile,
                      double square) {
    Kept& kept = kept_[a];
    kept.parts.push_back({static_cast<std::int64_t>(kept.points.size()), filled, square});
    kept.points.insert(kept.points.end(), listed, listed + filled);
    const auto* lines = reinterpret_cast<const Kept::Line*>(tile.values());
    kept.tiles.insert(kept.tiles.end(), lines, lines + lines_of_tile());
}

std::vector<std::int64_t> PairBounds::near(std::int64_t a, std::int64_t b, double most) const {
    const Kept& kept = kept_[a];
    std::vector<std::int64_t> found;
    alignas(64) float gap[largest_tile];
    for (std::size_t p = 0; p < kept.parts.size(); ++p) {
        const Kept::Part& part = kept.parts[p];
        const float own =
            packed_.kernel.gaps(kept.tiles[p * lines_of_tile()].number, packed_.dims,
                                packed_.centers.data(), packed_.bias.data(), a, b, gap);
        for (int r = 0; r < part.filled; ++r)
            if (!(cost_of(a, b, gap[r], part.square, own) >= most))
                found.push_back(kept.points[part.first + r]);
    }
    return found;
}

double PairBounds::cost_of(std::int64_t a, std::int64_t b, double gap, double square,
                           double own) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double safe = gap - packed_.error_bound(square, own, std::fabs(gap) + own);
    if (!(safe > -infinity)) return -infinity;  // out of the range of floats
    // values include the prices, costs do not
    return safe * packed_.scale * packed_.scale + (priced_.prices[b] - priced_.prices[a]);
}

}  // namespace bckm
