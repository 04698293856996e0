// Clusters that may become the best one of a point while prices move and centers stand still.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "distance/packed.hpp"
#include "distance/points.hpp"
#include "distance/row_loops.hpp"

namespace bckm {

// A short list for each point: its best clusters at the prices of the look that made it, and a
// bound on all others. Later looks at the same centers read the list instead of all features. Where
// memory permits, the values of all clusters are kept as well, a *row* for each point, for looks
// and bounds that lists are too short for.
class Contenders {
public:
    static constexpr int most = 16;  // clusters in a list
    static constexpr int risen = 8;  // clusters whose prices rose most, told with a list

    // Rows are kept for so many clusters; none: 0.
    explicit Contenders(std::int64_t n, std::int64_t clusters = 0);

    // A look begins: lists that were made at other centers are void.
    void begin(const PricedCenters& priced, const Packed& packed);

    // How prices differ from those of a look, in the units of `Packed`, and the clusters that
    // have risen most, the first one most of all.
    struct Shift {
        std::vector<double> of;  // (k,)
        std::vector<std::int32_t> riser;
    };

    // The list of a point, in the units of `Packed`. The value of a listed cluster is now `value`
    // less its shift; that of any other is not below `rest` less its shift. Differences of two such
    // numbers exceed the true ones by at most `error`.
    struct List {
        int count;
        const std::int32_t* cluster;
        const float* value;
        double rest, error;
        const Shift& shift;
    };

    // All values of a point, in the units of `Packed`: that of cluster i is now value[i] -
    // shift[i].
    struct Row {
        const float *value, *shift;
        double square;  // as `Tile` gives it
    };
    std::int64_t width_of_rows() const { return row_width_; }  // 0: none are kept
    bool has_row(std::int64_t j) const { return row_width_ > 0 && row_look_[j] >= 0; }
    Row row(std::int64_t j) const;
    // By how much the difference of two values of a row may exceed the true one; as
    // `Packed::error_bound`, with prices that have changed in between.
    double row_error(double square, double small, double large) const {
        const double near =
            18.0 * square + 26.0 * dearest_ + 4.0 * std::fabs(small) + 4.0 * std::fabs(large);
        const double all = (2.0 * std::sqrt(square) + farthest_) * farthest_;
        return 1.1 * error_unit_ * std::min(near, 2.0 * (all + dearest_)) +
               2.5e-7 * (std::fabs(small) + std::fabs(large) + 4.0 * dearest_) + 1e-30;
    }

    std::int64_t size() const { return static_cast<std::int64_t>(look_.size()); }
    std::int64_t clusters() const {
        return looks_.empty() ? 0 : static_cast<std::int64_t>(looks_[0].prices.size());
    }
    // Whether the last look was at these centers and prices.
    bool are_at(const PricedCenters& priced) const;
    std::size_t looks() const { return looks_.size(); }
    bool has(std::int64_t j) const { return look_[j] >= 0; }
    List of(std::int64_t j) const;

    // The look that made the list of a point, and the shifts of all looks at other prices.
    std::size_t look(std::int64_t j) const { return static_cast<std::size_t>(look_[j]); }
    std::vector<Shift> shifts(const double* prices, std::int64_t risers) const;
    double square_scale() const { return square_scale_; }

private:
    friend class Selection;
    static constexpr std::size_t most_looks = 256;

    struct Look {
        std::vector<double> prices;
        Shift shift;  // of the present prices
        double rounding;
        std::vector<float> row_shift;
    };
    bool same_centers(const PricedCenters& priced) const;
    Shift shift(const std::vector<double>& from, const double* to, std::int64_t risers) const;

    std::vector<double> centers_;
    double square_scale_ = 1.0;       // from the units of `Packed` to those of costs
    std::vector<Look> looks_;         // at these centers
    std::vector<std::int16_t> look_;  // that made the list of each point; -1: it has none
    std::vector<std::uint8_t> count_;
    std::vector<std::int32_t> cluster_;  // (n, most)
    std::vector<float> value_, rest_, error_;
    const std::int64_t row_width_;
    std::unique_ptr<float[]> row_;        // (n, row_width_), once a look begins
    std::vector<std::int16_t> row_look_;  // that made the row of each point; -1: it has none
    std::vector<float> square_;
    double error_unit_ = 0.0, farthest_ = 0.0;  // of `Packed`
    double dearest_ = 0.0;                      // price of all looks
};

// Makes the lists of points; scratch memory of one worker.
class Selection {
public:
    explicit Selection(const Packed& packed);

    // Where the kernel writes the values of all clusters, (width, samples).
    float* values();

    // Makes the lists of points which(0) .. which(filled - 1), and their rows where those are kept,
    // from what the kernel wrote.
    template <class Which>
    void make_lists(const Tile& tile, const TileBest& leaders, int filled, std::int64_t k,
                    Contenders& out, Which which) {
        for (int r = 0; r < filled; ++r)
            row_[r] = out.row_width_ > 0 ? out.row_.get() + which(r) * k : spare_row(r);
        turn(filled, k);
        for (int r = 0; r < filled; ++r) {
            const BestTwo two{leaders.best[r], leaders.second[r], leaders.label[r],
                              leaders.runner_up[r]};
            make_list({row_[r], unshifted_.data(), tile.square(r)}, two, k, out, which(r), true);
        }
    }

    // The list of a point from its row; `fresh` if that was made at the present prices.
    void make_list(const Contenders::Row& row, const BestTwo& two, std::int64_t k, Contenders& out,
                   std::int64_t j, bool fresh = false);

private:
    // What the kernel wrote, (width, samples), into rows.
    void turn(int filled, std::int64_t k);
    static float limit(const Contenders::Row& row, std::int64_t k);
    float* spare_row(int r) { return spare_.data() + r * packed_.width; }

    struct Entry {
        float value;
        std::int32_t cluster;
    };

    const Packed& packed_;
    std::vector<float> values_, spare_, unshifted_;
    std::vector<Entry> entry_;         // (width)
    std::vector<std::int32_t> at_;     // (width + 8): scratch of `below`,
    std::vector<unsigned char> flag_;  // the same
    float* row_[largest_tile];
};

}  // namespace bckm
