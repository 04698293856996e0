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

