// Local search that passes through labels that violate rules.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "moves/relaxed.hpp"

namespace bckm {

// Temperatures are in units of what a median item loses in its second-best cluster; each cycle
// begins with the best labels and cools down from `hot`, which is less in each further cycle, to
// `cold`. Where half of the time is over before half of the work is done, the clock takes over: it
// is cold when time is up.
struct AnnealSchedule {
    double hot, cold;
    std::int64_t cycles;
    double effort;  // work in all
    std::uint64_t seed;
    double seconds;  // until `stop` says so
};

struct AnnealResult {
    std::int64_t proposed = 0, relocated = 0, swapped = 0, ejected = 0;
    double work = 0.0;      // about nanoseconds
    double cost = 0.0;      // of the best labels
    bool feasible = false;  // whether labels that obey are known: the best of them are returned
    bool stopped = false;
    bool hurried = false;  // whether the clock had a say
    std::vector<std::int32_t> label;
};

// Simulated annealing on the objective with violated hard rules at a price. A price rises while its
// rules are violated too often and falls while they hold too often, so that labels come and go
// through the bounds (strategic oscillation); what counts are the best labels that obey all of
// them. Moves are relocations, swaps, and relocations that eject an item in conflict. The result is
// complete also if `stop` throws.
void anneal(RelaxedClustering& clustering, const AnnealSchedule& schedule,
            const std::function<bool()>& stop, AnnealResult& result);

}  // namespace bckm
