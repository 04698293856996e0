// Clusters that may become the best one of a point while prices move and centers stand still.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/packed.hpp"
#include "distance/points.hpp"

namespace bckm {

// A short list for each point: its best clusters at the prices of the look that made it, and a
// bound on all others. Later looks at the same centers read the list instead of all features.
class Contenders {
public:
    static constexpr int most = 16;  // clusters in a list
    static constexpr int risen = 8;  // clusters whose prices rose most, told with a list

    explicit Contenders(std::int64_t n);

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
};

// Makes the lists of the points of a tile; scratch memory of one worker.
class Selection {
public:
    explicit Selection(const Packed& packed);

    // Where the kernel writes the values of all clusters, (width, samples).
    float* values();

    // A new chunk of points begins: how far lists reach follows from its first tile.
    void begin() { reach_ = -1.0f; }

    // Makes the lists of points which(0) .. which(filled - 1).
    template <class Which>
    void make_lists(const Tile& tile, const TileBest& leaders, int filled, std::int64_t k,
                    Contenders& out, Which which) {
        if (reach_ < 0.0f) reach_ = typical_reach(leaders, filled, k);
        collect(leaders, k);
        for (int r = 0; r < filled; ++r) keep(tile, leaders, r, k, out, which(r));
    }

private:
    float typical_reach(const TileBest& leaders, int filled, std::int64_t k);
    void collect(const TileBest& leaders, std::int64_t k);
    void keep(const Tile& tile, const TileBest& leaders, int r, std::int64_t k, Contenders& out,
              std::int64_t j);

    struct Entry {
        float value;
        std::int32_t cluster;
    };

    const Packed& packed_;
    std::vector<float> values_, column_;
    std::vector<Entry> entries_;  // (samples, width + 1)
    float limit_[largest_tile];
    std::int64_t count_[largest_tile];
    float reach_ = -1.0f;
};

}  // namespace bckm
