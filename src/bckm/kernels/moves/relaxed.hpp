// Labels that may violate hard rules, with everything that follows from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "distance/compensated.hpp"
#include "distance/points.hpp"
#include "moves/penalty.hpp"
#include "moves/rules.hpp"

namespace bckm {

// Some of the numbers 0 to n - 1: quick to change, and to draw from.
class IndexSet {
public:
    explicit IndexSet(std::int64_t n) : place(n, -1) {}

    void set(std::int64_t i, bool in) {
        if (in == (place[i] >= 0)) return;
        if (in) {
            place[i] = static_cast<std::int32_t>(all.size());
            all.push_back(static_cast<std::int32_t>(i));
        } else {
            all[place[i]] = all.back();
            place[all.back()] = place[i];
            place[i] = -1;
            all.pop_back();
        }
    }
    void clear() {
        for (const std::int32_t i : all) place[i] = -1;
        all.clear();
    }

    std::vector<std::int32_t> all;

private:
    std::vector<std::int32_t> place;
};

// What a move does to one cluster: an item comes, another one goes; -1: none does.
struct Exchange {
    std::int64_t cluster, in, out;
};

// At most three hops, of which each cluster loses at most one item and gets at most one.
struct Relay {
    Hop hops[3];
    Exchange exchanges[3];
    int n_hops = 0, n_exchanges = 0;

    static Relay relocation(std::int64_t j, std::int64_t a, std::int64_t b) {
        return {{{j, b}}, {{a, -1, j}, {b, j, -1}}, 1, 2};
    }
    static Relay swap(std::int64_t j, std::int64_t a, std::int64_t l, std::int64_t b) {
        return {{{j, b}, {l, a}}, {{a, l, j}, {b, j, l}}, 2, 2};
    }
    // j goes from a to b, and l from there to d
    static Relay path(std::int64_t j, std::int64_t a, std::int64_t l, std::int64_t b,
                      std::int64_t d) {
        return {{{j, b}, {l, d}}, {{a, -1, j}, {b, j, l}, {d, l, -1}}, 2, 3};
    }
};

// The objective is that of Clustering: squared distances to means that follow each move, or to
// fixed centers, and the penalties of soft rules. Violated hard rules are fined in proportion:
// there is one rate for the sizes, one for each load, one for conflicts and one for rows. Besides,
// each sum of each cluster has a price per unit held, as in a dual, so that fines need not be high.
// If it is mixed, the objective is instead the sum of squares between clusters: what the mean of
// each cluster is away from 0, where the mean of all points must be, squared, times its mass.
class RelaxedClustering {
public:
    RelaxedClustering(const Points& points, const Rules& rules, const Soft& soft,
                      const std::int32_t* label, const double* centers, bool fixed,
                      bool mixed = false);

    // Computes everything anew from the labels; returns the objective.
    double refresh();

    // By how much a move changes the objective without penalties, and those.
    double distance_change(const Relay& move) const;
    double penalty_change(const Relay& move);

    // By how much a move changes prices and fines: of sums alone, of everything, and the least that
    // this can be.
    double sums_change(const Relay& move) const;
    double swap_sums_change(std::int64_t j, std::int64_t a, std::int64_t l, std::int64_t b) const;
    double charge_change(const Relay& move);
    double least_charge_change(const Relay& move) const;

    void apply(const Relay& move);

    // The sum of squares between clusters, where it is mixed: without the rounding of changes.
    double between_sum() const {
        double total = 0.0;
        for (const double each : square) total += each;
        return total;
    }

    const double* total_of(std::int64_t i) const { return total.data() + i * dims; }
    double weight_of(std::int64_t i) const { return weight[i]; }

    // Whether items cost the same in all clusters: fixed centers in one place, and no penalties.
    bool indifferent() const;

    // Whether all rules hold, as Clustering says it.
    bool feasible() const { return broken_sums == 0 && clashes == 0 && broken_rows == 0; }

    // The kinds of hard rules: 0 are the sizes, then each load, conflicts and rows.
    std::int64_t kinds() const { return sums + 2; }
    bool holds(std::int64_t kind) const {
        if (kind < sums) return broken_of[kind] == 0;
        return kind == sums ? clashes == 0 : broken_rows == 0;
    }
    bool asked(std::int64_t kind) const;
    // The share of clusters (items, rows) that violate a kind of rule.
    double broken_share(std::int64_t kind) const {
        if (kind < sums) return static_cast<double>(broken_of[kind]) / static_cast<double>(k);
        if (kind == sums) return static_cast<double>(clashing.all.size()) / static_cast<double>(m);
        return static_cast<double>(broken_rows) / static_cast<double>(rules.rows);
    }
    // Sets the fine of a kind, for a violation as large as what a mean item adds.
    void set_fine(std::int64_t kind, double value);
    void update_fines();  // after all were set

    // Fines sums from a margin on that stays within their bounds: this share of the room that they
    // leave on average, or of a mean item.
    void set_margin(double share);

