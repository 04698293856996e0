#include "links/linked.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "links/matching.hpp"
#include "links/repair.hpp"
#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr std::int64_t small = 40;    // items of a part whose cycles are looked into
constexpr std::int64_t most_cut = 6;  // items cut out of it
constexpr std::size_t least_clique = 4;
constexpr double clique_work = 2e7;  // links looked at for that
constexpr std::int64_t chunk_items = 2048;
constexpr char in_tree = 0, in_clique = 1, in_small = 2;

std::int64_t find(std::vector<std::int64_t>& above, std::int64_t v) {
    while (above[v] != v) v = above[v] = above[above[v]];
    return v;
}

}  // namespace

Linked::Linked(std::int64_t nodes, const std::int64_t* ends, const double* tie, std::int64_t number)
    : graph_(nodes, ends, tie, number), place_(nodes, 0) {
    std::vector<char> kind(nodes, in_tree);
    split(kind);
    grow_forest(ends, tie, number, kind);
}

// Sorts the connected parts by how they are solved.
void Linked::split(std::vector<char>& kind) {
    std::vector<char> seen(graph_.nodes, 0);
    Items part;
    for (std::int64_t root = 0; root < graph_.nodes; ++root) {
        if (seen[root]) continue;
        part.assign(1, root);
        seen[root] = 1;
        std::int64_t links = 0;
        bool conflicts = true;
        for (std::size_t at = 0; at < part.size(); ++at)
            for (const Link* link = graph_.begin(part[at]); link != graph_.end(part[at]); ++link) {
                ++links;
                conflicts &= link->tie == -never;
                if (seen[link->with]) continue;
                seen[link->with] = 1;
                part.push_back(link->with);
            }
        const auto size = static_cast<std::int64_t>(part.size());
        links /= 2;
        if (links == size - 1) continue;
        std::sort(part.begin(), part.end());
        const bool clique = conflicts && links == size * (size - 1) / 2;
        for (std::int64_t p = 0; p < size; ++p) place_[part[p]] = p;
        if (clique) {
            for (const std::int64_t v : part) kind[v] = in_clique;
            cliques_.push_back(part);
            continue;
        }
        if (size <= small) {
            CutSet cut_set(graph_, part);
            if (cut_set.cuts() <= most_cut) {
                for (const std::int64_t v : part) kind[v] = in_small;
                small_.push_back(part);
                cut_sets_.push_back(std::move(cut_set));
                continue;
            }
        }
        large_.push_back(part);
        take_cliques(part, kind);
    }
}

// Disjoint cliques of conflicts, each from the item with most links that is left.
void Linked::take_cliques(const Items& part, std::vector<char>& kind) {
    Items order = part, clique, candidates, next;
    const auto more_links = [this](std::int64_t a, std::int64_t b) {
        return graph_.degree(a) > graph_.degree(b) ||
               (graph_.degree(a) == graph_.degree(b) && a < b);
    };
    std::sort(order.begin(), order.end(), more_links);
    std::vector<std::int64_t> mark(graph_.nodes, -1);
    double left = clique_work;
    for (const std::int64_t seed : order) {
        if (kind[seed] != in_tree || left < 0.0) continue;
        clique.assign(1, seed);
        candidates.clear();
        for (const Link* link = graph_.begin(seed); link != graph_.end(seed); ++link)
            if (link->tie == -never && kind[link->with] == in_tree)
                candidates.push_back(link->with);
        left -= static_cast<double>(graph_.degree(seed));
        while (!candidates.empty()) {
            const std::int64_t v =
                *std::min_element(candidates.begin(), candidates.end(), more_links);
            clique.push_back(v);
            for (const Link* link = graph_.begin(v); link != graph_.end(v); ++link)
                if (link->tie == -never) mark[link->with] = v;
            left -= static_cast<double>(graph_.degree(v));
            next.clear();
            for (const std::int64_t w : candidates)
                if (mark[w] == v) next.push_back(w);
            candidates.swap(next);
        }
        if (clique.size() < least_clique) continue;
        std::sort(clique.begin(), clique.end());
        for (const std::int64_t v : clique) kind[v] = in_clique;
        cliques_.push_back(clique);
    }
}

// A spanning forest, the dearest links first. A clique counts as one node of it, the root of its
// tree: so no tree has two.
void Linked::grow_forest(const std::int64_t* ends, const double* tie, std::int64_t number,
                         const std::vector<char>& kind) {
    Items order, above(graph_.nodes), kept;
    std::vector<double> kept_tie;
    std::vector<char> rooted(graph_.nodes, 0);
    std::iota(above.begin(), above.end(), 0);
    for (const Items& clique : cliques_) {
        for (const std::int64_t v : clique) above[v] = clique[0];
        rooted[clique[0]] = 1;
    }
    for (std::int64_t e = 0; e < number; ++e)
        if (kind[ends[2 * e]] != in_small) order.push_back(e);
    std::stable_sort(order.begin(), order.end(), [tie](std::int64_t a, std::int64_t b) {
        return std::fabs(tie[a]) > std::fabs(tie[b]);
    });
    for (const std::int64_t e : order) {
        const std::int64_t a = find(above, ends[2 * e]), b = find(above, ends[2 * e + 1]);
        if (a == b || (rooted[a] && rooted[b])) continue;
        const std::int64_t low = std::min(a, b), high = std::max(a, b);
        above[high] = low;
        rooted[low] = rooted[a] || rooted[b];
        kept.insert(kept.end(), {ends[2 * e], ends[2 * e + 1]});
        kept_tie.push_back(tie[e]);
    }
    const auto edges = static_cast<std::int64_t>(kept_tie.size());
    plant(LinkGraph(graph_.nodes, kept.data(), kept_tie.data(), edges), kind);
    // parts of which no link was left out are exact
    Items covered(graph_.nodes, 0), part_of(graph_.nodes, -1);
    for (std::size_t p = 0; p < large_.size(); ++p)
        for (const std::int64_t v : large_[p]) part_of[v] = static_cast<std::int64_t>(p);
    for (std::int64_t e = 0; e < edges; ++e)
        if (part_of[kept[2 * e]] >= 0) covered[part_of[kept[2 * e]]] += 2;
    for (const Items& clique : cliques_)
        if (const std::int64_t p = part_of[clique[0]]; p >= 0)
            covered[p] += static_cast<std::int64_t>(clique.size() * (clique.size() - 1));
    std::vector<Items> open;
    for (std::size_t p = 0; p < large_.size(); ++p) {
        std::int64_t links = 0;
        for (const std::int64_t v : large_[p]) links += graph_.degree(v);
        if (covered[p] < links) open.push_back(std::move(large_[p]));
    }
    large_ = std::move(open);
}

