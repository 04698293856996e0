// The exact end of a step where rows are elsewhere: shortest paths over moves that were listed.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "distance/points.hpp"

namespace bckm {

// Clusters hold rows that are best there at given prices. Someone who has the rows lists moves: row
// j of cluster a would cost so much more in b. For each pair of clusters all moves are listed that
// cost at most its *limit*, so no other one costs less. Paths from clusters that hold too many to
// those that hold too few go along the cheapest moves; where one would have to use a move that is
// not listed, `run` asks for more.
//
// Costs are those at the given prices, and prices below are what is added to these.
class RowPaths {
public:
    enum class State { settled, asking, working, stuck };

    struct Sizes {
        std::vector<std::int64_t> units, lower, upper;  // (k,): held, least, most
    };

    // `limit` (k, m) is that of some pairs, each cluster with `other` (k, m) ones; no row goes to
    // any other cluster before it has moved. The centers must outlive this.
    RowPaths(const PricedCenters& priced, Sizes sizes, const std::int32_t* other,
             const double* limit, std::int64_t m);

    // Rows by their numbers, with their features in the units of the centers as (row - origin) *
    // scale. They are kept as views.
    template <class Real> struct Rows {
        const Real* data;
        const std::int64_t* number;
        const std::int32_t* label;
        std::int64_t count;
        const double* origin;
        double scale;
    };
    template <class Real> void add_rows(const Rows<Real>& rows);

    // Moves of rows that were added. Those below the limits before `raise` are known.
    void add_moves(const std::int64_t* number, const std::int32_t* cluster, const double* cost,
                   std::int64_t count);

    // Pairs whose moves are asked for beyond their limits, (k, m).
    std::vector<std::uint8_t> asked() const;
    // The limits up to which moves have been listed, (k, m); `add_moves` follows.
    void raise(const double* limit);

    // Looks for paths, for so many searches at most.
    State run(std::int64_t searches);

    // Moves prices to the middle of what the moves permit, as far as limits tell; false, and more
    // is asked for, where these leave no room.
    bool center();

    std::vector<double> prices() const;       // (k,), what is added
    std::vector<std::int64_t> sizes() const;  // (k,), once it is settled
    std::int64_t wrong() const;               // samples that must go elsewhere
    std::int64_t paths() const { return paths_; }

    const std::int64_t k, m;

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr std::int32_t none = -1;

    struct Move {
        double cost;
        std::int32_t row;
        // so that the heap has the cheapest first
        bool operator<(const Move& other) const {
            return cost != other.cost ? cost > other.cost : row > other.row;
        }
    };
    struct Pair {
        std::int32_t to;
        double limit;
        double before;  // the last `raise`
        bool asked;
        std::vector<Move> heap;  // some rows may have left
    };
    struct Row {
        std::int32_t label;
        std::int32_t costs;  // place of all its costs, once it has moved
        std::int32_t batch;
        std::int64_t place;
    };
    struct Batch {
        const float* small;
        const double* large;
        const double* origin;
        double scale;
    };
    struct Waiting {
        double distance;
        std::int32_t node;
        bool operator<(const Waiting& other) const {
            return distance != other.distance ? distance > other.distance : node > other.node;
        }
    };

    Pair* find(std::int64_t a, std::int64_t b);
    Pair& pair(std::int64_t a, std::int64_t b);
    // Of a pair, or of one that is not there.
    static double limit_of(const Pair* one) { return one != nullptr ? one->limit : infinity; }
    // The cheapest listed move, without rows that have left; null if there is none.
    const Move* cheapest(std::int64_t a, Pair& one);
    void insert(std::int64_t a, std::int64_t b, Move move);
    const double* all_costs(std::int32_t row);
    void transfer(std::int32_t row, std::int32_t to);

    bool search();
    void arrive(std::int64_t u);
    void leave(std::int64_t u);
    void relax(std::int64_t u, std::int64_t v, double length, bool listed);
    void enqueue(const Waiting& one);
    bool push(std::int64_t target);
    void ask(Pair& one);
    // Moves that will be asked for next, where paths are a little longer.
    void ask_ahead();

    const PricedCenters& priced_;
    Sizes sizes_;
    std::vector<std::vector<Pair>> pairs_;                               // of each cluster
    std::vector<std::unordered_map<std::int32_t, std::int32_t>> place_;  // of each pair in these
    std::vector<Row> rows_;
    std::vector<Batch> batches_;
    std::unordered_map<std::int64_t, std::int32_t> row_of_;
    std::vector<std::vector<double>> costs_;          // of rows that have moved
    std::vector<std::vector<std::int32_t>> arrived_;  // rows that moved to each cluster; some left
    std::vector<double> price_;                       // (k + 1)
    std::vector<std::int64_t> surplus_, hub_flow_, hub_capacity_;
    std::int64_t paths_ = 0;

    std::int64_t asks_ = 0;  // pairs that are asked for

    // of a search
    std::vector<double> distance_, used_;
    std::vector<std::int32_t> previous_;
    std::vector<char> reached_, is_listed_;
    std::vector<Waiting> queue_;
    std::vector<std::int32_t> deficits_;
    double horizon_ = 0.0;
    std::int64_t missing_ = 0;
};

}  // namespace bckm
