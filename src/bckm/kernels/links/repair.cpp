#include "links/repair.hpp"

#include <algorithm>
#include <cmath>

namespace bckm {
namespace {

constexpr int passes = 20, polish = 3;
constexpr double least = 1e-12;  // smaller gains, relative to a cost, do not count

class Repair {
public:
    Repair(const LinkGraph& graph, const std::vector<std::int64_t>& items,
           const std::vector<std::int64_t>& place, const double* cost, std::int64_t k,
           std::int64_t* label)
        : graph(graph), items(items), place(place), cost(cost), k(k), label(label), here(k),
          there(k) {}

    bool run() {
        bool good = false;
        for (int pass = 0; pass < passes && !good; ++pass) {
            good = true;
            bool better = false;
            for (const std::int64_t v : items) {
                if (!broken(v)) continue;
                if (move(v)) better = true;
                good &= !broken(v);
            }
            if (!better) break;
        }
        for (int pass = 0; pass < polish; ++pass) {
            bool better = false;
            for (const std::int64_t v : items) better |= move(v);
            if (!better) break;
        }
        return std::none_of(items.begin(), items.end(),
                            [this](std::int64_t v) { return broken(v); });
    }

    double work = 0.0;

private:
    // Costs of an item in each cluster with its soft links, and how many conflicts it has there.
    struct Ways {
        explicit Ways(std::int64_t k) : cost(k), conflicts(k) {}
        std::vector<double> cost;
        std::vector<std::int32_t> conflicts;
    };

    void look(std::int64_t v, Ways& ways) {
        std::copy_n(cost + place[v] * k, k, ways.cost.begin());
        std::fill(ways.conflicts.begin(), ways.conflicts.end(), 0);
        for (const Link* link = graph.begin(v); link != graph.end(v); ++link) {
            if (link->tie == -never) ++ways.conflicts[label[link->with]];
            else add_tie(link->tie, label[link->with], k, ways.cost.data());
        }
        work += static_cast<double>(6 * k + 5 * graph.degree(v));
    }

    bool broken(std::int64_t v) {
        work += static_cast<double>(2 * graph.degree(v));
        for (const Link* link = graph.begin(v); link != graph.end(v); ++link)
            if (link->tie == -never && label[link->with] == label[v]) return true;
        return false;
    }

    // An item goes where it has no conflict and costs less (or had one before), alone or with the
    // one item that is in its way; if there is no such place, to one with fewer conflicts.
    bool move(std::int64_t v) {
        look(v, here);
        const std::int64_t a = label[v];
        const bool broken = here.conflicts[a] > 0;
        double best = broken ? never : here.cost[a] - least * std::fabs(here.cost[a]);
        std::int64_t to = -1, ejected = -1, ejected_to = -1;
        for (std::int64_t i = 0; i < k; ++i)
            if (here.conflicts[i] == 0 && here.cost[i] < best) {
                best = here.cost[i];
                to = i;
            }
        for (const Link* link = graph.begin(v); link != graph.end(v); ++link) {
            const std::int64_t l = link->with, b = label[l];
            if (link->tie != -never || b == a || here.conflicts[b] != 1 || here.cost[b] >= best)
                continue;
            look(l, there);
            for (std::int64_t c = 0; c < k; ++c) {
                const double total = here.cost[b] + there.cost[c] - there.cost[b];
                // where v leaves is free for l, but for others
                const std::int32_t others = there.conflicts[c] - (c == a ? 1 : 0);
                if (c == b || others > 0 || !(total < best)) continue;
                best = total;
                to = b;
                ejected = l;
                ejected_to = c;
            }
        }
        for (std::int64_t i = 0; to < 0 && broken && i < k; ++i)
            if (here.cost[i] < never && here.conflicts[i] < here.conflicts[a]) to = i;
        if (to < 0) return false;
        label[v] = to;
        if (ejected >= 0) label[ejected] = ejected_to;
        return true;
    }

    const LinkGraph& graph;
    const std::vector<std::int64_t>& items;
    const std::vector<std::int64_t>& place;
    const double* cost;
    const std::int64_t k;
    std::int64_t* label;
    Ways here, there;
};

}  // namespace

bool repair(const LinkGraph& graph, const std::vector<std::int64_t>& items,
            const std::vector<std::int64_t>& place, const double* cost, std::int64_t k,
            std::int64_t* label, double& work) {
    Repair repair(graph, items, place, cost, k, label);
    const bool good = repair.run();
    work += repair.work;
    return good;
}

}  // namespace bckm
