#include <algorithm>

#include "moves/descent.hpp"

namespace bckm {
namespace { constexpr std::int64_t largest_flip = 64, largest_group = 64; }  // namespace

bool Descent::flip() {
    bool better = false;
    if (!c.rules.conflict_start) return better;
    std::vector<bool> seen(k);
    for (std::int64_t j = 0; j < c.m; ++j) {
        if (work_left <= 0.0 || ((j & 255) == 0 && should_stop())) return better;
        if (c.degree(j) == 0) continue;
        std::fill(seen.begin(), seen.end(), false);
        for (auto e = c.rules.conflict_start[j]; e < c.rules.conflict_start[j + 1]; ++e) {
            const std::int64_t b = c.label[c.rules.conflict_with[e]];
            if (seen[b] || b == c.label[j]) continue;
            seen[b] = true;
            better |= flip_kempe_chain(j, b) || eject(j, b);
        }
    }
    return better;
}

bool Descent::flip_kempe_chain(std::int64_t j, std::int64_t b) {
    const std::int64_t a = c.label[j];
    ++visit;
    hops.assign(1, {j, b});
    visited[j] = visit;
    for (std::size_t h = 0; h < hops.size(); ++h) {
        const std::int64_t item = hops[h].item, to = hops[h].to;
        for (auto e = c.rules.conflict_start[item]; e < c.rules.conflict_start[item + 1]; ++e) {
            const std::int64_t other = c.rules.conflict_with[e];
            if (c.label[other] != to || visited[other] == visit) continue;
            if (static_cast<std::int64_t>(hops.size()) == largest_flip) return false;
            visited[other] = visit;
            hops.push_back({other, to == a ? b : a});
        }
    }
    return try_move(hops.data(), static_cast<std::int64_t>(hops.size()), out.flipped);
}

bool Descent::eject(std::int64_t j, std::int64_t b) {
    const std::int64_t a = c.label[j];
    std::int64_t l = -1;
    if (c.blockers(j, b, l) != 1) return false;
    const double first = c.mass(j) * (c.distance(j, b) - c.distance(j, a));
    const double here = c.distance(l, b);
    const bool active = c.penalty.active;  // then distances alone decide nothing
    spend(static_cast<double>(k) * tried(1));
    for (std::int64_t d = 0; d < k; ++d) {
        if (d == a || d == b) continue;
        const double gains = first + c.mass(l) * (c.distance(l, d) - here);
        const double bonus = offers.bonus[a * k + b] + offers.bonus[b * k + d];
        if ((active || gains < bonus + offers.bonus[a * k + a]) &&
            try_move({{j, b}, {l, d}}, out.chained))
            return true;
        const Offer* back = offers.begin(d, a);
        for (std::int64_t q = 0; q < std::min(heads, offers.number(d, a)); ++q) {
            if (!active && gains + back[q].gain >= bonus + offers.bonus[d * k + a]) break;
            if (c.label[back[q].item] == d &&
                try_move({{j, b}, {l, d}, {back[q].item, a}}, out.chained))
                return true;
        }
    }
    return false;
}

bool Descent::swap_linked() {
    const Soft& soft = c.penalty.soft;
    bool better = false;
    for (std::int64_t j = 0; soft.link_start && j < c.m; ++j)
        for (auto e = soft.link_start[j]; e < soft.link_start[j + 1]; ++e) {
            const std::int64_t l = soft.link_with[e], a = c.label[j], b = c.label[l];
            if (soft.link_penalty[e] > 0.0 || l < j || a == b) continue;
            if (work_left <= 0.0 || out.stopped) return better;
            better |= try_move({{j, b}, {l, a}}, out.swapped);
        }
    return better;
}

bool Descent::group() {
    bool better = false;
    ++visit;
    for (std::int64_t j = 0; c.penalty.soft.link_start && j < c.m; ++j) {
        if (visited[j] == visit || !collect_group(j)) continue;
        const std::int64_t a = c.label[j];
        for (std::int64_t b = 0; b < k && c.label[j] == a; ++b) {
            if (work_left <= 0.0 || out.stopped) return better;
            better |= b != a && (move_group(b) || exchange_group(a, b));
        }
    }
    return better;
}

bool Descent::collect_group(std::int64_t j) {
    const Soft& soft = c.penalty.soft;
    hops.assign(1, {j, -1});
    visited[j] = visit;
    for (std::size_t h = 0; h < hops.size(); ++h) {
        const std::int64_t item = hops[h].item;
        for (auto e = soft.link_start[item]; e < soft.link_start[item + 1]; ++e) {
            const std::int64_t other = soft.link_with[e];
            if (soft.link_penalty[e] < 0.0 || c.label[other] != c.label[j] ||
                visited[other] == visit)
                continue;
            visited[other] = visit;
            hops.push_back({other, -1});
        }
    }
    return hops.size() > 1 && static_cast<std::int64_t>(hops.size()) <= largest_group;
}

bool Descent::move_group(std::int64_t b) {
    for (Hop& hop : hops) hop.to = b;
    return try_move(hops.data(), static_cast<std::int64_t>(hops.size()), out.grouped);
}

bool Descent::exchange_group(std::int64_t a, std::int64_t b) {
    const std::size_t own_costs = hops.size();
    std::int64_t samples = 0;
    for (const Hop& hop : hops) samples += c.rules.count[hop.item];
    if (c.fits(a, b, samples)) return false;
    const Offer* end = offers.begin(b, a) + offers.number(b, a);
    for (const Offer* o = offers.begin(b, a); o != end && samples > 0; ++o) {
        if (c.label[o->item] != b || c.rules.count[o->item] > samples) continue;
        samples -= c.rules.count[o->item];
        hops.push_back({o->item, a});
    }
    const bool made =
        samples == 0 && try_move(hops.data(), static_cast<std::int64_t>(hops.size()), out.grouped);
    hops.resize(own_costs);
    return made;
}

}  // namespace bckm
