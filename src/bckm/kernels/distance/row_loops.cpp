// Compiled once per instruction set (BCKM_ISA), without fused operations: all variants give the
// same bits. Loops are written for the vectorizer: no branches, all numbers of one size.
#include "distance/row_loops.hpp"

#include <math.h>

namespace bckm::BCKM_ISA {
namespace {

constexpr int block = 8;

// From differences: |x|^2 - 2xc + |c|^2 would cancel where clusters are tight.
void costs(const double* x, double weight, const double* columns, std::int64_t dims,
           std::int64_t width, double* out) {
    for (std::int64_t i = 0; i < width; i += block) {
        double sum[block] = {};
        for (std::int64_t t = 0; t < dims; ++t) {
            const double* c = columns + t * width + i;
            for (int q = 0; q < block; ++q) {
                const double gap = x[t] - c[q];
                sum[q] += gap * gap;
            }
        }
        for (int q = 0; q < block; ++q) out[i + q] = weight * sum[q];
    }
}

void offer(const double* __restrict cost, double here, std::int64_t name, std::int64_t k,
           double* __restrict least, std::int64_t* __restrict who) {
    for (std::int64_t i = 0; i < k; ++i) {
        const double change = cost[i] - here;
        who[i] = change < least[i] ? name : who[i];
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
