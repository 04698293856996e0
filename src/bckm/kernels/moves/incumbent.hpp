// The best labels of a search that goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "moves/relaxed.hpp"

namespace bckm {

// The best labels: of those that became better, only what has changed is copied.
class Incumbent {
public:
    explicit Incumbent(const std::vector<std::int32_t>& label) : kept(label) {}

    void note(const Relay& move) {
        if (!follows) return;
        for (int h = 0; h < move.n_hops; ++h)
            since.push_back(static_cast<std::int32_t>(move.hops[h].item));
    }
    void take(const std::vector<std::int32_t>& label) {
        if (!follows) kept = label;
        for (const std::int32_t j : since) kept[j] = label[j];
        since.clear();
        follows = true;
    }
    // Forgets what has changed if it is much; all labels are then copied when they are best again.
    void tidy() {
        if (since.size() <= kept.size()) return;
        since.clear();
        follows = false;
    }
    void restart() {
        since.clear();
        follows = true;
    }

    std::vector<std::int32_t> kept;

private:
    std::vector<std::int32_t> since;  // items that moved after that
    bool follows = true;
};

}  // namespace bckm
