// Passes over rows on a GPU. Compiled for a type of rows (REAL), a number of steps of 8 features
// that stay in registers (STEPS), whether there are more (CHUNKED), and the lanes of a row (LANES).
//
// float32 decides where its error is proven to be smaller than the gap; all else is float64, and
// sums are whole numbers, so that their order does not matter.

typedef unsigned long long u64;
typedef long long i64;

#define WARP_ROWS 32                   // rows of a warp in `best`
#define WARPS 8                        // warps of a block there
#define NT (STEPS > 8 ? 4 : 8)         // groups of 8 centers in a tile
#define TILE (8 * NT)                  // centers in a tile
#define CHUNK_WORDS (STEPS * NT * 32)  // float4 of a tile and a chunk of features
#define PART 4096                      // rows of a block in `group` and `sums`
#define BLOCKS (STEPS > 2 ? 1 : 2)     // that share a multiprocessor in `best`

__device__ __forceinline__ double seen(const REAL* x, i64 row, int t, int d, const double* origin,
                                       double scale) {
    return (static_cast<double>(x[row * d + t]) - origin[t]) * scale;
}

// ---- the best two clusters in float32 ----

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], float b0,
                                         float b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(__float_as_uint(b0)),
          "r"(__float_as_uint(b1)));
}

// The nearest number of 11 bits (TF32).
__device__ __forceinline__ float nearest_short(float value) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return __uint_as_float(bits & 0xffffe000u);
}

__device__ __forceinline__ void copy_async(void* to, const void* from) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
}

// A number in the units of the frame, as float32. Of float32 the origin is taken off in two parts.
__device__ __forceinline__ float seen_short(float x, float2 middle, float scale) {
    return ((x - middle.x) - middle.y) * scale;
}
__device__ __forceinline__ float seen_short(double x, double middle, double scale) {
    return static_cast<float>((x - middle) * scale);
}
__device__ __forceinline__ float2 middle_of(double origin, float) {
    const float high = static_cast<float>(origin);
    return make_float2(high, static_cast<float>(origin - static_cast<double>(high)));
}
__device__ __forceinline__ double middle_of(double origin, double) { return origin; }

// Four numbers of a row, where the row begins at a multiple of four.
__device__ __forceinline__ void four(const float* from, float (&to)[4]) {
    const float4 v = __ldg(reinterpret_cast<const float4*>(from));
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ __forceinline__ void four(const double* from, double (&to)[4]) {
    const double2 v = __ldg(reinterpret_cast<const double2*>(from)),
                  w = __ldg(reinterpret_cast<const double2*>(from) + 1);
    to[0] = v.x, to[1] = v.y, to[2] = w.x, to[3] = w.y;
}

// The rows of a lane: lane l has rows l / 4 + 8 i of a warp, i below 4, and of 16 features, which
// are two steps, the four from 4 (l % 4) on: two for each step.
struct Rows {
    float x[STEPS][2][4];  // step, pair of rows, as the multiplication wants them

    __device__ __forceinline__ void load(const REAL* data, const int* which, i64 first, i64 n,
                                         int d, int chunk, const double* origin, double scale,
                                         float (&square)[4]) {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int s = 0; s < STEPS; s += 2) {
            const int t = (chunk * STEPS + s) * 8 + 4 * (lane % 4);
            decltype(middle_of(0.0, REAL(0))) middle[4];
#pragma unroll
            for (int e = 0; e < 4; ++e)
                middle[e] = middle_of(t + e < d ? origin[t + e] : 0.0, REAL(0));
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const i64 place = first + lane / 4 + 8 * i;
                REAL v[4] = {0, 0, 0, 0};
                if (place < n && t < d) {
                    const REAL* from =
                        data + (which ? static_cast<i64>(which[place]) : place) * d + t;
                    if (d % 4 == 0) {
                        four(from, v);
                    } else {
#pragma unroll
                        for (int e = 0; e < 4; ++e)
                            if (t + e < d) v[e] = from[e];
                    }
                }
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    float y = 0.0f;
                    if (place < n && t + e < d)
                        y = seen_short(v[e], middle[e], static_cast<REAL>(scale));
                    x[s + e / 2][i / 2][2 * (e % 2) + i % 2] = y;
                    square[i] += y * y;
                }
            }
        }
    }
};

__device__ __forceinline__ void tile_products(float (&sum)[2][NT][4], const Rows& rows,
                                              const float4* words) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        unsigned high[2][4], low[2][4];
#pragma unroll
        for (int m = 0; m < 2; ++m)
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const unsigned bits = __float_as_uint(rows.x[s][m][q]) & 0xffffe000u;
                high[m][q] = bits;
                low[m][q] = __float_as_uint(rows.x[s][m][q] - __uint_as_float(bits)) & 0xffffe000u;
            }
#pragma unroll
        for (int g = 0; g < NT; g += 4) {
            float4 c[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) c[j] = words[(s * NT + g + j) * 32 + lane];
#pragma unroll
            for (int j = 0; j < 4; ++j)
#pragma unroll
                for (int m = 0; m < 2; ++m) multiply(sum[m][g + j], low[m], c[j].x, c[j].y);
#pragma unroll
            for (int j = 0; j < 4; ++j)
#pragma unroll
                for (int m = 0; m < 2; ++m) multiply(sum[m][g + j], high[m], c[j].z, c[j].w);
#pragma unroll
            for (int j = 0; j < 4; ++j)
#pragma unroll
                for (int m = 0; m < 2; ++m) multiply(sum[m][g + j], high[m], c[j].x, c[j].y);
        }
    }
}

// Centers times -2, as high and low parts, tile by tile and chunk by chunk, in the order in which
// `best` multiplies them; `bias` is |c|^2 - price, and large where there is no center.
extern "C" __global__ void pack(const double* centers, const double* prices, int k, int d,
                                int chunks, int words, float4* to, float* bias) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= words) return;
    const int lane = at % 32, group = at / 32 % NT, step = at / (32 * NT) % STEPS;
    const int chunk = at / CHUNK_WORDS % chunks, tile = at / CHUNK_WORDS / chunks;
    const int c = tile * TILE + 8 * group + lane / 4;
    const int t =
        (chunk * STEPS + step / 2 * 2) * 8 + 4 * (lane % 4) + 2 * (step % 2);  // as `Rows`
    float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < 2; ++i)
        if (c < k && t + i < d) {
            const float value = static_cast<float>(-2.0 * centers[static_cast<i64>(c) * d + t + i]);
            const float high = nearest_short(value);
            part[i] = high;
            part[2 + i] = nearest_short(value - high);
        }
    to[at] = make_float4(part[0], part[1], part[2], part[3]);
    if (lane % 4 == 0 && step == 0 && chunk == 0) {
        double square = 0.0;
        if (c < k)
            for (int i = 0; i < d; ++i) {
                const double x = centers[static_cast<i64>(c) * d + i];
                square = fma(x, x, square);
            }
        bias[c] = c < k ? static_cast<float>(square - prices[c]) : 3.0e38f;
    }
}

