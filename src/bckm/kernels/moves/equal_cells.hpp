// Points that are near each other, in cells of about as many each.
#pragma once

#include <cstdint>
#include <vector>

#include "distance/points.hpp"

namespace bckm {

// All points are cut in two along their feature of largest variance, both parts again and so on.
// A part is to become so many cells, and is cut where that leaves least variance, but only where
// whole cells end: so clusters that are apart share few cells. Each cell is cut into smaller ones
// alike. Ties are decided by place: rounding has no say.
struct EqualCells {
    std::vector<std::int64_t> order;  // points, those of a cell one after the other
    std::vector<std::int64_t> first;  // (number,): where each cell begins
    std::vector<std::int64_t> small;  // (number * each,): and each smaller one
    double work = 0.0;                // about nanoseconds
};

// There are at least as many points as smaller cells.
EqualCells equal_cells(const Points& points, std::int64_t number, std::int64_t each);

}  // namespace bckm
