// Conflicts as cliques: few sets of items, pairwise in conflict, that together hold every conflict.
#pragma once

#include <cstdint>
#include <vector>

namespace bckm {

struct CliqueCover {
    std::vector<std::int64_t> start{0}, member;  // clique c: member from start[c] to start[c + 1]
};

// Stated sets first, then single conflicts; each that is not covered yet grows by items that are in
// conflict with all of it: the one with most uncovered conflicts in it, of several the one that
// leaves most others to choose from. `edges` (number, 2) are all conflicts, sorted, each with the
// smaller item first. Growing ends when about `effort` nanoseconds are spent: then the rest is
// covered as it is stated.
CliqueCover clique_cover(std::int64_t nodes, const std::int64_t* edges, std::int64_t number,
                         const std::vector<std::vector<std::int64_t>>& sets, double effort);

}  // namespace bckm
