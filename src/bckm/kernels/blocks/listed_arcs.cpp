#include "blocks/listed_arcs.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace bckm {

namespace {

// The same moves in the order of a key below `end`; those with equal keys stay in order. Where each
// key begins goes to `begin`, (end + 1).
template <class Move, class Key>
std::vector<Move> by_key(const std::vector<Move>& moves, std::int64_t end, const Key& key,
                         std::vector<std::int64_t>& begin) {
    begin.assign(end + 2, 0);
    for (const Move& one : moves) ++begin[key(one) + 2];
    for (std::int64_t i = 1; i < end; ++i) begin[i + 1] += begin[i];
    std::vector<Move> out(moves.size());
    for (const Move& one : moves) out[begin[key(one) + 1]++] = one;
    begin.pop_back();
    return out;
}

}  // namespace

ListedArcs::ListedArcs(const PricedCenters& priced, const double* limit)
    : k(priced.k), width(padded(k)), priced_(priced), limit_(limit, limit + k * k),
      before_(k * k, -infinity), asked_(k * k, 0), move_(k * width, infinity),
      top_(k * width, none), arrived_(k) {
    for (std::int64_t a = 0; a < k; ++a) show_limits(a);
}

template <class Real> void ListedArcs::add_rows(const Rows<Real>& rows) {
    Batch batch{nullptr, nullptr, rows.origin, rows.scale};
    if constexpr (sizeof(Real) == sizeof(float)) batch.small = rows.data;
    else batch.large = rows.data;
    batches_.push_back(batch);
    const auto number = static_cast<std::int32_t>(batches_.size() - 1);
    const std::size_t before = known_.size();
    row_at_.resize(rows.count);
    for (std::int64_t j = 0; j < rows.count; ++j) {
        const Known one{rows.number[j], static_cast<std::int32_t>(rows_.size())};
        const auto last = known_.begin() + static_cast<std::ptrdiff_t>(before);
        const auto found = std::lower_bound(known_.begin(), last, one);
        if (found != last && found->number == one.number) {
            row_at_[j] = found->row;
            continue;
        }
        row_at_[j] = one.row;
        known_.push_back(one);
        rows_.push_back({rows.label[j], none, number, static_cast<std::int32_t>(j)});
    }
    std::inplace_merge(known_.begin(), known_.begin() + static_cast<std::ptrdiff_t>(before),
                       known_.end());
}
template void ListedArcs::add_rows(const Rows<float>&);
template void ListedArcs::add_rows(const Rows<double>&);

bool ListedArcs::is_news(const Row& row, std::int32_t cluster, double cost) const {
    const std::int64_t pair = row.label * k + cluster;
    return row.costs == none && row.label != cluster && cost > before_[pair] &&
           cost <= limit_[pair];
}

void ListedArcs::add_moves(const std::int64_t* place, const std::int32_t* cluster,
                           const double* cost, std::int64_t count) {
    std::vector<Move> news;
    news.reserve(count);
    for (std::int64_t e = 0; e < count; ++e) {
        const std::int32_t at = row_at_[place[e]];
        const Row& row = rows_[at];
        if (is_news(row, cluster[e], cost[e]))
            news.push_back({std::max(0.0, cost[e]) + added(row.label, cluster[e]), at, cluster[e]});
    }
    listings_.push_back(sorted(std::move(news)));
    show(listings_.back());
}

ListedArcs::Listing ListedArcs::sorted(std::vector<Move>&& moves) const {
    Listing out;
    moves = by_key(moves, k, [](const Move& one) { return one.to; }, out.begin);
    moves = by_key(moves, k, [&](const Move& one) { return rows_[one.row].label; }, out.begin);
    for (std::int64_t a = 0; a < k; ++a)
        for (auto first = moves.begin() + out.begin[a];
             first != moves.begin() + out.begin[a + 1];) {
            const auto last = std::find_if(first, moves.begin() + out.begin[a + 1],
                                           [&](const Move& one) { return one.to != first->to; });
            std::sort(first, last);
            first = last;
        }
    out.moves = std::move(moves);
    return out;
}

