// Labels of least cost for items that links tie to trees, by dynamic programming.
#pragma once

#include <cstdint>
#include <vector>

#include "links/graph.hpp"

namespace bckm {

// Trees; a parent stands before its children. The parent of a root is `top`, or `elsewhere` if its
// label is chosen by others.
constexpr std::int64_t top = -1, elsewhere = -2;

struct Trees {
    struct Node {
        std::int64_t item, parent;  // parent: a place in `nodes`
        double tie;
    };
    std::vector<Node> nodes;
};

// What is the best of an item, and the best without that.
struct TwoBest {
    double least = never, other = never;
    std::int32_t first = 0, second = 0;
};

// The least cost of nodes [first, last), whole trees, without those roots. `row(p)` are the costs
// of node p, (k,), which are changed: each branch passes a message of k numbers to its parent.
// `two` has one entry per node of these.
template <class Row>
double least_cost(const Trees& trees, std::int64_t first, std::int64_t last, std::int64_t k,
                  const Row& row, TwoBest* two) {
    double total = 0.0;
    for (std::int64_t p = last - 1; p >= first; --p) {
        const double* own = row(p);
        TwoBest best;
        for (std::int64_t i = 0; i < k; ++i) {
            if (own[i] < best.least) {
                best.other = best.least;
                best.second = best.first;
                best.least = own[i];
                best.first = static_cast<std::int32_t>(i);
            } else if (own[i] < best.other) {
                best.other = own[i];
                best.second = static_cast<std::int32_t>(i);
            }
        }
        two[p - first] = best;
        const Trees::Node& node = trees.nodes[p];
        if (node.parent < 0) {
            if (node.parent == top) total += best.least;
            continue;
        }
        double* to = row(node.parent);
        if (node.tie > 0.0) {
            const double apart = best.least + node.tie;
            for (std::int64_t i = 0; i < k; ++i) to[i] += own[i] < apart ? own[i] : apart;
        } else {
            const double together = best.least - node.tie;
            const double there = together < best.other ? together : best.other;
            for (std::int64_t i = 0; i < k; ++i) to[i] += i == best.first ? there : best.least;
        }
    }
    return total;
}

// The labels that cost this, from the roots on; `label(p)` is that of node p.
template <class Row, class Label>
void best_labels(const Trees& trees, std::int64_t first, std::int64_t last, const Row& row,
                 const TwoBest* two, const Label& label) {
    for (std::int64_t p = first; p < last; ++p) {
        const Trees::Node& node = trees.nodes[p];
        const TwoBest& best = two[p - first];
        if (node.parent == elsewhere) continue;
        std::int64_t chosen = best.first;
        if (node.parent >= 0) {
            const std::int64_t above = label(node.parent);
            if (node.tie > 0.0) {
                if (row(p)[above] <= best.least + node.tie) chosen = above;
            } else if (best.first == above && best.other < best.least - node.tie) {
                chosen = best.second;
            }
        }
        label(p) = chosen;
    }
}

}  // namespace bckm
