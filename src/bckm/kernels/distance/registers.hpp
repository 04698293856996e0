// Registers of several numbers, for what is compiled once per instruction set (BCKM_ISA): all of it
// lies in an unnamed namespace of the variant, so that the linker mixes nothing up.
#pragma once

#include <math.h>
#if defined(__GNUC__) && defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <limits>
#include <utility>

#include "distance/row_loops.hpp"

namespace bckm::BCKM_ISA {
namespace {

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
typedef std::int64_t Integers __attribute__((vector_size(lanes * 8)));
inline Doubles load(const double* p) {
    Doubles v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
inline Integers load(const std::int64_t* p) {
    Integers v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
inline void store(double* p, Doubles v) { __builtin_memcpy(p, &v, sizeof v); }
inline void store(std::int64_t* p, Integers v) { __builtin_memcpy(p, &v, sizeof v); }
inline Doubles all(double v) { return Doubles{} + v; }
inline Integers all(std::int64_t v) { return Integers{} + v; }
inline Integers counted() {
    Integers v;
    for (int q = 0; q < lanes; ++q) v[q] = q;
    return v;
}
// Lanes in another order: q gets what q ^ half had.
template <int half, typename Lanes, int... q>
inline Lanes swapped(Lanes v, std::integer_sequence<int, q...>) {
    return Lanes{v[q ^ half]...};
}
// The least of all lanes, in all lanes.
template <int half = lanes / 2, typename Lanes> inline Lanes lowest(Lanes v) {
    const Lanes other = swapped<half>(v, std::make_integer_sequence<int, lanes>());
    const Lanes less = other < v ? other : v;
    if constexpr (half == 1) return less;
    else return lowest<half / 2>(less);
}
inline double one_of(Doubles v) { return v[0]; }
inline std::int64_t one_of(Integers v) { return v[0]; }
// One bit for each lane of a comparison.
inline std::uint64_t bits_of(Integers compared) {
#if defined(__AVX512F__)
    return _mm512_movepi64_mask(reinterpret_cast<__m512i>(compared));
#elif defined(__AVX2__)
    return _mm256_movemask_pd(reinterpret_cast<__m256d>(compared));
#elif defined(__SSE2__)
    return _mm_movemask_pd(reinterpret_cast<__m128d>(compared));
#else
    std::uint64_t bits = 0;
    for (int q = 0; q < lanes; ++q) bits |= static_cast<std::uint64_t>(compared[q] & 1) << q;
    return bits;
#endif
}
inline int first_bit(std::uint64_t bits) { return __builtin_ctzll(bits); }
// As many numbers of 32 bits as a register has of 64.
typedef std::int32_t HalfInts __attribute__((vector_size(lanes * 4)));
inline HalfInts narrow(Integers v) { return __builtin_convertvector(v, HalfInts); }
inline HalfInts load_half(const std::int32_t* p) {
    HalfInts v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
inline void store(std::int32_t* p, HalfInts v) { __builtin_memcpy(p, &v, sizeof v); }
constexpr int float_lanes = 2 * lanes;
typedef float Floats __attribute__((vector_size(float_lanes * 4)));
typedef std::int32_t Ints __attribute__((vector_size(float_lanes * 4)));
inline Floats load(const float* p) {
    Floats v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
inline void store(float* p, Floats v) { __builtin_memcpy(p, &v, sizeof v); }
inline void store(std::int32_t* p, Ints v) { __builtin_memcpy(p, &v, sizeof v); }
inline Floats every(float v) { return Floats{} + v; }
inline Ints every(std::int32_t v) { return Ints{} + v; }
inline Ints counted_ints() {
    Ints v;
    for (int q = 0; q < float_lanes; ++q) v[q] = q;
    return v;
}
#define BCKM_UNROLL _Pragma("GCC unroll 8")
#else
constexpr int lanes = 1;
typedef double Doubles;
typedef std::int64_t Integers;
inline Doubles load(const double* p) { return *p; }
inline Integers load(const std::int64_t* p) { return *p; }
inline void store(double* p, Doubles v) { *p = v; }
inline void store(std::int64_t* p, Integers v) { *p = v; }
inline Doubles all(double v) { return v; }
inline Integers all(std::int64_t v) { return v; }
inline Integers counted() { return 0; }
template <typename Lanes> inline Lanes lowest(Lanes v) { return v; }
inline double one_of(Doubles v) { return v; }
inline std::int64_t one_of(Integers v) { return v; }
inline std::uint64_t bits_of(bool compared) { return compared; }
inline int first_bit(std::uint64_t bits) {
    int at = 0;
    for (; !(bits & 1); bits >>= 1) ++at;
    return at;
}
typedef std::int32_t HalfInts;
inline bool narrow(bool compared) { return compared; }
inline HalfInts load_half(const std::int32_t* p) { return *p; }
constexpr int float_lanes = 1;
typedef float Floats;
typedef std::int32_t Ints;
inline Floats load(const float* p) { return *p; }
inline void store(float* p, Floats v) { *p = v; }
inline void store(std::int32_t* p, Ints v) { *p = v; }
inline Floats every(float v) { return v; }
inline Ints every(std::int32_t v) { return v; }
inline Ints counted_ints() { return 0; }
#define BCKM_UNROLL
#endif

// The least number so far and its place, in lanes that do not wait for each other.
struct Leading {
    Doubles value = all(HUGE_VAL);
    Integers at = all(std::int64_t{-1});

    void offer(Doubles candidate, Integers place) {
        at = candidate < value ? place : at;
        value = candidate < value ? candidate : value;
    }

    static Leading joined(Leading one, const Leading& other) {
        const auto ahead =
            (other.value < one.value) | ((other.value == one.value) & (other.at < one.at));
        one.at = ahead ? other.at : one.at;
        one.value = ahead ? other.value : one.value;
        return one;
    }

    // Of these and one number more.
    static void offer(Least& out, double candidate, std::int64_t place) {
        const bool first = candidate == out.value && place < out.at;
        if (candidate < out.value || first) out = {candidate, place};
    }

    Least first() const {
        const Doubles least = lowest(value);
        // the others are out of the way
        return {one_of(least), one_of(lowest(value == least ? at : all(furthest)))};
    }

    static constexpr std::int64_t furthest = std::numeric_limits<std::int64_t>::max();
};

}  // namespace
}  // namespace bckm::BCKM_ISA
