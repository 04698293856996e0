#include "sums.hpp"

#include <algorithm>
#include <cmath>

namespace bckm {

void Sums::refresh(const Labels& label) {
    if (r == 0) return;
    std::fill(now.begin(), now.end(), 0.0);
    for (std::size_t j = 0; j < label.size(); ++j) {
        const double* x = amount(static_cast<std::int64_t>(j));
        for (std::int64_t q = 0; q < r; ++q) now[label[j] * r + q] += x[q];
    }
}

void Sums::apply(const Hop* hops, std::int64_t number, const Labels& label) {
    if (r == 0) return;
    for (std::int64_t h = 0; h < number; ++h) {
        const double* x = amount(hops[h].item);
        double *from = now.data() + label[hops[h].item] * r, *to = now.data() + hops[h].to * r;
        for (std::int64_t q = 0; q < r; ++q) {
            from[q] -= x[q];
            to[q] += x[q];
        }
    }
}

bool Sums::hold_after(const Hop* hops, std::int64_t number, const Labels& label,
                      const std::vector<std::int64_t>& clusters) const {
    for (const std::int64_t i : clusters)
        for (std::int64_t q = 0; q < r; ++q) {
            bool felt = false;
            const double before = now[i * r + q];
            const double after = before + comes(i, q, hops, number, label, felt);
            const double rounding = sum_rounding * (std::fabs(before) + std::fabs(after));
            if (felt && !(after >= loads.lower[i * r + q] + rounding &&
                          after <= loads.upper[i * r + q] - rounding))
                return false;
        }
    return true;
}

}  // namespace bckm
