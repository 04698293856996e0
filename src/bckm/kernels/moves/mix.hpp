// Search for mixed groups: clusters whose means are alike.
#pragma once

#include <cstdint>
#include <functional>

#include "moves/anneal.hpp"
#include "moves/relaxed.hpp"

namespace bckm {

struct MixSchedule {
    double effort;  // work in all
    double enough;  // no labels cost less: it ends there
    std::uint64_t seed;
    double seconds;  // until `stop` says so
};

// Items that may stand for each other: of the same `mass` and number of samples, and those that
// bring the same to all other sums besides.
struct Kinds {
    const std::int64_t* mass;
    const std::int64_t* all;
};

// Annealing of a mixed clustering: first by single moves, as in `anneal`, where violated rules are
// fined; then by the best exchanges of one or two items between two clusters (PairExchange), which
// are taken even if they make it worse, less and less often. At the end all swaps are tried, if
// that is no large part of the work. The best labels that obey are returned, also if `stop` throws.
void mix(RelaxedClustering& clustering, const Kinds& kinds, const MixSchedule& schedule,
         const std::function<bool()>& stop, AnnealResult& result);

}  // namespace bckm
