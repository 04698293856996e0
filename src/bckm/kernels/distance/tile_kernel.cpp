// Compiled once per instruction set: BCKM_ISA names the variant.
//
// Points are in the lanes of vectors, centers are broadcast. A tile of `groups` vectors of points
// times `block` centers keeps all its sums in registers: one load per two or three multiply-adds.
#include "distance/tile_kernel.hpp"

namespace bckm::BCKM_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16, groups = 3, block = 8;  // 24 of 32 registers hold sums
#elif defined(__AVX2__)
constexpr int lanes = 8, groups = 2, block = 6;  // 12 of 16
#elif defined(__aarch64__)
constexpr int lanes = 4, groups = 4, block = 6;  // 24 of 32
#else
constexpr int lanes = 4, groups = 2, block = 4;  // 8 of 16: products need registers as well
#endif

#if defined(__GNUC__)
typedef float Floats __attribute__((vector_size(lanes * 4)));
typedef std::int32_t Ints __attribute__((vector_size(lanes * 4)));
inline Floats all(float v) { return Floats{} + v; }
inline Ints all(std::int32_t v) { return Ints{} + v; }
inline Floats load(const float* p) { return *reinterpret_cast<const Floats*>(p); }
inline void store(float* p, Floats v) { *reinterpret_cast<Floats*>(p) = v; }
inline void store(std::int32_t* p, Ints v) { *reinterpret_cast<Ints*>(p) = v; }
#define BCKM_UNROLL _Pragma("GCC unroll 8")
#else
// Compilers without vector extensions get loops over small arrays.
struct Floats {
    float v[lanes];
};
struct Ints {
    std::int32_t v[lanes];
};
template <class F> inline Floats each(F f) {
    Floats r;
    for (int q = 0; q < lanes; ++q) r.v[q] = f(q);
    return r;
}
template <class F> inline Ints each_int(F f) {
    Ints r;
    for (int q = 0; q < lanes; ++q) r.v[q] = f(q);
    return r;
}
inline Floats all(float v) {
    return each([&](int) { return v; });
}
inline Ints all(std::int32_t v) {
    return each_int([&](int) { return v; });
}
inline Floats load(const float* p) {
    return each([&](int q) { return p[q]; });
}
inline void store(float* p, Floats a) {
    for (int q = 0; q < lanes; ++q) p[q] = a.v[q];
}
inline void store(std::int32_t* p, Ints a) {
    for (int q = 0; q < lanes; ++q) p[q] = a.v[q];
}
inline Floats operator*(Floats a, float b) {
    return each([&](int q) { return a.v[q] * b; });
}
inline Floats& operator+=(Floats& a, Floats b) {
    for (int q = 0; q < lanes; ++q) a.v[q] += b.v[q];
    return a;
}
#define BCKM_UNROLL
#endif

// least = min(least, value - own), lane by lane
inline void lower_lanes(float* least, Floats value, const float* own) {
#if defined(__GNUC__)
    const Floats above = value - load(own), before = load(least);
    store(least, above < before ? above : before);
#else
    for (int q = 0; q < lanes; ++q)
        if (value.v[q] - own[q] < least[q]) least[q] = value.v[q] - own[q];
#endif
}

struct Leaders {
    Floats best, second;
    Ints label, runner_up;

    void reset() {
        best = second = all(3.0e38f);
        label = runner_up = all(std::int32_t{0});
    }

    // takes the value of cluster i in every lane
    void update(Floats value, std::int32_t i) {
#if defined(__GNUC__)
        const Ints first = value < best, next = value < second;
        second = first ? best : (next ? value : second);
        runner_up = first ? label : (next ? all(i) : runner_up);
        best = first ? value : best;
        label = first ? all(i) : label;
#else
        for (int q = 0; q < lanes; ++q) {
            if (value.v[q] < best.v[q]) {
                second.v[q] = best.v[q];
                runner_up.v[q] = label.v[q];
                best.v[q] = value.v[q];
                label.v[q] = i;
            } else if (value.v[q] < second.v[q]) {
                second.v[q] = value.v[q];
                runner_up.v[q] = i;
            }
        }
#endif
    }
};

// Values of a block of centers for all points of the tile.
struct Sums {
    Floats sum[groups][block];

