// Mending: labels that break few hard rules are brought within all of them, at little cost.
#pragma once

#include <cstdint>
#include <functional>

#include "distance/points.hpp"
#include "moves/rules.hpp"

namespace bckm {

// What a unit of each bounded sum is paid in each cluster (below zero: charged), at an optimum of
// the dual or near it. Costs divided by `unit` are of the order of one.
struct SumPrices {
    const double* sums = nullptr;  // (k, r + 1): loads, and samples
    const double* soft = nullptr;  // (k, soft r)
    const double* rows = nullptr;  // (q,)
    double unit = 1.0;
};

struct MendResult {
    bool obeys = false;  // labels obey; if not, they are as they were
    bool stopped = false;
    std::int64_t moves = 0;
    double work = 0.0;  // in about nanoseconds
};

// Centers are fixed. Relocations, swaps, and paths and cycles of three clusters lower the cost plus
// the weighted violation of hard rules; weights begin at the prices, and double where bounds stay
// violated. Once all rules hold, only what keeps them is done; then weights fall to the prices
// again, and the cheapest labels that obey are kept.
//
// `rounds` says how often labels come to obey, at most; `effort` limits the work beyond one look at
// the items. Moves are taken from lists of the items that lose least between two clusters at the
// prices. Items in no list stay, unless they are in conflict: `items` (null: all of them) says
// which are.
//
// `costs` (m, k), where it is not null, are used instead of distances between points and centers.
MendResult mend(const Points& points, const Rules& rules, const Soft& soft, const double* centers,
                const double* costs, const SumPrices& prices, const std::int64_t* items,
                std::int64_t number, std::int32_t* label, std::int64_t rounds, double effort,
                int threads, const std::function<bool()>& stop);

}  // namespace bckm
