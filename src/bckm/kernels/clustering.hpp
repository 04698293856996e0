// Labels of items with everything that follows from them, kept up to date move by move.
#pragma once

#include <cstdint>
#include <vector>

#include "penalty.hpp"
#include "points.hpp"
#include "rules.hpp"
#include "sums.hpp"

namespace bckm {

// The objective is the sum of mass_j |x_j - c_label(j)|^2 and all penalties. Centres are the means of
// the labels, and a change is exact: means follow. Or centres are fixed, and a change is that of an
// assignment.
class Clustering {
public:
    Clustering(const Points& points, const Rules& rules, const Soft& soft,
               const std::int32_t* label, const double* centres, bool fixed, int threads);

    // Means, sums and activities anew: without what rounding added move by move.
    void refresh();

    // Whether all rules hold after a move of hops that keep the rules before it.
    bool admits(const Hop* hops, std::int64_t number);

    // By how much a move changes the objective.
    double change(const Hop* hops, std::int64_t number);

    void apply(const Hop* hops, std::int64_t number);

    // Of j's neighbours in conflict those in cluster b: how many, and the first of them.
    std::int64_t blockers(std::int64_t j, std::int64_t b, std::int64_t& first) const;

    double distance(std::int64_t j, std::int64_t i) const;      // |x_j - c_i|^2
    double apart(std::int64_t j, std::int64_t l) const;         // |x_j - x_l|^2
    double mass(std::int64_t j) const { return points.weight(j); }
    std::int64_t degree(std::int64_t j) const {
        return rules.conflict_start ? rules.conflict_start[j + 1] - rules.conflict_start[j] : 0;
    }
    // Room for so many samples more in b, and so many fewer in a.
    bool fits(std::int64_t a, std::int64_t b, std::int64_t samples) const {
        return size[a] - samples >= rules.lower[a] && size[b] + samples <= rules.upper[b];
    }
    // What j adds to the distances by joining b, and takes from them by leaving its own cluster,
    // given its squared distance there.
    double joins(std::int64_t j, std::int64_t b, double square) const {
        const double w = mass(j), there = weight[b];
        return fixed ? w * square : there > 0.0 ? w * square * (there / (there + w)) : 0.0;
    }
    double leaves(std::int64_t j, double square) const {
        const std::int64_t a = label[j];
        const double w = mass(j), rest = weight[a] - w;
        if (fixed) return w * square;
        return w > 0.0 && heavy[a] > 1 && rest > 0.0 ? w * square * (weight[a] / rest) : w * square;
    }

    const Points& points;
    const Rules& rules;
    const std::int64_t m, k, dims;
    const bool fixed;
    const int threads;
    std::vector<std::int32_t> label;
    std::vector<double> centres;      // (k, dims)
    std::vector<double> weight;       // mass of each cluster
    std::vector<std::int64_t> heavy;  // items with mass in each cluster
    std::vector<std::int64_t> weightless;  // items without mass in each cluster
    std::vector<std::int64_t> size;        // samples in each cluster
    double cost = 0.0;                // the objective when `refresh` was called last
    Penalty penalty;

private:
    void touch(const Hop* hops, std::int64_t number);
    bool apart_after(const Hop* hops, std::int64_t number);
    bool rows_hold(const Hop* hops, std::int64_t number);

    Sums loads;
    std::vector<Twofold> activity;         // value of each row
    std::vector<std::int64_t> touched;     // clusters of the hops at hand
    std::vector<double> shift;             // sum of mass (x - centre) that comes less what goes
    std::vector<Twofold> row_after;        // of the rows that hops touch
    std::vector<std::int64_t> row_touched;
    std::vector<std::int64_t> going;       // where the items of the hops at hand go; or -1
};

}  // namespace bckm
