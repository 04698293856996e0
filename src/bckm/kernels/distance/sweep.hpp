// The distance pass: which cluster is best for each point at given prices, and by how much.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/contenders.hpp"
#include "distance/points.hpp"

namespace bckm {

// What is known of each point. `slack` is a proven lower bound on what any cluster other than
// `label` costs more; negative where nothing is known. `runner_up` is the second best cluster when
// the point was last evaluated and `margin` what it cost more, without prices: these are hints, not
// proofs. `radius` is an upper bound on |x - c_label| at the last centers.
struct PointState {
    std::int32_t* label;
    std::int32_t* runner_up;
    float* margin;
    float* slack;
    const float* radius;  // null while centers stand still
};

// By how much slacks may have shrunk since they were proven, because prices and centers moved:
// fixed[label] + slope[label] * radius.
struct Drift {
    const double* fixed;
    const double* slope;
};

struct SweepResult {
    std::vector<std::int64_t> gained;  // samples that each cluster has more than before
    std::int64_t evaluated = 0;        // points whose distances were computed
    double regret = 0.0;  // with `keep_labels`: what the labels cost above the best ones
    double change = 0.0;  // else: by how much the cost of the labels, without prices, has grown
};

// Brings `PointState` up to date. Points whose slack survives the drift are not evaluated. With
// `keep_labels` the labels stay and their regret is added up, else each point gets its best label.
// With `contenders`, points that have a list at these centers are decided by it where it suffices;
// the others get one.
SweepResult sweep(const Points& points, const PricedCenters& priced, const PointState& state,
                  const Drift& drift, bool keep_labels, int threads,
                  Contenders* contenders = nullptr);

}  // namespace bckm
