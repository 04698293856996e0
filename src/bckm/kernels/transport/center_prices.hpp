// Prices in the middle of the range that optimal labels permit.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace bckm {

// The arcs between clusters and the hub when no surplus is left; see settle.cpp.
struct Network {
    std::int64_t k, width;
    const double* move;                // (k, width)
    const std::int32_t* top;           // (k, width): below zero where `move` is but a bound
    const std::int64_t* hub_flow;      // (k,)
    const std::int64_t* hub_capacity;  // (k,)
    // the cheapest move from one cluster to another; null: bounds will do
    std::function<double(std::int64_t, std::int64_t)> exact_move;
    // raises all bounds where the one of a move is too weak for that; true if it did
    std::function<bool(std::int64_t, std::int64_t)> raise_bounds;
    std::int64_t rounds;  // of moving each price to the middle, at most
};

// Shortest paths leave prices at the edge of their permitted range, with some samples exactly
// between two clusters. In the middle of the range as many samples as possible clearly prefer their
// own cluster, and `predict` gives them the same label. Bounds below the moves narrow the range by
// what the way there left unknown; with `exact_move` the middle follows from costs and labels
// alone, however prices came there. False if bounds were raised, and nothing else: try again. The
// last entry of `price` is the hub's. `room`, where it is asked for, is half of the narrowest range
// that has a middle.
bool center_prices(const Network& network, std::vector<double>& price, double* room = nullptr);

}  // namespace bckm
