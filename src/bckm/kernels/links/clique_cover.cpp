#include "links/clique_cover.hpp"

#include <algorithm>
#include <stdexcept>

namespace bckm {
namespace {

constexpr std::int64_t few = 16;   // items that are as good as each other and are looked at
constexpr std::size_t close = 64;  // candidates among which that is worth it

class Growth {
public:
    Growth(std::int64_t nodes, const std::int64_t* edges, std::int64_t number, double effort)
        : left(effort), start(nodes + 1, 0), with(2 * number), bare(2 * number, 1) {
        for (std::int64_t e = 0; e < 2 * number; ++e) ++start[edges[e] + 1];
        for (std::int64_t v = 0; v < nodes; ++v) start[v + 1] += start[v];
        // pairs are sorted, so these lists are
        std::vector<std::int64_t> at(start.begin(), start.end() - 1);
        for (std::int64_t e = 0; e < number; ++e) {
            with[at[edges[2 * e]]++] = edges[2 * e + 1];
            with[at[edges[2 * e + 1]]++] = edges[2 * e];
        }
    }

    // Covers a set, if there is anything bare in it.
    void cover(const std::vector<std::int64_t>& seed, CliqueCover& out) {
        if (!any_bare(seed)) return;
        members = seed;
        if (left > 0.0) grow();
        for (const std::int64_t v : members)
            for (const std::int64_t w : members) {
                if (v == w) continue;
                const std::int64_t at = place(v, w);
                if (at < 0) throw std::invalid_argument("a set must hold conflicts only");
                bare[at] = 0;
            }
        left -= 4.0 * static_cast<double>(members.size() * members.size());
        std::sort(members.begin(), members.end());
        out.member.insert(out.member.end(), members.begin(), members.end());
        out.start.push_back(static_cast<std::int64_t>(out.member.size()));
    }

private:
    struct Candidate {
        std::int64_t item, uncovered;
    };

    // Where b stands in the list of a; -1 if there is no conflict between them.
    std::int64_t place(std::int64_t a, std::int64_t b) const {
        const auto first = with.begin() + start[a], last = with.begin() + start[a + 1];
        const auto at = std::lower_bound(first, last, b);
        return at != last && *at == b ? at - with.begin() : -1;
    }

    bool any_bare(const std::vector<std::int64_t>& seed) const {
        for (std::size_t p = 0; p < seed.size(); ++p)
            for (std::size_t q = p + 1; q < seed.size(); ++q)
                if (const std::int64_t at = place(seed[p], seed[q]); at < 0 || bare[at])
                    return true;
        return false;
    }

    // Keeps the candidates in conflict with v, and counts what is uncovered between.
    void keep(std::int64_t v) {
        const std::int64_t first = start[v], last = start[v + 1];
        const auto number = static_cast<std::int64_t>(candidates.size());
        std::size_t kept = 0;
        if (last - first > few * number) {
            left -= static_cast<double>(12 * number + 20);
            for (const Candidate& c : candidates)
                if (const std::int64_t at = place(v, c.item); at >= 0)
                    candidates[kept++] = {c.item, c.uncovered + bare[at]};
        } else {  // both are sorted
            left -= static_cast<double>(2 * (last - first + number) + 20);
            std::int64_t at = first;
            for (const Candidate& c : candidates) {
                while (at < last && with[at] < c.item) ++at;
                if (at < last && with[at] == c.item)
                    candidates[kept++] = {c.item, c.uncovered + bare[at]};
            }
        }
        candidates.resize(kept);
    }

    void grow() {
        const std::int64_t rarest = *std::min_element(
            members.begin(), members.end(), [this](std::int64_t a, std::int64_t b) {
                return start[a + 1] - start[a] < start[b + 1] - start[b];
            });
        candidates.clear();
        for (auto e = start[rarest]; e < start[rarest + 1]; ++e)
            candidates.push_back({with[e], bare[e]});
        left -= 4.0 * static_cast<double>(candidates.size());
        for (const std::int64_t v : members)
            if (v != rarest) keep(v);  // members are in conflict with all but themselves
        while (!candidates.empty()) {
            const std::int64_t best = choose();
            members.push_back(best);
            keep(best);
        }
    }

    // Of very many candidates, conflicts with all items must do to tell them apart.
    std::int64_t choose() {
        std::int64_t most = -1, best = -1, best_choices = -1;
        for (const Candidate& c : candidates) most = std::max(most, c.uncovered);
        std::int64_t looked = 0;
        const bool closely = candidates.size() <= close;
        for (const Candidate& c : candidates) {
            if (c.uncovered < most || looked == few) continue;
            std::int64_t choices = start[c.item + 1] - start[c.item];
            if (closely) {
                ++looked;
                choices = 0;
                for (const Candidate& other : candidates) choices += place(c.item, other.item) >= 0;
                left -= 12.0 * static_cast<double>(candidates.size());
            }
            if (choices > best_choices) {
                best_choices = choices;
                best = c.item;
            }
        }
        left -= 2.0 * static_cast<double>(candidates.size());
        return best;
    }

    double left;
    std::vector<std::int64_t> start, with;
    std::vector<char> bare;  // not covered yet; each conflict twice
    std::vector<std::int64_t> members;
    std::vector<Candidate> candidates;
};

}  // namespace

CliqueCover clique_cover(std::int64_t nodes, const std::int64_t* edges, std::int64_t number,
                         const std::vector<std::vector<std::int64_t>>& sets, double effort) {
    CliqueCover out;
    Growth growth(nodes, edges, number, effort);
    for (const std::vector<std::int64_t>& set : sets) growth.cover(set, out);
    for (std::int64_t e = 0; e < number; ++e) growth.cover({edges[2 * e], edges[2 * e + 1]}, out);
    return out;
}

}  // namespace bckm
