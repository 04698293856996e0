// Lower bounds on the cost of moving a point from one cluster to another.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/contenders.hpp"
#include "distance/packed.hpp"
#include "distance/points.hpp"

namespace bckm {

class PairBounds {
public:
    PairBounds(const Points& points, const PricedCenters& priced, const Contenders* contenders)
        : points_(points), priced_(priced), packed_(priced, points.cost_weight != nullptr),
          contenders_(contenders && contenders->are_at(priced) ? contenders : nullptr) {}

    // Lowers bounds[b] to at most the cost in b minus the cost in a of every listed point, all of
    // which are in cluster a; `bounds` has room for all clusters. From the contenders of a point
    // where it has any, else by one float32 pass.
    void lower(std::int64_t a, const std::vector<std::int64_t>& listed, double* bounds) const;

private:
    // Takes points that have contenders; returns the others.
    std::vector<std::int64_t> lower_from_lists(std::int64_t a,
                                               const std::vector<std::int64_t>& listed,
                                               double* bounds) const;
    void lower_by_pass(std::int64_t a, const std::vector<std::int64_t>& listed,
                       double* bounds) const;

    const Points& points_;
    const PricedCenters& priced_;
    const Packed packed_;
    const Contenders* const contenders_;  // of the same centers and prices, or null
};

}  // namespace bckm
