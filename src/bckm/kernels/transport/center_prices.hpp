// Prices in the middle of the range that optimal labels permit.
#pragma once

#include <cstdint>
#include <vector>

namespace bckm {

// The arcs between clusters and the hub when no surplus is left; see settle.cpp.
struct Network {
    std::int64_t k, width;
    const double* move;                // (k, width)
    const std::int64_t* hub_flow;      // (k,)
    const std::int64_t* hub_capacity;  // (k,)
};

// Shortest paths leave prices at the edge of their permitted range, with some samples exactly
// between two clusters. In the middle of the range as many samples as possible clearly prefer their
// own cluster, and `predict` gives them the same label. The last entry of `price` is the hub's.
void center_prices(const Network& network, std::vector<double>& price);

}  // namespace bckm
