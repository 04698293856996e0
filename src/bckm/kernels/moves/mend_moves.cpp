#include <algorithm>
#include <cmath>

#include "moves/mending.hpp"

namespace bckm {

void Mending::consider(std::initializer_list<Hop> hops, double cost_change, double sums_change) {
    out.work += eval_work;
    double own = cost_change, change = cost_change + sums_change;
    if (!(change < best.change + std::max(hope, extra))) return;
    const auto number = static_cast<std::int64_t>(hops.size());
    change += state.rows_change(hops.begin(), number);
    if (penalty.active) {
        touched.clear();
        for (const Hop& hop : hops)
            for (const std::int64_t i : {std::int64_t{state.label[hop.item]}, hop.to})
                if (std::find(touched.begin(), touched.end(), i) == touched.end())
                    touched.push_back(i);
        const double soft = penalty.change(hops.begin(), number, state.label, touched);
        own += soft / prices.unit;
        change += soft / prices.unit;
    }
    if (!(change < best.change + hope)) return;
    const double conflicts = state.conflicts_change(hops.begin(), number);
    if (!(change + conflicts < best.change)) return;
    best.change = change + conflicts;
    best.change_of_cost = own;
    best.number = static_cast<int>(number);
    std::copy(hops.begin(), hops.end(), best.hops);
}

void Mending::relocation(std::int64_t j, std::int64_t b, double cost_change) {
    const std::int64_t a = state.label[j];
    const double after = state.after(a, -1, j) + state.after(b, j, -1);
    consider({{j, b}}, cost_change, after - state.of(a) - state.of(b));
}

void Mending::relocations(std::int64_t i) {
    for (std::int64_t other = 0; other < k; ++other) {
        if (other == i) continue;
        const double most = worth[i] + worth[other] + row_worth;
        for (const bool goes : {true, false}) {
            const std::int64_t a = goes ? i : other, b = goes ? other : i;
            for (const Loss* o = losses.begin(a, b); o != losses.end(a, b); ++o) {
                if (o->priced >= most) break;
                if (o->blocker < 0) relocation(o->item, b, o->cost);
                else unblock(o->item, b, o->cost);
            }
        }
    }
}

void Mending::unblock(std::int64_t j, std::int64_t b, double cost_change) {
    std::int64_t l = -1;
    const std::int64_t a = state.label[j];
    if (state.blockers(j, b, l) != 1) return;
    costs(l, row);
    out.work += row_work();
    for (std::int64_t c = 0; c < k; ++c) {
        if (c == b) continue;
        double change = state.after(b, j, l) - state.of(b) - state.of(a);
        if (c == a) change += state.after(a, l, j);
        else change += state.after(a, -1, j) + state.after(c, l, -1) - state.of(c);
        consider({{j, b}, {l, c}}, cost_change + row.cost[c] - row.cost[b], change);
    }
}

void Mending::swaps(std::int64_t a, std::int64_t heads) {
    for (std::int64_t b = 0; b < k && going_on(); ++b) {
        if (b == a) continue;
        const double most = worth[a] + worth[b] + row_worth, back = losses.best(b, a);
        const double now = state.of(a) + state.of(b);
        const Loss *end = std::min(losses.end(a, b), losses.begin(a, b) + heads),
                   *end_back = std::min(losses.end(b, a), losses.begin(b, a) + heads);
        for (const Loss* o = losses.begin(a, b); o != end; ++o) {
            if (o->priced + back >= most) break;
            if (o->blocker >= 0) continue;
            for (const Loss* p = losses.begin(b, a); p != end_back; ++p) {
                if (o->priced + p->priced >= most) break;
                if (p->blocker >= 0) continue;
                const double lost = o->cost + p->cost;
                const double here = state.after(a, p->item, o->item) - now;
                out.work += eval_work;
                if (lost + here >= best.change + extra) continue;
                consider({{o->item, b}, {p->item, a}}, lost,
                         here + state.after(b, o->item, p->item));
            }
        }
    }
}

void Mending::paths(std::int64_t i) {
    for (std::int64_t x = 0; x < k && going_on(); ++x)
        for (std::int64_t y = 0; y < k; ++y) {
            if (x == i || y == i || x == y) continue;
            path(i, x, y);
            path(x, i, y);
            path(x, y, i);
            out.work += 24.0;
        }
}

void Mending::path(std::int64_t a, std::int64_t b, std::int64_t c) {
    const double most = worth[a] + worth[b] + worth[c] + row_worth, then = losses.best(b, c);
    const double last = strict ? std::min(0.0, losses.best(c, a)) : 0.0;
    if (losses.best(a, b) + then + last >= most) return;
    const Loss *end1 = std::min(losses.end(a, b), losses.begin(a, b) + heads),
               *end2 = std::min(losses.end(b, c), losses.begin(b, c) + heads);
    const double now = state.of(a) + state.of(b) + state.of(c);
    for (const Loss* o = losses.begin(a, b); o != end1; ++o) {
        if (o->priced + then + last >= most) break;
        if (o->blocker >= 0) continue;
        const double left = state.after(a, -1, o->item);
        for (const Loss* p = losses.begin(b, c); p != end2; ++p) {
            if (o->priced + p->priced + last >= most) break;
            if (p->blocker >= 0) continue;
            const double middle = state.after(b, o->item, p->item) - now;
            out.work += eval_work;
            if (o->cost + p->cost + middle + left < best.change + extra)
                consider({{o->item, b}, {p->item, c}}, o->cost + p->cost,
                         left + middle + state.after(c, p->item, -1));
            // a cycle has three beginnings
            if (strict && a < b && a < c && std::isfinite(middle)) cycle(a, c, *o, *p, most);
        }
    }
}

void Mending::cycle(std::int64_t a, std::int64_t c, const Loss& one, const Loss& two, double most) {
    const Loss* end = std::min(losses.end(c, a), losses.begin(c, a) + heads);
    for (const Loss* o = losses.begin(c, a); o != end; ++o) {
        const double lost = one.cost + two.cost + o->cost;
        if (one.priced + two.priced + o->priced >= most) break;
        if (o->blocker >= 0 || lost >= best.change + extra) continue;
        const double after = state.after(c, two.item, o->item);
        out.work += eval_work;
        if (!std::isfinite(after)) continue;
        consider({{one.item, state.label[two.item]}, {two.item, c}, {o->item, a}}, lost,
                 after + state.after(a, o->item, one.item));
    }
}

}  // namespace bckm
