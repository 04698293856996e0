// The exact end of an assignment step under size bounds: successive shortest paths.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "distance/contenders.hpp"
#include "distance/points.hpp"
#include "transport/dense_arcs.hpp"

namespace bckm {

struct SettleResult {
    std::vector<double> prices;  // (k,)
    // samples of one point that are in another cluster than its label says
    std::vector<std::int64_t> split_point, split_cluster, split_units;
    std::int64_t rows = 0;    // points whose exact costs were needed
    std::int64_t paths = 0;   // augmenting paths
    std::int64_t rounds = 0;  // searches for shortest paths
    double regret = 0.0;      // of `settle_few`: what rounding has left
    // (k,): what moving any sample out of each cluster costs at least at these prices, up to the
    // rounding of costs; of `settle` where paths were looked for
    std::vector<double> least_moves;
    bool stopped = false;  // by `stop` or `most_rounds`: labels are as they were
};

// From labels that are optimal at the given prices to labels that are optimal within the bounds.
//
// `label[j]` is the best cluster of point j at those prices, `slack[j]` a proven lower bound on
// what any other cluster costs more; `units` samples have each label. Points with the least slack
// are made explicit: their exact costs are computed. All others are represented by their bound, a
// *virtual* move; where a shortest path would use one, more points become explicit. So the result
// is exact, however few points were evaluated. `label` is changed in place. Prices are in the
// middle of what the labels permit, as far as evaluated points tell; with `exact_prices` in the
// middle itself, which does not depend on the prices that were given. `contenders`, where they are
// those of the same centers and prices, give better bounds than slacks at once. After
// `most_rounds` it is stopped: prices are then where it was.
SettleResult settle(const Points& points, const PricedCenters& priced, std::int32_t* label,
                    const float* slack, const std::int64_t* units, const std::int64_t* lower,
                    const std::int64_t* upper, std::int64_t budget, bool exact_prices, int threads,
                    const std::function<bool()>& stop, const Contenders* contenders,
                    std::int64_t most_rounds);

// The same where points are few and each is one sample: all costs are computed, so labels, slacks
// and units need not be known before; `label` and `slack` are those at the final prices, which are
// always exact. If it is stopped, labels are best at some prices and need not be within the bounds.
// `slack` may be null: then prices are but roughly in the middle, and there is no regret.
SettleResult settle_few(const Points& points, const PricedCenters& priced, std::int32_t* label,
                        float* slack, const CostTable& table, const std::int64_t* lower,
                        const std::int64_t* upper, int threads, const std::function<bool()>& stop);

}  // namespace bckm
