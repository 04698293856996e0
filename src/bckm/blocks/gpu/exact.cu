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

// Moves of m listed rows that cost at most the limit of their cluster, (k,): a row and a cluster, and
// what it costs more there. There is room for so many; all are counted.
extern "C" __global__ void __launch_bounds__(256)
    list_moves(const REAL* data, int d, const double* origin, double scale, const int* index,
               int m, const double* centers, const double* prices, int k, const int* label,
               const double* own, const double* limit, unsigned room, u64* key, double* cost,
               unsigned* number) {
    double mine[4], most[4];
    int a[4], row[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int place = blockIdx.x * SOME + threadIdx.x / 16 + 16 * i;
        row[i] = place < m ? index[place] : -1;
        a[i] = place < m ? label[row[i]] : 0;
        mine[i] = place < m ? own[place] : 0.0;
        most[i] = limit[a[i]];
    }
    all_values(data, d, origin, scale, index, m, centers, prices, k,
               [&](int i, int b, double value) {
                   if (row[i] < 0 || b == a[i]) return;
                   const double more = value - mine[i];
                   if (!(more <= most[i])) return;
                   const unsigned at = atomicAdd(number, 1u);
                   if (at >= room) return;
                   key[at] = (static_cast<u64>(row[i]) << 32) | static_cast<u64>(b);
                   cost[at] = fmax(more, 0.0);
               });
}

