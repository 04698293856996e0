// Labels without conflicts, from any labels: graph coloring by tabu search.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace bckm {

struct Coloring {
    std::int64_t items = 0;
    std::int64_t k = 0;
    const std::int32_t* conflict_start = nullptr;  // as in Rules
    const std::int32_t* conflict_with = nullptr;
    const bool* closed = nullptr;  // clusters that an item may not go to, (m, k)
};

struct RecolorResult {
    std::int64_t left = 0;  // conflicts, and items in closed clusters; none: the labels obey
    std::int64_t moves = 0;
    double work = 0.0;  // about nanoseconds
    bool stopped = false;
};

// Of all moves of items in conflict the one that leaves fewest conflicts is made, also if these are
// more than before; an item does not return to a cluster for some time (TabuCol: Hertz, de Werra,
// Using tabu search techniques for graph coloring, Computing 39, 1987). It ends at the first labels
// without conflicts, or with the best ones.
RecolorResult recolor(const Coloring& asked, std::int32_t* label, double effort, std::uint64_t seed,
                      const std::function<bool()>& stop);

}  // namespace bckm
