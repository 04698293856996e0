// The best clusters of each of a few points with their costs: looks at other prices read no
// features.
#pragma once

#include <cstdint>
#include <vector>

#include "blocks/climb.hpp"
#include "distance/points.hpp"

namespace bckm {

class RowLists {
public:
    static constexpr int most = 8;  // clusters in a list

    // Lists the best clusters at the prices; costs are in float64.
    RowLists(const Points& points, const PricedCenters& priced, int threads);

    // Points at other prices, as far as their lists tell: `label`, `runner_up` and `margin` as in
    // `PointState`. Returns what the labels cost; `units` (k,) become the samples of each cluster.
    double look(const Points& points, const double* prices, std::int32_t* label,
                std::int32_t* runner_up, float* margin, std::int64_t* units, int threads) const;

    // Raises the dual under bounds with softened minima: each point is shared among its listed
    // clusters by exp(-value / temperature), with a temperature of its own. What clusters have more
    // of it at the first prices than `units` is added to their bounds. `price` is where it begins
    // and ends: once at most `target` samples are in the wrong cluster, or after `steps`. Returns
    // the gradient there: what clusters lack.
    struct Sizes {
        std::vector<double> lower, upper, units;  // (k,)
    };
    std::vector<double> climb(const Points& points, const float* temperature, Sizes sizes,
                              double target, int steps, std::vector<double>& price,
                              int threads) const;

    std::int64_t size() const { return static_cast<std::int64_t>(count.size()); }
    const std::int64_t k;

private:
    Softened soften(const Points& points, const float* temperature,
                    const std::vector<double>& prices, int threads) const;

    std::vector<std::uint8_t> count;
    std::vector<std::int32_t> cluster;  // (n, most)
    std::vector<double> cost;           // (n, most)
};

}  // namespace bckm
