#include "links/matching.hpp"

#include <algorithm>
#include <limits>

namespace bckm {

void Matching::begin() {
    std::fill(price.begin(), price.end(), 0.0);
    std::fill(holder.begin(), holder.end(), -1);
}

double Matching::fail(std::int64_t number, std::int64_t* label) const {
    std::fill(label, label + number, 0);
    return std::numeric_limits<double>::infinity();
}

void Matching::restart() {
    std::fill(distance.begin(), distance.end(), std::numeric_limits<double>::infinity());
    std::fill(seen.begin(), seen.end(), 0);
    order.clear();
}

std::int64_t Matching::nearest(const double* own, double base, double here, std::int64_t last) {
    std::int64_t next = -1;
    for (std::int64_t i = 0; i < k; ++i) {
        if (seen[i]) continue;
        const double there = here + (own[i] - price[i]) - base;
        if (there < distance[i]) {
            distance[i] = there;
            from[i] = last;
        }
        if (distance[i] < std::numeric_limits<double>::infinity() &&
            (next < 0 || distance[i] < distance[next]))
            next = i;
    }
    return next;
}

void Matching::finish(std::int64_t v, std::int64_t next, double here) {
    for (const std::int64_t i : order) price[i] += distance[i] - here;
    for (std::int64_t i = next; i >= 0; i = from[i]) holder[i] = from[i] < 0 ? v : holder[from[i]];
}

}  // namespace bckm
