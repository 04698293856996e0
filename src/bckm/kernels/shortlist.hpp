// One look at all items: which moves could lower the objective. What is not listed cannot.
#pragma once

#include <cstdint>
#include <vector>

#include "clustering.hpp"

namespace bckm {

// An item would go to another cluster at `gain` = mass (|x - c_to|^2 - |x - c_own|^2): the change
// at fixed centres, below zero if it is better off there. Where it is it costs `here`.
struct Offer {
    double gain;
    double here;
    std::int32_t item;
    std::int32_t to;
};

struct Relocation {
    double change;
    Hop hop;
};

// Means follow what moves, so a swap changes the objective by less than its two gains say. How much
// less at most when an item from a comes to b while another leaves b is `bonus[a * k + b]`; when one
// leaves a and none comes, `bonus[a * k + a]`.
struct Shortlist {
    std::int64_t k = 0;
    std::vector<Relocation> relocations;  // that improve, sizes (or an item without
                                          // mass that gives way) and conflicts permitting; best first
    std::vector<std::int64_t> start;      // offers from a to b: start[a * k + b] to the next one
    std::vector<Offer> offers;            // of each pair of clusters, best first
    std::vector<double> bonus;
    std::vector<std::vector<std::int32_t>> weightless;  // items without mass in each cluster
    bool complete = true;  // every swap that improves is among the offers

    const Offer* begin(std::int64_t a, std::int64_t b) const {
        return offers.data() + start[a * k + b];
    }
    std::int64_t number(std::int64_t a, std::int64_t b) const {
        return start[a * k + b + 1] - start[a * k + b];
    }
};

// With so many offers of each pair of clusters at least, if there are as many.
Shortlist shortlist(const Clustering& clustering, double least_change, std::int64_t heads,
                    int threads);

}  // namespace bckm
