// Compiled once per instruction set (BCKM_ISA), without fused operations: all variants give the
// same bits. Loops are written for the vectorizer: no branches, all numbers of one size.
#include "distance/row_loops.hpp"

#include <math.h>

namespace bckm::BCKM_ISA {
namespace {

constexpr int block = 8;

#if defined(__GNUC__)
// Written out: left to itself, the compiler vectorizes over features and spends its time shuffling.
#if defined(__AVX512F__)
constexpr int lanes = 8;
#elif defined(__AVX2__)
constexpr int lanes = 4;
#else
constexpr int lanes = 2;
#endif
typedef double Doubles __attribute__((vector_size(lanes * 8)));
inline Doubles load(const double* p) {
    Doubles v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
inline void store(double* p, Doubles v) { __builtin_memcpy(p, &v, sizeof v); }
inline Doubles all(double v) { return Doubles{} + v; }
#define BCKM_UNROLL _Pragma("GCC unroll 8")
#else
constexpr int lanes = 1;
typedef double Doubles;
inline Doubles load(const double* p) { return *p; }
inline void store(double* p, Doubles v) { *p = v; }
inline Doubles all(double v) { return v; }
#define BCKM_UNROLL
#endif

// Costs of `rows` points in `blocks` blocks of clusters, each number added up feature by feature.
// From differences: |x|^2 - 2xc + |c|^2 would cancel where clusters are tight.
template <int rows, int blocks>
void block_costs(const double* const* x, const double* weight, const double* columns,
                 std::int64_t dims, double* const* out) {
    constexpr int parts = block / lanes;
    Doubles sum[rows][blocks * parts];
    BCKM_UNROLL
    for (int r = 0; r < rows; ++r) {
        BCKM_UNROLL
        for (int p = 0; p < blocks * parts; ++p) sum[r][p] = all(0.0);
    }
    for (std::int64_t t = 0; t < dims; ++t) {
        BCKM_UNROLL
        for (int p = 0; p < blocks * parts; ++p) {
            const Doubles c = load(columns + (p / parts * dims + t) * block + p % parts * lanes);
            BCKM_UNROLL
            for (int r = 0; r < rows; ++r) {
                const Doubles gap = all(x[r][t]) - c;
                sum[r][p] += gap * gap;
            }
        }
    }
    BCKM_UNROLL
    for (int r = 0; r < rows; ++r) {
        BCKM_UNROLL
        for (int p = 0; p < blocks * parts; ++p) store(out[r] + p * lanes, weight[r] * sum[r][p]);
    }
}

template <int rows, int blocks>
void some_costs(const double* const* x, const double* weight, const double* columns,
                std::int64_t dims, std::int64_t width, double* const* out) {
    double* to[rows];
    const auto place = [&](std::int64_t i) {
        for (int r = 0; r < rows; ++r) to[r] = out[r] + i;
    };
    std::int64_t i = 0;
    for (; i + blocks * block <= width; i += blocks * block) {
        place(i);
        block_costs<rows, blocks>(x, weight, columns + i * dims, dims, to);
    }
    for (; i < width; i += block) {
        place(i);
        block_costs<rows, 1>(x, weight, columns + i * dims, dims, to);
    }
}

// as many sums at a time as registers hold, and enough that none waits for another
constexpr int blocks_of_one = lanes == 8 ? 8 : lanes == 4 ? 4 : 2;
constexpr int blocks_of_four = lanes == 8 ? 2 : 1;

void costs(const double* const* x, const double* weight, int rows, const double* columns,
           std::int64_t dims, std::int64_t width, double* const* out) {
    for (; rows >= 4; rows -= 4, x += 4, weight += 4, out += 4)
        some_costs<4, blocks_of_four>(x, weight, columns, dims, width, out);
    for (; rows > 0; --rows, ++x, ++weight, ++out)
        some_costs<1, blocks_of_one>(x, weight, columns, dims, width, out);
}

void offer(const double* __restrict cost, double here, std::int64_t k, double* __restrict least) {
    for (std::int64_t i = 0; i < k; ++i) {
        const double change = cost[i] - here;
        least[i] = change < least[i] ? change : least[i];
    }
}

void relax(const double* __restrict arc, double here, double so_far, const double* __restrict price,
           std::int64_t name, std::int64_t k, double* __restrict distance,
           std::int64_t* __restrict from, double* __restrict used) {
    for (std::int64_t i = 0; i < k; ++i) {
        const double reduced = arc[i] + here - price[i];
        const double length = so_far + (reduced > 0.0 ? reduced : 0.0);
        from[i] = length < distance[i] ? name : from[i];
        used[i] = length < distance[i] ? arc[i] : used[i];
        distance[i] = length < distance[i] ? length : distance[i];
    }
}

float magnitude(float value) { return value < 0.0f ? -value : value; }

void decay(const std::int32_t* __restrict label, const float* __restrict fixed,
           const float* __restrict slope, const float* __restrict radius, std::int64_t n,
           float* __restrict slack) {
    constexpr float rounding = 4e-7f;
    if (radius) {
        for (std::int64_t j = 0; j < n; ++j) {
            const float f = fixed[label[j]], g = slope[label[j]] * radius[j], s = slack[j];
            slack[j] = s - f - g - rounding * (magnitude(s) + magnitude(f) + magnitude(g));
        }
    } else {
        for (std::int64_t j = 0; j < n; ++j) {
            const float f = fixed[label[j]], s = slack[j];
            slack[j] = s - f - rounding * (magnitude(s) + magnitude(f));
        }
    }
}

double least(const double* value, const double* shift, std::int64_t k) {
    double lane[block];
    for (int q = 0; q < block; ++q) lane[q] = HUGE_VAL;
    std::int64_t i = 0;
    for (; i + block <= k; i += block)
        for (int q = 0; q < block; ++q) {
            const double sum = value[i + q] + shift[i + q];
            lane[q] = sum < lane[q] ? sum : lane[q];
        }
    for (; i < k; ++i) {
        const double sum = value[i] + shift[i];
        lane[0] = sum < lane[0] ? sum : lane[0];
    }
    for (int q = 1; q < block; ++q) lane[0] = lane[q] < lane[0] ? lane[q] : lane[0];
    return lane[0];
}

void entry(double x, const double* __restrict center, std::int64_t k, double* __restrict near,
           double* __restrict high, double* __restrict low) {
    for (std::int64_t i = 0; i < k; ++i) {
        const double gap = x - center[i], square = center[i] * center[i];
        near[i] += gap * gap;
        // Knuth's two-sum, as in compensated.hpp
        const double sum = high[i] + square, part = sum - high[i];
        low[i] += (high[i] - (sum - part)) + (square - part);
        high[i] = sum;
    }
}

}  // namespace

RowLoops row_loops() { return {costs, offer, relax, decay, least, entry}; }

}  // namespace bckm::BCKM_ISA
