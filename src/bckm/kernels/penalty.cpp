#include "penalty.hpp"

#include <algorithm>
#include <limits>

namespace bckm {

Penalty::Penalty(const Soft& soft, std::int64_t m, std::int64_t k)
    : soft(soft), asks(soft.asks()), k(k), sums(soft.loads, k), going(soft.tie_start ? m : 0, -1) {}

double Penalty::refresh(const Labels& label) {
    sums.refresh(label);
    double total = soft.base, tied = 0.0;
    const auto m = static_cast<std::int64_t>(label.size());
    for (std::int64_t j = 0; j < m; ++j) {
        total += lean(j, label[j]);
        if (!soft.tie_start) continue;
        for (auto e = soft.tie_start[j]; e < soft.tie_start[j + 1]; ++e) {
            const bool together = label[soft.tie_with[e]] == label[j];
            const double price = soft.tie_price[e];
            if (together == (price < 0.0)) tied += price < 0.0 ? -price : price;
        }
    }
    for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t q = 0; q < sums.r; ++q) total += beyond(i, q, sums.now[i * sums.r + q].value());
    return total + tied / 2;  // each pair was seen twice
}

double Penalty::change(const Hop* hops, std::int64_t number, const Labels& label,
                       const std::vector<std::int64_t>& clusters) {
    double total = of_ties(hops, number, label);
    if (soft.lean_start)
        for (std::int64_t h = 0; h < number; ++h)
            total += lean(hops[h].item, hops[h].to) - lean(hops[h].item, label[hops[h].item]);
    if (sums.r > 0)
        for (const std::int64_t i : clusters) total += of_sums(i, hops, number, label);
    return total;
}

double Penalty::of_ties(const Hop* hops, std::int64_t number, const Labels& label) {
    if (!soft.tie_start) return 0.0;
    for (std::int64_t h = 0; h < number; ++h) going[hops[h].item] = hops[h].to;
    double total = 0.0;
    for (std::int64_t h = 0; h < number; ++h) {
        const std::int64_t j = hops[h].item;
        for (auto e = soft.tie_start[j]; e < soft.tie_start[j + 1]; ++e) {
            const std::int64_t other = soft.tie_with[e], to = going[other];
            if (to >= 0 && other < j) continue;  // both are on the move: once
            const int before = label[other] == label[j];
            const int after = (to < 0 ? label[other] : to) == hops[h].to;
            if (after != before) total += (before - after) * soft.tie_price[e];
        }
    }
    for (std::int64_t h = 0; h < number; ++h) going[hops[h].item] = -1;
    return total;
}

double Penalty::lean(std::int64_t j, std::int64_t i) const {
    if (!soft.lean_start) return 0.0;
    const std::int64_t* last = soft.lean_to + soft.lean_start[j + 1];
    const std::int64_t* at = std::lower_bound(soft.lean_to + soft.lean_start[j], last, i);
    return at != last && *at == i ? soft.lean_price[at - soft.lean_to] : 0.0;
}

void Penalty::alone(std::int64_t j, const Labels& label, double* out) const {
    std::fill(out, out + k, 0.0);
    if (soft.lean_start)
        for (auto e = soft.lean_start[j]; e < soft.lean_start[j + 1]; ++e)
            out[soft.lean_to[e]] += soft.lean_price[e];
    if (soft.tie_start)
        for (auto e = soft.tie_start[j]; e < soft.tie_start[j + 1]; ++e)
            out[label[soft.tie_with[e]]] -= soft.tie_price[e];
}

double Penalty::one(std::int64_t i, std::int64_t j, int sign) const {
    double total = 0.0;
    for (std::int64_t q = 0; q < sums.r; ++q) {
        Twofold sum = sums.now[i * sums.r + q];
        const double before = beyond(i, q, sum.value());
        sum.add(sign * sums.amount(j)[q]);
        total += beyond(i, q, sum.value()) - before;
    }
    return total;
}

double Penalty::of_sums(std::int64_t i, const Hop* hops, std::int64_t number,
                        const Labels& label) const {
    double total = 0.0;
    for (std::int64_t q = 0; q < sums.r; ++q) {
        bool felt = false;
        const double now = sums.now[i * sums.r + q].value();
        const double then = sums.after(i, q, hops, number, label, felt).value();
        if (felt) total += beyond(i, q, then) - beyond(i, q, now);
    }
    return total;
}

Penalty::Ranges Penalty::ranges(const Labels& label) const {
    constexpr double never = std::numeric_limits<double>::infinity();
    Ranges found{std::vector<double>(sums.now.size(), never),
                 std::vector<double>(sums.now.size(), -never)};
    for (std::size_t j = 0; sums.r > 0 && j < label.size(); ++j)
        for (std::int64_t q = 0; q < sums.r; ++q) {
            const double x = sums.amount(static_cast<std::int64_t>(j))[q];
            double& least = found.least[label[j] * sums.r + q];
            double& most = found.most[label[j] * sums.r + q];
            least = std::min(least, x);
            most = std::max(most, x);
        }
    return found;
}

double Penalty::relief(std::int64_t i, const double* in_least, const double* in_most,
                       const double* out_least, const double* out_most) const {
    double total = 0.0;
    for (std::int64_t q = 0; q < sums.r; ++q) {
        const double now = sums.now[i * sums.r + q].value();
        const double first = now + (in_least ? in_least[q] : 0.0) - (out_most ? out_most[q] : 0.0);
        const double last = now + (in_most ? in_most[q] : 0.0) - (out_least ? out_least[q] : 0.0);
        if (!(first <= last)) continue;  // there is no such item
        // convex, with a bend at each bound: least at an end or at a bend
        const double lower = sums.loads.lower[i * sums.r + q];
        const double upper = sums.loads.upper[i * sums.r + q];
        double least = std::min(beyond(i, q, first), beyond(i, q, last));
        for (const double bend : {lower, upper})
            least = std::min(least, beyond(i, q, std::clamp(bend, first, last)));
        total += std::max(0.0, beyond(i, q, now) - least);
    }
    return total;
}

}  // namespace bckm
