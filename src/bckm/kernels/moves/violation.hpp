// How far labels are beyond hard rules, at a weight for each bound; kept up to date hop by hop.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/compensated.hpp"
#include "moves/rules.hpp"

namespace bckm {

// Weights of what is below or above a bound, per unit: of sums (k, r + 1), where the last sum is
// the number of samples; of rows (q,); and of a conflict between two items of one cluster.
struct Weights {
    std::vector<double> below, above, row_below, row_above;
    double conflict = 1.0;
};

class Violation {
public:
    using Labels = std::vector<std::int32_t>;

    Violation(const Rules& rules, const Labels& label, const Weights& weights);

    // The weighted violation of the sums of cluster i, now and after items come and go (or -1).
    double of(std::int64_t i) const { return now_[i]; }
    double after(std::int64_t i, std::int64_t comes, std::int64_t goes) const {
        double total = 0.0;
        const double *in = comes < 0 ? nothing_.data() : amount(comes),
                     *out = goes < 0 ? nothing_.data() : amount(goes);
        for (std::int64_t q = 0; q < sums; ++q)
            total += beyond(i * sums + q, value_[i * sums + q] + in[q] - out[q]);
        return total;
    }

    // By how much a move changes the weighted violation of rows and conflicts.
    double rows_change(const Hop* hops, std::int64_t number);
    double conflicts_change(const Hop* hops, std::int64_t number);

    void apply(std::int64_t j, std::int64_t to);

    // Bounds that are violated weigh more; false if none is.
    bool raise(double factor);
    void set_weights(const Weights& weights);

    // With no tolerance a violation weighs infinitely much: for labels that obey already.
    void set_strict(bool strict) { strict_ = strict; }

    // Whether all bounds hold, with a margin for rounding, and no conflict is left.
    bool none() const;

    double rows() const;  // the weighted violation of all rows

    // The most that room left in cluster i, or in rows, is worth at prices, (k, r + 1) and (q,).
    double room(std::int64_t i, const double* price) const;
    double row_room(const double* price) const;

    // How many items in conflict with j are in cluster i, and the first of them.
    std::int64_t blockers(std::int64_t j, std::int64_t i, std::int64_t& first) const;

    const Rules& rules;
    const std::int64_t m, k, sums;
    Labels label;
    std::vector<std::int64_t> broken;  // items that were in conflict with one of their cluster

private:
    const double* amount(std::int64_t j) const { return amount_.data() + j * sums; }
    double weighed(double below, double above, double short_by, double over_by) const;
    double beyond(std::int64_t at, double value) const {
        const double short_by = lower_[at] - value, over_by = value - upper_[at];
        if (short_by <= 0.0 && over_by <= 0.0) return 0.0;
        return weighed(weights_.below[at], weights_.above[at], short_by, over_by);
    }
    double row_beyond(std::int64_t r, double value) const;
    void refresh(std::int64_t i);

    Weights weights_;
    bool strict_ = false;
    std::vector<double> amount_, nothing_;       // (m, sums)
    std::vector<double> lower_, upper_, value_;  // (k, sums)
    std::vector<Compensated> total_;             // (k, sums)
    std::vector<double> row_lower_, row_upper_;
    std::vector<Compensated> activity_, row_after_;
    std::vector<double> now_;  // (k,)
    std::vector<std::int64_t> going_, row_touched_;
};

}  // namespace bckm