// What the best clusters of each row are; seen are n rows, those in `which` or, without it, the
// first ones. What is computed is wrong by at most slope |x| + fixed.
struct Seen {
    const REAL* data;
    const int* which;
    i64 n;
    int d;
    const double* origin;
    double scale;
    const float4* words;
    const float* bias;
    int tiles, chunks;
};

// The best two of some clusters, of four rows of a lane.
struct Two {
    float least[4], second[4];
    int where[4], next[4];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < 4; ++i) least[i] = second[i] = 3.0e38f, where[i] = next[i] = 0;
    }
    __device__ __forceinline__ void take(int i, float v, int at) {
        next[i] = v < least[i] ? where[i] : v < second[i] ? at : next[i];
        second[i] = fminf(second[i], fmaxf(least[i], v));
        if (v < least[i]) where[i] = at;
        least[i] = fminf(least[i], v);
    }
    // Of all clusters, which four lanes have seen.
    __device__ __forceinline__ void join() {
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int apart = 1; apart < 4; apart *= 2) {
                const float v = __shfl_xor_sync(0xffffffffu, least[i], apart);
                const float w = __shfl_xor_sync(0xffffffffu, second[i], apart);
                const int at = __shfl_xor_sync(0xffffffffu, where[i], apart);
                second[i] = fminf(fminf(second[i], w), fmaxf(least[i], v));
                if (v < least[i] || (v == least[i] && at < where[i])) where[i] = at;
                least[i] = fminf(least[i], v);
            }
    }
};

// Goes through all centers, tile by tile. `use` gets the values of a tile: row i of this lane and
// center `at` have one. Returned are the squares of the lengths of the rows.
template <class Use>
__device__ __forceinline__ void each_tile(const Seen& of, i64 first, float (&square)[4],
                                          const Use& use) {
    extern __shared__ float4 shared[];  // two buffers
    const int lane = threadIdx.x % 32, items = of.tiles * of.chunks;
    const auto fetch = [&](int item) {
        float4* to = shared + (item % 2) * CHUNK_WORDS;
        const float4* from = of.words + static_cast<i64>(item) * CHUNK_WORDS;
        for (int i = threadIdx.x; i < CHUNK_WORDS; i += 32 * WARPS) copy_async(to + i, from + i);
        asm volatile("cp.async.commit_group;");
    };
    fetch(0);
    Rows rows;
#pragma unroll
    for (int i = 0; i < 4; ++i) square[i] = 0.0f;
#if !CHUNKED
    rows.load(of.data, of.which, first, of.n, of.d, 0, of.origin, of.scale, square);
#endif
    float sum[2][NT][4];
#if CHUNKED
    float total[2][NT][4];
#endif
    int item = 0;
    for (int tile = 0; tile < of.tiles; ++tile) {
        const float* start = of.bias + tile * TILE + 2 * (lane % 4);
        for (int chunk = 0; chunk < of.chunks; ++chunk, ++item) {
            asm volatile("cp.async.wait_group 0;");
            __syncthreads();
            if (item + 1 < items) fetch(item + 1);
#if CHUNKED
            float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            rows.load(of.data, of.which, first, of.n, of.d, chunk, of.origin, of.scale, part);
#pragma unroll
            for (int i = 0; i < 4; ++i) square[i] += tile == 0 ? part[i] : 0.0f;
#endif
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int g = 0; g < NT; ++g)
#pragma unroll
                    for (int q = 0; q < 4; ++q)
                        sum[m][g][q] = CHUNKED ? 0.0f : __ldg(start + 8 * g + q % 2);
            tile_products(sum, rows, shared + (item % 2) * CHUNK_WORDS);
#if CHUNKED
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int g = 0; g < NT; ++g)
#pragma unroll
                    for (int q = 0; q < 4; ++q)
                        total[m][g][q] =
                            sum[m][g][q] + (chunk ? total[m][g][q] : __ldg(start + 8 * g + q % 2));
#endif
        }
#if CHUNKED
        use(tile, total);
#else
        use(tile, sum);
#endif
    }
}

// Rows for which `here` is true are listed, in no order; all lanes of a warp take part.
template <class Write>
__device__ __forceinline__ void list_where(bool here, unsigned* number, const Write& write) {
    const unsigned voted = __ballot_sync(0xffffffffu, here);
    if (!voted) return;
    const int lane = threadIdx.x % 32;
    unsigned begin = 0;
    if (lane == 0) begin = atomicAdd(number, __popc(voted));
    begin = __shfl_sync(0xffffffffu, begin, 0);
    if (here) write(begin + __popc(voted & ((1u << lane) - 1)));
}

// Rows whose best cluster the error of float32 leaves open are listed in `open`.
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
    best(const REAL* data, const int* which, i64 n, int d, const double* origin, double scale,
         const float4* words, const float* bias, int tiles, int chunks, float slope, float fixed,
         int* label, float* slack, int* open, unsigned* n_open) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const i64 first = (static_cast<i64>(blockIdx.x) * WARPS + warp) * WARP_ROWS;
    Two two;
    two.clear();
    float square[4];
    each_tile({data, which, n, d, origin, scale, words, bias, tiles, chunks}, first, square,
              [&](int tile, const float (&value)[2][NT][4]) {
#pragma unroll
                  for (int m = 0; m < 2; ++m)
#pragma unroll
                      for (int g = 0; g < NT; ++g)
#pragma unroll
                          for (int q = 0; q < 4; ++q)
                              two.take(2 * m + q / 2, value[m][g][q],
                                       tile * TILE + 8 * g + 2 * (lane % 4) + q % 2);
              });
    two.join();
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int apart = 1; apart < 4; apart *= 2)
            square[i] += __shfl_xor_sync(0xffffffffu, square[i], apart);
    // each lane writes one of the four rows that it shares with three others
    float mine = 0.0f, next = 0.0f, length = 0.0f;
    int at = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (i == lane % 4)
            mine = two.least[i], next = two.second[i], length = square[i], at = two.where[i];
    const i64 place = first + lane / 4 + 8 * (lane % 4);
    i64 row = place;
    bool left = false;
    if (place < n) {
        if (which) row = which[place];
        const float error = 2.0f * (slope * sqrtf(length) + fixed), gap = next - mine;
        const float safe = gap - error - 2.4e-7f * gap;
        left = !(safe > 0.0f);
        label[row] = at;
        slack[row] = left ? 0.0f : safe;
    }
    list_where(left, n_open, [&](unsigned to) { open[to] = static_cast<int>(row); });
}

