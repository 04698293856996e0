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

// How many rows of each cluster have how much slack, in bins of the bits of a float32; of `each`
// times 32 rows 32 are counted.
extern "C" __global__ void count_slacks(const float* slack, const int* label, i64 n, i64 offset,
                                        int each, int bins, int shift, int lowest, unsigned* held) {
    const i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= n || (row + offset) / 32 % each) return;
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

// Rows of at most so much slack, (k,), by their labels and numbers.
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

