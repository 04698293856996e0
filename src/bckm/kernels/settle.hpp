// The exact end of an assignment step: successive shortest paths between clusters.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "points.hpp"

namespace bckm {

// Samples of one point that went to another cluster than its label says.
struct Split {
    std::int64_t point;
    std::int32_t cluster;
    std::int64_t units;
};

struct Settled {
    std::vector<double> prices;  // (k,)
    std::vector<Split> splits;
    std::int64_t rows = 0;   // points whose exact costs were needed
    std::int64_t paths = 0;  // augmenting paths
    std::int64_t rounds = 0; // searches for shortest paths
    bool stopped = false;    // `stop` said so: labels are as they were
};

// From labels that are best for `market` to labels that are best among those within the bounds.
//
// `label[j]` is the best cluster of point j at the prices of the market, `slack[j]` a proven lower
// bound on what any other cluster costs more; `units` samples have each label. Points with the
// least slack are made explicit: their exact costs are known. All others are represented by their
// bound, a *virtual* move; where a shortest path wants to use one, more points become explicit. So
// the result is exact, however few points were looked at. `label` is changed in place.
Settled settle(const Points& points, const Market& market, std::int32_t* label, const float* slack,
               const std::int64_t* units, const std::int64_t* lower, const std::int64_t* upper,
               std::int64_t budget, int threads, const std::function<bool()>& stop);

}  // namespace bckm
