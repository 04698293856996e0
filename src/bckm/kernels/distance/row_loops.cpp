// Compiled once per instruction set (BCKM_ISA), without fused operations: all variants give the
// same bits. Loops are written for the vectorizer: no branches, all numbers of one size.
#include "distance/row_loops.hpp"

#include <math.h>
#include <string.h>

#include <limits>
#include <utility>

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

Least relax(const double* arc, double here, double so_far, const double* price,
            const double* hidden, std::int64_t name, std::int64_t k, double* distance,
            std::int64_t* from, double* used) {
    if (k < lanes) {
        Least out{HUGE_VAL, -1};
        for (std::int64_t i = 0; i < k; ++i) {
            const double reduced = arc[i] + here - price[i];
            const double length = so_far + (reduced > 0.0 ? reduced : 0.0);
            if (length < distance[i]) {
                distance[i] = length;
                from[i] = name;
                if (used) used[i] = arc[i];
            }
            Leading::offer(out, distance[i] + hidden[i], i);
        }
        return out;
    }
    Leading leading;
    // the second step may begin within the first: done twice, nothing changes
    for (std::int64_t i = 0; i < k; i += i > 0 || k % lanes == 0 ? lanes : k % lanes) {
        const Doubles cost = load(arc + i), before = load(distance + i);
        const Doubles reduced = cost + here - load(price + i);
        const Doubles length = so_far + (reduced > 0.0 ? reduced : all(0.0));
        const auto nearer = length < before;
        const Doubles now = nearer ? length : before;
        store(from + i, nearer ? all(name) : load(from + i));
        if (used) store(used + i, nearer ? cost : load(used + i));
        store(distance + i, now);
        leading.offer(now + load(hidden + i), counted() + i);
    }
    return leading.first();
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

Least least(const double* value, const double* shift, std::int64_t k) {
    if (k < lanes) {
        Least out{HUGE_VAL, -1};
        for (std::int64_t i = 0; i < k; ++i) Leading::offer(out, value[i] + shift[i], i);
        return out;
    }
    Leading even, odd;
    const auto offer = [=](Leading& to, std::int64_t i) {
        to.offer(load(value + i) + load(shift + i), counted() + i);
    };
    std::int64_t i = 0;
    for (; i + 2 * lanes <= k; i += 2 * lanes) {
        offer(even, i);
        offer(odd, i + lanes);
    }
    if (i + lanes <= k) offer(even, i);
    offer(odd, k - lanes);  // some a second time
    return Leading::joined(even, odd).first();
}

template <int rows>
void nearest_of(const double* cost, std::int64_t width, const double* shift, std::int32_t* label) {
    Leading leading[rows];
    for (std::int64_t i = 0; i < width; i += lanes) {
        const Doubles more = load(shift + i);
        const Integers place = counted() + i;
        BCKM_UNROLL
        for (int r = 0; r < rows; ++r) leading[r].offer(load(cost + r * width + i) + more, place);
    }
    BCKM_UNROLL
    for (int r = 0; r < rows; ++r) label[r] = static_cast<std::int32_t>(leading[r].first().at);
}

void nearest(const double* cost, std::int64_t width, const double* shift, std::int64_t rows,
             std::int32_t* label) {
    constexpr int together = 4;  // that do not wait for each other
    std::int64_t r = 0;
    for (; r + together <= rows; r += together)
        nearest_of<together>(cost + r * width, width, shift, label + r);
    for (; r < rows; ++r) nearest_of<1>(cost + r * width, width, shift, label + r);
}

// In `strands` parts of the rows that do not wait for each other; the first row wins a tie.
template <int parts, int strands>
void some_moves(const double* cost, std::int64_t width, const std::int32_t* which,
                std::int64_t count, const double* own, double* move, std::int32_t* top) {
    Leading leading[strands][parts];
    const auto read = [=](Leading* to, std::int64_t r) {
        const double* row = cost + which[r] * width;
        const Doubles here = all(own[which[r]]);
        const Integers name = all(static_cast<std::int64_t>(which[r]));
        BCKM_UNROLL
        for (int p = 0; p < parts; ++p) to[p].offer(load(row + p * lanes) - here, name);
    };
    const std::int64_t strand = count / strands;
    for (std::int64_t r = 0; r < strand; ++r) {
        BCKM_UNROLL
        for (int s = 0; s < strands; ++s) read(leading[s], s * strand + r);
    }
    for (std::int64_t r = strands * strand; r < count; ++r) read(leading[strands - 1], r);
    BCKM_UNROLL
    for (int p = 0; p < parts; ++p) {
        BCKM_UNROLL
        for (int s = 1; s < strands; ++s)
            leading[0][p].offer(leading[s][p].value, leading[s][p].at);
        std::int64_t at[lanes];
        store(move + p * lanes, leading[0][p].value);
        store(at, leading[0][p].at);
        for (int q = 0; q < lanes; ++q) top[p * lanes + q] = static_cast<std::int32_t>(at[q]);
    }
}

void moves(const double* cost, std::int64_t width, std::int64_t from, std::int64_t to,
           const std::int32_t* which, std::int64_t count, const double* own, double* move,
           std::int32_t* top) {
    constexpr int parts = lanes == 8 ? 8 : 4, half = parts / 2;  // as many as registers hold
    std::int64_t i = from;
    for (; i + parts * lanes <= to; i += parts * lanes)
        some_moves<parts, 1>(cost + i, width, which, count, own, move + i, top + i);
    for (; i + half * lanes <= to; i += half * lanes)
        some_moves<half, 2>(cost + i, width, which, count, own, move + i, top + i);
    for (; i < to; i += lanes)
        some_moves<1, 4>(cost + i, width, which, count, own, move + i, top + i);
}

void offer(const double* cost, std::int64_t width, std::int32_t name, double here, double* move,
           std::int32_t* top) {
    const double* row = cost + name * width;
    for (std::int64_t i = 0; i < width; ++i) {
        const double change = row[i] - here;
        if (!(change < move[i])) continue;
        top[i] = name;
        move[i] = change;
    }
}

BestTwo best_two(const float* value, const float* shift, std::int64_t k) {
    constexpr float high = 3.0e38f;
    Floats best = every(high), second = best;
    Ints label = every(std::int32_t{0}), runner_up = label;
    std::int64_t i = 0;
    for (; i + float_lanes <= k; i += float_lanes) {
        const Floats v = load(value + i) - load(shift + i);
        const Ints at = counted_ints() + static_cast<std::int32_t>(i);
        const auto first = v < best, next = v < second;
        runner_up = first ? label : (next ? at : runner_up);
        second = first ? best : (next ? v : second);
        label = first ? at : label;
        best = first ? v : best;
    }
    BestTwo out{high, high, 0, 0};
    const auto offer = [&out](float v, std::int32_t at) {
        if (v < out.best || (v == out.best && at < out.label)) {
            out.second = out.best;
            out.runner_up = out.label;
            out.best = v;
            out.label = at;
        } else if (v < out.second || (v == out.second && at < out.runner_up)) {
            out.second = v;
            out.runner_up = at;
        }
    };
    float found[2][float_lanes];
    std::int32_t place[2][float_lanes];
    store(found[0], best);
    store(found[1], second);
    store(place[0], label);
    store(place[1], runner_up);
    for (int q = 0; q < float_lanes; ++q)
        for (int r = 0; r < 2; ++r)
            if (found[r][q] < high) offer(found[r][q], place[r][q]);
    for (; i < k; ++i)
        if (value[i] - shift[i] < high) offer(value[i] - shift[i], static_cast<std::int32_t>(i));
    return out;
}

void group_minima(const float* __restrict value, const float* __restrict shift, std::int64_t k,
                  float* __restrict least) {
    constexpr int groups = RowLoops::groups;
    for (int g = 0; g < groups; ++g) least[g] = 3.0e38f;
    std::int64_t i = 0;
    for (; i + groups <= k; i += groups)
        for (int g = 0; g < groups; ++g) {
            const float v = value[i + g] - shift[i + g];
            least[g] = v < least[g] ? v : least[g];
        }
    for (int g = 0; i + g < k; ++g) {
        const float v = value[i + g] - shift[i + g];
        least[g] = v < least[g] ? v : least[g];
    }
}

std::int64_t below(const float* __restrict value, const float* __restrict shift, std::int64_t k,
                   float limit, unsigned char* __restrict flag, std::int32_t* __restrict at) {
    constexpr std::int64_t word = 8;
    for (std::int64_t i = 0; i < k; ++i)
        flag[i] = static_cast<unsigned char>(!(value[i] - shift[i] >= limit));
    for (std::int64_t i = k; i < k + word; ++i) flag[i] = 0;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < k; i += word) {
        std::uint64_t any;
        memcpy(&any, flag + i, word);
        if (any == 0) continue;  // most of them
        for (std::int64_t q = i; q < i + word; ++q) {
            at[count] = static_cast<std::int32_t>(q);
            count += flag[q];
        }
    }
    return count;
}

bool are_numbers(const float* value, std::int64_t k) {
    int wrong = 0;
    for (std::int64_t i = 0; i < k; ++i)
        wrong |= static_cast<int>(!(magnitude(value[i]) < 3.0e38f));
    return wrong == 0;
}

void lower_row(const float* __restrict value, const float* __restrict shift, float own,
               std::int64_t k, float* __restrict least) {
    for (std::int64_t i = 0; i < k; ++i) {
        const float above = value[i] - shift[i] - own;
        least[i] = above < least[i] ? above : least[i];
    }
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

RowLoops row_loops() {
    return {costs,    relax,        decay, least,       nearest,   moves, offer,
            best_two, group_minima, below, are_numbers, lower_row, entry};
}

}  // namespace bckm::BCKM_ISA
