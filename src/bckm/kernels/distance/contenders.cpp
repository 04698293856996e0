#include "distance/contenders.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "distance/exact_costs.hpp"

namespace bckm {
namespace {

constexpr float infinite = 3.0e38f;

// a float that is certainly not below the value
float above(double value) { return static_cast<float>(value * (1.0 + 1.3e-7)); }

}  // namespace

Contenders::Contenders(std::int64_t n, std::int64_t clusters)
    : look_(n, -1), count_(n), cluster_(n * most), value_(n * most), rest_(n), error_(n),
      row_width_(clusters), row_look_(clusters > 0 ? n : 0, -1), square_(clusters > 0 ? n : 0) {}

Contenders::Row Contenders::row(std::int64_t j) const {
    return {row_.get() + j * row_width_, looks_[row_look_[j]].row_shift.data(), square_[j]};
}

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
    if (row_width_ > 0 && !row_) row_.reset(new float[size() * row_width_]);
    if (!same_centers(priced) || looks_.size() == most_looks) {
        centers_.assign(priced.centers, priced.centers + numbers);
        looks_.clear();
        std::fill(look_.begin(), look_.end(), std::int16_t{-1});
        std::fill(row_look_.begin(), row_look_.end(), std::int16_t{-1});
        dearest_ = 0.0;
    }
    square_scale_ = packed.scale * packed.scale;
    error_unit_ = packed.error;
    farthest_ = packed.farthest;
    dearest_ = std::max(dearest_, packed.max_price);
    looks_.push_back({std::vector<double>(priced.prices, priced.prices + k), {}, 0.0, {}});
    for (Look& look : looks_) {
        double dearest = priced.max_price;
        for (const double price : look.prices) dearest = std::max(dearest, std::fabs(price));
        look.rounding = 1e-15 * dearest / square_scale_;
        look.shift = shift(look.prices, priced.prices, risen + 1);
        if (row_width_ > 0) look.row_shift.assign(look.shift.of.begin(), look.shift.of.end());
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
    : packed_(packed), values_(packed.width * packed.kernel.samples + 16),
      spare_(packed.width * packed.kernel.samples), unshifted_(packed.width, 0.0f),
      entry_(packed.width), at_(packed.width + 8), flag_(packed.width + 8) {}

float* Selection::values() {
    constexpr std::uintptr_t line = 64;
    const auto address = reinterpret_cast<std::uintptr_t>(values_.data());
    return reinterpret_cast<float*>((address + line - 1) / line * line);
}

void Selection::turn(int filled, std::int64_t k) {
    constexpr std::int64_t strip = 16;  // numbers that are written at once
    const int size = packed_.kernel.samples;
    const float* value = values();
    for (std::int64_t i = 0; i < k; i += strip) {
        const std::int64_t to = std::min(k, i + strip);
        for (int r = 0; r < filled; ++r)
            for (std::int64_t t = i; t < to; ++t) row_[r][t] = value[t * size + r];
    }
}

// A value that about as many others are below as a list holds, or a few more: that of one group of
// clusters in order of the least value of each.
float Selection::limit(const Contenders::Row& row, std::int64_t k) {
    if (k <= Contenders::most) return infinite;
    float least[RowLoops::groups];
    row_loops().group_minima(row.value, row.shift, k, least);
    float* const last = least + Contenders::most;
    std::nth_element(least, last, least + RowLoops::groups);
    return *last;
}

void Selection::make_list(const Contenders::Row& row, const BestTwo& two, std::int64_t k,
                          Contenders& out, std::int64_t j, bool fresh) {
    constexpr int most = Contenders::most;
    Entry* entry = entry_.data();
    const float end = limit(row, k);
    std::int64_t count = row_loops().below(row.value, row.shift, k, end, flag_.data(), at_.data());
    for (std::int64_t q = 0; q < count; ++q)
        entry[q] = {row.value[at_[q]] - row.shift[at_[q]], at_[q]};
    float rest = count == k ? infinite : end;
    if (count < 2 && k > 1) {  // nobody near: the best two
        entry[0] = {two.best, two.label};
        entry[1] = {two.second, two.runner_up};
        count = 2;
        rest = k == 2 ? infinite : two.second;
    }
    const auto less = [](const Entry& a, const Entry& b) { return a.value < b.value; };
    bool numbers = true;
    for (std::int64_t q = 0; q < count; ++q) numbers &= std::fabs(entry[q].value) < infinite;
    out.look_[j] = -1;
    const auto look = static_cast<std::int16_t>(out.looks_.size() - 1);
    if (fresh && out.row_width_ > 0) {
        out.row_look_[j] = row_loops().are_numbers(row.value, k) ? look : std::int16_t{-1};
        out.square_[j] = above(row.square);
    }
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
    const double error = fresh ? packed_.error_bound(row.square, farthest, farthest)
                               : out.row_error(row.square, farthest, farthest);
    if (!(error < infinite)) return;
    out.error_[j] = above(error);
    out.rest_[j] = rest;
    out.count_[j] = static_cast<std::uint8_t>(count);
    out.look_[j] = look;
}

}  // namespace bckm
