// One pass over all items: which moves could lower the objective. What is not listed cannot.
#pragma once

#include <cstdint>
#include <vector>

#include "moves/clustering.hpp"

namespace bckm {

// An item may go to another cluster. `gain` is the change of the objective at fixed centers,
// without penalties of loads: mass (|x - c_to|^2 - |x - c_own|^2) and the change of the penalties
// of its label and of its links; negative if the item is better off there. `here` is mass |x -
// c_own|^2.
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

// Means follow the items, so a swap changes the objective by less than its two gains say: by at
// most `bonus[a * k + b]` less where an item from a comes to b while another leaves b, and by at
// most `bonus[a * k + a]` less where one leaves a and none comes. This includes what penalties of
// loads can shrink. Where one comes from a to b and none leaves, these can shrink by `arrival[a * k
// + b]`; empty: there are no soft loads.
struct Offers {
    std::int64_t k = 0;
    std::vector<std::int64_t> start;  // offers from a to b: start[a * k + b] to the next one
    std::vector<Offer> all;           // of each pair of clusters, best first
    std::vector<double> bonus;
    std::vector<double> arrival;
    // every swap that improves is among the offers, except swaps of two items with a link of
    // negative penalty between them, whose gains say too little
    bool complete = true;

    const Offer* begin(std::int64_t a, std::int64_t b) const {
        return all.data() + start[a * k + b];
    }
    std::int64_t number(std::int64_t a, std::int64_t b) const {
        return start[a * k + b + 1] - start[a * k + b];
    }
};

// Of a clustering as it is now: valid until it changes.
class Shortlist {
public:
    Shortlist(const Clustering& clustering, double least_change, int threads);

    // Relocations that change the objective by less than -least_change and that conflicts and sizes
    // permit (or would, if an item without mass made room); best first.
    std::vector<Relocation> relocations();

    // Offers that can be part of a swap that improves, and in any case the best `heads` of each
    // pair of clusters.
    Offers offers(std::int64_t heads);

    // What all of this took, in about nanoseconds.
    double work = 0.0;

    // Whether costs are cached, so that further offers take little work.
    bool cached() const { return !cache.empty(); }

private:
    // Costs of an item in each cluster, without penalties and with its own.
    struct Costs {
        const double *bare, *full;
    };
    // What a worker looked at once more, beyond the first look at all items: items with all their
    // costs, and offers that may improve.
    struct alignas(64) Closer {
        std::int64_t items = 0, offers = 0;
    };
    double row_work() const;  // of the costs of an item
    // Adds the work of a look at all items, `each` for a cost, and of closer ones.
    void count(double each, const std::vector<Closer>& closer);
    Costs costs_of(std::int64_t j, std::vector<double>& own) const;
    template <class T, class Work> std::vector<T> in_chunks(const Work& work) const;

    const Clustering& c;
    const std::int64_t m, k, width;
    const double least_change;
    const int threads;
    const std::vector<double> zero;
    const PricedCenters priced;
    std::vector<double> cache;  // costs, (m, width); empty where they would be too many
};

}  // namespace bckm
