#include "blocks/near_arcs.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t none = -1;
constexpr std::int32_t deep = 32;     // falls one after the other, before somebody looks why
constexpr double most_change = 0.25;  // of the longest arc, by which `even` changes a price

}  // namespace

NearArcs::NearArcs(std::int64_t nodes, std::vector<Arc>&& arcs, double longest)
    : nodes_(nodes), arcs_(std::move(arcs)), longest_(longest), leaving_(nodes + 1, 0),
      entering_(nodes + 1, 0), entry_(arcs_.size()) {
    std::stable_sort(arcs_.begin(), arcs_.end(),
                     [](const Arc& one, const Arc& other) { return one.from < other.from; });
    for (const Arc& arc : arcs_) {
        ++leaving_[arc.from + 1];
        ++entering_[arc.to + 1];
    }
    for (std::int64_t v = 0; v < nodes; ++v) {
        leaving_[v + 1] += leaving_[v];
        entering_[v + 1] += entering_[v];
    }
    std::vector<std::int64_t> next(entering_);
    for (std::size_t e = 0; e < arcs_.size(); ++e)
        entry_[next[arcs_[e].to]++] = static_cast<std::int64_t>(e);
}

// Prices that fall, because of which others must fall.
struct NearArcs::Lowering {
    const std::vector<double>& before;
    double most;  // by which a price may fall
    std::vector<double> price;
    std::vector<std::int32_t> because, depth;  // of which node each fell, and of how many
    std::vector<std::int32_t> queue;           // nodes whose arcs are looked at
    std::vector<char> is_waiting;

    // Whether a node has fallen because it has fallen.
    bool is_endless(std::int32_t node) const {
        std::size_t steps = 0;
        std::int32_t v = because[node];
        for (; v != none && v != node && steps <= because.size(); ++steps) v = because[v];
        return v != none;
    }
};

// False where a price would fall for ever, or farther than arcs are known.
bool NearArcs::lower(std::int32_t to, double most, std::int32_t from, Lowering& prices) const {
    if (prices.before[to] - most > prices.most) return false;
    prices.price[to] = most;
    prices.because[to] = from;
    prices.depth[to] = prices.depth[from] + 1;
    if (!prices.is_waiting[to]) prices.queue.push_back(to);
    prices.is_waiting[to] = 1;
    return prices.depth[to] % deep != 0 || !prices.is_endless(to);
}

bool NearArcs::leave_room(double room, std::vector<double>& price) const {
    Lowering prices{price, longest_ - room, price, {}, {}, {}, {}};
    prices.because.assign(nodes_, none);
    prices.depth.assign(nodes_, 0);
    prices.is_waiting.assign(nodes_, 1);
    for (std::int64_t v = 0; v < nodes_; ++v) prices.queue.push_back(static_cast<std::int32_t>(v));
    for (std::size_t next = 0; next < prices.queue.size(); ++next) {
        const std::int32_t u = prices.queue[next];
        prices.is_waiting[u] = 0;
        for (std::int64_t e = leaving_[u]; e < leaving_[u + 1]; ++e) {
            const Arc& arc = arcs_[e];
            const double most = prices.price[u] + arc.cost - (arc.needs_room ? room : 0.0);
            if (prices.price[arc.to] > most && !lower(arc.to, most, u, prices)) return false;
        }
    }
    price = std::move(prices.price);
    return true;
}

double NearArcs::rise(std::int64_t v, const std::vector<double>& price) const {
    double least = longest_;
    for (std::int64_t e = entering_[v]; e < entering_[v + 1]; ++e)
        least = std::min(least, length(arcs_[entry_[e]], price));
    return std::max(0.0, least);
}

double NearArcs::fall(std::int64_t v, const std::vector<double>& price) const {
    double least = longest_;
    for (std::int64_t e = leaving_[v]; e < leaving_[v + 1]; ++e)
        least = std::min(least, length(arcs_[e], price));
    return std::max(0.0, least);
}

void NearArcs::even(std::int64_t sweeps, std::int64_t still, std::vector<double>& price) const {
    const std::vector<double> before(price);
    const double most = most_change * longest_;
    for (std::int64_t sweep = 0; sweep < sweeps; ++sweep)
        for (std::int64_t v = 0; v < nodes_; ++v) {
            const double up = rise(v, price), down = fall(v, price);
            if (v == still || !(up < infinity && down < infinity)) continue;
            price[v] = std::clamp(price[v] + 0.5 * (up - down), before[v] - most, before[v] + most);
        }
}

}  // namespace bckm
