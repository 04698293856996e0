// The exact end of a step where rows are elsewhere: shortest paths over moves that were listed.
#pragma once

#include <cstdint>
#include <vector>

#include "blocks/listed_arcs.hpp"
#include "blocks/near_arcs.hpp"
#include "transport/path_flow.hpp"

namespace bckm {

// Clusters hold rows that are best there at given prices. Paths from clusters that hold too many to
// those that hold too few go along the cheapest moves; where one would have to use a move that is
// not listed, `run` asks for more.
class RowPaths {
public:
    enum class State { settled, asking, working, stuck };

    struct Sizes {
        std::vector<std::int64_t> units, lower, upper;  // (k,): held, least, most
    };

    RowPaths(const PricedCenters& priced, const Sizes& sizes, ListedArcs& arcs);

    // Looks for paths, for so many searches at most.
    State run(std::int64_t searches);

    // Moves prices to the middle of what the moves permit, as far as limits tell; false, and more
    // is asked for, where these leave no room.
    bool center();

    std::vector<double> prices() const { return flow_.prices(); }  // (k,)
    std::vector<std::int64_t> sizes() const;                       // (k,), once it is settled
    std::int64_t paths() const { return found_.paths; }

private:
    // Arcs between clusters are that long if each is to have some neighbors.
    double some_length() const;
    // Arcs that are at most so long, prices included.
    NearArcs short_arcs(double most) const;
    // Half of what the narrowest pair of clusters has between its rows.
    double room_of_pairs(const NearArcs& near) const;
    void spread(const NearArcs& near, double room);
    // Asks where a limit leaves no room.
    void ask_for_room(const NearArcs& near);
    // Moves that will be asked for next, where paths are a little longer.
    void ask_ahead();

    double range() const;  // of prices

    ListedArcs& arcs_;
    PathFlow<ListedArcs> flow_;
    SettleResult found_;
    std::vector<std::int64_t> lower_;
};

}  // namespace bckm
