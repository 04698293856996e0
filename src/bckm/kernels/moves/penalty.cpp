#include "moves/penalty.hpp"

#include <algorithm>
#include <limits>

namespace bckm {

Penalty::Penalty(const Soft& soft, std::int64_t m, std::int64_t k)
    : soft(soft), active(soft.any()), k(k), loads(soft.loads, k),
      going(soft.link_start ? m : 0, -1) {}

double Penalty::refresh(const Labels& label) {
    loads.refresh(label);
    double total = soft.constant, linked = 0.0;
    const auto m = static_cast<std::int64_t>(label.size());
    for (std::int64_t j = 0; j < m; ++j) {
        total += label_penalty(j, label[j]);
        if (!soft.link_start) continue;
        for (auto e = soft.link_start[j]; e < soft.link_start[j + 1]; ++e) {
            const bool together = label[soft.link_with[e]] == label[j];
            const double penalty = soft.link_penalty[e];
            if (together == (penalty < 0.0)) linked += penalty < 0.0 ? -penalty : penalty;
        }
    }
    for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t q = 0; q < loads.r; ++q)
            total += load_penalty(i, q, loads.now[i * loads.r + q].value());
    return total + linked / 2;  // each pair was seen twice
}

double Penalty::change(const Hop* hops, std::int64_t number, const Labels& label,
                       const std::vector<std::int64_t>& clusters) {
    double total = link_change(hops, number, label);
    if (soft.label_start)
        for (std::int64_t h = 0; h < number; ++h)
            total += label_penalty(hops[h].item, hops[h].to) -
                     label_penalty(hops[h].item, label[hops[h].item]);
    if (loads.r > 0)
        for (const std::int64_t i : clusters) total += load_change(i, hops, number, label);
    return total;
}

double Penalty::link_change(const Hop* hops, std::int64_t number, const Labels& label) {
    if (!soft.link_start) return 0.0;
    for (std::int64_t h = 0; h < number; ++h) going[hops[h].item] = hops[h].to;
    double total = 0.0;
    for (std::int64_t h = 0; h < number; ++h) {
        const std::int64_t j = hops[h].item;
        for (auto e = soft.link_start[j]; e < soft.link_start[j + 1]; ++e) {
            const std::int64_t other = soft.link_with[e], to = going[other];
            if (to >= 0 && other < j) continue;  // both move: count the pair once
            const int before = label[other] == label[j];
            const int after = (to < 0 ? label[other] : to) == hops[h].to;
            if (after != before) total += (before - after) * soft.link_penalty[e];
        }
    }
    for (std::int64_t h = 0; h < number; ++h) going[hops[h].item] = -1;
    return total;
}

double Penalty::label_penalty(std::int64_t j, std::int64_t i) const {
    if (!soft.label_start) return 0.0;
    const std::int64_t* last = soft.label_cluster + soft.label_start[j + 1];
    const std::int64_t* at = std::lower_bound(soft.label_cluster + soft.label_start[j], last, i);
    return at != last && *at == i ? soft.label_penalty[at - soft.label_cluster] : 0.0;
}

void Penalty::of_item(std::int64_t j, const Labels& label, double* out) const {
    std::fill(out, out + k, 0.0);
    if (soft.label_start)
        for (auto e = soft.label_start[j]; e < soft.label_start[j + 1]; ++e)
            out[soft.label_cluster[e]] += soft.label_penalty[e];
    if (soft.link_start)
        for (auto e = soft.link_start[j]; e < soft.link_start[j + 1]; ++e)
            out[label[soft.link_with[e]]] -= soft.link_penalty[e];
}

double Penalty::load_change(std::int64_t i, std::int64_t j, int sign) const {
    double total = 0.0;
    for (std::int64_t q = 0; q < loads.r; ++q) {
        Compensated sum = loads.now[i * loads.r + q];
        const double before = load_penalty(i, q, sum.value());
        sum.add(sign * loads.amount(j)[q]);
        total += load_penalty(i, q, sum.value()) - before;
    }
    return total;
}

double Penalty::load_change(std::int64_t i, const Hop* hops, std::int64_t number,
                            const Labels& label) const {
    double total = 0.0;
    for (std::int64_t q = 0; q < loads.r; ++q) {
        bool changed = false;
        const double now = loads.now[i * loads.r + q].value();
        const double then = loads.after(i, q, hops, number, label, changed).value();
        if (changed) total += load_penalty(i, q, then) - load_penalty(i, q, now);
    }
    return total;
}

Penalty::Ranges Penalty::ranges(const Labels& label) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Ranges range{std::vector<double>(loads.now.size(), infinity),
                 std::vector<double>(loads.now.size(), -infinity)};
    for (std::size_t j = 0; loads.r > 0 && j < label.size(); ++j)
        for (std::int64_t q = 0; q < loads.r; ++q) {
            const double x = loads.amount(static_cast<std::int64_t>(j))[q];
            double& least = range.least[label[j] * loads.r + q];
            double& most = range.most[label[j] * loads.r + q];
            least = std::min(least, x);
            most = std::max(most, x);
        }
    return range;
}

double Penalty::relief(std::int64_t i, const double* in_least, const double* in_most,
                       const double* out_least, const double* out_most) const {
    double total = 0.0;
    for (std::int64_t q = 0; q < loads.r; ++q) {
        const double now = loads.now[i * loads.r + q].value();
        const double first = now + (in_least ? in_least[q] : 0.0) - (out_most ? out_most[q] : 0.0);
        const double last = now + (in_most ? in_most[q] : 0.0) - (out_least ? out_least[q] : 0.0);
        if (!(first <= last)) continue;  // there is no such item
        // convex, with a bend at each bound: least at an end or at a bend
        const double lower = loads.lower(i, q);
        const double upper = loads.upper(i, q);
        double least = std::min(load_penalty(i, q, first), load_penalty(i, q, last));
        for (const double bend : {lower, upper})
            least = std::min(least, load_penalty(i, q, std::clamp(bend, first, last)));
        total += std::max(0.0, load_penalty(i, q, now) - least);
    }
    return total;
}

}  // namespace bckm
