// Local search: moves of few items that lower the objective and keep every rule.
#pragma once

#include <cstdint>
#include <functional>

#include "moves/clustering.hpp"

namespace bckm {

struct DescentResult {
    std::int64_t passes = 0, relocated = 0, swapped = 0, chained = 0, flipped = 0, grouped = 0;
    double work = 0.0;  // in about nanoseconds
    // no relocation, swap, flip or group move lowers the objective any more
    bool finished = false;
    bool stopped = false;
};

// Moves are relocations of one item; swaps of two; chains of three items around a cycle of clusters
// or of two along a path (an item in conflict, where there is one, is the one that is ejected);
// flips of all items of two clusters that are connected by conflicts (Kempe chains); and moves of
// groups, all items of a cluster that are connected by soft links. They are made until none is left
// or `effort` is spent: unlike time, work makes the result independent of the speed of the machine.
DescentResult descend(Clustering& clustering, double effort, const std::function<bool()>& stop);

}  // namespace bckm
