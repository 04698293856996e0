// First labels for items in conflict, one by one: as they come, where that breaks nothing; else
// those with fewest clusters left first (DSATUR).
#pragma once

#include <cstdint>
#include <functional>

namespace bckm {

// What items and clusters ask; a null cost: every cluster is as cheap as the first.
struct Placing {
    std::int64_t items = 0;
    std::int64_t k = 0;
    std::int64_t samples = 0;                      // what a conflict counts, against a sample
    const std::int32_t* conflict_start = nullptr;  // as in Rules
    const std::int32_t* conflict_with = nullptr;
    const std::int64_t* count = nullptr;  // samples in each item
    const std::int64_t* lower = nullptr;  // samples in each cluster
    const std::int64_t* upper = nullptr;
    const double* cost = nullptr;  // (m, k)
};

// What is known so far, and changes: each item that is placed counts in its cluster, and blocks it
// for the items in conflict with it that have no label yet.
struct Placed {
    std::int64_t* label;     // -1: not yet
    std::int64_t* sizes;     // (k,)
    bool* blocked;           // (m, k); not used by `place_in_order`
    std::int64_t remaining;  // samples of items without a label
};

// Places `number` items in their order, each in the first cluster where nothing breaks, at a tenth
// of the price of what follows. False: there is none, or it was stopped, and nothing was placed.
bool place_in_order(const Placing& asked, const std::int64_t* order, std::int64_t number,
                    Placed& placed, const std::function<bool()>& stop);

// Places `number` items; of those with equally many blocked clusters the first in `order` is next.
// An item goes where it breaks least, and of such clusters to the cheapest. False: it was stopped.
bool place_conflicting(const Placing& asked, const std::int64_t* order, std::int64_t number,
                       Placed& placed, const std::function<bool()>& stop);

}  // namespace bckm