// Some of the best clusters of each row and their values, each an array of (8 + parts, n): the best
// two of every fourth pair of clusters, and the best of each part, which are `groups` times 8 that
// follow each other. `name` says which clusters they are, (tiles * TILE,); `gap` is that of the best
// two.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    list_best(const REAL* data, i64 n, int d, const double* origin, double scale,
              const float4* words, const float* bias, int tiles, int chunks, int groups,
              const unsigned short* name, float* value, unsigned short* cluster, float* gap) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const i64 first = (static_cast<i64>(blockIdx.x) * WARPS + warp) * WARP_ROWS;
    const i64 mine = first + lane / 4 + 8 * (lane % 4);
    Two all;
    all.clear();
    float square[4];
    i64 to = 8 * n + mine;
    each_tile({data, nullptr, n, d, origin, scale, words, bias, tiles, chunks}, first, square,
              [&](int tile, const float (&value_of)[2][NT][4]) {
                  float least[4];
                  int where[4];
#pragma unroll
                  for (int g = 0; g < NT; ++g) {
#pragma unroll
                      for (int i = 0; i < 4; ++i)
                          if (g % groups == 0) least[i] = 3.0e38f, where[i] = 0;
#pragma unroll
                      for (int m = 0; m < 2; ++m)
#pragma unroll
                          for (int q = 0; q < 4; ++q) {
                              const int at = tile * TILE + 8 * g + 2 * (lane % 4) + q % 2;
                              const int i = 2 * m + q / 2;
                              const float v = value_of[m][g][q];
                              all.take(i, v, at);
                              if (v < least[i]) least[i] = v, where[i] = at;
                          }
                      if ((g + 1) % groups) continue;
                      float best = 3.0e38f;
                      int at = 0;
#pragma unroll
                      for (int i = 0; i < 4; ++i) {
#pragma unroll
                          for (int apart = 1; apart < 4; apart *= 2) {
                              const float v = __shfl_xor_sync(0xffffffffu, least[i], apart);
                              const int w = __shfl_xor_sync(0xffffffffu, where[i], apart);
                              if (v < least[i] || (v == least[i] && w < where[i]))
                                  least[i] = v, where[i] = w;
                          }
                          if (i == lane % 4) best = least[i], at = where[i];
                      }
                      if (mine < n) value[to] = best, cluster[to] = name[at];
                      to += n;
                  }
              });
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const i64 place = first + lane / 4 + 8 * i, at = 2 * (lane % 4) * n + place;
        if (place >= n) continue;
        value[at] = all.least[i], cluster[at] = name[all.where[i]];
        value[at + n] = all.second[i], cluster[at + n] = name[all.next[i]];
    }
    all.join();
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (i == lane % 4 && mine < n) gap[mine] = all.second[i] - all.least[i];
}

// The best of a part is none where it is among the first eight.
extern "C" __global__ void list_once(i64 n, int many, float* value, const unsigned short* cluster) {
    const i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= n) return;
    int first[8];
#pragma unroll
    for (int q = 0; q < 8; ++q) first[q] = cluster[q * n + row];
    for (int q = 8; q < many; ++q) {
        const int at = cluster[q * n + row];
        bool known = false;
#pragma unroll
        for (int e = 0; e < 8; ++e) known = known || first[e] == at;
        if (known) value[q * n + row] = 3.0e38f;
    }
}

// ---- some rows in float64 ----

#define SOME 64  // rows, and centers, of a tile
#define DEEP 16  // features at a time

// Calls use(i, b, value) for rows i = 0..3 of this thread (row 16 i + threadIdx.x / 16 of the
// block) and each of its centers b: value is |x - c_b|^2 - price_b.
template <class Use>
__device__ __forceinline__ void all_values(const REAL* data, int d, const double* origin,
                                           double scale, const int* index, int m,
                                           const double* centers, const double* prices, int k,
                                           const Use& use) {
    __shared__ double xs[DEEP][SOME + 1], cs[DEEP][SOME + 1];
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16, from = blockIdx.x * SOME;
    for (int c0 = 0; c0 < k; c0 += SOME) {
        double sum[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) sum[i][j] = 0.0;
        for (int t0 = 0; t0 < d; t0 += DEEP) {
            __syncthreads();
#pragma unroll
            for (int r = 0; r < SOME; r += 16) {
                const int row = from + r + ty, c = c0 + r + ty, t = t0 + tx;
                xs[tx][r + ty] =
                    row < m && t < d ? seen(data, index[row], t, d, origin, scale) : 0.0;
                cs[tx][r + ty] = c < k && t < d ? centers[static_cast<i64>(c) * d + t] : 0.0;
            }
            __syncthreads();
#pragma unroll
            for (int t = 0; t < DEEP; ++t) {
                double x[4], c[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) x[i] = xs[t][ty + 16 * i], c[i] = cs[t][tx + 16 * i];
#pragma unroll
                for (int i = 0; i < 4; ++i)
#pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        const double apart = x[i] - c[j];
                        sum[i][j] = fma(apart, apart, sum[i][j]);
                    }
            }
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int b = c0 + tx + 16 * j;
            if (b < k) {
                const double price = prices[b];
#pragma unroll
                for (int i = 0; i < 4; ++i) use(i, b, sum[i][j] - price);
            }
        }
    }
}

__device__ __forceinline__ float below(double value) {  // a float32 that is not above
    return value >= 3.0e38 ? 3.0e38f : __double2float_rd(value);
}

