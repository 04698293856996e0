// Rows counted by their cluster, another one, and what they would cost more there: a model of the
// dual that needs no rows.
//
// At other prices so many rows go from a cluster to another one as cost less more than prices have
// moved. A row that could go to several clusters counts for each of them, so the model promises too
// little of the dual and too many moves, never the other way round: prices that raise the model
// raise the dual. `share` says which part of the rows of a pair have moved, as far as that is seen.
#pragma once

#include <cstdint>
#include <vector>

#include "blocks/climb.hpp"

namespace bckm {

class GapTable {
public:
    static constexpr double accuracy = 1e-2;  // of a Newton step: the next look corrects it

    struct Counts {
        std::int64_t k, m, bins;     // clusters, others of each, bins of what rows cost more
        const std::int32_t* other;   // (k, m)
        const std::uint32_t* count;  // (k, m, bins)
        const double* share;         // (k, m)
        const double* shift;         // (k, m): from where on bins are fine; the first begins at 0
        const double* end;           // (bins,): from there, up to where a bin reaches, increasing
        // (k,): rows that have to move, about; pairs matter as far as more cannot go cheaper by
        // way of other clusters
        const double* many;
    };
    GapTable(const Counts& counts, const double* prices, const double* units, int threads);

    // The model at other prices; `edges` look as far ahead as a part of the wrong samples lie.
    Softened at(const SizeLimits& sizes, const std::vector<double>& price) const;

    // Rows that go from each cluster to each of its others, (k, m).
    std::vector<double> moves(const std::vector<double>& price) const;

    // Up to which cost pairs matter, (k, m).
    const std::vector<double>& limits() const { return limit; }

    const std::int64_t k;

private:
    struct Arc {
        std::int32_t from, to;
        std::int64_t pair;  // in (k, m)
        double shift;
    };
    struct Place {
        double rows, area, density;
    };
    void find_limits(const Counts& counts);
    template <class Work> void each_arc(const Work& work) const;
    Place place(std::size_t arc, double far) const;
    // Rows per unit of price until `more` rows have gone beyond those that have.
    double ahead(std::size_t arc, double far, double rows, double more) const;

    const std::int64_t m, bins;
    const int threads;
    std::vector<double> end, limit;
    std::vector<Arc> arcs;     // those that matter
    std::vector<double> held;  // (arcs, bins): rows up to the end of a bin
    std::vector<double> origin, units;
};

}  // namespace bckm
