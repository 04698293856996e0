#include "blocks/look.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr double piece = 1 << piece_bits;
constexpr double to_whole = 6755399441055744.0;  // 1.5 * 2^52: added and taken off, it rounds

double whole(double value) { return (value + to_whole) - to_whole; }

// Scratch memory and sums of one worker: whole numbers as doubles, so that loops are vectorized.
struct Worker {
    Worker(std::int64_t rows, std::int64_t dims, std::int64_t k, bool sums)
        : x(rows * dims), still(k, 0.0), farthest(k, 0.0), counts(k, 0), high(sums ? k * dims : 0),
          low(sums ? k * dims : 0) {}

    std::vector<double> x, still, farthest;
    std::vector<std::int64_t> counts;
    std::vector<double> high, low;
    std::array<double, cost_pieces> cost{};

    void add_row(const double* row, std::int64_t dims, std::int64_t a) {
        double *up = high.data() + a * dims, *down = low.data() + a * dims;
        for (std::int64_t t = 0; t < dims; ++t) {
            const double scaled = row[t] * piece, top = whole(scaled);
            up[t] += top;
            down[t] += whole((scaled - top) * piece);
        }
    }

    void add_cost(double value) {
        for (double& sum : cost) {
            value *= piece;
            const double top = whole(value);
            sum += top;
            value -= top;
        }
    }
};

void add(const std::vector<double>& from, std::vector<std::int64_t>& to) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] += static_cast<std::int64_t>(from[i]);
}

}  // namespace

template <class Real>
LookResult look(const Block<Real>& block, const PricedCenters& priced, const PointState& known,
                double cost_scale, bool sums, int threads) {
    const std::int64_t n = block.n, dims = block.dims, k = priced.k;
    // rows that stay in the cache, but so many that packing the centers for them is little work
    const std::int64_t step = std::clamp<std::int64_t>((1 << 16) / dims, 1024, 4096);
    const std::int64_t chunks = (n + step - 1) / step;
    threads =
        static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(1, chunks)));
    std::vector<Worker> workers;
    workers.reserve(threads);
    for (int w = 0; w < threads; ++w) workers.emplace_back(std::min(n, step), dims, k, sums);
    parallel(chunks, threads, [&](std::int64_t chunk, int number) {
        Worker& own = workers[number];
        const std::int64_t from = chunk * step, rows = std::min(n - from, step);
        double* y = own.x.data();
        for (std::int64_t j = from; j < from + rows; ++j) {
            const Real* x = block.data + j * block.row_stride;
            for (std::int64_t t = 0; t < dims; ++t)
                *y++ = (static_cast<double>(x[t * block.column_stride]) - block.origin[t]) *
                       block.scale;
        }
        Points points;
        points.data = own.x.data();
        points.dims = dims;
        points.n = rows;
        const PointState state{known.label + from, known.runner_up + from, known.margin + from,
                               known.slack + from, nullptr};
        sweep(points, priced, state, {own.still.data(), own.still.data()}, false, 1);
        for (std::int64_t j = 0; j < rows; ++j) {
            const std::int64_t a = state.label[j];
            const double* row = points.row(j);
            ++own.counts[a];
            const double square = squared_distance(row, priced.centers + a * dims, dims);
            own.farthest[a] = std::max(own.farthest[a], square);
            own.add_cost(square * cost_scale);
            if (sums) own.add_row(row, dims, a);
        }
    });
    LookResult all;
    all.dims = dims;
    all.counts.assign(k, 0);
    all.high.assign(sums ? k * dims : 0, 0);
    all.low.assign(sums ? k * dims : 0, 0);
    all.cost.assign(cost_pieces, 0);
    all.farthest.assign(k, 0.0);
    for (const Worker& w : workers) {
        for (std::int64_t i = 0; i < k; ++i) {
            all.counts[i] += w.counts[i];
            all.farthest[i] = std::max(all.farthest[i], w.farthest[i]);
        }
        for (int i = 0; i < cost_pieces; ++i) all.cost[i] += static_cast<std::int64_t>(w.cost[i]);
        add(w.high, all.high);
        add(w.low, all.low);
    }
    return all;
}

template LookResult look(const Block<float>&, const PricedCenters&, const PointState&, double, bool,
                         int);
template LookResult look(const Block<double>&, const PricedCenters&, const PointState&, double,
                         bool, int);

}  // namespace bckm