// Best cluster and slack of m listed rows; `unit`: rounding of a value by what it is made of.
extern "C" __global__ void __launch_bounds__(256)
    best_exactly(const REAL* data, int d, const double* origin, double scale, const int* index,
                 int m, const double* centers, const double* prices, int k, double dearest,
                 double unit, int* label, float* slack) {
    double least[4], second[4];
    int where[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) least[i] = second[i] = 1.0e308, where[i] = 0;
    all_values(data, d, origin, scale, index, m, centers, prices, k,
               [&](int i, int b, double value) {
                   second[i] = fmin(second[i], fmax(least[i], value));
                   if (value < least[i]) where[i] = b;
                   least[i] = fmin(least[i], value);
               });
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int apart = 1; apart < 16; apart *= 2) {
            const double v = __shfl_xor_sync(0xffffffffu, least[i], apart);
            const double w = __shfl_xor_sync(0xffffffffu, second[i], apart);
            const int at = __shfl_xor_sync(0xffffffffu, where[i], apart);
            second[i] = fmin(fmin(second[i], w), fmax(least[i], v));
            if (v < least[i] || (v == least[i] && at < where[i])) where[i] = at;
            least[i] = fmin(least[i], v);
        }
        const int place = blockIdx.x * SOME + threadIdx.x / 16 + 16 * i;
        if (threadIdx.x % 16 == 0 && place < m) {
            const double size = fabs(least[i]) + fabs(second[i]) + 2.0 * dearest;
            label[index[place]] = where[i];
            slack[index[place]] = k == 1 ? 3.0e38f : below(second[i] - least[i] - unit * size);
        }
    }
}

// The best two clusters of m listed rows, and the gap between them.
extern "C" __global__ void __launch_bounds__(256)
    two_exactly(const REAL* data, int d, const double* origin, double scale, const int* index,
                int m, const double* centers, const double* prices, int k, int* best, int* next,
                float* gap) {
    double least[4], second[4];
    int where[4], where2[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) least[i] = second[i] = 1.0e308, where[i] = where2[i] = 0;
    all_values(data, d, origin, scale, index, m, centers, prices, k,
               [&](int i, int b, double value) {
                   if (value < least[i]) {
                       second[i] = least[i], where2[i] = where[i];
                       least[i] = value, where[i] = b;
                   } else if (value < second[i]) {
                       second[i] = value, where2[i] = b;
                   }
               });
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int apart = 1; apart < 16; apart *= 2) {
            const double v = __shfl_xor_sync(0xffffffffu, least[i], apart);
            const double w = __shfl_xor_sync(0xffffffffu, second[i], apart);
            const int at = __shfl_xor_sync(0xffffffffu, where[i], apart);
            const int at2 = __shfl_xor_sync(0xffffffffu, where2[i], apart);
            const bool other = v < least[i] || (v == least[i] && at < where[i]);
            const double lost = other ? least[i] : v, rival = other ? w : second[i];
            const int lost_at = other ? where[i] : at, rival_at = other ? at2 : where2[i];
            if (other) least[i] = v, where[i] = at;
            const bool first = lost < rival || (lost == rival && lost_at < rival_at);
            second[i] = first ? lost : rival;
            where2[i] = first ? lost_at : rival_at;
        }
        const int place = blockIdx.x * SOME + threadIdx.x / 16 + 16 * i;
        if (threadIdx.x % 16 == 0 && place < m) {
            best[place] = where[i], next[place] = where2[i];
            gap[place] = static_cast<float>(second[i] - least[i]);
        }
    }
}

// What the own cluster of m listed rows costs, prices included.
extern "C" __global__ void own_values(const REAL* data, int d, const double* origin, double scale,
                                      const int* index, int m, const double* centers,
                                      const double* prices, const int* label, double* own) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m) return;
    const i64 row = index[j];
    const int a = label[row];
    double sum = 0.0;
    for (int t = 0; t < d; ++t) {
        const double apart =
            seen(data, row, t, d, origin, scale) - centers[static_cast<i64>(a) * d + t];
        sum = fma(apart, apart, sum);
    }
    own[j] = sum - prices[a];
}

// The least gap of each of m listed rows in limits of its pair of clusters, or a little less; -1
// for rows whose least gap is above `wide`.
extern "C" __global__ void __launch_bounds__(256)
    scan_ratios(const REAL* data, int d, const double* origin, double scale, const int* index,
                int m, const double* centers, const double* prices, int k, const int* label,
                const double* own, const double* limit, const double* wide, float* ratio) {
    float least[4];
    double mine[4], gaps[4];
    int a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int place = blockIdx.x * SOME + threadIdx.x / 16 + 16 * i;
        least[i] = 3.0e38f, gaps[i] = 1.0e308;
        a[i] = place < m ? label[index[place]] : 0;
        mine[i] = place < m ? own[place] : 0.0;
    }
    all_values(
        data, d, origin, scale, index, m, centers, prices, k, [&](int i, int b, double value) {
            if (b == a[i]) return;
            const double gap = value - mine[i], most = limit[static_cast<i64>(a[i]) * k + b];
            gaps[i] = fmin(gaps[i], gap);
            float here = 3.0e38f;
            if (gap <= most) here = 0.0f;
            else if (most > 0.0)
                here =
                    fmaxf(fminf(static_cast<float>(gap / most), 3.0e38f) * 0.999999f, 1.0000001f);
            least[i] = fminf(least[i], here);
        });
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int apart = 1; apart < 16; apart *= 2) {
            least[i] = fminf(least[i], __shfl_xor_sync(0xffffffffu, least[i], apart));
            gaps[i] = fmin(gaps[i], __shfl_xor_sync(0xffffffffu, gaps[i], apart));
        }
        const int place = blockIdx.x * SOME + threadIdx.x / 16 + 16 * i;
        if (threadIdx.x % 16 == 0 && place < m)
            ratio[place] = gaps[i] <= wide[a[i]] ? least[i] : -1.0f;
    }
}

// Least gaps, pair by pair, of those listed rows whose ratio is above 1. Gaps are not negative, so
// their bits are in the same order as they are.
extern "C" __global__ void __launch_bounds__(256)
    scan_minima(const REAL* data, int d, const double* origin, double scale, const int* index,
                int m, const double* centers, const double* prices, int k, const int* label,
                const double* own, const float* ratio, u64* minima) {
    double mine[4];
    int a[4];
    bool any = false;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int place = blockIdx.x * SOME + threadIdx.x / 16 + 16 * i;
        const bool beyond = place < m && ratio[place] > 1.0f;
        a[i] = beyond ? label[index[place]] : -1;
        mine[i] = beyond ? own[place] : 0.0;
        any = any || beyond;
    }
    if (!__syncthreads_or(any)) return;
    all_values(data, d, origin, scale, index, m, centers, prices, k,
               [&](int i, int b, double value) {
                   if (a[i] < 0 || b == a[i]) return;
                   u64* to = minima + static_cast<i64>(a[i]) * k + b;
                   const u64 bits = __double_as_longlong(fmax(value - mine[i], 0.0));
                   if (bits < *reinterpret_cast<volatile u64*>(to)) atomicMin(to, bits);
               });
}

