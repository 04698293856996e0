// Labels of least cost for few linked items with cycles: without some of them, the others are
// trees.
#pragma once

#include <cstdint>
#include <vector>

#include "links/graph.hpp"
#include "links/tree.hpp"

namespace bckm {

class CutSet {
public:
    // `items` are a connected part of the graph.
    CutSet(const LinkGraph& graph, const std::vector<std::int64_t>& items);

    // Branch and bound over the labels of the items cut out; each node of the search is a bound by
    // dynamic programming. `cost` are the costs of all items of the graph, (nodes, k). Writes the
    // best labels found into `label`, (nodes,), or nearest ones; returns a bound on what any cost.
    // `exact` says that the search was finished within so many nodes: then the labels cost that.
    double solve(const double* cost, std::int64_t k, std::int64_t limit, std::int64_t* label,
                 bool& exact) const;

    std::int64_t size() const { return static_cast<std::int64_t>(trees.nodes.size() + cut.size()); }
    std::int64_t cuts() const { return static_cast<std::int64_t>(cut.size()); }

private:
    struct Search;

    struct Tied {
        std::int64_t place;  // of a node of the trees, or of an item cut out
        double tie;
    };

    Trees trees;
    std::vector<std::int64_t> cut;                      // items
    std::vector<std::vector<Tied>> to_trees, to_later;  // links of each item cut out
};

}  // namespace bckm
