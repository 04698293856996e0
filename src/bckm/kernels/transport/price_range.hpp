// Prices that obey arcs between all nodes, and those in their middle.
#pragma once

#include <cstdint>
#include <vector>

namespace bckm {

// An arc (a, b) of length m demands price_b - price_a <= m. `length` is (nodes, nodes), the last
// node is the hub. From prices that nearly obey to such that do, but for `rounding`; false if they
// were not found in `tries` rounds.
bool obeying_prices(const double* length, std::int64_t nodes, double rounding, int tries,
                    std::vector<double>& price, int threads);

// From prices that obey to the middle of the range: half way between the largest and the smallest
// prices while that of `still` stays, then `rounds` times each one to the middle of what the others
// permit.
void middle_prices(const double* length, std::int64_t nodes, std::int64_t still, int rounds,
                   std::vector<double>& price);

}  // namespace bckm
