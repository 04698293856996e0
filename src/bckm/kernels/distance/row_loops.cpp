// Compiled once per instruction set (BCKM_ISA), without fused operations: all variants give the
// same bits. Loops are written for the vectorizer: no branches, all numbers of one size.
#include "distance/row_loops.hpp"

#include <math.h>
#include <string.h>

#include "distance/registers.hpp"

namespace bckm::BCKM_ISA {
namespace {

constexpr int block = 8;

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

Least relax(const double* arc, double here, double so_far, const double* price,
            const double* hidden, std::int64_t name, std::int64_t k, double* distance,
            std::int64_t* from) {
    if (k < lanes) {
        Least out{HUGE_VAL, -1};
        for (std::int64_t i = 0; i < k; ++i) {
            const double reduced = arc[i] + here - price[i];
            const double length = so_far + (reduced > 0.0 ? reduced : 0.0);
            if (length < distance[i]) {
                distance[i] = length;
                from[i] = name;
            }
            Leading::offer(out, distance[i] + hidden[i], i);
        }
        return out;
    }
    Leading leading;
    // the second step may begin within the first: done twice, nothing changes
    for (std::int64_t i = 0; i < k; i += i > 0 || k % lanes == 0 ? lanes : k % lanes) {
        const Doubles before = load(distance + i);
        const Doubles reduced = load(arc + i) + here - load(price + i);
        const Doubles length = so_far + (reduced > 0.0 ? reduced : all(0.0));
        const auto nearer = length < before;
        const Doubles now = nearer ? length : before;
        store(from + i, nearer ? all(name) : load(from + i));
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
    for (std::int64_t i = 0; i < width; i += lanes) {  // without branches: nobody can foretell them
        const Doubles before = load(move + i), change = load(row + i) - here;
        const auto cheaper = change < before;
        store(move + i, cheaper ? change : before);
        store(top + i, narrow(cheaper) ? HalfInts{} + name : load_half(top + i));
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
            best_two, group_minima, below, are_numbers, lower_row, entry, shortest_tree};
}

}  // namespace bckm::BCKM_ISA
