#include "links/cutset.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace bckm {
namespace {

// Items without which the others have no cycle: leaves fall off, then the one with most links goes.
std::vector<std::int64_t> cycle_breakers(const LinkGraph& graph,
                                         const std::vector<std::int64_t>& items) {
    std::unordered_map<std::int64_t, std::int64_t> degree;
    for (const std::int64_t v : items) degree[v] = graph.degree(v);
    std::vector<std::int64_t> cut, leaves;
    const auto drop = [&](std::int64_t v) {
        degree.erase(v);
        for (const Link* link = graph.begin(v); link != graph.end(v); ++link) {
            const auto other = degree.find(link->with);
            if (other != degree.end() && --other->second == 1) leaves.push_back(link->with);
        }
    };
    for (const std::int64_t v : items)
        if (degree[v] <= 1) leaves.push_back(v);
    while (!degree.empty()) {
        while (!leaves.empty()) {
            const std::int64_t leaf = leaves.back();
            leaves.pop_back();
            if (degree.count(leaf)) drop(leaf);
        }
        std::int64_t most = -1;
        for (const std::int64_t v : items)
            if (degree.count(v) && (most < 0 || degree[v] > degree[most])) most = v;
        if (most < 0) break;
        cut.push_back(most);
        drop(most);
    }
    return cut;
}

}  // namespace

CutSet::CutSet(const LinkGraph& graph, const std::vector<std::int64_t>& items)
    : cut(cycle_breakers(graph, items)), to_trees(cut.size()), to_later(cut.size()) {
    std::unordered_map<std::int64_t, std::int64_t> place;  // in the trees, or -2 - place in the cut
    for (std::size_t c = 0; c < cut.size(); ++c) place[cut[c]] = -2 - static_cast<std::int64_t>(c);
    for (const std::int64_t root : items) {
        if (place.count(root)) continue;
        auto at = static_cast<std::int64_t>(trees.nodes.size());
        place[root] = at;
        trees.nodes.push_back({root, -1, 0.0});
        for (; at < static_cast<std::int64_t>(trees.nodes.size()); ++at) {
            const std::int64_t v = trees.nodes[at].item;
            for (const Link* link = graph.begin(v); link != graph.end(v); ++link) {
                if (place.count(link->with)) continue;
                place[link->with] = static_cast<std::int64_t>(trees.nodes.size());
                trees.nodes.push_back({link->with, at, link->tie});
            }
        }
    }
    for (std::size_t c = 0; c < cut.size(); ++c)
        for (const Link* link = graph.begin(cut[c]); link != graph.end(cut[c]); ++link) {
            const std::int64_t at = place[link->with];
            if (at >= 0) to_trees[c].push_back({at, link->tie});
            else if (-2 - at > static_cast<std::int64_t>(c))
                to_later[c].push_back({-2 - at, link->tie});
        }
}

struct CutSet::Search {
    Search(const CutSet& set, const double* cost, std::int64_t k, std::int64_t limit)
        : set(set), k(k), left(std::max<std::int64_t>(limit, 1)), depth(set.cuts() + 1),
          nodes(set.trees.nodes.size()), rows(depth * nodes * k), work(nodes * k),
          cut_rows(depth * set.cut.size() * k), two(nodes), chosen(set.cut.size()), labels(nodes),
          best_labels(nodes + set.cut.size()) {
        for (std::size_t p = 0; p < nodes; ++p)
            std::copy_n(cost + set.trees.nodes[p].item * k, k, rows.begin() + p * k);
        for (std::size_t c = 0; c < set.cut.size(); ++c)
            std::copy_n(cost + set.cut[c] * k, k, cut_rows.begin() + c * k);
    }

    double* tree_row(std::size_t level, std::size_t p) {
        return rows.data() + (level * nodes + p) * k;
    }
    double* cut_row(std::size_t level, std::size_t c) {
        return cut_rows.data() + (level * set.cut.size() + c) * k;
    }

    // The labels of the first `level` items cut out are chosen and cost `spent`.
    void run(std::size_t level, double spent) {
        if (left-- <= 0) {
            cut_off = true;
            return;
        }
        std::copy_n(tree_row(level, 0), nodes * k, work.begin());
        const auto row = [this](std::int64_t p) { return work.data() + p * k; };
        const double trees =
            least_cost(set.trees, 0, static_cast<std::int64_t>(nodes), k, row, two.data());
        double rest = 0.0;
        for (std::size_t c = level; c < set.cut.size(); ++c)
            rest += *std::min_element(cut_row(level, c), cut_row(level, c) + k);
        if (level == 0) bound = trees + rest;
        if (!(spent + trees + rest < best)) return;
        if (level == set.cut.size()) {
            best = spent + trees;
            bckm::best_labels(set.trees, 0, static_cast<std::int64_t>(nodes), row, two.data(),
                              [this](std::int64_t p) -> std::int64_t& { return labels[p]; });
            std::copy(labels.begin(), labels.end(), best_labels.begin());
            std::copy(chosen.begin(), chosen.end(), best_labels.begin() + nodes);
            return;
        }
        const double* own = cut_row(level, level);
        const double others = rest - *std::min_element(own, own + k);
        std::vector<std::int64_t> order(k);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [own](std::int64_t a, std::int64_t b) { return own[a] < own[b]; });
        for (const std::int64_t i : order) {
            if (!(spent + own[i] + others + trees < best) || cut_off) break;
            chosen[level] = i;
            std::copy_n(tree_row(level, 0), nodes * k, tree_row(level + 1, 0));
            std::copy_n(cut_row(level, 0), set.cut.size() * k, cut_row(level + 1, 0));
            for (const Tied& tied : set.to_trees[level])
                add_tie(tied.tie, i, k, tree_row(level + 1, tied.place));
            for (const Tied& tied : set.to_later[level])
                add_tie(tied.tie, i, k, cut_row(level + 1, tied.place));
            run(level + 1, spent + own[i]);
        }
    }

    const CutSet& set;
    const std::int64_t k;
    std::int64_t left;
    const std::size_t depth, nodes;
    std::vector<double> rows, work, cut_rows;
    std::vector<TwoBest> two;
    std::vector<std::int64_t> chosen, labels, best_labels;
    double best = never, bound = 0.0;
    bool cut_off = false;
};

double CutSet::solve(const double* cost, std::int64_t k, std::int64_t limit, std::int64_t* label,
                     bool& exact) const {
    Search search(*this, cost, k, limit);
    search.run(0, 0.0);
    exact = !search.cut_off;
    const bool found = search.best < never;
    const auto nearest = [&](std::int64_t v) {
        return std::min_element(cost + v * k, cost + v * k + k) - (cost + v * k);
    };
    for (std::size_t p = 0; p < search.nodes; ++p)
        label[trees.nodes[p].item] = found ? search.best_labels[p] : nearest(trees.nodes[p].item);
    for (std::size_t c = 0; c < cut.size(); ++c)
        label[cut[c]] = found ? search.best_labels[search.nodes + c] : nearest(cut[c]);
    return exact ? search.best : search.bound;
}

}  // namespace bckm
