// Steps of the alternation where points are few, without a return to Python after each.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "distance/points.hpp"
#include "transport/dense_arcs.hpp"

namespace bckm {

// When to end, by what a step brought.
struct Enough {
    std::int64_t steps;  // at most
    double little;       // a gain below this share of the cost is none;
    double best;         // while the cost is above this one, a gain is too little if it would
    double hope;         // take more than so many such steps to get there
    double constant;     // part of all costs, whatever the labels
};

struct Alternated {
    std::vector<double> centers;         // (k, dims): means of the labels
    std::vector<double> prices;          // (k,): those that led to the labels
    double cost = 0.0;                   // of the labels at their means
    std::int64_t steps = 0, rounds = 0;  // and searches for shortest paths
    bool stopped = false;
};

// Assign points exactly within bounds on their numbers (`settle_few`), take the means, and so on.
// Ends where a step brings nothing, or enough is done; `label` is written.
Alternated alternate_few(const Points& points, const double* centers, const double* prices,
                         std::int64_t k, std::int32_t* label, const CostTable& table,
                         const std::int64_t* lower, const std::int64_t* upper, const Enough& enough,
                         int threads, const std::function<bool()>& stop);

}  // namespace bckm
