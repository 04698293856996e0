#include "blocks/listed_arcs.hpp"

#include <algorithm>

namespace bckm {

ListedArcs::ListedArcs(const PricedCenters& priced, const std::int32_t* other, const double* limit,
                       std::int64_t m_)
    : k(priced.k), m(m_), width(padded(k)), priced_(priced), other_(other),
      limit_(limit, limit + k * m), before_(k * m, -infinity), asked_(k * m, 0), listed_(k * m),
      move_(k * width, infinity), top_(k * width, none), arrived_(k) {
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t j = a * m; j < (a + 1) * m; ++j) update(a, other[j]);
    lowered.clear();
}

template <class Real> void ListedArcs::add_rows(const Rows<Real>& rows) {
    Batch batch{nullptr, nullptr, rows.origin, rows.scale};
    if constexpr (sizeof(Real) == sizeof(float)) batch.small = rows.data;
    else batch.large = rows.data;
    batches_.push_back(batch);
    const auto number = static_cast<std::int32_t>(batches_.size() - 1);
    row_of_.reserve(row_of_.size() + rows.count);
    for (std::int64_t j = 0; j < rows.count; ++j) {
        const auto next = static_cast<std::int32_t>(rows_.size());
        if (row_of_.emplace(rows.number[j], next).second)
            rows_.push_back({rows.label[j], none, number, j});
    }
}
template void ListedArcs::add_rows(const Rows<float>&);
template void ListedArcs::add_rows(const Rows<double>&);

std::int64_t ListedArcs::place_of(std::int64_t a, std::int64_t b) const {
    const std::int32_t *first = other_ + a * m, *last = first + m;
    const std::int32_t* found = std::lower_bound(first, last, static_cast<std::int32_t>(b));
    return found != last && *found == b ? found - other_ : none;
}

double ListedArcs::limit_of(std::int64_t a, std::int64_t b) const {
    const std::int64_t pair = place_of(a, b);
    return pair == none ? infinity : limit_[pair] + added(a, b);
}

void ListedArcs::add_moves(const std::int64_t* number, const std::int32_t* cluster,
                           const double* cost, std::int64_t count) {
    std::int64_t last = none;  // moves of a row come together
    std::int32_t at = none;
    for (std::int64_t e = 0; e < count; ++e) {
        if (at == none || number[e] != last) {
            const auto found = row_of_.find(number[e]);
            at = found == row_of_.end() ? none : found->second;
            last = number[e];
        }
        if (at == none) continue;
        const Row& row = rows_[at];
        if (row.costs != none || row.label == cluster[e]) continue;
        const std::int64_t pair = place_of(row.label, cluster[e]);
        if (pair == none || cost[e] <= before_[pair] || cost[e] > limit_[pair]) continue;
        const double whole = std::max(0.0, cost[e]) + added(row.label, cluster[e]);
        std::vector<Move>& heap = listed_[pair];
        heap.push_back({whole, at});
        std::push_heap(heap.begin(), heap.end());
        const std::int64_t arc = row.label * width + cluster[e];
        if (top_[arc] != none && whole >= move_[arc]) continue;
        if (whole < move_[arc]) lowered.push_back({row.label, cluster[e]});
        move_[arc] = whole;
        top_[arc] = at;
    }
}

void ListedArcs::refine(std::int64_t a, std::int64_t b, double) {
    const std::int64_t pair = place_of(a, b);
    asks_ += !asked_[pair];
    asked_[pair] = 1;
}

void ListedArcs::ask_no_more() {
    if (asks_ > 0) std::fill(asked_.begin(), asked_.end(), 0);
    asks_ = 0;
}

void ListedArcs::raise(const double* limit) {
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t pair = a * m; pair < (a + 1) * m; ++pair) {
            before_[pair] = limit_[pair];
            limit_[pair] = std::max(limit_[pair], limit[pair]);
            if (limit_[pair] > before_[pair]) update(a, other_[pair]);
        }
    ask_no_more();
}

const double* ListedArcs::all_costs(std::int32_t row) {
    Row& one = rows_[row];
    if (one.costs == none) {
        const std::int64_t d = priced_.dims;
        const Batch& batch = batches_[one.batch];
        std::vector<double> x(d);
        for (std::int64_t t = 0; t < d; ++t) {
            const std::int64_t at = one.place * d + t;
            const double value =
                batch.small ? static_cast<double>(batch.small[at]) : batch.large[at];
            x[t] = (value - batch.origin[t]) * batch.scale;
        }
        one.costs = static_cast<std::int32_t>(costs_.size());
        costs_.emplace_back(width);
        exact_costs(priced_, x.data(), 1.0, costs_.back().data());
    }
    return costs_[one.costs].data();
}

void ListedArcs::update(std::int64_t a, std::int64_t b) {
    const std::int64_t pair = place_of(a, b), arc = a * width + b;
    double least = infinity;
    std::int32_t row = none;
    if (pair != none) {
        std::vector<Move>& heap = listed_[pair];
        while (!heap.empty() && rows_[heap.front().row].label != a) {
            std::pop_heap(heap.begin(), heap.end());
            heap.pop_back();
        }
        if (!heap.empty()) {
            least = heap.front().cost;
            row = heap.front().row;
        }
    }
    for (const std::int32_t one : arrived_[a]) {
        const double* cost = costs_[rows_[one].costs].data();
        const double move = cost[b] - cost[a];
        if (move < least || (move == least && one < row)) {
            least = move;
            row = one;
        }
    }
    const double limit = limit_of(a, b);
    if (row == none || least > limit) {
        least = limit;
        row = none;
    }
    if (least < move_[arc])
        lowered.push_back({static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)});
    move_[arc] = least;
    top_[arc] = row;
}

void ListedArcs::transfer(std::int32_t row, std::int32_t to, std::int64_t) {
    const double* cost = all_costs(row);
    const std::int32_t from = rows_[row].label;
    rows_[row].label = to;
    auto& left = arrived_[from];
    left.erase(std::remove(left.begin(), left.end(), row), left.end());
    for (std::int64_t b = 0; b < k; ++b)
        if (top_[from * width + b] == row) update(from, b);
    arrived_[to].push_back(row);
    double* move = move_.data() + to * width;
    std::int32_t* top = top_.data() + to * width;
    for (std::int32_t b = 0; b < k; ++b) {
        const double here = cost[b] - cost[to];
        if (here < move[b] || (here == move[b] && top[b] == none)) {
            if (b == to) continue;
            if (here < move[b]) lowered.push_back({to, b});
            move[b] = here;
            top[b] = row;
        }
    }
}

}  // namespace bckm