void ListedArcs::show(const Listing& listing) {
    for (std::int32_t a = 0; a < k; ++a) {
        std::int32_t last = none;
        for (std::int64_t e = listing.begin[a]; e < listing.begin[a + 1]; ++e) {
            const Move& one = listing.moves[e];
            const std::int64_t arc = a * width + one.to;
            const bool is_first = one.to != last;
            last = one.to;
            if (!is_first || (top_[arc] != none && one.cost >= move_[arc])) continue;
            if (one.cost < move_[arc]) lowered.push_back({a, one.to});
            move_[arc] = one.cost;
            top_[arc] = one.row;
        }
    }
    if (listings_.size() > 1) return;
    lowered.clear();  // all are new
    ++raises;
}

void ListedArcs::show_limits(std::int64_t a) {
    double* move = move_.data() + a * width;
    const std::int32_t* top = top_.data() + a * width;
    const double *limit = limit_.data() + a * k, *prices = priced_.prices, here = prices[a];
    for (std::int64_t b = 0; b < k; ++b)
        move[b] = top[b] == none ? limit[b] + (prices[b] - here) : move[b];
    move[a] = infinity;
    for (const std::int32_t row : arrived_[a]) offer(a, row);
}

void ListedArcs::refine(std::int64_t a, std::int64_t b, double) {
    char& asked = asked_[a * k + b];
    asks_ += !asked;
    asked = 1;
}

void ListedArcs::ask_no_more() {
    if (asks_ > 0) std::fill(asked_.begin(), asked_.end(), 0);
    asks_ = 0;
}

void ListedArcs::raise(const double* limit) {
    before_ = limit_;
    for (std::int64_t a = 0; a < k; ++a) {
        bool more = false;
        for (std::int64_t pair = a * k; pair < (a + 1) * k; ++pair) {
            more |= limit[pair] > limit_[pair];
            limit_[pair] = std::max(limit_[pair], limit[pair]);
        }
        if (more) show_limits(a);
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

ListedArcs::Move ListedArcs::cheapest(std::int64_t a, std::int64_t b) const {
    Move best{infinity, none, static_cast<std::int32_t>(b)};
    for (const Listing& listing : listings_) {
        const Move* last = listing.moves.data() + listing.begin[a + 1];
        const Move* one =
            std::lower_bound(listing.moves.data() + listing.begin[a], last, b,
                             [](const Move& move, std::int64_t to) { return move.to < to; });
        while (one != last && one->to == b && rows_[one->row].label != a) ++one;
        if (one != last && one->to == b && *one < best) best = *one;
    }
    return best;
}

void ListedArcs::update(std::int64_t a, std::int64_t b) {
    Move best = cheapest(a, b);
    for (const std::int32_t row : arrived_[a]) {
        const double* cost = costs_[rows_[row].costs].data();
        const Move one{cost[b] - cost[a], row, best.to};
        if (one < best) best = one;
    }
    const double limit = limit_[a * k + b] + added(a, b);
    const std::int64_t arc = a * width + b;
    const bool is_virtual = best.row == none || best.cost > limit;
    const double least = is_virtual ? limit : best.cost;
    if (least < move_[arc]) lowered.push_back({static_cast<std::int32_t>(a), best.to});
    move_[arc] = least;
    top_[arc] = is_virtual ? none : best.row;
}

void ListedArcs::offer(std::int64_t a, std::int32_t row) {
    const double* cost = costs_[rows_[row].costs].data();
    double* move = move_.data() + a * width;
    std::int32_t* top = top_.data() + a * width;
    for (std::int32_t b = 0; b < k; ++b) {
        const double here = cost[b] - cost[a];
        if (here > move[b] || (here == move[b] && top[b] != none) || b == a) continue;
        if (here < move[b]) lowered.push_back({static_cast<std::int32_t>(a), b});
        move[b] = here;
        top[b] = row;
    }
}

void ListedArcs::transfer(std::int32_t row, std::int32_t to, std::int64_t) {
    all_costs(row);
    const std::int32_t from = rows_[row].label;
    rows_[row].label = to;
    auto& left = arrived_[from];
    left.erase(std::remove(left.begin(), left.end(), row), left.end());
    for (std::int64_t b = 0; b < k; ++b)
        if (top_[from * width + b] == row) update(from, b);
    arrived_[to].push_back(row);
    offer(to, row);
}

}  // namespace bckm
