// The rules that labels obey, as plain arrays: hard ones, and soft ones with their penalties.
#pragma once

#include <cstdint>

namespace bckm {

// One item goes to another cluster. A move is a list of hops made together; no item occurs twice.
struct Hop {
    std::int64_t item;
    std::int64_t to;
};

// Capacities: the loads of items add up in each cluster, and the sums have bounds.
struct Loads {
    std::int64_t number = 0;         // loads per cluster, r
    const double* amount = nullptr;  // of each item, (m, r)
    const double* lower = nullptr;   // (k, r)
    const double* upper = nullptr;
};

// Hard rules. Null arrays of conflicts or rows: there are none.
struct Rules {
    std::int64_t k = 0;
    const std::int64_t* count = nullptr;           // samples in each item
    const std::int64_t* lower = nullptr;           // samples in each cluster, at least
    const std::int64_t* upper = nullptr;           // and at most
    const std::int64_t* conflict_start = nullptr;  // items in conflict with j: conflict_with from
    const std::int64_t* conflict_with = nullptr;   // conflict_start[j] to conflict_start[j + 1]
    const std::int64_t* column_start = nullptr;    // rows, compressed by column item * k + cluster
    const std::int64_t* column_row = nullptr;
    const double* column_value = nullptr;
    std::int64_t rows = 0;
    const double* row_lower = nullptr;
    const double* row_upper = nullptr;
    Loads loads;
};

// Soft rules and the penalties for violating them. Null arrays of links or labels: there are none.
struct Soft {
    const std::int64_t* link_start = nullptr;  // items linked to j, as conflicts; each pair twice
    const std::int64_t* link_with = nullptr;
    const double* link_penalty = nullptr;       // for being apart; below zero: for being together
    const std::int64_t* label_start = nullptr;  // penalties of j in single clusters
    const std::int64_t* label_cluster = nullptr;
    const double* label_penalty = nullptr;
    double constant = 0.0;  // the penalty that no labels avoid
    Loads loads;
    const double* below = nullptr;  // penalty per unit that a load is below its bound, (k, r)
    const double* above = nullptr;  // or above

    bool any() const { return link_start || label_start || loads.number > 0; }
};

}  // namespace bckm
