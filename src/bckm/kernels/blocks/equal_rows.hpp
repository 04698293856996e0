// Which rows are equal.
#pragma once

#include <cstdint>

namespace bckm {

// group[j] becomes the number of row j among the different ones, in the order in which they are
// met first; minus zero is zero. Returns how many there are.
template <class Real>
std::int64_t equal_rows(const Real* rows, std::int64_t n, std::int64_t dims, std::int64_t* group,
                        int threads);

}  // namespace bckm
