// How far points are from the centers chosen so far, and what a further center would gain.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/points.hpp"
#include "distance/tile_kernel.hpp"

namespace bckm {

// Points in float32, packed once in the layout of the tile kernel. Candidates are compared with all
// of them there; only where a candidate may be nearer than every center so far, the squared
// distance is computed in float64. So every machine gets the same numbers, and few are computed
// twice.
class SeedDistances {
public:
    SeedDistances(const Points& points, const double* mass, int threads);

    // Takes these centers, (count, dims).
    void add(const double* centers, std::int64_t count);

    // By how much each candidate, (count, dims), would lower the sum of mass times distance.
    std::vector<double> gains(const double* candidates, std::int64_t count);
    // Takes one of the last candidates.
    void take(std::int64_t candidate);

    std::vector<double> distance;  // squared, to the nearest center so far

private:
    struct Nearer {
        std::int64_t candidate, point;
        double distance;
    };

    const TileKernel& kernel_;
    const Points points_;
    std::vector<double> mass_, square_;
    std::int64_t tiles_, chunks_;
    int threads_;
    std::vector<float> packed_;  // (tiles, dims, samples), each tile in whole lines of the cache
    std::vector<std::vector<Nearer>>
        nearer_;  // of each chunk: what the last candidates are nearer to
};

}  // namespace bckm
