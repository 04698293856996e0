// A softened dual of sizes over some rows: each is shared among its best clusters by
// exp(-value / temperature), and Newton steps of that. Sums are whole numbers, or made in the same
// order each time.

typedef unsigned long long u64;
typedef long long i64;

#define THREADS 256
#define EACH 4             // rows of a thread
#define BEST 6             // clusters any two of which share a row
#define AT_ONCE 4          // numbers that are read at once
#define WIDEST 12.0f       // temperatures above the best value that still count
#define LEAST_SHARE 4e-3f  // of a row, for an edge
#define HOTTER 10.0f       // times the temperature before
#define HEATS 4            // temperatures
#define WHOLE 1048576.0f   // of a share; fewer than 2^11 rows of a block
#define EDGE 4294967296.0

// The best clusters of a row at some prices, the best first.
struct Row {
    const float* value;
    const unsigned short* cluster;
    const float* risen;
    i64 row, n;
    int many;
    float least[BEST];
    int which[BEST];

    __device__ __forceinline__ void find() {
#pragma unroll
        for (int q = 0; q < BEST; ++q) least[q] = 3.0e38f, which[q] = -1;
        for (int q0 = 0; q0 < many; q0 += AT_ONCE) {
            float v[AT_ONCE];
            int at[AT_ONCE];
#pragma unroll
            for (int e = 0; e < AT_ONCE; ++e) {
                const i64 place = min(q0 + e, many - 1) * n + row;
                v[e] = value[place], at[e] = cluster[place];
            }
#pragma unroll
            for (int e = 0; e < AT_ONCE; ++e) {
                if (!(v[e] < 1.0e38f) || q0 + e >= many) continue;  // none
                v[e] -= risen[at[e]];
                if (v[e] < least[BEST - 1]) insert(v[e], at[e]);
            }
        }
    }

    __device__ __forceinline__ bool is_best(int at) const {
        bool known = false;
#pragma unroll
        for (int q = 0; q < BEST; ++q) known = known || which[q] == at;
        return known;
    }

    __device__ __forceinline__ void insert(float v, int at) {
#pragma unroll
        for (int q = 0; q < BEST; ++q)
            if (v < least[q]) {
                const float w = least[q];
                const int b = which[q];
                least[q] = v, which[q] = at;
                v = w, at = b;
            }
    }

    // Calls use(cluster, how much above the best one) for others that are listed, up to `far`.
    template <class Use> __device__ __forceinline__ void each_other(float far, const Use& use) {
        if (!(least[BEST - 1] - least[0] < far)) return;
        for (int q = 0; q < many; ++q) {
            const float listed = value[q * n + row];
            const int at = cluster[q * n + row];
            const float above = listed - risen[at] - least[0];
            if (listed < 1.0e38f && above < far && !is_best(at)) use(at, above);
        }
    }

    // Shares the row: calls take(cluster, share) but for the best one, and join(cluster, cluster,
    // product of shares); a cluster that is not among the best is joined to the best one alone.
    // Returned is the sum of what shares are parts of.
    template <class Take, class Join>
    __device__ __forceinline__ float share(float temperature, const Take& take, const Join& join) {
        float part[BEST], sum = 0.0f;
        const float cold = 1.0f / temperature;
#pragma unroll
        for (int q = 0; q < BEST; ++q) {
            const float far = (least[q] - least[0]) * cold;
            part[q] = far < WIDEST ? __expf(-far) : 0.0f;
            sum += part[q];
        }
        const float end = WIDEST * temperature;
        each_other(end, [&](int, float above) { sum += __expf(-above * cold); });
        const float whole = 1.0f / sum;
#pragma unroll
        for (int p = 0; p < BEST; ++p) {
            part[p] *= whole;
            if (p > 0 && part[p] > 0.0f) take(which[p], part[p]);
            if (part[p] >= LEAST_SHARE)
#pragma unroll
                for (int q = 0; q < p; ++q) join(which[p], which[q], part[p] * part[q]);
        }
        each_other(end, [&](int at, float above) {
            const float more = __expf(-above * cold) * whole;
            take(at, more);
            if (more >= LEAST_SHARE) join(at, which[0], more * (1.0f - more));
        });
        return sum;
    }
};

