// One look at all items: which moves could lower the objective. What is not listed cannot.
#pragma once

#include <cstdint>
#include <vector>

#include "clustering.hpp"

namespace bckm {

// An item would go to another cluster at `gain` = mass (|x - c_to|^2 - |x - c_own|^2), and what its
// leanings and its ties to others, where they are, cost more: the change at fixed centres but for
// soft sums, below zero if it is better off there. Where it is its distance costs `here`.
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
// leaves a and none comes, `bonus[a * k + a]`. What soft sums can gain is part of it. When one comes
// from a to b and none leaves, they can gain `arrival[a * k + b]`; empty: there are none.
struct Offers {
    std::int64_t k = 0;
    std::vector<std::int64_t> start;  // offers from a to b: start[a * k + b] to the next one
    std::vector<Offer> all;           // of each pair of clusters, best first
    std::vector<double> bonus;
    std::vector<double> arrival;
    // every swap that improves is among the offers, but for those of two items that are tied to each
    // other below zero: for them gains say too little
    bool complete = true;

    const Offer* begin(std::int64_t a, std::int64_t b) const { return all.data() + start[a * k + b]; }
    std::int64_t number(std::int64_t a, std::int64_t b) const {
        return start[a * k + b + 1] - start[a * k + b];
    }
};

// A clustering as it is now: valid until it changes.
class Shortlist {
public:
    Shortlist(const Clustering& clustering, double least_change, int threads);

    // Those that change the objective by less than -least_change, if sizes (or an item without mass
    // that gives way) and conflicts permit them; best first.
    std::vector<Relocation> relocations();

    // Offers that can be part of a swap that improves, and of each pair of clusters the best ones
    // anyway, `heads` of them.
    Offers offers(std::int64_t heads);

    // Whether costs are kept, so that further offers cost little.
    bool quick() const { return !kept.empty(); }

private:
    // Costs of an item in each cluster, without penalties, and with those that are its own.
    struct Costs {
        const double *bare, *full;
    };
    Costs costs_of(std::int64_t j, std::vector<double>& own) const;
    template <class T, class Work> std::vector<T> in_chunks(const Work& work) const;

    const Clustering& c;
    const std::int64_t m, k, width;
    const double least_change;
    const int threads;
    const std::vector<double> zero;
    const Market market;
    std::vector<double> kept;  // costs, (m, width); empty where they would be too many
};

}  // namespace bckm
