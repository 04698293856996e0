// What labels cost beyond the distances: ties between items, leanings to clusters, soft sums.
#pragma once

#include <cstdint>
#include <vector>

#include "sums.hpp"

namespace bckm {

class Penalty {
public:
    using Labels = Sums::Labels;

    Penalty(const Soft& soft, std::int64_t m, std::int64_t k);

    // Sums anew; what labels cost in all.
    double refresh(const Labels& label);

    // By how much a move changes the penalties, given all clusters that it touches.
    double change(const Hop* hops, std::int64_t number, const Labels& label,
                  const std::vector<std::int64_t>& clusters);

    // Follows a move; labels are those before it.
    void apply(const Hop* hops, std::int64_t number, const Labels& label) {
        sums.apply(hops, number, label);
    }

    // What j costs in each cluster for itself, (k,), up to a constant: its leanings, and its ties to
    // all others where they are.
    void alone(std::int64_t j, const Labels& label, double* out) const;

    // By how much the soft sums of i cost more when j comes (sign 1) or goes (-1),
    double one(std::int64_t i, std::int64_t j, int sign) const;
    // or after a move.
    double of_sums(std::int64_t i, const Hop* hops, std::int64_t number, const Labels& label) const;

    // Least and largest amounts of the items of each cluster, (k, r).
    struct Ranges {
        std::vector<double> least, most;
    };
    Ranges ranges(const Labels& label) const;

    // By how much the sums of i can cost less at most when an item comes and another one goes, whose
    // amounts lie in these ranges, (r,); null: none comes, or goes.
    double relief(std::int64_t i, const double* in_least, const double* in_most,
                  const double* out_least, const double* out_most) const;

    std::int64_t ties(std::int64_t j) const {
        return soft.tie_start ? soft.tie_start[j + 1] - soft.tie_start[j] : 0;
    }

    // Whether anything is asked of j in particular, or of sums: else it costs the same everywhere.
    bool concerns(std::int64_t j) const {
        return ties(j) > 0 || sums.r > 0 ||
               (soft.lean_start && soft.lean_start[j + 1] > soft.lean_start[j]);
    }

    const Soft soft;
    const bool asks;
    const std::int64_t k;

private:
    // What sum q of cluster i costs.
    double beyond(std::int64_t i, std::int64_t q, double sum) const {
        const std::int64_t at = i * sums.r + q;
        const double below = sums.loads.lower[at] - sum, above = sum - sums.loads.upper[at];
        // where there is no bound, the difference is infinite
        return (below > 0.0 ? soft.low[at] * below : 0.0) + (above > 0.0 ? soft.up[at] * above : 0.0);
    }
    double lean(std::int64_t j, std::int64_t i) const;
    double of_ties(const Hop* hops, std::int64_t number, const Labels& label);

    Sums sums;
    std::vector<std::int64_t> going;  // where the items of the hops at hand go; or -1
};

}  // namespace bckm
