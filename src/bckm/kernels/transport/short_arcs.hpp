// The arcs that a search for shortest paths looks at: those with a small reduced cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace bckm {

// Most pairs of clusters are far apart, and paths are short. So each cluster lists the arcs whose
// reduced cost, cost_ab + price_a - price_b, was at most some length; all others were longer. While
// prices rise, reduced costs fall by no more than the prices do, which `surely` accounts for.
class ShortArcs {
public:
    explicit ShortArcs(std::int64_t k) : k_(k), of_(k), is_listed_(k * k, 0) {}

    // Arcs from u that are not listed are longer than this; negative if none were ever listed.
    double surely(std::int64_t u, const std::vector<double>& price) const {
        const Cluster& one = of_[u];
        return one.longest + (price[u] - one.price) - (risen_ - one.risen);
    }

    const std::vector<std::int32_t>& from(std::int64_t u) const { return of_[u].to; }

    // Lists the arcs from u up to a length, or up to that of some neighbors if this is longer.
    template <class Arcs>
    void list(std::int64_t u, const Arcs& arcs, const std::vector<double>& price, double length) {
        if (!(first_ >= 0.0)) first_ = some_length(arcs, price);
        Cluster& one = of_[u];
        one.longest = length > first_ ? length : first_;
        if (!(one.longest > 0.0)) one.longest = infinity;
        one.price = price[u];
        one.risen = risen_;
        one.to.clear();
        char* flag = is_listed_.data() + u * k_;
        const double* arc = arcs.from(u);
        const double here = price[u], longest = one.longest;
        for (std::int64_t b = 0; b < k_; ++b) {
            flag[b] = (arc[b] + here - price[b] <= longest) & (arc[b] < infinity);
            if (flag[b]) one.to.push_back(static_cast<std::int32_t>(b));
        }
    }

    // An arc has become cheaper.
    template <class Pair> void add(const Pair& pair) {
        char& flag = is_listed_[pair.from * k_ + pair.to];
        if (!flag) of_[pair.from].to.push_back(pair.to);
        flag = 1;
    }

    // No price has risen by more than this.
    void prices_rose(double most) { risen_ += most; }

    // Arcs have become dearer: those that are listed are too many.
    void forget() {
        first_ = -1.0;
        for (Cluster& one : of_) one.longest = -infinity;
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    // Such that clusters have some neighbors on average, from a part of the arcs.
    template <class Arcs>
    double some_length(const Arcs& arcs, const std::vector<double>& price) const {
        constexpr std::int64_t neighbors = 8, most = 20000;
        std::vector<double> some;
        const std::int64_t skip = std::max<std::int64_t>(1, k_ * k_ / most) | 1;
        for (std::int64_t pair = 0; pair < k_ * k_; pair += skip) {
            const std::int64_t a = pair / k_, b = pair % k_;
            if (a != b) some.push_back(arcs.cost_of(a, b) + price[a] - price[b]);
        }
        const std::int64_t rank = static_cast<std::int64_t>(some.size()) * neighbors / k_;
        if (rank >= static_cast<std::int64_t>(some.size())) return infinity;
        std::nth_element(some.begin(), some.begin() + rank, some.end());
        return std::max(0.0, some[rank]);
    }

    struct Cluster {
        std::vector<std::int32_t> to;
        double longest = -infinity;
        double price = 0.0, risen = 0.0;  // when it was listed
    };

    const std::int64_t k_;
    std::vector<Cluster> of_;
    std::vector<char> is_listed_;  // (k, k)
    double risen_ = 0.0;           // no price has risen by more since the beginning
    double first_ = -1.0;
};

}  // namespace bckm
