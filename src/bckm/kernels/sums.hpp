// Sums of amounts over the items of each cluster, kept up to date move by move.
#pragma once

#include <cstdint>
#include <vector>

#include "rules.hpp"

namespace bckm {

// Rows and sums hold to the last digit when they are summed up anew; kept move by move they may
// round, so that a move has to keep this share of them away from the bounds.
constexpr double sum_rounding = 1e-13;

class Sums {
public:
    using Labels = std::vector<std::int32_t>;

    Sums(const Loads& loads, std::int64_t k) : loads(loads), r(loads.number), now(k * r, 0.0) {}

    void refresh(const Labels& label);

    // Follows a move; labels are those before it.
    void apply(const Hop* hops, std::int64_t number, const Labels& label);

    // Whether the bounds of some clusters hold after a move that touches no others.
    bool hold_after(const Hop* hops, std::int64_t number, const Labels& label,
                    const std::vector<std::int64_t>& clusters) const;

    // What a move adds to sum q of cluster i; sets `felt` if any item that comes or goes counts.
    double comes(std::int64_t i, std::int64_t q, const Hop* hops, std::int64_t number,
                 const Labels& label, bool& felt) const {
        double total = 0.0;
        for (std::int64_t h = 0; h < number; ++h) {
            const std::int64_t j = hops[h].item;
            const int sign = (hops[h].to == i) - (label[j] == i);
            if (sign == 0 || amount(j)[q] == 0.0) continue;
            felt = true;
            total += sign * amount(j)[q];
        }
        return total;
    }

    const double* amount(std::int64_t j) const { return loads.amount + j * r; }

    const Loads loads;
    const std::int64_t r;
    std::vector<double> now;  // (k, r)
};

}  // namespace bckm
