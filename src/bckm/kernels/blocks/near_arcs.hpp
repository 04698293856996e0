// Room between prices: the arcs that are short, and prices that leave something to each of them.
#pragma once

#include <cstdint>
#include <vector>

namespace bckm {

// Arcs between nodes that are at most `longest` long at given prices; all others are longer. Prices
// are changed so little that these stay longer than nothing.
class NearArcs {
public:
    struct Arc {
        std::int32_t from, to;
        double cost;  // with price[from] - price[to] its length
        bool is_row, needs_room;
    };

    NearArcs(std::int64_t nodes, std::vector<Arc>&& arcs, double longest);

    static double length(const Arc& arc, const std::vector<double>& price) {
        return arc.cost + price[arc.from] - price[arc.to];
    }

    // Lowers prices until arcs are that long; false if they cannot be.
    bool leave_room(double room, std::vector<double>& price) const;
    // Each price to the middle of what the others permit, a few times; that of `still` stays.
    void even(std::int64_t sweeps, std::int64_t still, std::vector<double>& price) const;

    const std::vector<Arc>& all() const { return arcs_; }

private:
    struct Lowering;  // of prices
    bool lower(std::int32_t to, double most, std::int32_t from, Lowering& prices) const;
    double rise(std::int64_t v, const std::vector<double>& price) const;
    double fall(std::int64_t v, const std::vector<double>& price) const;

    const std::int64_t nodes_;
    std::vector<Arc> arcs_;  // by where they begin
    const double longest_;
    std::vector<std::int64_t> leaving_, entering_;  // (nodes + 1): where arcs of each node begin
    std::vector<std::int64_t> entry_;               // arcs by where they lead to
};

}  // namespace bckm
