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