// Shared among clusters: `sums` (2 k), shares in units of 1 / WHOLE and whole rows; `edge` (HEATS, k,
// k), below the diagonals, products of two shares at the temperature and higher ones, of one of
// `each` warps of rows; `part`, two
// numbers for each block: the sums of softened minima and of minima. `rise`: what prices have risen.
extern "C" __global__ void __launch_bounds__(THREADS)
    soften(const float* value, const unsigned short* cluster, i64 n, int many, const float* rise,
           int k, float temperature, int each, int each_hot,
           int each_hotter, int each_hottest, u64* sums, u64* edge, double* part) {
    extern __shared__ unsigned held[];  // (k,) shares, (k,) rows, (k,) what prices have risen
    unsigned* rows = held + k;
    float* risen = reinterpret_cast<float*>(rows + k);
    __shared__ double all[2][THREADS];
    for (int a = threadIdx.x; a < k; a += THREADS) held[a] = rows[a] = 0, risen[a] = rise[a];
    __syncthreads();
    double soft = 0.0, hard = 0.0;
    const auto join = [&](u64* to, int a, int b, float weight) {
        atomicAdd(to + static_cast<i64>(max(a, b)) * k + min(a, b),
                  static_cast<u64>(static_cast<double>(weight) * EDGE));
    };
    for (int j = 0; j < EACH; ++j) {
        const i64 place = (static_cast<i64>(blockIdx.x) * EACH + j) * THREADS + threadIdx.x;
        if (place >= n) break;
        Row row{value, cluster, risen, place, n, many};
        row.find();
        atomicAdd(rows + row.which[0], 1u);
        unsigned rest = static_cast<unsigned>(WHOLE);
        const float sum = row.share(
            temperature,
            [&](int a, float share) {
                const unsigned more = static_cast<unsigned>(rintf(share * WHOLE));
                if (more) atomicAdd(held + a, more);
                rest -= min(rest, more);
            },
            [&](int a, int b, float weight) {
                if (place / 32 % each == 0) join(edge, a, b, weight);
            });
        atomicAdd(held + row.which[0], rest);
        const double least = static_cast<double>(row.least[0]);
        hard += least;
        soft += least - static_cast<double>(temperature * logf(sum));
        const int every[HEATS] = {each, each_hot, each_hotter, each_hottest};
        float hot = temperature;
#pragma unroll
        for (int heat = 1; heat < HEATS; ++heat) {
            hot *= HOTTER;
            if (place / 32 % every[heat] == heat % every[heat])  // not always the same rows
                row.share(hot, [](int, float) {}, [&](int a, int b, float weight) {
                    join(edge + static_cast<i64>(k) * k * heat, a, b, weight);
                });
        }
    }
    all[0][threadIdx.x] = soft, all[1][threadIdx.x] = hard;
    __syncthreads();
    for (int apart = THREADS / 2; apart; apart /= 2) {
        if (threadIdx.x < apart)
            for (int e = 0; e < 2; ++e) all[e][threadIdx.x] += all[e][threadIdx.x + apart];
        __syncthreads();
    }
    if (threadIdx.x < 2) part[2 * blockIdx.x + threadIdx.x] = all[threadIdx.x][0];
    for (int a = threadIdx.x; a < k; a += THREADS) {
        if (held[a]) atomicAdd(sums + a, static_cast<u64>(held[a]));
        if (rows[a]) atomicAdd(sums + k + a, static_cast<u64>(rows[a]));
    }
}

__device__ __forceinline__ double added_up(double mine) {  // over a warp, the same in all lanes
#pragma unroll
    for (int apart = 16; apart; apart /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, apart);
    return mine;
}

// Rows that change clusters per unit of price, (k, k), and what each cluster has of them, (k,): the
// most of all temperatures, since few rows that lie near a border do not tell how many are next.
extern "C" __global__ void __launch_bounds__(THREADS)
    edges(const u64* edge, int k, double temperature, int each, int each_hot,
          int each_hotter, int each_hottest, float* weight, double* degree) {
    const int i = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= k) return;
    double sum = 0.0;
    for (int j = lane; j < k; j += 32) {
        const i64 pair = static_cast<i64>(max(i, j)) * k + min(i, j);
        const int every[HEATS] = {each, each_hot, each_hotter, each_hottest};
        double most = 0.0, hot = temperature * EDGE;
#pragma unroll
        for (int heat = 0; heat < HEATS; ++heat) {
            const u64 rows = edge[static_cast<i64>(k) * k * heat + pair];
            most = fmax(most, static_cast<double>(rows) * every[heat] / hot);
            hot *= static_cast<double>(HOTTER);
        }
        const float w = i == j ? 0.0f : static_cast<float>(most);
        weight[static_cast<i64>(i) * k + j] = w;
        sum += static_cast<double>(w);
    }
    sum = added_up(sum);
    if (lane == 0) degree[i] = sum;
}

__device__ __forceinline__ double row_times(const float* weight, int k, const double* x) {
    double sum = 0.0;
    for (int j = threadIdx.x % 32; j < k; j += 32) sum += static_cast<double>(weight[j]) * x[j];
    return added_up(sum);
}

// The Laplacian of these edges times x.
extern "C" __global__ void __launch_bounds__(THREADS)
    pulled(const float* weight, const double* degree, const double* x, int k, double* to) {
    const int i = (blockIdx.x * THREADS + threadIdx.x) / 32;
    if (i >= k) return;
    const double sum = row_times(weight + static_cast<i64>(i) * k, k, x);
    if (threadIdx.x % 32 == 0) to[i] = degree[i] * x[i] - sum;
}

// The same in all threads of a block, added in the same order everywhere; `room` is free before.
__device__ __forceinline__ double over_block(double mine, double* room) {
    mine = added_up(mine);
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = mine;
    __syncthreads();
    double sum = 0.0;
#pragma unroll
    for (int w = 0; w < THREADS / 32; ++w) sum += room[w];
    return sum;
}

