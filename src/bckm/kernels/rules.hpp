// What is asked of labels, as plain arrays; see bckm.structure and bckm.soft.
#pragma once

#include <cstdint>

namespace bckm {

// One item goes to another cluster. A move is a list of these, made together; no item twice.
struct Hop {
    std::int64_t item;
    std::int64_t to;
};

// Sums over the items of each cluster, and their bounds.
struct Loads {
    std::int64_t number = 0;         // sums of each cluster, r
    const double* amount = nullptr;  // what each item adds to each sum, (m, r)
    const double* lower = nullptr;   // (k, r)
    const double* upper = nullptr;
};

// What labels must obey. Null arrays of conflicts or rows: there are none.
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

// What labels should obey, and what it costs if they do not. Null arrays of ties or leanings: there
// are none.
struct Soft {
    const std::int64_t* tie_start = nullptr;  // items tied to j, as conflicts; each pair stands twice
    const std::int64_t* tie_with = nullptr;
    const double* tie_price = nullptr;        // of being apart, or, below zero, of being together
    const std::int64_t* lean_start = nullptr;  // what j costs in clusters, beyond the base
    const std::int64_t* lean_to = nullptr;
    const double* lean_price = nullptr;
    double base = 0.0;                         // of all items, whatever the labels
    Loads loads;
    const double* low = nullptr;  // price of each unit that a sum is below its bound, (k, r)
    const double* up = nullptr;   // or above

    bool asks() const { return tie_start || lean_start || loads.number > 0; }
};

}  // namespace bckm
