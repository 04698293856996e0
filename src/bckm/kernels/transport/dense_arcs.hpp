// The arcs of `settle` where points are few: all costs are at hand, and no bounds are needed.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "distance/exact_costs.hpp"
#include "distance/points.hpp"

namespace bckm {

// The costs of all points in all clusters: where centers stay, those of the last call stay too.
struct CostTable {
    double* cost;     // (n, padded k)
    double* centers;  // (k, dims): of these; not a number where nothing is known
};

// Moving a sample of cost c from cluster a to b is an arc of cost c_b - c_a; the arc (a, b) is that
// of the cheapest sample in a. Each point is one sample. Clusters hold few of them: when one
// leaves, the arcs that were its moves are found anew from all that stay, once someone asks.
class DenseArcs {
public:
    static constexpr std::int32_t none = -1;  // no sample

    // Labels become the best ones at the prices.
    DenseArcs(const Points& points, const PricedCenters& priced, std::int32_t* label,
              const CostTable& table, int threads);

    // Labels become the best ones at these prices.
    void choose(const std::vector<double>& price);

    // How many samples have each label.
    std::vector<std::int64_t> units() const;

    const double* from(std::int64_t a) {
        if (is_stale_[a]) renew(a);
        return move_.data() + a * width;
    }
    // All arcs, (k, width), and their samples.
    const double* all() {
        for (std::int64_t a = 0; a < k; ++a) from(a);
        return move_.data();
    }
    const std::int32_t* samples() const { return top_.data(); }

    // The sample of an arc that was asked for, unless it has left since.
    std::int32_t sample(std::int64_t a, std::int64_t b) const {
        const std::int32_t j = top_[a * width + b];
        return label_[j] == a ? j : none;
    }

    void transfer(std::int32_t j, std::int32_t to);

    // What the labels cost more than the best ones at some prices; into `slack`, what any other
    // cluster would cost each point more at least: as much as the cheapest move of its cluster
    // where that is proven to cost something, else less what rounding may have added.
    double prove(const std::vector<double>& price, float* slack);

    const std::int64_t n, k, width;

private:
    // and the best labels at the first prices
    void find_costs(const Points& points, const CostTable& table);
    void choose_some(std::int64_t from, std::int64_t to, const double* minus_price);
    void list_members();
    void renew(std::int64_t a);
    // No move leads from a to itself, or to the clusters beyond the last that fill its row.
    void bar(std::int64_t a);

    const PricedCenters& priced_;
    const RowLoops& loops_ = row_loops();
    const int threads_;
    std::int32_t* label_;
    double* cost_;                     // (n, width)
    Lines<double> move_;               // (k, width)
    Lines<std::int32_t> top_;          // (k, width)
    std::vector<char> is_stale_;       // (k,): whether any arcs of a cluster are to be found anew
    std::vector<char> stale_;          // (k, width / 8): which blocks of them
    std::vector<double> own_;          // (n,): the cost of each point where it is
    std::vector<std::int32_t> place_;  // of each point among the members of its cluster
    std::vector<std::vector<std::int32_t>> member_;
};

}  // namespace bckm
