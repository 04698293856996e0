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

