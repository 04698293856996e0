// The arcs of shortest paths where rows are elsewhere: moves that someone has listed.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "distance/exact_costs.hpp"
#include "distance/points.hpp"

namespace bckm {

// Moving a row of cost c from cluster a to b is an arc of cost c_b - c_a; the arc (a, b) is that of
// the cheapest row in a. For each pair of clusters all moves are listed that cost at most its
// *limit*, so no other one costs less. Where none is listed the arc is *virtual*: its cost is the
// limit; without a limit there is none. Rows that have moved know what they cost everywhere.
class ListedArcs {
public:
    static constexpr std::int32_t none = -1;  // no row: the arc is virtual or does not exist

    // `limit` (k, k) says up to which cost more than in their own clusters, prices included, rows
    // were listed. Centers and prices must outlive this.
    ListedArcs(const PricedCenters& priced, const double* limit);

    // Rows by their numbers, which are increasing, with their features in the units of the centers
    // as (row - origin) * scale. These are kept as views. Rows that are known stay as they are.
    template <class Real> struct Rows {
        const Real* data;
        const std::int64_t* number;
        const std::int32_t* label;
        std::int64_t count;
        const double* origin;
        double scale;
    };
    template <class Real> void add_rows(const Rows<Real>& rows);

    // Rows of the last batch.
    std::int64_t last_rows() const { return static_cast<std::int64_t>(row_at_.size()); }

    // Moves of rows of the last batch, by their places there, and what they cost more, prices
    // included. Those below the limits before `raise` are known.
    void add_moves(const std::int64_t* place, const std::int32_t* cluster, const double* cost,
                   std::int64_t count);

    // Asks for moves beyond the limit of a pair.
    void refine(std::int64_t a, std::int64_t b, double horizon);
    bool is_asking() const { return asks_ > 0; }
    const std::vector<char>& asked() const { return asked_; }  // (k, k)
    void ask_no_more();
    // The limits up to which moves have been listed, (k, k); rows and moves follow.
    void raise(const double* limit);

    const double* from(std::int64_t a) const { return move_.data() + a * width; }  // (width,)
    double cost_of(std::int64_t a, std::int64_t b) const { return move_[a * width + b]; }
    std::int32_t sample(std::int64_t a, std::int64_t b) const { return top_[a * width + b]; }
    bool is_virtual(std::int64_t a, std::int64_t b) const {
        return sample(a, b) == none && cost_of(a, b) < infinity;
    }
    const double* all() const { return move_.data(); }           // (k, width)
    const std::int32_t* samples() const { return top_.data(); }  // (k, width)
    std::int64_t units_of(std::int32_t) const { return 1; }

    void transfer(std::int32_t row, std::int32_t to, std::int64_t units);

    const std::int64_t k, width;
    struct Pair {
        std::int32_t from, to;
    };
    std::int64_t raises = 0;    // how often many arcs have changed at once
    std::vector<Pair> lowered;  // arcs that have become cheaper

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct Move {
        double cost;
        std::int32_t row, to;
        bool operator<(const Move& other) const {
            return cost != other.cost ? cost < other.cost : row < other.row;
        }
    };
    // Moves that came together, by where they begin, where they lead to and what they cost.
    struct Listing {
        std::vector<Move> moves;
        std::vector<std::int64_t> begin;  // (k + 1)
    };
    struct Row {
        std::int32_t label;
        std::int32_t costs;  // place of all its costs, once it has moved
        std::int32_t batch, place;
    };
    struct Known {
        std::int64_t number;
        std::int32_t row;
        bool operator<(const Known& other) const { return number < other.number; }
    };
    struct Batch {
        const float* small;
        const double* large;
        const double* origin;
        double scale;
    };

    double added(std::int64_t a, std::int64_t b) const {
        return priced_.prices[b] - priced_.prices[a];
    }
    bool is_news(const Row& row, std::int32_t cluster, double cost) const;
    Listing sorted(std::vector<Move>&& moves) const;
    // The limits of a where no row is known.
    void show_limits(std::int64_t a);
    // Makes the cheapest listed moves arcs.
    void show(const Listing& listing);
    const double* all_costs(std::int32_t row);
    // The cheapest listed move of rows that have not left.
    Move cheapest(std::int64_t a, std::int64_t b) const;
    // Finds an arc anew.
    void update(std::int64_t a, std::int64_t b);
    // The arcs from a become those of a row in a where that is cheaper.
    void offer(std::int64_t a, std::int32_t row);

    const PricedCenters& priced_;
    std::vector<double> limit_, before_;  // (k, k); the last `raise`
    std::vector<char> asked_;             // (k, k)
    std::int64_t asks_ = 0;
    std::vector<Listing> listings_;  // rows that have left are still in there
    Lines<double> move_;             // (k, width): the cheapest move, or the limit
    std::vector<std::int32_t> top_;  // (k, width): its row
    std::vector<Row> rows_;
    std::vector<Batch> batches_;
    std::vector<Known> known_;                        // all rows, by their numbers
    std::vector<std::int32_t> row_at_;                // the row of each place of the last batch
    std::vector<std::vector<double>> costs_;          // of rows that have moved
    std::vector<std::vector<std::int32_t>> arrived_;  // (k,): rows that are in another cluster now
};

}  // namespace bckm
