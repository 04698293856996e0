// Local search: moves of few items that lower the objective and keep every rule.
#pragma once

#include <cstdint>
#include <functional>

#include "clustering.hpp"

namespace bckm {

struct Descent {
    std::int64_t passes = 0, relocated = 0, swapped = 0, chained = 0, flipped = 0, grouped = 0;
    double work = 0.0;      // numbers looked at, about
    // no relocation, swap, flip or move of a group lowers the objective any more
    bool finished = false;
    bool stopped = false;
};

// Relocations of one item; swaps of two; chains of three items around a cycle of clusters or of two
// along a path, the item that is pushed out being one in conflict where there is one; flips of all
// items of two clusters that hang together by conflicts; and groups, all items of a cluster that
// hang together by ties, which go to another one. Until none is left, or `effort` was spent: unlike a
// time, work makes the result independent of the speed of the machine.
Descent descend(Clustering& clustering, double effort, const std::function<bool()>& stop);

}  // namespace bckm
