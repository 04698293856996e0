// Compiled once per instruction set, like row_loops.cpp: a whole search in one call, since between
// two of its steps, each some 40 ns long, nothing may wait.
#include "distance/registers.hpp"

namespace bckm::BCKM_ISA {
namespace {

constexpr std::int64_t none = -1, word = 64;
constexpr int strands = 4;  // that do not wait for each other
// A register that begins q places before it has it in lane q.
constexpr int longest = 8;
constexpr double one_infinite[2 * longest] = {0, 0, 0, 0, 0, 0, 0, HUGE_VAL};

// A node is open until it is reached. The hub lies beside the arrays: arcs to it come seldom, and a
// single number written into a register's place in memory makes the next reader wait.
class Tree {
public:
    explicit Tree(const TreeView& tree) : t_(tree) {
        for (std::int64_t i = 0; i < t_.width; ++i) {
            t_.open[i] = HUGE_VAL;
            t_.level[i] = i < t_.k ? t_.price[i] : 0.0;
        }
        for (std::int64_t v = 0; v <= t_.k; ++v) {
            t_.distance[v] = HUGE_VAL;
            missing_ += static_cast<std::int64_t>(t_.surplus[v] < 0);
        }
    }

    std::int64_t grow(double* horizon) {
        begin();
        Least next = leave(0);
        while (missing_ > 0) {
            const bool is_hub = hub_ < next.value;
            const std::int64_t u = is_hub ? t_.k : next.at;
            if (u < 0) break;
            so_far_ = is_hub ? hub_ : next.value;
            const std::int64_t first = *t_.reached;
            reach_all(u, is_hub ? before_hub_ : t_.previous[u]);
            next = leave(first);
        }
        *horizon = so_far_;
        return found_;
    }

private:
    // Prices were raised by the distances of the last search, so the arcs of its tree have length
    // zero, unless they have changed: its branches are reached as a whole. Sources come first.
    void begin() {
        const std::int64_t before = *t_.reached;
        *t_.reached = 0;
        for (std::int64_t v = 0; v <= t_.k; ++v) t_.child[v] = none;
        for (std::int64_t i = before - 1; i >= 0; --i) {
            const std::int64_t v = t_.order[i], u = t_.previous[v];
            if (u == none || !stays(u, v)) continue;
            t_.sibling[v] = t_.child[u];
            t_.child[u] = v;
        }
        for (std::int64_t v = 0; v <= t_.k; ++v)
            if (t_.surplus[v] > 0) reach(v, none);
        for (std::int64_t i = 0; i < *t_.reached; ++i) reach_children(t_.order[i]);
    }

    // A node with its branch of the last tree.
    void reach_all(std::int64_t v, std::int64_t from) {
        std::int64_t i = *t_.reached;
        reach(v, from);
        for (; i < *t_.reached; ++i) reach_children(t_.order[i]);
    }

    void reach_children(std::int64_t u) {
        for (std::int64_t v = t_.child[u]; v != none; v = t_.sibling[v])
            if (!(t_.distance[v] < HUGE_VAL)) reach(v, u);
    }

    // Whether an arc of the last tree is there as it was.
    bool stays(std::int64_t u, std::int64_t v) const {
        if (u == t_.k) return t_.from_hub[v];
        if (v == t_.k) return t_.to_hub[u];
        return t_.arc[u * t_.width + v] == t_.used[v];
    }

    void reach(std::int64_t v, std::int64_t from) {
        t_.distance[v] = so_far_;
        t_.previous[v] = from;
        t_.order[(*t_.reached)++] = v;
        if (t_.surplus[v] < 0) {
            t_.target[found_++] = v;
            --missing_;
        }
        if (v == t_.k) {
            hub_ = HUGE_VAL;
            hub_is_open_ = false;
            return;
        }
        // Nothing is lower than the level of a node that is closed, so no arc leads there. By sums
        // of whole registers: what a masked store has written cannot be read again at once.
        const std::int64_t i = v - v % lanes;
        const Doubles here = load(one_infinite + longest - 1 - v % lanes);
        store(t_.open + i, load(t_.open + i) + here);
        store(t_.level + i, load(t_.level + i) - here);
    }

    double length(double from, double to) const {  // of an arc that costs nothing
        const double reduced = from - to;
        return so_far_ + (reduced > 0.0 ? reduced : 0.0);
    }