    // Lets the prices of all sums follow their violations: up by `step` where a mean item is too
    // much, down where there is room.
    void adjust_prices(double step);

    double mass(std::int64_t j) const { return points.weight(j); }
    double distance(std::int64_t j, std::int64_t i) const {
        return squared_distance(points.row(j), centers.data() + i * dims, dims);
    }
    double between(std::int64_t a, std::int64_t b) const {  // |c_a - c_b|^2
        return squared_distance(centers.data() + a * dims, centers.data() + b * dims, dims);
    }
    // What j pays more in b than in a: |x - c|^2 times its mass; and at the prices of sums.
    double gain(std::int64_t j, std::int64_t a, std::int64_t b) const {
        const double *x = points.row(j), *p = centers.data() + a * dims,
                     *q = centers.data() + b * dims;
        double total = 0.0;
        for (std::int64_t t = 0; t < dims; ++t) total += (p[t] - q[t]) * (2 * x[t] - p[t] - q[t]);
        return mass(j) * total;
    }
    double price_change(std::int64_t j, std::int64_t a, std::int64_t b) const {
        double total = 0.0;
        for (std::int64_t q = 0; q < sums; ++q)
            total += amount[j * sums + q] * (sum[b * sums + q].price - sum[a * sums + q].price);
        return total;
    }
    std::int64_t degree(std::int64_t j) const {
        return rules.conflict_start ? rules.conflict_start[j + 1] - rules.conflict_start[j] : 0;
    }
    // How many items in cluster b are in conflict with j, and the first of them.
    std::int64_t blockers(std::int64_t j, std::int64_t b, std::int64_t& first) const;

    const Points& points;
    const Rules& rules;
    const std::int64_t m, k, dims;
    const bool fixed, mixed;
    std::vector<std::int32_t> label;
    std::vector<double> centers;                     // (k, dims)
    std::vector<std::vector<std::int32_t>> members;  // items of each cluster
    IndexSet broken_clusters;                        // whose sums are beyond their bounds
    IndexSet clashing;                               // items together with one in conflict
    Penalty penalty;

private:
    // The sum of a cluster, with the bounds beyond which it is fined.
    struct Sum {
        double held, lower, upper;
        double price;                        // of each unit held
        double beyond(double value) const {  // without branches
            return std::max(std::max(lower - value, value - upper), 0.0);
        }
    };

    double distance_change(const Exchange& exchange) const;
    double between_change(const Exchange& exchange) const;
    double charge(const Exchange& exchange) const;
    double prices_change(const Exchange& exchange) const;
    const double* amounts(std::int64_t j) const {
        return j < 0 ? zero.data() : amount.data() + j * sums;
    }
    std::int64_t clash_change(const Relay& move) const;
    double row_change(const Relay& move);
    double beyond_row(std::int64_t r, double value) const;
    double room_of(std::int64_t q) const;
    void recenter(std::int64_t i);
    void sum_up(std::int64_t i);
    void update_total(const Exchange& exchange);
    void note_sum(std::int64_t i, std::int64_t q);
    void update_center(const Exchange& exchange);
    void update_clashes(const Hop& hop);
    void update_rows(std::int64_t j, std::int64_t i, int sign);
    void note_row(std::int64_t r);
    void take(std::int64_t j, std::int64_t b);

    const std::int64_t sums;              // sizes and loads
    std::vector<double> amount;           // of each item, (m, sums)
    std::vector<double> zero;             // amounts of no item, (sums,)
    std::vector<Sum> sum;                 // (k, sums)
    std::vector<double> lower, upper;     // bounds of the sums, (k, sums)
    std::vector<double> room;             // by how much those of each sum can be tightened
    std::vector<Compensated> exact;       // the same sums, (k, sums)
    std::vector<char> broken;             // (k, sums)
    std::vector<std::int32_t> broken_in;  // sums of each cluster that are beyond their bounds
    std::vector<std::int64_t> broken_of;  // clusters of each sum
    std::int64_t broken_sums = 0, broken_rows = 0, clashes = 0;
    std::vector<char> broken_row;
    std::vector<double> weight;           // mass of each cluster
    std::vector<double> total;            // if it is mixed: sum of its points, (k, dims),
    std::vector<double> square;           // and what these add to the objective, (k,)
    std::vector<double> zeros;            // a point of no item, (dims,)
    std::vector<std::int64_t> with_mass;  // items with positive mass in each cluster
    std::vector<std::int32_t> position;   // of each item among its members
    std::vector<std::int32_t> clash;      // items in conflict with each that are where it is
    std::vector<Compensated> activity;    // value of each row
    std::vector<double> fined;            // fines of the sums of each cluster
    std::vector<double> unit;             // what a mean item adds to each kind of rule
    std::vector<double> row_unit;         // and to each row
    std::vector<double> fine;             // of each kind, per unit of its amounts
    std::vector<double> row_after;
    std::vector<std::int64_t> row_touched, touched;
};

}  // namespace bckm
