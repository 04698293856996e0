#include "blocks/equal_rows.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr std::int64_t chunk_size = 1024;

template <class Real> std::uint64_t word(Real value) {
    const Real plain = value + Real{0};  // no minus zero
    std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t> bits;
    std::memcpy(&bits, &plain, sizeof bits);
    return bits;
}

template <class Real> std::uint64_t hash(const Real* row, std::int64_t dims) {
    std::uint64_t key = 0x9E3779B97F4A7C15u;
    for (std::int64_t t = 0; t < dims; ++t) {
        key = (key ^ word(row[t])) * 0xBF58476D1CE4E5B9u;
        key ^= key >> 29;
    }
    return key;
}

}  // namespace

template <class Real>
std::int64_t equal_rows(const Real* rows, std::int64_t n, std::int64_t dims, std::int64_t* group,
                        int threads) {
    std::vector<std::uint64_t> key(n);
    parallel((n + chunk_size - 1) / chunk_size, threads, [&](std::int64_t chunk, int) {
        const std::int64_t end = std::min(n, (chunk + 1) * chunk_size);
        for (std::int64_t j = chunk * chunk_size; j < end; ++j)
            key[j] = hash(rows + j * dims, dims);
    });
    std::uint64_t size = 16;
    while (size < 2 * static_cast<std::uint64_t>(n)) size *= 2;
    std::vector<std::int64_t> first(size, -1);  // the first row of those at each place
    std::int64_t different = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        const Real* row = rows + j * dims;
        std::uint64_t at = key[j] & (size - 1);
        for (;; at = (at + 1) & (size - 1)) {
            const std::int64_t other = first[at];
            if (other < 0) {
                first[at] = j;
                group[j] = different++;
                break;
            }
            if (key[other] == key[j] && std::equal(row, row + dims, rows + other * dims)) {
                group[j] = group[other];
                break;
            }
        }
    }
    return different;
}

template std::int64_t equal_rows(const float*, std::int64_t, std::int64_t, std::int64_t*, int);
template std::int64_t equal_rows(const double*, std::int64_t, std::int64_t, std::int64_t*, int);

}  // namespace bckm
