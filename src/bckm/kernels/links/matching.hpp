// Different labels of least cost for items that are all in conflict with each other.
#pragma once

#include <cstdint>
#include <vector>

namespace bckm {

// Successive shortest paths. `cost(v)` are the costs of item v in each cluster, (k,); infinite
// where it must not be. Returns the least cost, infinite if there are no such labels (which are
// then zero).
class Matching {
public:
    explicit Matching(std::int64_t k) : k(k), price(k), distance(k), holder(k), from(k), seen(k) {}

    template <class Cost> double solve(std::int64_t number, const Cost& cost, std::int64_t* label) {
        begin();
        for (std::int64_t v = 0; v < number; ++v)
            if (!place(v, cost)) return fail(number, label);
        double total = 0.0;
        for (std::int64_t i = 0; i < k; ++i)
            if (holder[i] >= 0) {
                label[holder[i]] = i;
                total += cost(holder[i])[i];
            }
        return total;
    }

private:
    void begin();
    double fail(std::int64_t number, std::int64_t* label) const;

    // Finds a label for v by a shortest path over labels that others hand on. `price` keeps all
    // reduced costs from being negative.
    template <class Cost> bool place(std::int64_t v, const Cost& cost) {
        restart();
        std::int64_t item = v, last = -1;
        double here = 0.0;
        for (;;) {
            const double* own = cost(item);
            const double base = last < 0 ? 0.0 : own[last] - price[last];
            const std::int64_t next = nearest(own, base, here, last);
            if (next < 0) return false;
            here = distance[next];
            seen[next] = 1;
            order.push_back(next);
            if (holder[next] < 0) {
                finish(v, next, here);
                return true;
            }
            item = holder[next];
            last = next;
        }
    }

    void restart();
    // Relaxes all labels from an item and returns the nearest one not seen yet; or -1.
    std::int64_t nearest(const double* own, double base, double here, std::int64_t last);
    void finish(std::int64_t v, std::int64_t next, double here);

    const std::int64_t k;
    std::vector<double> price, distance;
    std::vector<std::int64_t> holder, from, order;
    std::vector<char> seen;
};

}  // namespace bckm
