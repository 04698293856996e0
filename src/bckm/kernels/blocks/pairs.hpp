// Numbers of all pairs of clusters, (k, k): what rows permit, and how near to borders they are
// asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/points.hpp"

namespace bckm {

// Where clusters lie and how far their rows reach: the gap of a row of cluster a to b is not below
// apart (apart - 2 radius_a) - (price_b - price_a), by the triangle inequality.
struct Places {
    std::int64_t k;
    const double* apart;     // (k, k): distances between centers
    const double* prices;    // (k,)
    const double* farthest;  // (k,): the largest squared distance of a row to its center
};

// Distances between centers, (k, k).
void pair_distances(const PricedCenters& priced, double* apart, int threads);

// reach[a, b]: by how much price_b may rise against price_a before a row that was not returned
// leaves cluster a: the least gap that was told, as far as rows were looked at (`wide`), or that of
// `places`; less `rounding`. Infinite where `rest` says that a has no such rows.
void pair_reach(const Places& places, const float* minima, const double* wide,
                const std::int64_t* rest, double rounding, double* reach, int threads);

// How far prices have gone beyond that, as a share of what is permitted; 0: nowhere.
double beyond_reach(std::int64_t k, const double* went, const double* reach, int threads);

// limit[a, b]: `sure` times the root mean square of moves_a - moves_b over `draws` moves of prices,
// at least beside_a + beside_b; no more than that where no row is expected between both.
void pair_limits(const Places& places, const double* moves, std::int64_t draws, double sure,
                 const double* beside, double least, double* limit, int threads);

// gone[a, b]: the largest |way_b - way_a| of `ways`, (number, k); zero where no row is expected
// between both.
void pair_ways(const Places& places, const double* ways, std::int64_t number, double* gone,
               int threads);

// Samples near borders: the best two clusters of each, and how many change per unit of price.
struct Near {
    std::int64_t n, k;
    const std::int64_t *best, *second;
    const double* weight;
};

// How far prices move, (k, draws), where clusters have so many samples too much, `errors`
// (k, draws): by the Laplacian of the samples near borders. False without any.
bool border_moves(const Near& near, double ridge, const bool* active, const double* errors,
                  std::int64_t draws, double* moves, int threads);

}  // namespace bckm
