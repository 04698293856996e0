// Lower bounds on the cost of moving a point from one cluster to another.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/packed.hpp"
#include "distance/points.hpp"

namespace bckm {

class PairBounds {
public:
    PairBounds(const Points& points, const PricedCenters& priced)
        : points_(points), priced_(priced), packed_(priced, points.cost_weight != nullptr) {}

    // Lowers bounds[b] to at most the cost in b minus the cost in a of every listed point, all of
    // which are in cluster a, by one float32 pass; `bounds` has room for all clusters.
    void lower(std::int64_t a, const std::vector<std::int64_t>& listed, double* bounds) const;

private:
    const Points& points_;
    const PricedCenters& priced_;
    const Packed packed_;
};

}  // namespace bckm
