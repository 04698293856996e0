// The distance pass: which cluster is best for each point at given prices, and by how much.
#pragma once

#include <cstdint>
#include <vector>

#include "points.hpp"

namespace bckm {

// What is known of each point. `slack` is a proven lower bound on what the point would lose in any
// other cluster than `label`; negative where nothing is known. `runner` is the second best cluster
// when the point was last looked at and `detour` what it cost more, without prices: hints, not
// promises. `radius` bounds |x - c_label| from above at the last centres.
struct Knowledge {
    std::int32_t* label;
    std::int32_t* runner;
    float* detour;
    float* slack;
    const float* radius;  // null while centres stand still
};

// By how much slacks may have shrunk since they were proven, because prices and centres moved:
// fixed[label] + slope[label] * radius.
struct Drift {
    const double* fixed;
    const double* slope;
};

struct Swept {
    std::vector<std::int64_t> gained;  // samples that each cluster has more than before
    std::int64_t looked = 0;          // points whose distances were computed
    double regret = 0.0;  // with `keep`: cost of the labels above the best ones, prices included
    double change = 0.0;  // else: by how much the cost of the labels, without prices, has grown
};

// Brings `Knowledge` up to date. Points whose slack survives the drift are not looked at. With
// `keep` the labels stay and what they cost above the best ones is added up, else each point gets
// its best label.
Swept sweep(const Points& points, const Market& market, const Knowledge& known, const Drift& drift,
            bool keep, int threads);

}  // namespace bckm