// Puts the trees into their order: breadth first, from members of cliques and other first items.
void Linked::plant(const LinkGraph& forest, const std::vector<char>& kind) {
    std::vector<char> seen(graph_.nodes, 0);
    for (const char wanted : {in_clique, in_tree})
        for (std::int64_t root = 0; root < graph_.nodes; ++root) {
            if (seen[root] || kind[root] != wanted) continue;
            auto at = static_cast<std::int64_t>(trees_.nodes.size());
            if (chunk_.empty() || at - chunk_.back() >= chunk_items) chunk_.push_back(at);
            trees_.nodes.push_back({root, wanted == in_clique ? elsewhere : top, 0.0});
            seen[root] = 1;
            for (; at < static_cast<std::int64_t>(trees_.nodes.size()); ++at) {
                const std::int64_t v = trees_.nodes[at].item;
                for (const Link* link = forest.begin(v); link != forest.end(v); ++link) {
                    if (seen[link->with]) continue;
                    seen[link->with] = 1;
                    trees_.nodes.push_back({link->with, at, link->tie});
                }
            }
        }
    chunk_.push_back(static_cast<std::int64_t>(trees_.nodes.size()));
}

LinkedLabels Linked::solve(double* cost, std::int64_t k, std::int64_t search_nodes,
                           int threads) const {
    LinkedLabels out;
    out.label.assign(graph_.nodes, 0);
    std::vector<std::vector<double>> given;  // costs of the large parts, which trees change
    for (const Items& part : large_) {
        std::vector<double>& rows = given.emplace_back();
        rows.reserve(part.size() * k);
        for (const std::int64_t v : part) rows.insert(rows.end(), cost + v * k, cost + v * k + k);
    }
    const auto chunks = static_cast<std::int64_t>(chunk_.size()) - 1;
    const auto cliques = static_cast<std::int64_t>(cliques_.size());
    const auto parts = static_cast<std::int64_t>(small_.size());
    std::vector<double> value(chunks + cliques + parts, 0.0);
    std::vector<TwoBest> two(trees_.nodes.size());
    std::vector<char> unsure(parts, 0);
    const auto row = [&](std::int64_t p) { return cost + trees_.nodes[p].item * k; };
    parallel(chunks + parts, threads, [&](std::int64_t at, int) {
        if (at < chunks) {
            const std::int64_t first = chunk_[at], last = chunk_[at + 1];
            value[at] = least_cost(trees_, first, last, k, row, two.data() + first);
            return;
        }
        bool exact = false;
        value[at] = cut_sets_[at - chunks].solve(cost, k, search_nodes, out.label.data(), exact);
        unsure[at - chunks] = !exact;
    });
    // members of cliques know by now what hangs on them
    parallel(cliques, threads, [&](std::int64_t at, int) {
        const Items& clique = cliques_[at];
        Items label(clique.size());
        value[chunks + parts + at] = Matching(k).solve(
            static_cast<std::int64_t>(clique.size()),
            [&](std::int64_t v) { return cost + clique[v] * k; }, label.data());
        for (std::size_t v = 0; v < clique.size(); ++v) out.label[clique[v]] = label[v];
    });
    parallel(chunks, threads, [&](std::int64_t at, int) {
        best_labels(
            trees_, chunk_[at], chunk_[at + 1], row, two.data() + chunk_[at],
            [&](std::int64_t p) -> std::int64_t& { return out.label[trees_.nodes[p].item]; });
    });
    for (const double part : value) out.bound += part;
    for (std::int64_t p = 0; p < parts; ++p) {
        if (!unsure[p]) continue;
        std::vector<double> rows;
        for (const std::int64_t v : small_[p])
            rows.insert(rows.end(), cost + v * k, cost + v * k + k);
        out.obeys &= repair(graph_, small_[p], place_, rows.data(), k, out.label.data(), out.work);
    }
    for (std::size_t p = 0; p < large_.size(); ++p)
        out.obeys &=
            repair(graph_, large_[p], place_, given[p].data(), k, out.label.data(), out.work);
    out.work += 3.0 * static_cast<double>(graph_.nodes * k);
    for (const Items& clique : cliques_)
        out.work += 0.5 * static_cast<double>(clique.size() * clique.size() * k);
    for (const CutSet& set : cut_sets_) out.work += 12.0 * static_cast<double>(set.size() * k);
    return out;
}

}  // namespace bckm
