// What it would change to take the center of a cluster to another one, for all clusters.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/points.hpp"

namespace bckm {

struct DisplacementsResult {
    std::vector<double> halves;        // (2, k, dims): means of both halves of each cluster
    std::vector<double> lost, gained;  // (k,): what changes without a center, and with one more
    // (k, k): how many points more there are in each cluster then; and what it would cost the
    // points of a cluster to go to the next best, in all, by which one that is
    std::vector<double> left, drawn, gaps;
};

// At given prices: without center i its points go to their next best cluster; with a center in each
// half of cluster j, along its main axis, both attract what gains by it, at least and at most so
// many points.
DisplacementsResult displacements(const Points& points, const PricedCenters& priced,
                                  const std::int32_t* label, const double* least,
                                  const double* most);

}  // namespace bckm
