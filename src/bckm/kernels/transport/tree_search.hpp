// Searches for shortest paths over all arcs between clusters and a hub, one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/exact_costs.hpp"

namespace bckm {

// Paths that are taken change few arcs of the tree that they were found in. So it is kept: the next
// search goes on from branches, several nodes at a time, and not from node to node.
class TreeSearch {
public:
    TreeSearch(std::int64_t k, std::int64_t width)
        : targets(k + 1), distance(k + 1), used(k), previous(width + 1), k_(k), width_(width),
          to_hub_(k), from_hub_(k), open_(width), level_(width), leaving_(k + 1), child_(k + 1),
          sibling_(k + 1), order_(k + 1) {}

    // From all nodes with a surplus until those that lack units are reached. Between two calls
    // prices must rise by the distances that were found, as far as the horizon, and nothing else.
    void run(const double* arc, const double* price, const std::int64_t* surplus,
             const std::int64_t* hub_flow, const std::int64_t* hub_capacity) {
        for (std::int64_t v = 0; v < k_; ++v) {
            to_hub_[v] = static_cast<char>(hub_flow[v] < hub_capacity[v]);
            from_hub_[v] = static_cast<char>(hub_flow[v] > 0);
        }
        targets.resize(k_ + 1);
        const TreeView tree{k_,
                            width_,
                            arc,
                            price,
                            to_hub_.data(),
                            from_hub_.data(),
                            surplus,
                            open_.data(),
                            level_.data(),
                            leaving_.data(),
                            child_.data(),
                            sibling_.data(),
                            distance.data(),
                            targets.data(),
                            &reached_,
                            order_.data(),
                            previous.data(),
                            used.data()};
        targets.resize(row_loops().shortest_tree(tree, &horizon));
        for (std::int64_t v = 0; v < k_; ++v) {
            const std::int64_t u = previous[v];
            used[v] = u < 0 || u == k_ ? 0.0 : arc[u * width_ + v];
        }
    }

    std::vector<std::int64_t> targets;   // that were reached, nearest first
    std::vector<double> distance, used;  // of each node; what the arc to each cluster costs
    std::vector<std::int64_t> previous;  // the node before each, or -1
    double horizon = 0.0;                // the longest distance that was found

private:
    const std::int64_t k_, width_;
    std::vector<char> to_hub_, from_hub_;
    Lines<double> open_, level_;
    std::vector<std::int64_t> leaving_, child_, sibling_, order_;
    std::int64_t reached_ = 0;
};

}  // namespace bckm
