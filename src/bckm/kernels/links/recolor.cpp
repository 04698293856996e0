#include "links/recolor.hpp"

#include <algorithm>
#include <limits>

#include "runtime/random.hpp"

namespace bckm {
namespace {

// A move stays forbidden for so many moves: a share of the items in conflict, and some more.
constexpr double tenure = 0.6;
constexpr std::int64_t more = 10;
constexpr std::int64_t looked = 1000;  // items in conflict that are looked at for a move, at most
constexpr std::int64_t listen = 256;   // moves between two looks at the clock
constexpr double each_move = 100.0, each_cluster = 1.3, each_edge = 6.0;  // work

class Recolorer {
public:
    Recolorer(const Coloring& asked, std::int32_t* label, std::uint64_t seed)
        : c(asked), label(label), best(label, label + asked.items), beside(asked.items * asked.k),
          free_from(asked.items * asked.k), place(asked.items, -1), random(seed) {
        for (std::int64_t j = 0; j < c.items; ++j)
            for (std::int32_t e = c.conflict_start[j]; e < c.conflict_start[j + 1]; ++e)
                ++beside[j * c.k + label[c.conflict_with[e]]];
        std::int64_t twice = 0;
        for (std::int64_t j = 0; j < c.items; ++j) {
            twice += beside[j * c.k + label[j]];
            left += c.closed[j * c.k + label[j]];
            list(j);
        }
        left += twice / 2;
        least = left;
    }

    RecolorResult run(double effort, const std::function<bool()>& stop) {
        const auto size = static_cast<double>(c.items * c.k);
        out.work = 2.0 * size + each_edge * static_cast<double>(c.conflict_start[c.items]);
        while (left > 0 && c.k > 1 && out.work < effort) {
            out.stopped = out.moves % listen == 0 && stop();
            if (out.stopped) break;
            ++out.moves;
            step();
        }
        std::copy(best.begin(), best.end(), label);
        out.left = least;
        return out;
    }

private:
    // The best move that is not tabu, or that leaves fewer conflicts than ever.
    void step() {
        const auto number = static_cast<std::int64_t>(clashing.size());
        const std::int64_t some = std::min(number, looked), first = random.below(number);
        std::int64_t change = std::numeric_limits<std::int64_t>::max(), item = -1, to = -1,
                     ties = 0;
        for (std::int64_t q = 0; q < some; ++q) {
            const std::int64_t j = clashing[(first + q) % number], a = label[j];
            const std::int64_t here = beside[j * c.k + a] + c.closed[j * c.k + a];
            for (std::int64_t b = 0; b < c.k; ++b) {
                const std::int64_t cell = j * c.k + b, by = beside[cell] - here;
                if (by > change || b == a || c.closed[cell]) continue;
                if (free_from[cell] > out.moves && left + by >= least) continue;
                ties = by < change ? 1 : ties + 1;
                if (ties > 1 && random.below(ties) > 0) continue;
                change = by;
                item = j;
                to = b;
            }
        }
        out.work += each_move + each_cluster * static_cast<double>(some * c.k);
        if (item < 0) return;  // all are tabu: time passes
        const auto longer = static_cast<std::int64_t>(tenure * static_cast<double>(number));
        free_from[item * c.k + label[item]] = out.moves + longer + random.below(more);
        move(item, to);
        left += change;
        if (left >= least) return;
        least = left;
        std::copy(label, label + c.items, best.begin());
        out.work += 0.2 * static_cast<double>(c.items);
    }

    void move(std::int64_t j, std::int64_t b) {
        const std::int64_t a = label[j];
        label[j] = static_cast<std::int32_t>(b);
        for (std::int32_t e = c.conflict_start[j]; e < c.conflict_start[j + 1]; ++e) {
            const std::int64_t other = c.conflict_with[e];
            --beside[other * c.k + a];
            ++beside[other * c.k + b];
            list(other);
        }
        list(j);
        out.work += each_edge * static_cast<double>(c.conflict_start[j + 1] - c.conflict_start[j]);
    }

    // Lists an item if it is in conflict, or where it may not be.
    void list(std::int64_t j) {
        const std::int64_t cell = j * c.k + label[j];
        const bool in = beside[cell] > 0 || c.closed[cell];
        if (in == (place[j] >= 0)) return;
        if (in) {
            place[j] = static_cast<std::int32_t>(clashing.size());
            clashing.push_back(static_cast<std::int32_t>(j));
        } else {
            clashing[place[j]] = clashing.back();
            place[clashing.back()] = place[j];
            place[j] = -1;
            clashing.pop_back();
        }
    }

    const Coloring& c;
    std::int32_t* label;
    std::vector<std::int32_t> best;
    std::vector<std::int32_t> beside;     // items in conflict with each in each cluster, (m, k)
    std::vector<std::int64_t> free_from;  // move from which on it may go there again, (m, k)
    std::vector<std::int32_t> clashing, place;
    Random random;
    std::int64_t left = 0, least = 0;
    RecolorResult out;
};

}  // namespace

RecolorResult recolor(const Coloring& asked, std::int32_t* label, double effort, std::uint64_t seed,
                      const std::function<bool()>& stop) {
    return Recolorer(asked, label, seed).run(effort, stop);
}

}  // namespace bckm
