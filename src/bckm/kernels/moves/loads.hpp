// Loads of each cluster, kept up to date move by move.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "distance/compensated.hpp"
#include "moves/rules.hpp"

namespace bckm {

// Whether a sum is between its bounds, with a margin for the rounding of its value.
inline bool within(const Compensated& sum, double lower, double upper) {
    const double value = sum.value(), rounding = 0x1p-50 * std::fabs(value);
    return value >= lower + rounding && value <= upper - rounding;
}

class ClusterLoads {
public:
    using Labels = std::vector<std::int32_t>;

    ClusterLoads(const Loads& loads, std::int64_t k) : loads(loads), r(loads.number), now(k * r) {}

    void refresh(const Labels& label);

    // Follows a move; labels are those before it.
    void apply(const Hop* hops, std::int64_t number, const Labels& label);

    // Whether the bounds of some clusters hold after a move that touches no others.
    bool hold_after(const Hop* hops, std::int64_t number, const Labels& label,
                    const std::vector<std::int64_t>& clusters) const;

    // Load q of cluster i after a move; sets `changed` if an item that comes or goes adds to it.
    Compensated after(std::int64_t i, std::int64_t q, const Hop* hops, std::int64_t number,
                      const Labels& label, bool& changed) const {
        Compensated total = now[i * r + q];
        for (std::int64_t h = 0; h < number; ++h) {
            const std::int64_t j = hops[h].item;
            const int sign = (hops[h].to == i) - (label[j] == i);
            if (sign == 0 || amount(j)[q] == 0.0) continue;
            changed = true;
            total.add(sign * amount(j)[q]);
        }
        return total;
    }

    const double* amount(std::int64_t j) const { return loads.amount + j * r; }
    double lower(std::int64_t i, std::int64_t q) const { return loads.lower[i * r + q]; }
    double upper(std::int64_t i, std::int64_t q) const { return loads.upper[i * r + q]; }

    const Loads loads;
    const std::int64_t r;
    std::vector<Compensated> now;  // (k, r)
};

}  // namespace bckm
