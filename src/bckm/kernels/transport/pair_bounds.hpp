// Lower bounds on the cost of moving a point from one cluster to another.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/contenders.hpp"
#include "distance/packed.hpp"
#include "distance/points.hpp"

namespace bckm {

class PairBounds {
public:
    PairBounds(const Points& points, const PricedCenters& priced, const Contenders* contenders)
        : points_(points), priced_(priced), packed_(priced, points.cost_weight != nullptr),
          contenders_(contenders && contenders->are_at(priced) ? contenders : nullptr),
          rows_(contenders_ && contenders_->width_of_rows() > 0 ? contenders_ : nullptr),
          keeps_(!contenders_ && points.n * packed_.dims <= most_kept),
          kept_(keeps_ ? priced.k : 0) {}

    // Lowers bounds[b] to at most the cost in b minus the cost in a of every listed point, all of
    // which are in cluster a; `bounds` has room for all clusters. From the contenders of a point
    // or from its values where it has any, else by one float32 pass. Different clusters may be
    // lowered at once.
    void lower(std::int64_t a, const std::vector<std::int64_t>& listed, double* bounds);

    // The same by a pass, whether points have contenders or not.
    void lower_by_pass(std::int64_t a, const std::vector<std::int64_t>& listed, double* bounds);
    // Whether the bounds of `lower` are weak, for being those of lists.
    bool are_weak() const { return contenders_ != nullptr && !rows_; }

    // Whether the values of a point are known: then, what moving it from cluster a to each cluster,
    // or to b alone, costs at least.
    bool knows(std::int64_t j) const { return rows_ && rows_->has_row(j); }
    void moves(std::int64_t j, std::int64_t a, double* bounds) const;
    double move(std::int64_t j, std::int64_t a, std::int64_t b) const;

    // Whether `near` knows all points that were listed.
    bool keeps() const { return keeps_; }
    // Those of the points that were listed for a whose move to b may cost less than `most`, and a
    // few more.
    std::vector<std::int64_t> near(std::int64_t a, std::int64_t b, double most) const;

private:
    // Takes points that have contenders; returns the others.
    std::vector<std::int64_t> lower_from_lists(std::int64_t a,
                                               const std::vector<std::int64_t>& listed,
                                               double* bounds) const;
    // Takes points whose values are known; returns the others.
    std::vector<std::int64_t> lower_from_rows(std::int64_t a,
                                              const std::vector<std::int64_t>& listed,
                                              double* bounds) const;
    // From a difference of values and a bound on its error.
    double cost_of_gap(std::int64_t a, std::int64_t b, double gap, double error) const;
    void keep(std::int64_t a, const std::int64_t* listed, int filled, Tile& tile, double square);
    // What a move costs at least, where values differ by `gap`; `square` is that of `Packed`, and
    // `own` the largest value in cluster a.
    double cost_of(std::int64_t a, std::int64_t b, double gap, double square, double own) const;
    std::size_t lines_of_tile() const { return (packed_.dims * packed_.kernel.samples + 15) / 16; }

    static constexpr std::int64_t most_kept = 1 << 26;  // numbers of tiles that are kept

    // Tiles of the points of one cluster, as the pass read them.
    struct Kept {
        struct alignas(64) Line {
            float number[16];
        };
        std::vector<Line> tiles;
        std::vector<std::int64_t> points;  // of all tiles; the last of a pass may not be full
        struct Part {
            std::int64_t first;
            int filled;
            double square;  // largest
        };
        std::vector<Part> parts;
    };

    const Points& points_;
    const PricedCenters& priced_;
    const Packed packed_;
    const Contenders* const contenders_;  // of the same centers and prices, or null
    const Contenders* const rows_;        // the same if they keep rows, or null
    const bool keeps_;
    std::vector<Kept> kept_;  // (k,)
};

}  // namespace bckm
