// An order of points in which those next to each other are near each other.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/points.hpp"

namespace bckm {

// Points are bisected at the median of their widest feature, again and again: those that are r
// places apart mostly share a cell of about r points.
class CellOrder {
public:
    explicit CellOrder(const Points& points);

    std::vector<std::int32_t> order;  // points by place
    std::vector<std::int32_t> place;  // and the place of each
    double work = 0.0;                // about nanoseconds

private:
    // Cuts a range of places in halves; returns the middle.
    std::int64_t cut(const Points& points, std::int64_t begin, std::int64_t end);
};

}  // namespace bckm
