#include "distance/seeding.hpp"

#include <algorithm>
#include <limits>

#include "distance/packed.hpp"
#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr std::int64_t tiles_per_chunk = 64;
constexpr double unit32 = 6.0e-8;  // relative rounding of float32, 2^-24

float* in_lines(std::vector<float>& values) {
    constexpr std::uintptr_t line = 64;
    const auto address = reinterpret_cast<std::uintptr_t>(values.data());
    return reinterpret_cast<float*>((address + line - 1) / line * line);
}

// Candidates as centers of the tile kernel: the value of a point is |y|^2 - 2 x y.
struct Candidates {
    Candidates(const TileKernel& kernel, const double* rows, std::int64_t count, std::int64_t dims)
        : width((count + kernel.block - 1) / kernel.block * kernel.block),
          centers(width * dims, 0.0f), bias(width, 3.0e38f), square(count, 0.0) {
        for (std::int64_t i = 0; i < count; ++i) {
            float* out = centers.data() + i / kernel.block * dims * kernel.block + i % kernel.block;
            for (std::int64_t t = 0; t < dims; ++t) {
                const double y = rows[i * dims + t];
                square[i] += y * y;
                out[t * kernel.block] = static_cast<float>(-2.0 * y);
            }
            bias[i] = static_cast<float>(square[i]);
        }
    }

    std::int64_t width;
    std::vector<float> centers, bias;
    std::vector<double> square;
};

}  // namespace

SeedDistances::SeedDistances(const Points& points, const double* mass, int threads)
    : distance(points.n, std::numeric_limits<double>::infinity()), kernel_(kernel_of_machine()),
      points_(points), mass_(mass, mass + points.n), square_(points.n),
      tiles_((points.n + kernel_.samples - 1) / kernel_.samples),
      chunks_((tiles_ + tiles_per_chunk - 1) / tiles_per_chunk), threads_(threads),
      packed_(tiles_ * points.dims * kernel_.samples + 16, 0.0f), nearer_(chunks_) {
    const std::int64_t dims = points.dims, size = kernel_.samples;
    float* packed = in_lines(packed_);
    parallel(chunks_, threads, [&](std::int64_t chunk, int) {
        const std::int64_t to = std::min(points_.n, (chunk + 1) * tiles_per_chunk * size);
        for (std::int64_t j = chunk * tiles_per_chunk * size; j < to; ++j) {
            const double* x = points_.row(j);
            float* out = packed + j / size * dims * size + j % size;
            double square = 0.0;
            for (std::int64_t t = 0; t < dims; ++t) {
                square += x[t] * x[t];
                out[t * size] = static_cast<float>(x[t]);
            }
            square_[j] = square;
        }
    });
}

void SeedDistances::add(const double* centers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        gains(centers + i * points_.dims, 1);
        take(0);
    }
}

std::vector<double> SeedDistances::gains(const double* rows, std::int64_t count) {
    const std::int64_t dims = points_.dims, size = kernel_.samples;
    const Candidates candidates(kernel_, rows, count, dims);
    // as in `Packed`: a value is off by at most (dims + 6) units of 2 |x| |y| + |y|^2
    const double error = 1.1 * unit32 * (static_cast<double>(dims) + 6.0);
    const float* packed = in_lines(packed_);
    std::vector<double> part(chunks_ * count, 0.0);
    std::vector<std::vector<float>> scratch(threads_);
    for (auto& values : scratch) values.resize(candidates.width * size + 16);
    parallel(chunks_, threads_, [&](std::int64_t chunk, int worker) {
        TileBest best;
        float* values = in_lines(scratch[worker]);
        nearer_[chunk].clear();
        const std::int64_t to = std::min(tiles_, (chunk + 1) * tiles_per_chunk);
        for (std::int64_t tile = chunk * tiles_per_chunk; tile < to; ++tile) {
            kernel_.run(packed + tile * dims * size, dims, candidates.centers.data(),
                        candidates.bias.data(), candidates.width, best, values);
            const std::int64_t first = tile * size, filled = std::min(size, points_.n - first);
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t r = 0; r < filled; ++r) {
                    const std::int64_t j = first + r;
                    const double least = square_[j] + values[i * size + r] -
                                         error * (square_[j] + 2.0 * candidates.square[i]);
                    if (least >= distance[j]) continue;  // also taken where numbers overflow
                    const double exact = squared_distance(points_.row(j), rows + i * dims, dims);
                    if (!(exact < distance[j])) continue;
                    nearer_[chunk].push_back({i, j, exact});
                    const double before = std::min(distance[j], 1.0e300);
                    part[chunk * count + i] += mass_[j] * (before - exact);
                }
        }
    });
    std::vector<double> gain(count, 0.0);
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk)
        for (std::int64_t i = 0; i < count; ++i) gain[i] += part[chunk * count + i];
    return gain;
}

void SeedDistances::take(std::int64_t candidate) {
    for (auto& chunk : nearer_)
        for (const Nearer& one : chunk)
            if (one.candidate == candidate) distance[one.point] = one.distance;
}

}  // namespace bckm
