#include "sums.hpp"

#include <algorithm>

namespace bckm {

void Sums::refresh(const Labels& label) {
    if (r == 0) return;
    std::fill(now.begin(), now.end(), Twofold{});
    for (std::size_t j = 0; j < label.size(); ++j) {
        const double* x = amount(static_cast<std::int64_t>(j));
        for (std::int64_t q = 0; q < r; ++q) now[label[j] * r + q].add(x[q]);
    }
}

void Sums::apply(const Hop* hops, std::int64_t number, const Labels& label) {
    if (r == 0) return;
    for (std::int64_t h = 0; h < number; ++h) {
        const double* x = amount(hops[h].item);
        Twofold *from = now.data() + label[hops[h].item] * r, *to = now.data() + hops[h].to * r;
        for (std::int64_t q = 0; q < r; ++q) {
            from[q].add(-x[q]);
            to[q].add(x[q]);
        }
    }
}

bool Sums::hold_after(const Hop* hops, std::int64_t number, const Labels& label,
                      const std::vector<std::int64_t>& clusters) const {
    for (const std::int64_t i : clusters)
        for (std::int64_t q = 0; q < r; ++q) {
            bool felt = false;
            const Twofold then = after(i, q, hops, number, label, felt);
            if (felt && !then.within(loads.lower[i * r + q], loads.upper[i * r + q])) return false;
        }
    return true;
}

}  // namespace bckm
