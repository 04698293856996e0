// Sums of amounts over the items of each cluster, kept up to date move by move.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "rules.hpp"

namespace bckm {

// Sums are kept to twice the digits of a number, and looked at as one: so much that may round.
constexpr double sum_rounding = 0x1p-50;

// A number that follows what is added to it without losing what is small.
struct Twofold {
    double high = 0.0, low = 0.0;

    void add(double more) {
        const double before = high;
        high += more;
        const double part = high - before;
        low += (before - (high - part)) + (more - part);
    }
    double value() const { return high + low; }

    bool within(double lower, double upper) const {
        const double now = value(), rounding = sum_rounding * std::fabs(now);
        return now >= lower + rounding && now <= upper - rounding;
    }
};

class Sums {
public:
    using Labels = std::vector<std::int32_t>;

    Sums(const Loads& loads, std::int64_t k) : loads(loads), r(loads.number), now(k * r) {}

    void refresh(const Labels& label);

    // Follows a move; labels are those before it.
    void apply(const Hop* hops, std::int64_t number, const Labels& label);

    // Whether the bounds of some clusters hold after a move that touches no others.
    bool hold_after(const Hop* hops, std::int64_t number, const Labels& label,
                    const std::vector<std::int64_t>& clusters) const;

    // What sum q of cluster i is after a move; sets `felt` if any item that comes or goes counts.
    Twofold after(std::int64_t i, std::int64_t q, const Hop* hops, std::int64_t number,
                  const Labels& label, bool& felt) const {
        Twofold total = now[i * r + q];
        for (std::int64_t h = 0; h < number; ++h) {
            const std::int64_t j = hops[h].item;
            const int sign = (hops[h].to == i) - (label[j] == i);
            if (sign == 0 || amount(j)[q] == 0.0) continue;
            felt = true;
            total.add(sign * amount(j)[q]);
        }
        return total;
    }

    const double* amount(std::int64_t j) const { return loads.amount + j * r; }

    const Loads loads;
    const std::int64_t r;
    std::vector<Twofold> now;  // (k, r)
};

}  // namespace bckm