// Solves (L + damping (D + mean of D)) x = gradient over active clusters by conjugate gradients,
// to `accuracy`; x is zero elsewhere, and everywhere where there is no edge. All blocks run at the
// same time: each has some rows of the matrix, and all vectors. `product` (2, k) and `arrived`,
// which is zero, are what they share.
extern "C" __global__ void __launch_bounds__(THREADS)
    newton_step(const float* weight, const double* degree, const double* gradient,
                const unsigned char* active, int k, double damping, double accuracy, int rounds,
                double* product, unsigned* arrived, double* to) {
    extern __shared__ double vectors[];  // way, rest, found: (k,) each
    __shared__ double room[THREADS / 32];
    double *way = vectors, *rest = way + k, *found = rest + k;
    double mine = 0.0;
    for (int i = threadIdx.x; i < k; i += THREADS) mine += degree[i];
    const double mean = over_block(mine, room) / k;
    if (!(mean > 0.0)) {
        for (int i = threadIdx.x; i < k; i += THREADS) to[i] = 0.0;
        return;
    }
    const auto diagonal = [&](int i) { return degree[i] + damping * (degree[i] + mean); };
    mine = 0.0;
    for (int i = threadIdx.x; i < k; i += THREADS) {
        rest[i] = active[i] ? gradient[i] : 0.0;
        way[i] = rest[i] / diagonal(i);
        found[i] = 0.0;
        mine += rest[i] * way[i];
    }
    double left = over_block(mine, room);  // and all vectors are there
    const double enough = left * accuracy * accuracy;
    const int warps = gridDim.x * (THREADS / 32);
    for (int round = 0; round < rounds && left > enough; ++round) {
        double* now = product + (round % 2) * k;
        for (int i = (blockIdx.x * THREADS + threadIdx.x) / 32; i < k; i += warps) {
            const double sum = row_times(weight + static_cast<i64>(i) * k, k, way);
            if (threadIdx.x % 32 == 0)
                __stcg(now + i, active[i] ? diagonal(i) * way[i] - sum : 0.0);
        }
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {  // all blocks have arrived
            atomicAdd(arrived, 1u);
            while (*static_cast<volatile unsigned*>(arrived) < gridDim.x * (round + 1u)) {
            }
            __threadfence();
        }
        __syncthreads();
        mine = 0.0;
        for (int i = threadIdx.x; i < k; i += THREADS) mine += way[i] * __ldcg(now + i);
        const double bent = over_block(mine, room);
        if (!(bent > 0.0)) break;
        const double far = left / bent;
        mine = 0.0;
        for (int i = threadIdx.x; i < k; i += THREADS) {
            found[i] += far * way[i];
            rest[i] -= far * __ldcg(now + i);
            mine += rest[i] * rest[i] / diagonal(i);
        }
        const double next = over_block(mine, room);
        for (int i = threadIdx.x; i < k; i += THREADS)
            way[i] = rest[i] / diagonal(i) + next / left * way[i];
        left = next;
        __syncthreads();
    }
    if (blockIdx.x == 0)
        for (int i = threadIdx.x; i < k; i += THREADS) to[i] = found[i];
}

// The same by elimination, for so few clusters that a matrix of them fits into the memory of a
// block.
extern "C" __global__ void __launch_bounds__(THREADS)
    newton_step_directly(const float* weight, const double* degree, const double* gradient,
                         const unsigned char* active, int k, double damping, double* to) {
    extern __shared__ double matrix[];  // (k, k), below the diagonal, and (k,)
    __shared__ double room[THREADS / 32];
    double* x = matrix + k * k;
    double mine = 0.0;
    for (int i = threadIdx.x; i < k; i += THREADS) mine += degree[i];
    const double mean = over_block(mine, room) / k;
    for (int at = threadIdx.x; at < k * k; at += THREADS) {
        const int i = at / k, j = at % k;
        if (i == j)
            matrix[at] =
                active[i] && mean > 0.0 ? degree[i] + damping * (degree[i] + mean) : 1.0;
        else matrix[at] = active[i] && active[j] ? -static_cast<double>(weight[at]) : 0.0;
    }
    for (int i = threadIdx.x; i < k; i += THREADS)
        x[i] = active[i] && mean > 0.0 ? gradient[i] : 0.0;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int j = 0; j < k; ++j) {
        __syncthreads();
        const double inverse = 1.0 / matrix[j * k + j];
        for (int i = j + 1 + warp; i < k; i += THREADS / 32) {
            const double factor = matrix[i * k + j] * inverse;
            if (factor == 0.0) continue;
            for (int t = j + 1 + lane; t <= i; t += 32) matrix[i * k + t] -= factor * matrix[t * k + j];
            if (lane == 0) x[i] -= factor * x[j];
        }
    }
    for (int j = k - 1; j >= 0; --j) {
        __syncthreads();
        const double here = x[j] / matrix[j * k + j];
        __syncthreads();
        for (int i = threadIdx.x; i < j; i += THREADS) x[i] -= matrix[j * k + i] * here;
        if (threadIdx.x == 0) to[j] = here;
    }
}
