// Which items may go from one cluster to another at the least loss.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace bckm {

// An item that might go from one cluster to another: what it loses at the prices, and in cost. If
// an item there is in conflict with it (or -1), that must go too; its loss is part of the price.
struct Loss {
    double priced, cost;
    std::int32_t item, blocker;

    bool operator<(const Loss& other) const {
        return priced < other.priced || (priced == other.priced && item < other.item);
    }
};

// The losses of least price from each cluster to each other one.
class Losses {
public:
    static constexpr std::int64_t most_entries = 1 << 19;  // of all lists, about
    static constexpr std::int64_t longest = 32;            // list

    explicit Losses(std::int64_t k)
        : k(k), length(std::clamp<std::int64_t>(most_entries / (k * k), 2, longest)),
          number(k * k, 0), list(k * k * length) {}

    const Loss* begin(std::int64_t a, std::int64_t b) const {
        return list.data() + (a * k + b) * length;
    }
    const Loss* end(std::int64_t a, std::int64_t b) const {
        return begin(a, b) + number[a * k + b];
    }
    double best(std::int64_t a, std::int64_t b) const {
        return number[a * k + b] ? begin(a, b)->priced : std::numeric_limits<double>::infinity();
    }

    void clear() { std::fill(number.begin(), number.end(), 0); }

    void add(std::int64_t a, std::int64_t b, const Loss& loss) {
        Loss* first = list.data() + (a * k + b) * length;
        std::int32_t& held = number[a * k + b];
        if (held == length && !(loss < first[held - 1])) return;
        if (held < length) ++held;
        Loss* at = first + held - 1;
        for (; at != first && loss < at[-1]; --at) *at = at[-1];
        *at = loss;
    }

    void remove(std::int64_t a, std::int64_t b, std::int64_t item) {
        Loss *first = list.data() + (a * k + b) * length, *last = first + number[a * k + b];
        Loss* at = std::find_if(first, last, [&](const Loss& o) { return o.item == item; });
        if (at == last) return;
        std::copy(at + 1, last, at);
        --number[a * k + b];
    }

    const std::int64_t k, length;

private:
    std::vector<std::int32_t> number;
    std::vector<Loss> list;
};

}  // namespace bckm