// ---- counts of what rows cost more elsewhere ----

#define BINS 64         // of gaps, two for each power of two
#define LOWEST (95 << 1)  // bits of 2^-32 >> 22
#define HELD 64         // features of a row that a thread holds; of more it reads them again
#define TOGETHER 8      // clusters at a time, where they are read

// Rows in the order of their labels; `cursor` (k,) is where those of each begin, and then ends.
extern "C" __global__ void __launch_bounds__(256)
    group(const int* label, i64 n, int k, unsigned* cursor, int* order) {
    extern __shared__ unsigned here[];  // (k,)
    const i64 first = static_cast<i64>(blockIdx.x) * PART;
    const int rows = static_cast<int>(min(static_cast<i64>(PART), n - first));
    for (int a = threadIdx.x; a < k; a += 256) here[a] = 0;
    __syncthreads();
    for (int j = threadIdx.x; j < rows; j += 256) atomicAdd(here + label[first + j], 1u);
    __syncthreads();
    for (int a = threadIdx.x; a < k; a += 256)
        if (here[a]) here[a] = atomicAdd(cursor + a, here[a]);
    __syncthreads();
    for (int j = threadIdx.x; j < rows; j += 256)
        order[atomicAdd(here + label[first + j], 1u)] = static_cast<int>(first + j);
}

// What rows cost more in some others of their clusters, (k, m): a sum of differences of centers and
// of `bias`, |c|^2 - price, in float32 and in units of 1 / inverse. A block has rows of one cluster:
// `part` (blocks, 3) are the cluster, and the first and last place in `order`.
// `shared` has room for them and m * (BINS + 1) numbers of four bytes, which are those of `begin`.
// What rows cost more goes to `use`.
template <class Begin, class Use, class End>
__device__ __forceinline__ void each_gap(const REAL* data, int d, const double* origin,
                                         double scale, const int* order, const int* part,
                                         const double* centers, const double* bias,
                                         const int* other, int m, double inverse, double* shared,
                                         const Begin& begin, const Use& use, const End& end) {
    const int wide = 8 * STEPS <= HELD && !CHUNKED ? 8 * STEPS : (d + 3) / 4 * 4;
    auto* middle = reinterpret_cast<decltype(middle_of(0.0, REAL(0)))*>(shared);  // (wide,)
    float* differ = reinterpret_cast<float*>(shared + wide);                      // (m, wide)
    float* fixed = differ + m * wide;                                             // (m,)
    unsigned* mine = reinterpret_cast<unsigned*>(fixed + m);                      // (m, BINS)
    part += 3 * blockIdx.x;
    const int a = part[0], last = part[2];
    const i64 pairs = static_cast<i64>(a) * m;
    const int* others = other + pairs;
    for (int i = threadIdx.x; i < m * wide; i += 256) {
        const int j = i / wide, t = i % wide;
        double apart = 0.0;
        if (t < d)
            apart = centers[static_cast<i64>(others[j]) * d + t] -
                    centers[static_cast<i64>(a) * d + t];
        differ[i] = static_cast<float>(-2.0 * apart * inverse);
    }
    for (int j = threadIdx.x; j < m; j += 256)
        fixed[j] = static_cast<float>((bias[others[j]] - bias[a]) * inverse);
    for (int t = threadIdx.x; t < wide; t += 256)
        middle[t] = middle_of(t < d ? origin[t] : 0.0, REAL(0));
    begin(mine, pairs);
    __syncthreads();
    for (int place = part[1] + threadIdx.x; place < last; place += 256) {
        const int row = order[place];
        const REAL* x = data + static_cast<i64>(row) * d;
#if 8 * STEPS <= HELD && !CHUNKED
        float y[8 * STEPS];
#pragma unroll
        for (int t = 0; t < 8 * STEPS; t += 4) {
            REAL v[4] = {0, 0, 0, 0};
            if (d % 4 == 0) {
                if (t < d) four(x + t, v);
            } else {
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    if (t + e < d) v[e] = x[t + e];
            }
#pragma unroll
            for (int e = 0; e < 4; ++e)
                y[t + e] =
                    t + e < d ? seen_short(v[e], middle[t + e], static_cast<REAL>(scale)) : 0.0f;
        }
        for (int j = 0; j < m; ++j) {
            const float4* w = reinterpret_cast<const float4*>(differ + j * wide);
            float sum[4] = {fixed[j], 0.0f, 0.0f, 0.0f};
#pragma unroll
            for (int t = 0; t < 8 * STEPS; t += 4) {
                const float4 c = w[t / 4];
                sum[0] = fmaf(y[t], c.x, sum[0]);
                sum[1] = fmaf(y[t + 1], c.y, sum[1]);
                sum[2] = fmaf(y[t + 2], c.z, sum[2]);
                sum[3] = fmaf(y[t + 3], c.w, sum[3]);
            }
            use(mine, j, others[j], row, (sum[0] + sum[1]) + (sum[2] + sum[3]));
        }
#else
        for (int j0 = 0; j0 < m; j0 += TOGETHER) {
            float sum[TOGETHER];
#pragma unroll
            for (int j = 0; j < TOGETHER; ++j) sum[j] = fixed[min(j0 + j, m - 1)];
            for (int t = 0; t < d; ++t) {
                const float y = seen_short(x[t], middle[t], static_cast<REAL>(scale));
#pragma unroll
                for (int j = 0; j < TOGETHER; ++j)
                    sum[j] = fmaf(y, differ[min(j0 + j, m - 1) * wide + t], sum[j]);
            }
#pragma unroll
            for (int j = 0; j < TOGETHER; ++j)
                if (j0 + j < m) use(mine, j0 + j, others[j0 + j], row, sum[j]);
        }
#endif
    }
    __syncthreads();
    end(mine, pairs);
}

