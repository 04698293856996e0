// Prices in the middle of what labels permit.
#pragma once

#include <cstdint>
#include <vector>

namespace bckm {

// The arcs between clusters and the hub when all samples are settled; see settle.cpp.
struct Network {
    std::int64_t k, width;
    const double* move;           // (k, width)
    const std::int64_t* through;  // (k,)
    const std::int64_t* room;     // (k,)
};

// Shortest paths leave prices at the edge of what the labels permit, with some samples exactly
// between two clusters. In the middle of what is permitted, as many samples as possible prefer
// their own cluster clearly, and `predict` gives them the same label. `price` has the hub last.
void centre_prices(const Network& network, std::vector<double>& price);

}  // namespace bckm