    void go_to_hub(std::int64_t u) {
        if (!hub_is_open_ || !t_.to_hub[u]) return;
        const double now = length(t_.price[u], t_.price[t_.k]);
        if (!(now < hub_)) return;
        hub_ = now;
        before_hub_ = u;
    }

    // Relaxes the arcs from all nodes that were reached from number `first` on, at one distance:
    // this is sooner done at once than one after the other. Returns where to go next.
    Least leave(std::int64_t first) {
        std::int64_t clusters = 0;
        bool through_hub = false;
        for (std::int64_t i = first; i < *t_.reached; ++i) {
            const std::int64_t u = t_.order[i];
            if (u == t_.k) {
                through_hub = true;
                continue;
            }
            go_to_hub(u);
            t_.leaving[clusters++] = u;
        }
        Doubles low[strands];
        for (Doubles& one : low) one = all(HUGE_VAL);
        std::int64_t i = 0;
        for (; i + strands * lanes <= t_.width; i += strands * lanes)
            relax_all<strands>(clusters, i, low);
        for (; i < t_.width; i += lanes) relax_all<1>(clusters, i, low);
        for (int q = 1; q < strands; ++q) low[0] = low[q] < low[0] ? low[q] : low[0];
        return through_hub ? leave_hub() : first_of(lowest(low[0]));
    }

    template <int parts> void relax_all(std::int64_t clusters, std::int64_t i, Doubles* low) const {
        Doubles best[parts];
        Integers from[parts];
        BCKM_UNROLL
        for (int p = 0; p < parts; ++p) {
            best[p] = all(HUGE_VAL);
            from[p] = all(none);
        }
        for (std::int64_t r = 0; r < clusters; ++r) {
            const std::int64_t u = t_.leaving[r];
            const double *arc = t_.arc + u * t_.width + i, here = t_.price[u];
            BCKM_UNROLL
            for (int p = 0; p < parts; ++p) {
                const Doubles cost = load(arc + p * lanes) + here;
                from[p] = cost < best[p] ? all(u) : from[p];
                best[p] = cost < best[p] ? cost : best[p];
            }
        }
        BCKM_UNROLL
        for (int p = 0; p < parts; ++p) relax(best[p], from[p], i + p * lanes, low[p]);
    }

    // `cost` with the price of where it comes from.
    void relax(Doubles cost, Integers from, std::int64_t i, Doubles& low) const {
        const Doubles before = load(t_.open + i), reduced = cost - load(t_.level + i);
        const Doubles length = so_far_ + (reduced > 0.0 ? reduced : all(0.0));
        const auto nearer = length < before;
        const Doubles now = nearer ? length : before;
        store(t_.previous + i, nearer ? from : load(t_.previous + i));
        store(t_.open + i, now);
        low = now < low ? now : low;
    }

    // The first open node at the least distance, which is in all lanes.
    Least first_of(Doubles least) const {
        const double value = one_of(least);
        if (!(value < HUGE_VAL)) return {value, none};
        for (std::int64_t from = 0; from < t_.width; from += word) {
            const std::int64_t to = from + word < t_.width ? from + word : t_.width;
            std::uint64_t bits = 0;
            BCKM_UNROLL
            for (std::int64_t i = from; i < to; i += lanes)
                bits |= bits_of(load(t_.open + i) == least) << (i - from);
            if (bits) return {value, from + first_bit(bits)};
        }
        return {value, none};
    }

    Least leave_hub() {
        Least next{HUGE_VAL, none};
        for (std::int64_t b = 0; b < t_.k; ++b) {
            if (t_.from_hub[b] && t_.level[b] > -HUGE_VAL) {
                const double now = length(t_.price[t_.k], t_.price[b]);
                if (now < t_.open[b]) {
                    t_.open[b] = now;
                    t_.previous[b] = t_.k;
                }
            }
            if (t_.open[b] < next.value) next = {t_.open[b], b};
        }
        return next;
    }

    const TreeView t_;
    double hub_ = HUGE_VAL, so_far_ = 0.0;
    bool hub_is_open_ = true;
    std::int64_t before_hub_ = none, missing_ = 0, found_ = 0;
};

}  // namespace

std::int64_t shortest_tree(const TreeView& tree, double* horizon) {
    return Tree(tree).grow(horizon);
}

}  // namespace bckm::BCKM_ISA
