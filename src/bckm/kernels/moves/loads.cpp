#include "moves/loads.hpp"

#include <algorithm>

namespace bckm {

void ClusterLoads::refresh(const Labels& label) {
    if (r == 0) return;
    std::fill(now.begin(), now.end(), Compensated{});
    for (std::size_t j = 0; j < label.size(); ++j) {
        const double* x = amount(static_cast<std::int64_t>(j));
        for (std::int64_t q = 0; q < r; ++q) now[label[j] * r + q].add(x[q]);
    }
}

void ClusterLoads::apply(const Hop* hops, std::int64_t number, const Labels& label) {
    if (r == 0) return;
    for (std::int64_t h = 0; h < number; ++h) {
        const double* x = amount(hops[h].item);
        Compensated *from = now.data() + label[hops[h].item] * r, *to = now.data() + hops[h].to * r;
        for (std::int64_t q = 0; q < r; ++q) {
            from[q].add(-x[q]);
            to[q].add(x[q]);
        }
    }
}

bool ClusterLoads::hold_after(const Hop* hops, std::int64_t number, const Labels& label,
                              const std::vector<std::int64_t>& clusters) const {
    for (const std::int64_t i : clusters)
        for (std::int64_t q = 0; q < r; ++q) {
            bool changed = false;
            const Compensated then = after(i, q, hops, number, label, changed);
            if (changed && !within(then, lower(i, q), upper(i, q))) return false;
        }
    return true;
}

}  // namespace bckm
