#include "links/placement.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

namespace bckm {
namespace {

constexpr std::int64_t listen = 1024;  // items between two looks at the clock

// The cluster that an item breaks least in.
std::int64_t best_cluster(const Placing& asked, const Placed& placed, std::int64_t item) {
    const std::int64_t size = asked.count[item];
    const bool* blocked = placed.blocked + item * asked.k;
    const double* cost = asked.cost ? asked.cost + item * asked.k : nullptr;
    std::int64_t missing = 0;  // samples that clusters need to reach their lower bounds
    for (std::int64_t i = 0; i < asked.k; ++i)
        missing += std::max<std::int64_t>(asked.lower[i] - placed.sizes[i], 0);
    std::int64_t best = 0, least = -1;
    for (std::int64_t i = 0; i < asked.k; ++i) {
        const std::int64_t held = placed.sizes[i];
        const std::int64_t filled =
            std::min(std::max<std::int64_t>(asked.lower[i] - held, 0), size);
        // what is left must still be enough to fill every cluster to its lower bound
        const std::int64_t broken =
            std::max<std::int64_t>(held + size - asked.upper[i], 0) +
            std::max<std::int64_t>(missing - filled - (placed.remaining - size), 0) +
            (blocked[i] ? asked.samples : 0);
        if (least < 0 || broken < least || (broken == least && cost && cost[i] < cost[best])) {
            best = i;
            least = broken;
        }
    }
    return best;
}

}  // namespace

bool place_in_order(const Placing& asked, const std::int64_t* order, std::int64_t number,
                    Placed& placed, const std::function<bool()>& stop) {
    const std::int64_t k = asked.k;
    std::vector<std::int64_t> taken(k, -1);  // the last item that each cluster is blocked for
    std::vector<std::int64_t> sizes(placed.sizes, placed.sizes + k);
    std::int64_t missing = 0, remaining = placed.remaining;
    const auto lacks = [&](std::int64_t i) {
        return std::max<std::int64_t>(asked.lower[i] - sizes[i], 0);
    };
    for (std::int64_t i = 0; i < k; ++i) missing += lacks(i);
    for (std::int64_t at = 0; at < number; ++at) {
        const std::int64_t item = order[at], size = asked.count[item];
        for (std::int32_t e = asked.conflict_start[item]; e < asked.conflict_start[item + 1]; ++e) {
            const std::int64_t label = placed.label[asked.conflict_with[e]];
            if (label >= 0) taken[label] = item;
        }
        std::int64_t to = 0;
        while (to < k && (taken[to] == item || sizes[to] + size > asked.upper[to] ||
                          missing - std::min(lacks(to), size) > remaining - size))
            ++to;
        if (to == k || (at % listen == 0 && stop())) {
            for (std::int64_t q = 0; q < at; ++q) placed.label[order[q]] = -1;
            return false;
        }
        missing -= std::min(lacks(to), size);
        remaining -= size;
        sizes[to] += size;
        placed.label[item] = to;
    }
    std::copy(sizes.begin(), sizes.end(), placed.sizes);
    placed.remaining = remaining;
    return true;
}

bool place_conflicting(const Placing& asked, const std::int64_t* order, std::int64_t number,
                       Placed& placed, const std::function<bool()>& stop) {
    const std::int64_t k = asked.k;
    // of each item, side by side: edges lead to items all over memory
    struct Item {
        std::int32_t rank, taken;  // place in the order, blocked clusters
    };
    std::vector<Item> items(asked.items);
    // Free clusters and rank in one number: the least is next. Items of which no cluster is blocked
    // are not queued: they come last, in their order.
    using Entry = std::uint64_t;
    const auto entry = [&](const Item& item) {
        return static_cast<Entry>(k - item.taken) << 32U | static_cast<Entry>(item.rank);
    };
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (std::int64_t at = 0; at < number; ++at) {
        const bool* blocked = placed.blocked + order[at] * k;
        Item& item = items[order[at]];
        item.rank = static_cast<std::int32_t>(at);
        item.taken = static_cast<std::int32_t>(std::count(blocked, blocked + k, true));
        if (item.taken > 0) queue.push(entry(item));
    }
    const auto place = [&](std::int64_t item) {
        const std::int64_t to = best_cluster(asked, placed, item);
        placed.label[item] = to;
        placed.sizes[to] += asked.count[item];
        placed.remaining -= asked.count[item];
        items[item].rank = -1;  // it has a label
        for (std::int32_t e = asked.conflict_start[item]; e < asked.conflict_start[item + 1]; ++e) {
            const std::int64_t other = asked.conflict_with[e];
            if (items[other].rank < 0) continue;
            bool& blocked = placed.blocked[other * k + to];
            if (blocked) continue;
            blocked = true;
            ++items[other].taken;
            queue.push(entry(items[other]));
        }
    };
    std::int64_t steps = 0;
    for (std::int64_t at = 0; at < number; ++at) {
        while (!queue.empty()) {
            if (steps++ % listen == 0 && stop()) return false;
            const Entry next = queue.top();
            queue.pop();
            const std::int64_t item = order[next & 0xffffffffU];
            // not if it has a label, or was blocked more since
            if (items[item].rank >= 0 && next == entry(items[item])) place(item);
        }
        if (steps++ % listen == 0 && stop()) return false;
        if (items[order[at]].rank >= 0) place(order[at]);
    }
    return true;
}

}  // namespace bckm
