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
    std::int32_t row;  // of the explicit point
    std::int32_t cluster;
    std::int64_t units;
    std::int32_t place;    // in the list of its cluster
    std::int32_t sibling;  // next fragment of the same point
};

// Moving a sample of cost c from cluster a to b is an arc of cost c_b - c_a; the arc (a, b) is that
// of the cheapest sample in a. Exact costs are known of *explicit* points, which have a row; of all
// others there are lower bounds, so an arc may be *virtual*: no sample is known that it stands for.
class Arcs {
public:
    static constexpr std::int32_t none = -1;  // no fragment: the arc is virtual or does not exist

    Arcs(const Points& points, const PricedCenters& priced, const std::int32_t* label,
         const float* slack, int threads);

    // Makes about `budget` points explicit: those with the least slack.
    void add_first_rows(std::int64_t budget);

    // Replaces the virtual arc (a, b) by more bounds or more explicit points; `horizon` is the
    // length of the longest path so far.
    void refine(std::int64_t a, std::int64_t b, double horizon);

    // Gives more points a bound for each cluster where the virtual arc (a, b) is that of a point
    // without; false if it is not.
    bool raise_bounds(std::int64_t a, std::int64_t b, double horizon);

    // Prepares `exact_cost_of`: call it when all samples have been moved.
    void list_unknown();
    // The cost of the arc (a, b), never a bound; points with much slack need no look.
    double exact_cost_of(std::int64_t a, std::int64_t b) const;

    // Moves samples of a fragment to another cluster.
    void transfer(std::int32_t f, std::int32_t to, std::int64_t units);

    const double* from(std::int64_t a) const { return move.data() + a * width; }  // (k,)
    double cost_of(std::int64_t a, std::int64_t b) const { return move[a * width + b]; }
    std::int32_t sample(std::int64_t a, std::int64_t b) const {
        return static_cast<std::int32_t>(top[a * width + b]);
    }
    const std::int64_t* samples() const { return top.data(); }  // (k, width)
    std::int64_t rows() const { return static_cast<std::int64_t>(row_point.size()); }

    const std::int64_t k, width;
    std::vector<Fragment> fragment;
    std::vector<std::int32_t> first_fragment;  // of each row
    std::vector<std::int64_t> row_point;       // the point of each row
    const RowLoops& loops;

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    // The slack below which about `count` points lie, estimated from a part of them.
    double quantile(std::int64_t count) const;
    // Adds the points with a slack of up to `most` to the pool.
    void extend_pool(double most);
    void add_rows(const std::vector<std::int64_t>& chosen);

    // The slack of a point is a weak bound on its moves to far clusters. Points with less slack
    // than some multiple of the longest path so far get a bound for each cluster.
    void bound_more_points(double horizon);
    // Of the points of a that have such bounds, those that b costs least become explicit.
    void add_near_rows(std::int64_t a, std::int64_t b);
    // Lower bounds on moving points from a to b, up to the rounding of the costs.
    std::vector<double> move_bounds(const std::vector<std::int64_t>& listed, std::int64_t a,
                                    std::int64_t b) const;
    double move_bound(std::int64_t j, std::int64_t a, std::int64_t b) const;
    // Labels are best in float64: a slack below zero is rounding.
    double far_move(std::int64_t a, std::int64_t b) const {
        return std::max(0.0, far_slack) + (priced.prices[b] - priced.prices[a]);
    }
    // A lower bound on moving a sample that is not explicit from a to b.
    double virtual_move(std::int64_t a, std::int64_t b) const {
        return std::min(near_move[a * width + b], far_move(a, b));
    }

    std::int32_t add_fragment(std::int32_t row, std::int32_t cluster, std::int64_t units);
    void drop_fragment(std::int32_t f);
    const double* costs(std::int32_t f) const { return cost.data() + fragment[f].row * width; }

    void rebuild(std::int64_t a);
    // Makes a fragment the sample of the arcs of its cluster where it is cheapest.
    void offer(std::int32_t f);
    void withdraw(std::int32_t f);
    void recompute(std::int64_t a, std::int64_t b);

    const Points& points;
    const PricedCenters& priced;
    const std::int32_t* label;
    const float* slack;
    const int threads;

    std::vector<double> move;       // (k, width): cheapest move, or a bound below it
    std::vector<std::int64_t> top;  // (k, width): its fragment
    std::vector<std::vector<std::int32_t>> member;  // fragments in each cluster

    // Of an `implicit` point only the slack is known; a `near` point has bounds on its moves and
    // may become explicit later; a `known` point is explicit from the start.
    enum State : char { implicit, near, known };
    std::vector<State> state;
    double far_slack = infinity;     // all implicit points have at least so much
    std::vector<std::int64_t> pool;  // points with little slack, all that are not implicit included
    double pooled = -infinity;       // the slack up to which points are in the pool
    ByCluster near_points;
    std::vector<double> near_move;  // (k, width): bounds on the moves of near points
    std::vector<double> cost;       // (rows, width)
    std::vector<std::int32_t> free_fragments;

    struct Unknown {
        std::int64_t point;
        double slack;
    };
    std::vector<std::vector<Unknown>> unknown;  // points of each cluster that are not explicit
};

}  // namespace bckm
