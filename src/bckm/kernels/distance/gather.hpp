// Rows of any array of floats, normalized, in a new order.
#pragma once

#include <cstdint>

#include "runtime/pool.hpp"

namespace bckm {

// out[q] = (data[rows[q]] - origin) * scale, in float64; strides count numbers, not bytes.
template <class Real>
void gather(const Real* data, std::int64_t row_stride, std::int64_t column_stride,
            const std::int64_t* rows, std::int64_t count, std::int64_t dims, const double* origin,
            double scale, double* out, int threads) {
    constexpr std::int64_t chunk_size = 4096, ahead = 16;
    parallel((count + chunk_size - 1) / chunk_size, threads, [&](std::int64_t chunk, int) {
        const std::int64_t to = count < (chunk + 1) * chunk_size ? count : (chunk + 1) * chunk_size;
        for (std::int64_t q = chunk * chunk_size; q < to; ++q) {
#if defined(__GNUC__)
            if (q + ahead < to) __builtin_prefetch(data + rows[q + ahead] * row_stride);
#endif
            const Real* x = data + rows[q] * row_stride;
            double* y = out + q * dims;
            for (std::int64_t t = 0; t < dims; ++t)
                y[t] = (static_cast<double>(x[t * column_stride]) - origin[t]) * scale;
        }
    });
}

}  // namespace bckm
