// Labels that break conflicts are moved apart, one or two items at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "links/graph.hpp"

namespace bckm {

// Repairs the labels of a connected part of the graph; `cost` (items, k) are its costs, and `place`
// (nodes,) says which row is that of an item. Then makes them cheaper item by item. Whether no
// conflict is left.
bool repair(const LinkGraph& graph, const std::vector<std::int64_t>& items,
            const std::vector<std::int64_t>& place, const double* cost, std::int64_t k,
            std::int64_t* label, double& work);

}  // namespace bckm
