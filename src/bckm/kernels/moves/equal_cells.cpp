#include "moves/equal_cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace bckm {
namespace {

constexpr double equal = 1.0 - 1e-9;                  // less than this is not by rounding
constexpr double number_work = 2.0, look_work = 8.0;  // of a number, and of a point,
constexpr double sort_work = 4.0;                     // and for each bit of how many are sorted

struct Part {
    std::int64_t begin, end, cells;
    bool small;  // whether these are smaller ones
};

// The feature of largest variance, the first of equal ones.
std::int64_t widest(const Points& points, const std::int64_t* which, std::int64_t count) {
    std::vector<double> mean(points.dims, 0.0), spread(points.dims, 0.0);
    for (std::int64_t p = 0; p < count; ++p) {
        const double* x = points.row(which[p]);
        for (std::int64_t t = 0; t < points.dims; ++t) mean[t] += x[t];
    }
    for (double& one : mean) one /= static_cast<double>(count);
    for (std::int64_t p = 0; p < count; ++p) {
        const double* x = points.row(which[p]);
        for (std::int64_t t = 0; t < points.dims; ++t)
            spread[t] += (x[t] - mean[t]) * (x[t] - mean[t]);
    }
    const double most = equal * *std::max_element(spread.begin(), spread.end());
    return std::find_if(spread.begin(), spread.end(), [=](double one) { return one >= most; }) -
           spread.begin();
}

// Whole numbers in the order of float32 values.
std::uint32_t ordered(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

// Places in the order of values, earlier places first where these are equal.
class Sorter {
public:
    const std::vector<std::uint32_t>& sort(const std::vector<double>& value) {
        const std::size_t count = value.size();
        key_.resize(count);
        place_.resize(count);
        for (std::size_t p = 0; p < count; ++p)
            key_[p] = std::uint64_t{ordered(static_cast<float>(value[p]))} << 32U | p;
        std::sort(key_.begin(), key_.end());
        for (std::size_t p = 0; p < count; ++p) {  // those that differ by less than that are near
            const auto one = static_cast<std::uint32_t>(key_[p]);
            std::size_t at = p;
            for (; at > 0 && value[one] < value[place_[at - 1]]; --at) place_[at] = place_[at - 1];
            place_[at] = one;
        }
        return place_;
    }

private:
    std::vector<std::uint64_t> key_;
    std::vector<std::uint32_t> place_;
};

// How many cells come before the cut of values in this order.
std::int64_t best_cut(const std::vector<double>& value, const std::vector<std::uint32_t>& place,
                      std::int64_t cells) {
    const auto count = static_cast<std::int64_t>(value.size());
    const double mean =
        std::accumulate(value.begin(), value.end(), 0.0) / static_cast<double>(count);
    std::vector<double> gain(cells, -1.0);
    double below = 0.0, most = 0.0;  // sum of the first values, from their mean
    for (std::int64_t j = 1, p = 0; j < cells; ++j) {
        const std::int64_t end = j * count / cells;
        for (; p < end; ++p) below += value[place[p]] - mean;
        gain[j] = below * below *
                  (1.0 / static_cast<double>(end) + 1.0 / static_cast<double>(count - end));
        most = std::max(most, gain[j]);
    }
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < cells; ++j) {
        const bool good = gain[j] >= equal * most;
        if (good && (best == 0 || std::abs(2 * j - cells) < std::abs(2 * best - cells))) best = j;
    }
    return best;
}

}  // namespace

EqualCells equal_cells(const Points& points, std::int64_t number, std::int64_t each) {
    EqualCells out;
    out.order.resize(points.n);
    std::iota(out.order.begin(), out.order.end(), 0);
    std::vector<Part> waiting{{0, points.n, number, false}};
    std::vector<double> value;
    Sorter sorter;
    while (!waiting.empty()) {
        const auto [begin, end, cells, small] = waiting.back();
        waiting.pop_back();
        if (cells == 1) {
            (small ? out.small : out.first).push_back(begin);
            if (!small) waiting.push_back({begin, end, each, true});
            continue;
        }
        const std::int64_t count = end - begin;
        const std::int64_t feature = widest(points, out.order.data() + begin, count);
        const std::vector<std::int64_t> part(out.order.begin() + begin, out.order.begin() + end);
        value.resize(count);
        for (std::int64_t p = 0; p < count; ++p) value[p] = points.row(part[p])[feature];
        const std::vector<std::uint32_t>& place = sorter.sort(value);
        for (std::int64_t p = 0; p < count; ++p) out.order[begin + p] = part[place[p]];
        const std::int64_t before = best_cut(value, place, cells);
        const std::int64_t middle = begin + before * count / cells;
        waiting.push_back({middle, end, cells - before, small});
        waiting.push_back({begin, middle, before, small});
        out.work += static_cast<double>(count) *
                    (look_work + number_work * static_cast<double>(points.dims) +
                     sort_work * std::log2(static_cast<double>(count)));
    }
    return out;
}

}  // namespace bckm
