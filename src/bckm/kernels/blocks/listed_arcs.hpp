// The arcs of shortest paths where rows are elsewhere: moves that someone has listed.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "distance/exact_costs.hpp"
#include "distance/points.hpp"

namespace bckm {

// Moving a row of cost c from cluster a to b is an arc of cost c_b - c_a; the arc (a, b) is that of
// the cheapest row in a. For each pair of clusters all moves are listed that cost at most its
// *limit*, so no other one costs less. Where none is listed the arc is *virtual*: its cost is the
// limit. Rows that have moved know what they cost everywhere, and all others go to some clusters
// only, `other`.
class ListedArcs {
public:
    static constexpr std::int32_t none = -1;  // no row: the arc is virtual or does not exist

    // `limit` (k, m) says up to which cost more than in their own clusters, prices included, rows
    // were listed. Centers, prices and `other` (k, m), which is increasing, must outlive this.
    ListedArcs(const PricedCenters& priced, const std::int32_t* other, const double* limit,
               std::int64_t m);

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

    // Moves of rows that were added, and what they cost more, prices included. Those below the
    // limits before `raise` are known.
    void add_moves(const std::int64_t* number, const std::int32_t* cluster, const double* cost,
                   std::int64_t count);

    // Asks for moves beyond the limit of a pair.
    void refine(std::int64_t a, std::int64_t b, double horizon);
    bool is_asking() const { return asks_ > 0; }
    const std::vector<char>& asked() const { return asked_; }  // (k, m)
    void ask_no_more();
    // The limits up to which moves have been listed, (k, m); `add_moves` follows.
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

    const std::int64_t k, m, width;
    struct Pair {
        std::int32_t from, to;
    };
    std::int64_t raises = 0;    // arcs become dearer one by one
    std::vector<Pair> lowered;  // arcs that have become cheaper

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct Move {
        double cost;
        std::int32_t row;
        // so that the heap has the cheapest first
        bool operator<(const Move& other) const {
            return cost != other.cost ? cost > other.cost : row > other.row;
        }
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

    double added(std::int64_t a, std::int64_t b) const {
        return priced_.prices[b] - priced_.prices[a];
    }
    // The place of a pair among the others of a, or none.
    std::int64_t place_of(std::int64_t a, std::int64_t b) const;
    // What the cheapest move that is not listed costs at least.
    double limit_of(std::int64_t a, std::int64_t b) const;
    const double* all_costs(std::int32_t row);
    // Finds an arc anew.
    void update(std::int64_t a, std::int64_t b);

    const PricedCenters& priced_;
    const std::int32_t* other_;
    std::vector<double> limit_, before_;  // (k, m); the last `raise`
    std::vector<char> asked_;             // (k, m)
    std::int64_t asks_ = 0;
    std::vector<std::vector<Move>>
        listed_;                     // (k, m), heaps; rows that have left are still in there
    Lines<double> move_;             // (k, width): the cheapest move, or the limit
    std::vector<std::int32_t> top_;  // (k, width): its row
    std::vector<Row> rows_;
    std::vector<Batch> batches_;
    std::unordered_map<std::int64_t, std::int32_t> row_of_;
    std::vector<std::vector<double>> costs_;          // of rows that have moved
    std::vector<std::vector<std::int32_t>> arrived_;  // (k,): rows that are in another cluster now
};

}  // namespace bckm
