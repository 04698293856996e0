// Penalties of labels for violated soft rules: links, labels and loads.
#pragma once

#include <cstdint>
#include <vector>

#include "moves/loads.hpp"

namespace bckm {

class Penalty {
public:
    using Labels = ClusterLoads::Labels;

    Penalty(const Soft& soft, std::int64_t m, std::int64_t k);

    // Sums all loads up again; returns the penalties of the labels.
    double refresh(const Labels& label);

    // By how much a move changes the penalties, given all clusters that it touches.
    double change(const Hop* hops, std::int64_t number, const Labels& label,
                  const std::vector<std::int64_t>& clusters);

    // Follows a move; labels are those before it.
    void apply(const Hop* hops, std::int64_t number, const Labels& label) {
        loads.apply(hops, number, label);
    }

    // Penalties of j in each cluster, (k,), up to a constant: for its label and for its links to
    // the others where they are.
    void of_item(std::int64_t j, const Labels& label, double* out) const;

    // By how much the penalties for the loads of i grow when j comes (sign 1) or goes (-1),
    double load_change(std::int64_t i, std::int64_t j, int sign) const;
    // or after a move.
    double load_change(std::int64_t i, const Hop* hops, std::int64_t number,
                       const Labels& label) const;

    // Least and largest amounts of the items of each cluster, (k, r).
    struct Ranges {
        std::vector<double> least, most;
    };
    Ranges ranges(const Labels& label) const;

    // The most that the penalties for the loads of i can shrink when one item comes and another
    // goes, with amounts in these ranges, (r,); null: none comes, or goes.
    double relief(std::int64_t i, const double* in_least, const double* in_most,
                  const double* out_least, const double* out_most) const;

    std::int64_t links(std::int64_t j) const {
        return soft.link_start ? soft.link_start[j + 1] - soft.link_start[j] : 0;
    }

    // Whether any soft rule concerns j: if not, its penalty is the same in every cluster.
    bool affects(std::int64_t j) const {
        return links(j) > 0 || loads.r > 0 ||
               (soft.label_start && soft.label_start[j + 1] > soft.label_start[j]);
    }

    const Soft soft;
    const bool active;
    const std::int64_t k;

private:
    // The penalty for load q of cluster i.
    double load_penalty(std::int64_t i, std::int64_t q, double load) const {
        const std::int64_t at = i * loads.r + q;
        const double short_by = loads.lower(i, q) - load, over_by = load - loads.upper(i, q);
        // where there is no bound, the difference is infinite
        return (short_by > 0.0 ? soft.below[at] * short_by : 0.0) +
               (over_by > 0.0 ? soft.above[at] * over_by : 0.0);
    }
    double label_penalty(std::int64_t j, std::int64_t i) const;
    double link_change(const Hop* hops, std::int64_t number, const Labels& label);

    ClusterLoads loads;
    std::vector<std::int64_t> going;  // where the items of the current move go; or -1
};

}  // namespace bckm
