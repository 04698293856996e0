// The state of mending: shared by `mend.cpp`, which says when what is tried, and `mend_moves.cpp`,
// which looks for the best move.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "distance/points.hpp"
#include "moves/losses.hpp"
#include "moves/mend.hpp"
#include "moves/penalty.hpp"
#include "moves/violation.hpp"

namespace bckm {

class Mending {
public:
    Mending(const Points& points, const Rules& rules, const Soft& soft, const double* centers,
            const double* costs, const SumPrices& prices, const std::int64_t* items,
            std::int64_t number, const std::int32_t* first, double effort, int threads,
            const std::function<bool()>& stop);

    MendResult run(std::int64_t rounds, std::int32_t* label);

private:
    static constexpr double least = 1e-8;     // smaller changes do not count
    static constexpr std::int64_t heads = 6;  // losses of a list tried in swaps, paths and cycles

    struct Best {
        double change = -least, change_of_cost = 0.0;
        Hop hops[3] = {};
        int number = 0;
    };

    // Costs of an item in each cluster, in units, and the same less what prices pay.
    struct Row {
        explicit Row(std::int64_t k) : cost(padded(k)), priced(k) {}
        std::vector<double> cost, priced;
    };

    struct Scratch {
        explicit Scratch(std::int64_t k) : own(k), other(k), blocker(k) {}
        Row own, other;
        std::vector<std::int64_t> blocker;
    };

    void costs(std::int64_t j, Row& to) const;
    double row_work() const {
        return static_cast<double>(k) *
               (0.5 * static_cast<double>(points.dims) + 20.0 + static_cast<double>(sums));
    }

    // --- lists ----------------------------------------------------------------------------------

    // Fills the lists; each thread those of its own clusters.
    void scan();
    void list(std::int64_t j, Scratch& scratch);
    void unlist(std::int64_t j);
    void list_again(std::int64_t j);
    // Which item is in conflict with j in each cluster: -1 for none. Where conflicts are many, a
    // single one is as bad as several.
    void find_blockers(std::int64_t j, std::vector<std::int64_t>& blocker) const;

    // --- when what is tried ---------------------------------------------------------------------

    // Lowers cost and weighted violation, and raises weights, until all rules hold.
    bool reach();
    // Moves that lower cost and weighted violation, until there is none; false if it was ended.
    bool descend(bool deep);
    // Parts items in conflict where that lowers cost and weighted violation; false if nowhere.
    bool part();
    void apply();
    bool going_on() {
        if (out.work > next_look) {
            next_look = out.work + 1e6;
            out.stopped = out.stopped || stop();
        }
        return !out.stopped && out.work < effort;
    }

    // --- moves ----------------------------------------------------------------------------------

    // Remembers a move if it is the best so far, given by how much it changes the distances, in
    // units, and the violation of sums.
    void consider(std::initializer_list<Hop> hops, double cost_change, double sums_change);
    // An item to cluster b; all that are listed to and from cluster i.
    void relocation(std::int64_t j, std::int64_t b, double cost_change);
    void relocations(std::int64_t i);
    // An item is kept from cluster b by one that is in conflict with it: that goes elsewhere.
    void unblock(std::int64_t j, std::int64_t b, double cost_change);
    void swaps(std::int64_t a, std::int64_t heads);
    // One item from a to b and one from b to c; and one from c to a.
    void paths(std::int64_t i);
    void path(std::int64_t a, std::int64_t b, std::int64_t c);
    // A path from a to c, and one item back; only where all rules hold.
    void cycle(std::int64_t a, std::int64_t c, const Loss& one, const Loss& two, double most);

    const std::int64_t* items;
    const std::int64_t number;
    const double* given;
    const Points& points;
    const Rules& rules;
    const SumPrices& prices;
    const std::int64_t k, sums;
    const double eval_work;
    const std::vector<double> no_price;
    const PricedCenters priced;
    const Weights weights;
    Violation state;
    Penalty penalty;
    Losses losses;
    std::vector<bool> dirty;    // clusters whose moves have not been looked at since they changed
    std::vector<double> worth;  // what moves can gain in each cluster, at most,
    double row_worth = 0.0, row_violation = 0.0;  // and in rows
    double extra = 0.0, hope = 0.0;  // what a move may gain beside sums, or by conflicts, at most
    double cost = 0.0;               // above that of the given labels
    Best best;
    double effort;
    const int threads;
    const std::function<bool()>& stop;
    double next_look = 0.0;
    std::int64_t scans = 0;
    std::vector<std::int64_t> gone;  // items that left each cluster since the lists were made
    std::vector<std::int64_t> touched;
    Row row, parted;
    Scratch scratch;
    bool strict = false;  // only what keeps all rules
    MendResult out;
};

}  // namespace bckm