// How many rows of each pair cost how much more, (k, m, BINS), and the least that one costs, (k, m),
// as bits of a float32 that is not negative.
extern "C" __global__ void __launch_bounds__(256)
    count_gaps(const REAL* data, int d, const double* origin, double scale, const int* order,
               const int* part, const double* centers, const double* bias, const int* other, int m,
               double inverse, unsigned* held, unsigned* least) {
    extern __shared__ double shared_room[];
    each_gap(
        data, d, origin, scale, order, part, centers, bias, other, m, inverse, shared_room,
        [&](unsigned* mine, i64) {
            for (int i = threadIdx.x; i < m * BINS; i += 256) mine[i] = 0;
            for (int j = threadIdx.x; j < m; j += 256) mine[m * BINS + j] = 0x7f7fffffu;
        },
        [&](unsigned* mine, int j, int, int, float gap) {
            const unsigned bits = __float_as_uint(fmaxf(gap, 0.0f));
            const int bin = static_cast<int>(bits >> 22) - LOWEST;
            atomicAdd(mine + j * BINS + min(max(bin, 0), BINS - 1), 1u);
            if (bits < *reinterpret_cast<volatile unsigned*>(mine + m * BINS + j))
                atomicMin(mine + m * BINS + j, bits);
        },
        [&](unsigned* mine, i64 pairs) {
            for (int i = threadIdx.x; i < m * BINS; i += 256)
                if (mine[i]) atomicAdd(held + pairs * BINS + i, mine[i]);
            for (int j = threadIdx.x; j < m; j += 256) atomicMin(least + pairs + j, mine[m * BINS + j]);
        });
}

__device__ __forceinline__ float bin_end(int bin) { return __uint_as_float((bin + 1 + LOWEST) << 22); }

// Up to which cost `goal` rows of each pair lie, about, and at least one; infinite where there are
// not so many.
extern "C" __global__ void pair_limits(const unsigned* held, const unsigned* least,
                                       const float* goal, i64 pairs, double top, double* limit) {
    const i64 pair = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    const double first = __uint_as_float(least[pair]), most = goal[pair];
    double rows = 0.0, from = first, found = 1.0 / 0.0;
    for (int bin = 0; bin < BINS; ++bin) {
        const double here = held[pair * BINS + bin], to = fmax(first, static_cast<double>(bin_end(bin)));
        if (rows + here >= most && here > 0.0) {
            found = from + (to - from) * (most - rows) / here;
            break;
        }
        rows += here;
        from = to;
    }
    limit[pair] = found * top;
}

// The same or less where as many rows go by way of another cluster; `limit`, `shorter` (k, m).
extern "C" __global__ void __launch_bounds__(256)
    shorten_limits(const double* limit, const int* other, int k, int m, double* shorter) {
    extern __shared__ double way[];  // (k,)
    const i64 from = static_cast<i64>(blockIdx.x) * m;
    for (int b = threadIdx.x; b < k; b += 256) way[b] = 1.0 / 0.0;
    __syncthreads();
    for (int by = threadIdx.x / 32; by < m; by += 8) {
        const i64 on = static_cast<i64>(other[from + by]) * m;
        const double first = limit[from + by];
        for (int j = threadIdx.x % 32; j < m; j += 32) {
            const double both = first + limit[on + j];
            u64* to = reinterpret_cast<u64*>(way + other[on + j]);
            const u64 bits = __double_as_longlong(both);  // of numbers that are not negative
            if (bits < *reinterpret_cast<volatile u64*>(to)) atomicMin(to, bits);
        }
    }
    __syncthreads();
    for (int j = threadIdx.x; j < m; j += 256)
        shorter[from + j] = fmin(limit[from + j], way[other[from + j]]);
}

// The m other clusters of each where its mean costs the least, (k, m), increasing; before these,
// those between which and it rows have `met`, (k, k).
extern "C" __global__ void __launch_bounds__(256)
    nearest_others(const double* means, const double* centers, const double* bias,
                   const unsigned* met, int k, int d, int m, int* other) {
    extern __shared__ unsigned value[];  // (k,): bits in the order of the numbers
    __shared__ unsigned before[256];
    const int a = blockIdx.x;
    for (int b = threadIdx.x; b < k; b += 256) {
        double sum = bias[b];
        for (int t = 0; t < d; ++t)
            sum = fma(-2.0 * means[static_cast<i64>(a) * d + t],
                      centers[static_cast<i64>(b) * d + t], sum);
        const unsigned bits = __float_as_uint(static_cast<float>(sum));
        value[b] = bits >> 31 ? ~bits : bits | 0x80000000u;
        if (met[static_cast<i64>(a) * k + b] || met[static_cast<i64>(b) * k + a]) value[b] = 0;
        if (b == a) value[b] = 0xffffffffu;
    }
    __syncthreads();
    unsigned low = 0, high = 0xffffffffu;  // the least bits that m of them do not exceed
    while (low < high) {
        const unsigned middle = low + (high - low) / 2;
        int many = 0;
        for (int b = threadIdx.x; b < k; b += 256) many += value[b] <= middle;
        for (int apart = 16; apart; apart /= 2) many += __shfl_xor_sync(0xffffffffu, many, apart);
        if (threadIdx.x % 32 == 0) before[threadIdx.x / 32] = many;
        __syncthreads();
        many = 0;
        for (int w = 0; w < 8; ++w) many += before[w];
        if (many >= m) high = middle;
        else low = middle + 1;
        __syncthreads();
    }
    if (threadIdx.x == 0) {  // all below, and of those as far away the first ones
        int below = 0, at = 0;
        for (int b = 0; b < k; ++b) below += b != a && value[b] < low;
        int same = m - below;
        for (int b = 0; b < k && at < m; ++b)
            if (b != a && (value[b] < low || (value[b] == low && same-- > 0)))
                other[static_cast<i64>(a) * m + at++] = b;
    }
}

// How many rows have gone from each cluster to each, (k, k).
extern "C" __global__ void count_moves(const int* before, const int* label, const int* index, int n,
                                       int k, unsigned* count) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) atomicAdd(count + static_cast<i64>(before[at]) * k + label[index[at]], 1u);
}

