// The inner kernel of the distance pass, in float32: a tile of points against all centers.
#pragma once

#include <cstdint>

namespace bckm {

constexpr int largest_tile = 64;

// Best and second best cluster of each point of a tile.
struct TileBest {
    alignas(64) float best[largest_tile];
    alignas(64) float second[largest_tile];
    alignas(64) std::int32_t label[largest_tile];
    alignas(64) std::int32_t runner_up[largest_tile];
};

// One variant of the kernel: `samples` points and `block` centers at a time.
struct TileKernel {
    int samples;
    int block;
    // points (dims, samples); centers (width / block, dims, block); bias (width,)
    // value of point x in cluster i = bias_i + sum_t x_t center_it; `all_values`, (width, samples)
    // in whole lines of the cache, or null
    void (*run)(const float* points, std::int64_t dims, const float* centers, const float* bias,
                std::int64_t width, TileBest& out, float* all_values);
    // least value of each cluster above that of cluster `own`: minima (width, lanes) is lowered;
    // returns the largest absolute value of the points in `own`
    float (*lower)(const float* points, std::int64_t dims, const float* centers, const float* bias,
                   std::int64_t width, std::int64_t own, float* minima);
    // gap[r] = value of point r in cluster `to` less that in cluster `own`; returns the largest
    // absolute value of the points in `own`
    float (*gaps)(const float* points, std::int64_t dims, const float* centers, const float* bias,
                  std::int64_t own, std::int64_t to, float* gap);
    int lanes;
};

namespace baseline { TileKernel tile_kernel(); }
namespace avx2 { TileKernel tile_kernel(); }
namespace avx512 { TileKernel tile_kernel(); }

}  // namespace bckm
