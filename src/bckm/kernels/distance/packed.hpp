// Points and centers in the layout of the float32 tile kernel, with a bound on its errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "distance/points.hpp"
#include "distance/tile_kernel.hpp"

namespace bckm {

// The variant for this machine.
const TileKernel& kernel_of_machine();

// Centers around an origin, scaled, in float32.
//
// The value of a point is  w (|c|^2 - 2 x c) - price : the cost less w |x|^2, which is the same for
// all clusters. Without weights |c|^2 - price is the bias; with weights, w becomes one more feature
// whose "center" is |c|^2.
struct Packed {
    Packed(const PricedCenters& priced, bool weighted);

    // By how much the computed difference of two values, `small` and `large`, may exceed the true
    // one; `square` is w |x|^2 as `Tile` gives it.
    //
    // A computed value differs from the true v_i by at most e (2 w|x||c_i| + w|c_i|^2 + |price_i|)
    // with e = (dims + 6) 2^-24 (inputs rounded once, one rounding for each product and sum).
    // Since 2|x||c| <= |x|^2 + |c|^2, |c|^2 <= 2|x|^2 + 2|x - c|^2 and
    // w|x - c_i|^2 = v_i + w|x|^2 + price_i, this is at most
    // e (9 w|x|^2 + 4 |v_i| + 5 max|price|): far centers, whose own error is large, do no harm.
    // Where there are none, and no weights, |c_i| <= max|c| is less.
    double error_bound(double square, double small, double large) const {
        const double near =
            18.0 * square + 10.0 * max_price + 4.0 * std::fabs(small) + 4.0 * std::fabs(large);
        return 1.1 * error * std::min(near, 2.0 * (all_values(square) + max_price)) +
               1e-30;  // the last for underflow
    }
    // 2|x||c| + |c|^2 at most
    double all_values(double square) const {
        return (2.0 * std::sqrt(square) + farthest) * farthest;
    }

    const TileKernel& kernel;
    bool weighted;
    std::int64_t features;
    std::int64_t dims;  // features, and one more with weights
    std::int64_t width;
    std::vector<double> origin;
    double scale;  // points and centers are divided by this power of two: squares stay in range
    std::vector<float> centers, bias;
    double error, max_price;
    double farthest;  // largest |c|; infinite with weights
};

// A tile of points; scratch memory of one worker.
class Tile {
public:
    explicit Tile(const Packed& packed)
        : packed_(packed), values_(packed.dims * packed.kernel.samples + 16),
          rows_(packed.dims * strip), square_(packed.kernel.samples) {}

    // Fills the tile with points which(0) .. which(filled - 1); the last one repeats to the end.
    template <class Which> void fill(const Points& points, int filled, Which which) {
        for (int r = 0; r < std::min(filled, ahead); ++r) prefetch(points.row(which(r)));
        for (int from = 0; from < packed_.kernel.samples; from += strip) {
            for (int r = from; r < from + strip; ++r) {
                if (r + ahead < filled) prefetch(points.row(which(r + ahead)));
                const std::int64_t j = which(std::min(r, filled - 1));
                const double weight = packed_.weighted ? points.weight(j) : 1.0;
                float* row = rows_.data() + (r - from) * packed_.dims;
                square_[r] = weight * normalize(points.row(j), weight, row);
            }
            turn(values() + from);
        }
    }

    float* values() {
        constexpr std::uintptr_t line = 64;
        const auto address = reinterpret_cast<std::uintptr_t>(values_.data());
        return reinterpret_cast<float*>((address + line - 1) / line * line);
    }

    double square(int r) const { return square_[r]; }

private:
    // Rows are often far apart in memory: fetch them before they are needed.
    static constexpr int ahead = 12;
    void prefetch([[maybe_unused]] const double* x) const {
#if defined(__GNUC__)
        for (std::int64_t t = 0; t < std::min<std::int64_t>(packed_.features, 64); t += 8)
            __builtin_prefetch(x + t);
        __builtin_prefetch(x + packed_.features - 1);  // rows need not start at a cache line
#endif
    }

    // Rows into columns of the tile: a few rows stay in the cache, and whole lines are written.
    static constexpr int strip = 8;
    void turn(float* tile) const {
        const std::int64_t dims = packed_.dims, size = packed_.kernel.samples;
        const float* rows = rows_.data();
        for (std::int64_t t = 0; t < dims; ++t)
            for (int r = 0; r < strip; ++r) tile[t * size + r] = rows[r * dims + t];
    }

    // A point in float32; returns |x|^2. Four partial sums do not wait for each other.
    double normalize(const double* x, double weight, float* row) const {
        const double inverse = 1.0 / packed_.scale;
        const double* origin = packed_.origin.data();
        double sum[4] = {};
        std::int64_t t = 0;
        for (; t + 4 <= packed_.features; t += 4)
            for (int q = 0; q < 4; ++q) {
                const double value = (x[t + q] - origin[t + q]) * inverse;
                sum[q] += value * value;
                row[t + q] = static_cast<float>(weight * value);
            }
        for (; t < packed_.features; ++t) {
            const double value = (x[t] - origin[t]) * inverse;
            sum[0] += value * value;
            row[t] = static_cast<float>(weight * value);
        }
        if (packed_.weighted) row[t] = static_cast<float>(weight);
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    const Packed& packed_;
    std::vector<float> values_, rows_;
    std::vector<double> square_;
};

}  // namespace bckm