// Rows of each pair that cost at most its limit more, (k, m): a row and a cluster; `most` (k,) is
// the largest of each cluster. `room` is for so many.
extern "C" __global__ void __launch_bounds__(256)
    list_gaps(const REAL* data, int d, const double* origin, double scale, const int* order,
              const int* part, const double* centers, const double* bias, const int* other, int m,
              double inverse, const float* limit, const float* most, unsigned room, u64* key,
              unsigned* number) {
    extern __shared__ double shared_room[];
    if (most[part[3 * blockIdx.x]] < 0.0f) return;  // nothing is asked of this cluster
    each_gap(
        data, d, origin, scale, order, part, centers, bias, other, m, inverse, shared_room,
        [&](unsigned* mine, i64 pairs) {
            for (int j = threadIdx.x; j < m; j += 256) mine[j] = __float_as_uint(limit[pairs + j]);
        },
        [&](unsigned* mine, int j, int b, int row, float gap) {
            if (!(gap <= __uint_as_float(mine[j]))) return;
            if (*reinterpret_cast<volatile unsigned*>(number) > room) return;  // too many
            const unsigned at = atomicAdd(number, 1u);
            if (at < room) key[at] = (static_cast<u64>(row) << 32) | static_cast<u64>(b);
        },
        [](unsigned*, i64) {});
}

// What these moves cost more, exactly.
extern "C" __global__ void move_costs(const REAL* data, int d, const double* origin, double scale,
                                      const u64* key, int n, const double* centers,
                                      const double* prices, const int* label, int* row,
                                      int* cluster, double* cost) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    const int j = static_cast<int>(key[at] >> 32), b = static_cast<int>(key[at] & 0xffffffffu);
    const int a = label[j];
    double here = 0.0, there = 0.0;
    for (int t = 0; t < d; ++t) {
        const double x = seen(data, j, t, d, origin, scale);
        const double from = x - centers[static_cast<i64>(a) * d + t],
                     to = x - centers[static_cast<i64>(b) * d + t];
        here = fma(from, from, here);
        there = fma(to, to, there);
    }
    row[at] = j;
    cluster[at] = b;
    cost[at] = fmax((there - prices[b]) - (here - prices[a]), 0.0);
}

// ---- which rows ----

__device__ __forceinline__ u64 hashed(u64 number, u64 seed) {  // as `survey.hashed`
    u64 z = number + seed * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// Prices have moved: so much may be gone of the slacks of each cluster. Rows that have none left
// are listed.
extern "C" __global__ void lower_slacks(float* slack, const int* label, i64 n, const float* drop,
                                        const float* least, int* index, unsigned* number) {
    const i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    bool here = false;
    if (row < n) {
        const int a = label[row];
        const float left = __fsub_rd(slack[row], drop[a]);
        here = !(left > least[a]);
        slack[row] = here ? 0.0f : left;
    }
    list_where(here, number, [&](unsigned at) { index[at] = static_cast<int>(row); });
}

extern "C" __global__ void list_moved(const int* before, const int* label, i64 n, int* index,
                                      unsigned* number) {
    const i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool here = row < n && before[row] != label[row];
    list_where(here, number, [&](unsigned at) { index[at] = static_cast<int>(row); });
}

// How many rows of each cluster have how much slack, in bins of the bits of a float32.
extern "C" __global__ void count_slacks(const float* slack, const int* label, i64 n, int bins,
                                        int shift, int lowest, unsigned* held) {
    const i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= n) return;
    const int bin = (__float_as_int(fmaxf(slack[row], 0.0f)) >> shift) - lowest;
    // most rows are far from borders, and of no interest
    if (bin < bins) atomicAdd(held + static_cast<i64>(label[row]) * bins + max(bin, 0), 1u);
}

// Rows of at most so much slack, drawn by their numbers: one of 2^level.
extern "C" __global__ void list_drawn(const float* slack, const int* label, i64 n, i64 offset,
                                      const float* depth, u64 draw, int level, int* index,
                                      unsigned* number) {
    const i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool here = row < n && slack[row] <= depth[label[row]] &&
                      (hashed(static_cast<u64>(row + offset), draw) >> 1) < (1ull << (63 - level));
    list_where(here, number, [&](unsigned at) { index[at] = static_cast<int>(row); });
}

extern "C" __global__ void list_near(const float* slack, const int* label, i64 n,
                                     const double* wide, u64* key, unsigned* number) {
    const i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool here = row < n && static_cast<double>(slack[row]) <= wide[label[row]];
    list_where(here, number, [&](unsigned at) {  // by label, then by row
        key[at] = (static_cast<u64>(label[row]) << 32) | static_cast<u64>(row);
    });
}

extern "C" __global__ void list_sample(i64 n, i64 offset, u64 seed, u64 below, int* index,
                                       unsigned* number) {
    const i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool here = row < n && hashed(static_cast<u64>(row + offset), seed) < below;
    list_where(here, number, [&](unsigned at) { index[at] = static_cast<int>(row); });
}

// 64: taken; 65: taken and spare; 127: neither taken nor drawn; below: drawn at this level.
extern "C" __global__ void draw_rows(const float* ratio, const int* index, int m, i64 offset,
                                     u64 draw, int thin, int spare, int levels, signed char* code) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m) return;
    if (ratio[j] < 0.0f) {
        code[j] = 127;
        return;
    }
    const bool taken = ratio[j] <= 1.0f;
    int level = spare;
    if (!taken) {
        frexpf(fminf(ratio[j], 1e30f), &level);
        level = min(min(max(level, 1), levels) + thin, 63);
    }
    const bool drawn =
        (hashed(static_cast<u64>(index[j] + offset), draw) >> 1) < (1ull << (63 - level));
    code[j] = static_cast<signed char>(taken ? (drawn ? 65 : 64) : (drawn ? level : 127));
}

// Least gaps as float32 that are not above.
extern "C" __global__ void rounded_down(const double* value, i64 n, float* to) {
    const i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at < n) to[at] = __double2float_rd(value[at]);
}

extern "C" __global__ void list_within(const float* slack, i64 n, double most, int* index,
                                       unsigned* number) {
    const i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool here = row < n && static_cast<double>(slack[row]) <= most;
    list_where(here, number, [&](unsigned at) { index[at] = static_cast<int>(row); });
}

// ---- sums, as whole numbers ----

#define EACH 4     // features of a lane at a time
#define ROWS 4     // of a group of lanes at a time

__device__ __forceinline__ void add_whole(i64* to, double value) {
    if (value != 0.0)
        atomicAdd(reinterpret_cast<u64*>(to), static_cast<u64>(static_cast<i64>(value)));
}