    void add(const float* points, std::int64_t dims, const float* center, const float* bias) {
        BCKM_UNROLL
        for (int c = 0; c < block; ++c)
            for (int g = 0; g < groups; ++g) sum[g][c] = all(bias[c]);
        for (std::int64_t t = 0; t < dims; ++t, center += block) {
            Floats x[groups];
            for (int g = 0; g < groups; ++g) x[g] = load(points + (t * groups + g) * lanes);
            BCKM_UNROLL
            for (int c = 0; c < block; ++c) {
                BCKM_UNROLL
                for (int g = 0; g < groups; ++g) sum[g][c] += x[g] * center[c];
            }
        }
    }
};

void run(const float* points, std::int64_t dims, const float* centers, const float* bias,
         std::int64_t width, TileBest& out, float* all_values) {
    Leaders leaders[groups];
    for (int g = 0; g < groups; ++g) leaders[g].reset();
    for (std::int64_t i = 0; i < width; i += block, centers += dims * block) {
        Sums values;
        values.add(points, dims, centers, bias + i);
        BCKM_UNROLL
        for (int c = 0; c < block; ++c) {
            BCKM_UNROLL
            for (int g = 0; g < groups; ++g)
                leaders[g].update(values.sum[g][c], static_cast<std::int32_t>(i + c));
        }
        if (all_values == nullptr) continue;
        BCKM_UNROLL
        for (int c = 0; c < block; ++c) {
            float* row = all_values + (i + c) * groups * lanes;
            BCKM_UNROLL
            for (int g = 0; g < groups; ++g) store(row + g * lanes, values.sum[g][c]);
        }
    }
    for (int g = 0; g < groups; ++g) {
        store(out.best + g * lanes, leaders[g].best);
        store(out.second + g * lanes, leaders[g].second);
        store(out.label + g * lanes, leaders[g].label);
        store(out.runner_up + g * lanes, leaders[g].runner_up);
    }
}

float lower(const float* points, std::int64_t dims, const float* centers, const float* bias,
            std::int64_t width, std::int64_t own, float* minima) {
    alignas(64) float here[groups * lanes];
    const float* center = centers + own / block * dims * block + own % block;
    float largest = 0.0f;
    for (int r = 0; r < groups * lanes; ++r) {
        float sum = bias[own];
        for (std::int64_t t = 0; t < dims; ++t)
            sum += points[t * groups * lanes + r] * center[t * block];
        here[r] = sum;
        largest = largest < sum ? sum : largest < -sum ? -sum : largest;
    }
    for (std::int64_t i = 0; i < width; i += block, centers += dims * block) {
        Sums values;
        values.add(points, dims, centers, bias + i);
        for (int c = 0; c < block; ++c) {
            float* least = minima + (i + c) * lanes;
            for (int g = 0; g < groups; ++g) lower_lanes(least, values.sum[g][c], here + g * lanes);
        }
    }
    return largest;
}

float gaps(const float* points, std::int64_t dims, const float* centers, const float* bias,
           std::int64_t own, std::int64_t to, float* gap) {
    const auto center = [&](std::int64_t i) {
        return centers + i / block * dims * block + i % block;
    };
    const float *from = center(own), *there = center(to);
    Floats here[groups], other[groups];
    for (int g = 0; g < groups; ++g) {
        here[g] = all(bias[own]);
        other[g] = all(bias[to]);
    }
    for (std::int64_t t = 0; t < dims; ++t)
        for (int g = 0; g < groups; ++g) {
            const Floats x = load(points + (t * groups + g) * lanes);
            here[g] += x * from[t * block];
            other[g] += x * there[t * block];
        }
    alignas(64) float value[groups * lanes];
    for (int g = 0; g < groups; ++g) {
        store(value + g * lanes, here[g]);
        store(gap + g * lanes, other[g]);
    }
    float largest = 0.0f;
    for (int r = 0; r < groups * lanes; ++r) {
        gap[r] -= value[r];
        largest = largest < value[r] ? value[r] : largest < -value[r] ? -value[r] : largest;
    }
    return largest;
}

}  // namespace

TileKernel tile_kernel() { return {lanes * groups, block, run, lower, gaps, lanes}; }

}  // namespace bckm::BCKM_ISA
