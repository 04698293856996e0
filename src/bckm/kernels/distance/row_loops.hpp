// Float64 loops over all clusters, one variant per instruction set, the same bits from each.
#pragma once

#include <cstdint>

namespace bckm {

struct RowLoops {
    // out[r][i] = weight[r] * |x[r] - c_i|^2, from the centers in blocks of features,
    // (width / 8, dims, 8); a number does not depend on which rows are computed together
    void (*costs)(const double* const* x, const double* weight, int rows, const double* columns,
                  std::int64_t dims, std::int64_t width, double* const* out);

    // least[i] = min(least[i], cost[i] - here)
    void (*offer)(const double* cost, double here, std::int64_t k, double* least);

    // distance[i] = min(distance[i], so_far + max(0, arc[i] + here - price[i])); where that is
    // lower, from[i] = name and used[i] = arc[i]
    void (*relax)(const double* arc, double here, double so_far, const double* price,
                  std::int64_t name, std::int64_t k, double* distance, std::int64_t* from,
                  double* used);

    // slack[j] -= fixed[label[j]] + slope[label[j]] * radius[j] (without radius: fixed alone), and
    // a little more than all roundings here
    void (*decay)(const std::int32_t* label, const float* fixed, const float* slope,
                  const float* radius, std::int64_t n, float* slack);

    // the least of value[i] + shift[i]; infinite for k = 0
    double (*least)(const double* value, const double* shift, std::int64_t k);

    // near[i] += (x - center[i])^2, and high[i] + low[i] += center[i]^2, rounded once: see
    // sparse_distances.hpp
    void (*entry)(double x, const double* center, std::int64_t k, double* near, double* high,
                  double* low);
};

namespace baseline { RowLoops row_loops(); }
namespace avx2 { RowLoops row_loops(); }
namespace avx512 { RowLoops row_loops(); }

}  // namespace bckm
