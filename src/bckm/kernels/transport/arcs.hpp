// What it costs to move a sample from one cluster to another: the arcs of `settle`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "distance/exact_costs.hpp"
#include "distance/points.hpp"
#include "transport/pair_bounds.hpp"

namespace bckm {

// Samples of one explicit point that are in one cluster. Most points have one fragment; a point of
// several samples may be split.
struct Fragment {
    std::int32_t row;      // of the explicit point
    std::int32_t cluster;  // none: all samples have left
    std::int64_t units;
    std::int32_t sibling;  // next fragment of the same point
};

// Moving a sample of cost c from cluster a to b is an arc of cost c_b - c_a; the arc (a, b) is that
// of the cheapest sample in a. For each pair of clusters the moves that cost less than its *limit*
// are listed, cheapest first; no other move of a sample in a costs less than that. Where none is
// listed the arc is *virtual*: its cost is the limit, and no sample is known that it stands for.
// Points of which a move is listed are *explicit*; of all others no costs are kept.
class Arcs {
public:
    static constexpr std::int32_t none = -1;  // no fragment: the arc is virtual or does not exist

    Arcs(const Points& points, const PricedCenters& priced, const std::int32_t* label,
         const float* slack, const Contenders* contenders, int threads);

    // Makes about `budget` points explicit: those with the least slack.
    void add_first_points(std::int64_t budget);

    // Raises the limit of the virtual arc (a, b); `horizon` is the length of the longest path.
    void refine(std::int64_t a, std::int64_t b, double horizon);

    // Raises the limits of all pairs where (a, b) has one that follows from slacks; false if not.
    bool raise_limits(std::int64_t a, std::int64_t b, double horizon);

    // Prepares `exact_cost_of`.
    void list_members();
    // The cost of the arc (a, b), never a bound; points with much slack need no look.
    double exact_cost_of(std::int64_t a, std::int64_t b) const;

    // Moves samples of a fragment to another cluster.
    void transfer(std::int32_t f, std::int32_t to, std::int64_t units);

    const double* from(std::int64_t a) const { return move.data() + a * width; }  // (k,)
    double cost_of(std::int64_t a, std::int64_t b) const { return move[a * width + b]; }
    std::int32_t sample(std::int64_t a, std::int64_t b) const { return top[a * width + b]; }
    const double* all() const { return move.data(); }           // (k, width)
    const std::int32_t* samples() const { return top.data(); }  // (k, width)
    std::int64_t units_of(std::int32_t f) const { return fragment[f].units; }
    std::int64_t rows() const { return static_cast<std::int64_t>(row_point.size()); }

    const std::int64_t k, width;
    std::vector<Fragment> fragment;
    std::vector<std::int32_t> first_fragment;  // of each row
    std::vector<std::int64_t> row_point;       // the point of each row
    struct Pair {
        std::int32_t from, to;
    };
    std::int64_t raises = 0;    // how often limits of all arcs have been raised
    std::vector<Pair> lowered;  // arcs that have become cheaper, for who wants to know

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct Move {
        double cost;
        std::int32_t fragment;
        // so that the heap has the cheapest first
        bool operator<(const Move& other) const {
            return cost != other.cost ? cost > other.cost : fragment > other.fragment;
        }
    };
    struct Listed {
        std::int32_t to;
        double cost;
    };

    // The slack below which about `count` points lie, estimated from a part of them.
    double quantile(std::int64_t count) const;
    std::vector<std::int64_t> points_up_to(double most) const;
    // Points that had label a.
    struct Range {
        const std::uint32_t *first, *last;
        const std::uint32_t* begin() const { return first; }
        const std::uint32_t* end() const { return last; }
    };
    Range members(std::int64_t a) const {
        return {member.data() + member_begin[a], member.data() + member_begin[a + 1]};
    }

    // Labels are best in float64: a slack below zero is rounding.
    double far_move(std::int64_t a, std::int64_t b) const {
        return std::max(0.0, reach) + (priced.prices[b] - priced.prices[a]);
    }
    double cost_in(std::int64_t j, std::int64_t a) const;
    // A lower bound on moving point j from a to b, up to the rounding of the costs.
    double move_bound(std::int64_t j, std::int64_t a, std::int64_t b) const;
    double bound_of(std::int64_t j, std::int64_t a, std::int64_t b) const {
        return pair_bounds.knows(j) ? pair_bounds.move(j, a, b) : move_bound(j, a, b);
    }

    // Slack is a weak bound on moves to far clusters: points with slack up to `most` get a bound
    // for each cluster, by one pass.
    void raise_reach(double most);
    // The bounds of contenders are weak for far clusters, too: all points get bounds from all their
    // features, by one pass.
    void look_at_all();
    // Lists more moves from a to b.
    void list_moves(std::int64_t a, std::int64_t b);

    std::int32_t add_point(std::int64_t j);
    std::int32_t add_fragment(std::int32_t row, std::int32_t cluster, std::int64_t units);
    // The moves of a point in cluster a that cost less than their limits, into `found`.
    void find_moves(std::int64_t j, std::int64_t a);
    // The same from its costs, added to `moves`; the others lower `near`.
    void note_moves(const double* cost, std::int64_t a, std::vector<Listed>& moves);
    // The same where the values of the point are known: costs only where they matter. `least` is
    // scratch memory.
    void note_known_moves(std::int64_t j, std::int64_t a, double* least,
                          std::vector<Listed>& moves);
    std::vector<Move>& list(std::int64_t a, std::int64_t b);  // of a pair
    void insert(std::int64_t a, std::int64_t b, Move one);
    void withdraw(std::int32_t f);
    void update(std::int64_t a, std::int64_t b);

    const Points& points;
    const PricedCenters& priced;
    const std::int32_t* label;
    const float* slack;
    const int threads;

    std::vector<double> limit;  // (k, width): of slacks, or `near` if that is less
    std::vector<double> near;   // (k, width): bounds on moves that are not listed, but for those
                                // of implicit points that have more slack than `reach`
    Lines<double> move;         // (k, width): cheapest move that is listed, or the limit
    std::vector<std::int32_t> top;          // (k, width): its fragment
    std::vector<std::int32_t> list_of;      // (k, k): the list of each pair, or none
    std::vector<std::vector<Move>> listed;  // heaps; samples that have left are still in there
    std::vector<std::vector<std::int32_t>> present;  // fragments in each cluster; some have left
    std::vector<char> is_explicit;                   // (n,)
    double reach = -infinity;
    double effort = 0.0;  // of listing moves, in points; what it may be before `look_at_all`
    double enough = infinity;
    std::vector<std::uint32_t> member;  // points by label
    std::vector<float> member_slack;    // in the same order: passes read it from end to end
    std::vector<std::int64_t> member_begin;
    PairBounds pair_bounds;
    std::vector<double> scratch;  // (width)
    std::vector<Listed> found;    // scratch
};

}  // namespace bckm
