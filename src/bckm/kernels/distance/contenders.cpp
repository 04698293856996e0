#include "distance/contenders.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bckm {
namespace {

constexpr float infinite = 3.0e38f;

// a float that is certainly not below the value
float above(double value) { return static_cast<float>(value * (1.0 + 1.3e-7)); }

}  // namespace

Contenders::Contenders(std::int64_t n)
    : look_(n, -1), count_(n), cluster_(n * most), value_(n * most), rest_(n), error_(n) {}

bool Contenders::same_centers(const PricedCenters& priced) const {
    return static_cast<std::int64_t>(centers_.size()) == priced.k * priced.dims &&
           std::equal(centers_.begin(), centers_.end(), priced.centers);
}

bool Contenders::are_at(const PricedCenters& priced) const {
    return !looks_.empty() && same_centers(priced) &&
           std::equal(looks_.back().prices.begin(), looks_.back().prices.end(), priced.prices);
}

void Contenders::begin(const PricedCenters& priced, const Packed& packed) {
    const std::int64_t k = priced.k, numbers = k * priced.dims;
    if (!same_centers(priced) || looks_.size() == most_looks) {
        centers_.assign(priced.centers, priced.centers + numbers);
        looks_.clear();
        std::fill(look_.begin(), look_.end(), std::int16_t{-1});
    }
    square_scale_ = packed.scale * packed.scale;
    looks_.push_back({std::vector<double>(priced.prices, priced.prices + k), {}, 0.0});
    for (Look& look : looks_) {
        double dearest = priced.max_price;
        for (const double price : look.prices) dearest = std::max(dearest, std::fabs(price));
        look.rounding = 1e-15 * dearest / square_scale_;
        look.shift = shift(look.prices, priced.prices, risen + 1);
    }
}

Contenders::Shift Contenders::shift(const std::vector<double>& from, const double* to,
                                    std::int64_t risers) const {
    const auto k = static_cast<std::int64_t>(from.size());
    Shift out{std::vector<double>(k), std::vector<std::int32_t>(k)};
    for (std::int64_t i = 0; i < k; ++i) out.of[i] = (to[i] - from[i]) / square_scale_;
    std::iota(out.riser.begin(), out.riser.end(), 0);
    risers = std::min(risers, k);
    std::partial_sort(out.riser.begin(), out.riser.begin() + risers, out.riser.end(),
                      [&out](std::int32_t a, std::int32_t b) {
                          return out.of[a] != out.of[b] ? out.of[a] > out.of[b] : a < b;
                      });
    out.riser.resize(risers);
    return out;
}

std::vector<Contenders::Shift> Contenders::shifts(const double* prices, std::int64_t risers) const {
    std::vector<Shift> all;
    all.reserve(looks_.size());
    for (const Look& look : looks_) all.push_back(shift(look.prices, prices, risers));
    return all;
}

Contenders::List Contenders::of(std::int64_t j) const {
    const Look& look = looks_[look_[j]];
    return {count_[j], cluster_.data() + j * most, value_.data() + j * most,
            rest_[j],  error_[j] + look.rounding,  look.shift};
}

Selection::Selection(const Packed& packed)
    : packed_(packed), values_(packed.width * packed.kernel.samples + 16), column_(packed.width),
      entries_((packed.width + 1) * packed.kernel.samples) {}

float* Selection::values() {
    constexpr std::uintptr_t line = 64;
    const auto address = reinterpret_cast<std::uintptr_t>(values_.data());
    return reinterpret_cast<float*>((address + line - 1) / line * line);
}

// By how much the last of a full list exceeds the best, for a point in the middle of a few.
float Selection::typical_reach(const TileBest& leaders, int filled, std::int64_t k) {
    constexpr int few = 8;
    if (k <= Contenders::most) return infinite;
    float reach[few];
    const int asked = std::min(filled, few);
    for (int r = 0; r < asked; ++r) {
        for (std::int64_t i = 0; i < k; ++i) column_[i] = values()[i * packed_.kernel.samples + r];
        const auto last = column_.begin() + Contenders::most;
        std::nth_element(column_.begin(), last, column_.begin() + k);
        reach[r] = *last - leaders.best[r];
    }
    std::nth_element(reach, reach + asked / 2, reach + asked);
    return reach[asked / 2] >= 0.0f ? reach[asked / 2] : 0.0f;  // also where numbers overflow
}

// Lists the clusters within reach of each point. Cluster by cluster and without branches: values
// are read as they lie in memory.
void Selection::collect(const TileBest& leaders, std::int64_t k) {
    const int size = packed_.kernel.samples;
    const std::int64_t width = packed_.width + 1;
    for (int r = 0; r < size; ++r) {
        limit_[r] = leaders.best[r] + reach_;
        count_[r] = 0;
    }
    const float* value = values();
    for (std::int64_t i = 0; i < k; ++i, value += size)
        for (int r = 0; r < size; ++r) {
            entries_[r * width + count_[r]] = {value[r], static_cast<std::int32_t>(i)};
            count_[r] += !(value[r] >= limit_[r]);  // what is no number is listed, and found below
        }
}

void Selection::keep(const Tile& tile, const TileBest& leaders, int r, std::int64_t k,
                     Contenders& out, std::int64_t j) {
    constexpr int most = Contenders::most;
    Entry* entry = entries_.data() + r * (packed_.width + 1);
    std::int64_t count = count_[r];
    float rest = count == k ? infinite : limit_[r];
    if (count < 2 && k > 1) {  // nobody near: the best two
        entry[0] = {leaders.best[r], leaders.label[r]};
        entry[1] = {leaders.second[r], leaders.runner_up[r]};
        count = 2;
        rest = k == 2 ? infinite : leaders.second[r];
    }
    const auto less = [](const Entry& a, const Entry& b) { return a.value < b.value; };
    bool numbers = true;
    for (std::int64_t q = 0; q < count; ++q) numbers &= std::fabs(entry[q].value) < infinite;
    out.look_[j] = -1;
    if (!numbers) return;
    if (count > most) {
        std::nth_element(entry, entry + most, entry + count, less);
        rest = entry[most].value;
        count = most;
    }
    double farthest = rest < infinite ? std::fabs(rest) : 0.0;
    for (std::int64_t q = 0; q < count; ++q) {
        out.cluster_[j * most + q] = entry[q].cluster;
        out.value_[j * most + q] = entry[q].value;
        farthest = std::max<double>(farthest, std::fabs(entry[q].value));
    }
    const double error = packed_.error_bound(tile.square(r), farthest, farthest);
    if (!(error < infinite)) return;
    out.error_[j] = above(error);
    out.rest_[j] = rest;
    out.count_[j] = static_cast<std::uint8_t>(count);
    out.look_[j] = static_cast<std::int16_t>(out.looks_.size() - 1);
}

}  // namespace bckm
