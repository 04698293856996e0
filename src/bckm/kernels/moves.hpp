// Local search: moves of few items that lower the objective and keep every rule.
#pragma once

#include <cstdint>
#include <functional>

#include "clustering.hpp"

namespace bckm {

struct Descent {
    std::int64_t passes = 0, relocated = 0, swapped = 0, chained = 0, flipped = 0;
    double work = 0.0;      // numbers looked at, about
    bool finished = false;  // no relocation, swap or flip lowers the objective any more
    bool stopped = false;
};

// Relocations of one item; swaps of two; chains of three items around a cycle of clusters or of two
// along a path, the item that is pushed out being one in conflict where there is one; and flips of
// all items of two clusters that hang together by conflicts. Until none is left, or `effort` was
// spent: unlike a time, work makes the result independent of the speed of the machine.
Descent descend(Clustering& clustering, double effort, const std::function<bool()>& stop);

}  // namespace bckm
