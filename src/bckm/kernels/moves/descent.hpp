// The state of a local search: shared by `descend.cpp`, which says what is tried when and moves
// items one by one, and `linked_moves.cpp`, where items move together that links connect.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "moves/clustering.hpp"
#include "moves/descend.hpp"
#include "moves/shortlist.hpp"

namespace bckm {

class Descent {
public:
    Descent(Clustering& c, const std::function<bool()>& stop);

    DescentResult run(double effort);

private:
    // work of a try, of one if centers are fixed, and of a dimension of a distance
    static constexpr double try_work = 22.0, fixed_work = 6.0, try_dimension = 0.1;
    static constexpr std::int64_t heads = 4;  // offers of each pair of clusters tried in chains

    // Longer moves are tried only where shorter ones are exhausted.
    bool pass();
    bool should_stop() { return out.stopped = out.stopped || stop(); }

    void list_offers(Shortlist& shortlist, std::int64_t number);

    // What a pass may take at most, but for few items.
    double most_pass_work() const;

    // The work of so many distances, and of deciding by them.
    double tried(std::int64_t distances) const {
        return c.fixed ? fixed_work
                       : try_work + try_dimension * static_cast<double>(distances * c.dims);
    }

    // Accounts for work; false if that of this pass, or the time, is used up.
    bool spend(double work) {
        work_left -= work;
        if ((++spend_calls & 1023) == 0) should_stop();
        return work_left > 0.0 && !out.stopped;
    }

    bool try_move(std::initializer_list<Hop> hops, std::int64_t& counter) {
        return try_move(hops.begin(), static_cast<std::int64_t>(hops.size()), counter);
    }
    bool try_move(const Hop* hops, std::int64_t number, std::int64_t& counter);

    // --- one item, two, or three ----------------------------------------------------------------

    bool relocate(const std::vector<Relocation>& relocations);
    // An item without mass costs nothing in any cluster: it may make room for one that has mass.
    bool swap_with_massless(const Hop& hop);

    bool swap();
    bool swap_between(std::int64_t a, std::int64_t b);
    // Two items in conflict with each other only are a flip; in conflict with others they cannot
    // swap.
    bool unblocked(const Offer& offer);

    // Around a cycle of three clusters, or along a path of three.
    bool chain();
    bool cycle(std::int64_t a, std::int64_t b, std::int64_t d);
    bool path(std::int64_t a, std::int64_t b, std::int64_t d);
    // As Clustering::change, without penalties.
    double path_change(const Offer& one, const Offer& two) const;

    // When one item comes to a cluster and another leaves it, the mean follows: by this much the
    // change is less than the gains say. As Clustering::change, from the distances in the offers;
    // with penalties these are not in the offers, and items may have no mass.
    double mean_correction(const Offer& comes, const Offer& leaves) const;

    // --- items that links connect ---------------------------------------------------------------

    // An item in conflict with j in the cluster where j goes is ejected: to where j was (with all
    // items connected to it by conflicts), or to a third cluster, from which, if necessary, another
    // one comes to where j was.
    bool flip();
    bool flip_kempe_chain(std::int64_t j, std::int64_t b);
    bool eject(std::int64_t j, std::int64_t b);

    // Two items that should be apart, and are: each gain assumes that the other stays, so gains say
    // too little, and offers may leave them out.
    bool swap_linked();

    // All items of a cluster that are connected by links of positive penalty go to another one; if
    // necessary, others come back.
    bool group();
    // The items that links of positive penalty connect to j inside its cluster, as hops; false if
    // there are none or too many.
    bool collect_group(std::int64_t j);
    bool move_group(std::int64_t b);
    // Where sizes do not permit the group to go alone, the items with the best offers come back.
    bool exchange_group(std::int64_t a, std::int64_t b);

    Clustering& c;
    const std::int64_t k;
    const std::function<bool()>& stop;
    double least_change = 0.0;
    double work_left = 0.0;
    std::int64_t spend_calls = 0;
    Offers offers;
    std::vector<Hop> hops;
    std::vector<Offer> back;
    std::vector<std::int64_t> without_mass;
    std::vector<std::int64_t> visited;
    std::int64_t visit = 0;
    DescentResult out;
};

}  // namespace bckm
