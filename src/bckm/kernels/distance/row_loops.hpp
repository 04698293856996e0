// Loops over all clusters, one variant per instruction set, the same bits from each.
#pragma once

#include <cstdint>

namespace bckm {

struct Least {
    double value;
    std::int64_t at;  // the first, if several are as low; -1 if none is finite
};

// The best and second best of a row of float32 values, the first ones if several are as low.
struct BestTwo {
    float best, second;
    std::int32_t label, runner_up;
};

// A search for shortest paths between clusters and a hub, from all nodes that have a surplus to
// those that lack units; see transport/tree_search.hpp.
struct TreeView {
    std::int64_t k, width;  // clusters, which come before the hub; whole registers
    const double* arc;      // (k, width): what moving a unit costs; infinite where there is no arc
    const double* price;    // (k + 1): an arc from a to b is arc + price[a] - price[b] long
    const char *to_hub, *from_hub;            // (k): arcs from there, and to there, at no cost
    const std::int64_t* surplus;              // (k + 1)
    double *open, *level;                     // (width), scratch: of nodes that are not reached
    std::int64_t *leaving, *child, *sibling;  // (k + 1), scratch
    double* distance;                         // (k + 1), out: infinite for nodes not reached
    std::int64_t* target;                     // (k + 1), out: nodes that lack units, nearest first
    // in: the last tree, out: this one. How many nodes are reached, in which order (k + 1), and
    // from which node or -1 (width + 1); in: what the arcs to clusters cost then (k)
    std::int64_t *reached, *order, *previous;
    const double* used;
};

struct RowLoops {
    // out[r][i] = weight[r] * |x[r] - c_i|^2, from the centers in blocks of features,
    // (width / 8, dims, 8); a number does not depend on which rows are computed together
    void (*costs)(const double* const* x, const double* weight, int rows, const double* columns,
                  std::int64_t dims, std::int64_t width, double* const* out);

    // A node of a search for shortest paths is left: distance[i] = min(distance[i], so_far +
    // max(0, arc[i] + here - price[i])); where that is lower, from[i] = name. Returns the least of
    // distance[i] + hidden[i]: where to go next
    Least (*relax)(const double* arc, double here, double so_far, const double* price,
                   const double* hidden, std::int64_t name, std::int64_t k, double* distance,
                   std::int64_t* from);

    // slack[j] -= fixed[label[j]] + slope[label[j]] * radius[j] (without radius: fixed alone), and
    // a little more than all roundings here
    void (*decay)(const std::int32_t* label, const float* fixed, const float* slope,
                  const float* radius, std::int64_t n, float* slack);

    // the least of value[i] + shift[i]; infinite for k = 0
    Least (*least)(const double* value, const double* shift, std::int64_t k);

    // label[j] = the first i with the least cost[j][i] + shift[i], for rows of `width` numbers, a
    // multiple of eight; where `shift` is infinite, costs may be anything
    void (*nearest)(const double* cost, std::int64_t width, const double* shift, std::int64_t rows,
                    std::int32_t* label);

    // for i = from .. to - 1, move[i] = the least of cost_j[i] - own[j] over the rows
    // j = which[0 .. count - 1] of `cost`, and top[i] which row that is; infinite and -1 without
    // rows. `from` and `to` are multiples of eight
    void (*moves)(const double* cost, std::int64_t width, std::int64_t from, std::int64_t to,
                  const std::int32_t* which, std::int64_t count, const double* own, double* move,
                  std::int32_t* top);

    // the same with one row more, for all i: move and top are lowered
    void (*offer)(const double* cost, std::int64_t width, std::int32_t name, double here,
                  double* move, std::int32_t* top);

    // of value[i] - shift[i]
    BestTwo (*best_two)(const float* value, const float* shift, std::int64_t k);

    // least[g] = the least of value[i] - shift[i] over all i = g modulo `groups`, infinite (3e38)
    // if there is none
    static constexpr int groups = 32;
    void (*group_minima)(const float* value, const float* shift, std::int64_t k, float* least);

    // lists all i with value[i] - shift[i] below a limit, or not a number; returns how many. `at`
    // and `flag` have room for all and eight more
    std::int64_t (*below)(const float* value, const float* shift, std::int64_t k, float limit,
                          unsigned char* flag, std::int32_t* at);

    // whether all are numbers, and not too large
    bool (*are_numbers)(const float* value, std::int64_t k);

    // least[i] = min(least[i], value[i] - shift[i] - own)
    void (*lower_row)(const float* value, const float* shift, float own, std::int64_t k,
                      float* least);

    // near[i] += (x - center[i])^2, and high[i] + low[i] += center[i]^2, rounded once: see
    // sparse_distances.hpp
    void (*entry)(double x, const double* center, std::int64_t k, double* near, double* high,
                  double* low);

    // Dijkstra's algorithm; of nodes at one distance the first is reached first. Ends when all that
    // lack units are reached, or all that can be. Returns how many targets there are; `horizon` is
    // the distance of the last node.
    std::int64_t (*shortest_tree)(const TreeView& tree, double* horizon);
};

namespace baseline {
RowLoops row_loops();
std::int64_t shortest_tree(const TreeView& tree, double* horizon);
}  // namespace baseline
namespace avx2 {
RowLoops row_loops();
std::int64_t shortest_tree(const TreeView& tree, double* horizon);
}  // namespace avx2
namespace avx512 {
RowLoops row_loops();
std::int64_t shortest_tree(const TreeView& tree, double* horizon);
}  // namespace avx512

}  // namespace bckm