// Counts and sums of n rows with these labels, times `sign`. Rows of a block are put in order of
// their labels, so that few sums go to memory.
extern "C" __global__ void __launch_bounds__(256)
    sums(const REAL* data, const int* which, i64 n, int d, const double* origin, double scale,
         const int* label, int k, int want, int sign, i64* counts, i64* high, i64* low) {
    extern __shared__ unsigned held[];  // (k,) and the order of the rows
    unsigned short* order = reinterpret_cast<unsigned short*>(held + k);
    __shared__ unsigned before[256];
    const i64 first = static_cast<i64>(blockIdx.x) * PART;
    const int rows = static_cast<int>(min(static_cast<i64>(PART), n - first));
    for (int a = threadIdx.x; a < k; a += 256) held[a] = 0;
    __syncthreads();
    for (int j = threadIdx.x; j < rows; j += 256) atomicAdd(held + label[first + j], 1u);
    __syncthreads();
    const int span = (k + 255) / 256, from = min(k, static_cast<int>(threadIdx.x) * span),
              to = min(k, from + span);
    unsigned mine = 0;
    for (int a = from; a < to; ++a) {
        mine += held[a];
        add_whole(counts + a, static_cast<double>(held[a]) * sign);
    }
    before[threadIdx.x] = mine;
    __syncthreads();
    for (int apart = 1; apart < 256; apart *= 2) {
        const unsigned more = threadIdx.x >= apart ? before[threadIdx.x - apart] : 0;
        __syncthreads();
        before[threadIdx.x] += more;
        __syncthreads();
    }
    if (!want) return;
    unsigned begin = before[threadIdx.x] - mine;
    for (int a = from; a < to; ++a) {
        const unsigned many = held[a];
        held[a] = begin;
        begin += many;
    }
    __syncthreads();
    for (int j = threadIdx.x; j < rows; j += 256)
        order[atomicAdd(held + label[first + j], 1u)] = static_cast<unsigned short>(j);
    __syncthreads();
    const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES, groups = 256 / LANES;
    const int share = (rows + groups - 1) / groups, start = group * share,
              end = min(rows, start + share);
    for (int t0 = lane; t0 < d; t0 += LANES * EACH) {
        double up[EACH], down[EACH], middle[EACH];
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            up[e] = down[e] = 0.0;
            middle[e] = t0 + e * LANES < d ? origin[t0 + e * LANES] : 0.0;
        }
        int at = -1;
        for (int j = start; j <= end; ++j) {
            const i64 place = j < end ? first + order[j] : 0;
            const int a = j < end ? label[place] : -1;
            if (a != at) {
                if (at >= 0)
#pragma unroll
                    for (int e = 0; e < EACH; ++e)
                        if (t0 + e * LANES < d) {
                            const i64 cell = static_cast<i64>(at) * d + t0 + e * LANES;
                            add_whole(high + cell, up[e] * sign);
                            add_whole(low + cell, down[e] * sign);
                            up[e] = down[e] = 0.0;
                        }
                at = a;
            }
            if (j >= end) break;
            const REAL* from = data + (which ? static_cast<i64>(which[place]) : place) * d;
#pragma unroll
            for (int e = 0; e < EACH; ++e)
                if (t0 + e * LANES < d) {
                    const double x = static_cast<double>(from[t0 + e * LANES]);
                    const double scaled = (x - middle[e]) * scale * 268435456.0;
                    const double top = rint(scaled);
                    up[e] += top;
                    down[e] += rint((scaled - top) * 268435456.0);
                }
        }
    }
}

// Squared distances to the own center: their sum in four pieces, and the largest of each cluster.
extern "C" __global__ void __launch_bounds__(256)
    costs(const REAL* data, const int* which, i64 n, int d, const double* origin, double scale,
          const double* centers, const int* label, double cost_scale, int sign, i64* pieces,
          u64* farthest) {
    __shared__ i64 all[4];
    if (threadIdx.x < 4) all[threadIdx.x] = 0;
    __syncthreads();
    const int lane = threadIdx.x % LANES, groups = 256 / LANES;
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    // all lanes of a warp go on as long as one of them has a row: they add up together
    const i64 stride = static_cast<i64>(gridDim.x) * groups;
    const i64 begin = static_cast<i64>(blockIdx.x) * groups + threadIdx.x / LANES;
    const i64 turns = (n + ROWS * stride - 1) / (ROWS * stride);
    for (i64 turn = 0; turn < turns; ++turn) {
        double square[ROWS];
        int a[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {  // several rows are read at the same time
            const i64 place = begin + (turn * ROWS + r) * stride;
            square[r] = 0.0, a[r] = -1;
            if (place < n) a[r] = label[place];
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const i64 place = begin + (turn * ROWS + r) * stride;
            if (a[r] < 0) continue;
            const i64 row = which ? static_cast<i64>(which[place]) : place;
            const double* center = centers + static_cast<i64>(a[r]) * d;
            for (int t = lane; t < d; t += LANES) {
                const double apart = seen(data, row, t, d, origin, scale) - center[t];
                square[r] = fma(apart, apart, square[r]);
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
#pragma unroll
            for (int apart = 1; apart < LANES; apart *= 2)
                square[r] += __shfl_xor_sync(0xffffffffu, square[r], apart);
            if (a[r] < 0 || lane != r % LANES) continue;
            const u64 bits = __double_as_longlong(square[r]);
            if (bits > *reinterpret_cast<volatile u64*>(farthest + a[r]))
                atomicMax(farthest + a[r], bits);
            double rest = square[r] * cost_scale;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                rest *= 268435456.0;
                const double top = rint(rest);
                sum[i] += top;
                rest -= top;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) add_whole(all + i, sum[i] * sign);
    __syncthreads();
    if (threadIdx.x < 4)
        atomicAdd(reinterpret_cast<u64*>(pieces + threadIdx.x), static_cast<u64>(all[threadIdx.x]));
}

// How often each label occurs.
extern "C" __global__ void count_labels(const int* label, i64 n, int k, u64* counts) {
    extern __shared__ unsigned held[];
    for (int a = threadIdx.x; a < k; a += blockDim.x) held[a] = 0;
    __syncthreads();
    const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
    for (i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; row < n; row += stride)
        atomicAdd(held + label[row], 1u);
    __syncthreads();
    for (int a = threadIdx.x; a < k; a += blockDim.x)
        if (held[a]) atomicAdd(counts + a, static_cast<u64>(held[a]));
}
