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

