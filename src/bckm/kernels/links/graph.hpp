// Links between items as lists of neighbors.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace bckm {

constexpr double never = std::numeric_limits<double>::infinity();

// A link costs `tie` if it is positive and its items are apart, or -tie if it is negative and they
// are together; a conflict is a tie of minus infinity.
struct Link {
    std::int64_t with;
    double tie;
};

struct LinkGraph {
    LinkGraph(std::int64_t nodes, const std::int64_t* ends, const double* tie, std::int64_t number)
        : nodes(nodes), start(nodes + 1, 0), link(2 * number) {
        for (std::int64_t e = 0; e < 2 * number; ++e) ++start[ends[e] + 1];
        for (std::int64_t v = 0; v < nodes; ++v) start[v + 1] += start[v];
        std::vector<std::int64_t> at(start.begin(), start.end() - 1);
        for (std::int64_t e = 0; e < number; ++e) {
            const std::int64_t a = ends[2 * e], b = ends[2 * e + 1];
            link[at[a]++] = {b, tie[e]};
            link[at[b]++] = {a, tie[e]};
        }
    }

    const Link* begin(std::int64_t v) const { return link.data() + start[v]; }
    const Link* end(std::int64_t v) const { return link.data() + start[v + 1]; }
    std::int64_t degree(std::int64_t v) const { return start[v + 1] - start[v]; }

    std::int64_t nodes;
    std::vector<std::int64_t> start;
    std::vector<Link> link;
};

// What a link adds to the costs of an item, (k,), whose neighbor has this label.
inline void add_tie(double tie, std::int64_t label, std::int64_t k, double* cost) {
    if (tie < 0.0) {
        cost[label] -= tie;
        return;
    }
    for (std::int64_t i = 0; i < k; ++i)
        if (i != label) cost[i] += tie;
}

}  // namespace bckm
