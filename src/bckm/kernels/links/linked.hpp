// Items that links tie to each other, part by part: labels of least cost, or nearly, with a bound.
#pragma once

#include <cstdint>
#include <vector>

#include "links/cutset.hpp"
#include "links/graph.hpp"
#include "links/tree.hpp"

namespace bckm {

struct LinkedLabels {
    std::vector<std::int64_t> label;
    double bound = 0.0;  // no labels cost less, links included
    bool obeys = true;   // no conflict is broken
    double work = 0.0;   // in about nanoseconds
};

// The graph of links falls into connected parts. Trees are solved exactly; so are cliques of
// conflicts, with the trees that hang on them, by a matching; and small parts with cycles, unless
// that takes too long. In other parts disjoint cliques and a spanning forest (dearest links first)
// give a bound; their labels are then repaired until they break no conflict, as far as moves of one
// or two items lead.
class Linked {
public:
    Linked(std::int64_t nodes, const std::int64_t* ends, const double* tie, std::int64_t number);

    // `cost` (nodes, k) is changed on the way. A small part gets `search_nodes` of a search at
    // most.
    LinkedLabels solve(double* cost, std::int64_t k, std::int64_t search_nodes, int threads) const;

    // Whether no link is left out of the bound.
    bool complete() const { return large_.empty(); }
    std::int64_t nodes() const { return graph_.nodes; }

private:
    using Items = std::vector<std::int64_t>;

    void split(std::vector<char>& kind);
    void take_cliques(const Items& part, std::vector<char>& kind);
    void grow_forest(const std::int64_t* ends, const double* tie, std::int64_t number,
                     const std::vector<char>& kind);
    void plant(const LinkGraph& forest, const std::vector<char>& kind);

    LinkGraph graph_;
    Items place_;  // of each item of a small or large part in it
    Trees trees_;
    Items chunk_;  // places where chunks of whole trees begin, and the end
    std::vector<Items> cliques_, small_, large_;
    std::vector<CutSet> cut_sets_;  // of the small parts
};

}  // namespace bckm
