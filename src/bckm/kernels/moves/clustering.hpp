// Labels of items with everything that follows from them, kept up to date move by move.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/points.hpp"
#include "moves/loads.hpp"
#include "moves/penalty.hpp"
#include "moves/rules.hpp"

namespace bckm {

// The objective is the sum of mass_j |x_j - c_label(j)|^2 and all penalties. Either centers are the
// means of the clusters and follow each move, or they are fixed, as in an assignment.
class Clustering {
public:
    Clustering(const Points& points, const Rules& rules, const Soft& soft,
               const std::int32_t* label, const double* centers, bool fixed, int threads);

    // Recomputes means, loads and activities, without the rounding that builds up move by move.
    void refresh();

    // Whether all rules hold after a move, given that they hold before it.
    bool admits(const Hop* hops, std::int64_t number);

    // By how much a move changes the objective.
    double change(const Hop* hops, std::int64_t number);

    void apply(const Hop* hops, std::int64_t number);

    // How many items in cluster b are in conflict with j, and the first of them.
    std::int64_t blockers(std::int64_t j, std::int64_t b, std::int64_t& first) const;

    double distance(std::int64_t j, std::int64_t i) const;  // |x_j - c_i|^2
    double apart(std::int64_t j, std::int64_t l) const;     // |x_j - x_l|^2
    double mass(std::int64_t j) const { return points.weight(j); }
    std::int64_t degree(std::int64_t j) const {
        return rules.conflict_start ? rules.conflict_start[j + 1] - rules.conflict_start[j] : 0;
    }
    // Whether sizes permit that many samples to go from a to b.
    bool fits(std::int64_t a, std::int64_t b, std::int64_t samples) const {
        return size[a] - samples >= rules.lower[a] && size[b] + samples <= rules.upper[b];
    }
    // What j adds to the squared distances by joining b, and removes from them by leaving its own
    // cluster, given its squared distance there.
    double joins(std::int64_t j, std::int64_t b, double square) const {
        const double w = mass(j), there = weight[b];
        return fixed ? w * square : there > 0.0 ? w * square * (there / (there + w)) : 0.0;
    }
    double leaves(std::int64_t j, double square) const {
        const std::int64_t a = label[j];
        const double w = mass(j), rest = weight[a] - w;
        if (fixed) return w * square;
        return w > 0.0 && with_mass[a] > 1 && rest > 0.0 ? w * square * (weight[a] / rest)
                                                         : w * square;
    }

    const Points& points;
    const Rules& rules;
    const std::int64_t m, k, dims;
    const bool fixed;
    const int threads;
    std::vector<std::int32_t> label;
    std::vector<double> centers;             // (k, dims)
    std::vector<double> weight;              // mass of each cluster
    std::vector<std::int64_t> with_mass;     // items with positive mass in each cluster
    std::vector<std::int64_t> without_mass;  // items without mass in each cluster
    std::vector<std::int64_t> size;          // samples in each cluster
    double cost = 0.0;                       // the objective when `refresh` was called last
    Penalty penalty;

private:
    void touch(const Hop* hops, std::int64_t number);
    bool apart_after(const Hop* hops, std::int64_t number);
    bool rows_hold(const Hop* hops, std::int64_t number);

    ClusterLoads loads;
    std::vector<Compensated> activity;   // value of each row
    std::vector<std::int64_t> touched;   // clusters of the current move
    std::vector<double> shift;           // sum of mass (x - center) of what comes minus what goes
    std::vector<Compensated> row_after;  // of the rows that the current move touches
    std::vector<std::int64_t> row_touched;
    std::vector<std::int64_t> going;  // where the items of the current move go; or -1
};

}  // namespace bckm
