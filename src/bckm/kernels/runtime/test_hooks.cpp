#include "runtime/test_hooks.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "moves/clustering.hpp"
#include "runtime/arrays.hpp"
#include "runtime/gil.hpp"
#include "runtime/pool.hpp"

namespace nb = nanobind;

namespace bckm {
namespace {

// 0 + 1 + ... + n - 1, each number from a chunk of its own; with `nested`, each chunk uses the pool
// again; chunk `fail_at` throws.
std::int64_t sum_of_chunks(std::int64_t n, int threads, bool nested, std::int64_t fail_at) {
    std::vector<std::int64_t> slots(static_cast<std::size_t>(n));
    parallel(n, threads, [&](std::int64_t chunk, int worker) {
        if (chunk == fail_at) throw std::runtime_error("chunk " + std::to_string(chunk));
        if (worker < 0 || worker >= threads) throw std::logic_error("no such worker");
        std::int64_t& slot = slots[static_cast<std::size_t>(chunk)];
        if (!nested) {
            slot = chunk;
            return;
        }
        std::int64_t halves[2] = {0, 0};
        parallel(2, threads, [&](std::int64_t half, int) { halves[half] = (chunk + half) / 2; });
        slot = halves[0] + halves[1];
    });
    return std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
}

// How many of `threads` chunks run at the same time: each waits for the others, at most 10 s.
int meet(int threads) {
    std::mutex guard;
    std::condition_variable met;
    int present = 0, most = 0;
    parallel(threads, threads, [&](std::int64_t, int) {
        std::unique_lock<std::mutex> lock(guard);
        most = std::max(most, ++present);
        met.notify_all();
        met.wait_for(lock, std::chrono::seconds(10), [&] { return most == threads; });
        --present;
    });
    return most;
}

// Whether a move keeps the rules and by how much it changes the objective; and after it is made:
// the sizes, masses and centers that the clustering keeps, what the move back would do, and the
// objective summed up again.
nb::dict judge(const views::PointsView& points, const views::RulesView& rules,
               const views::SoftView& soft, views::Labels label, views::Matrix centers, bool fixed,
               views::Integers items, views::Integers to) {
    const std::int64_t k = rules.view.k;
    views::check_descent(points, rules, soft, label, centers);
    views::require(items.shape(0) == to.shape(0), "one cluster per item");
    std::vector<Hop> hops;
    for (std::size_t h = 0; h < items.shape(0); ++h) {
        const std::int64_t j = items.data()[h], i = to.data()[h];
        views::require(0 <= j && j < points.view.n && 0 <= i && i < k, "items and clusters");
        hops.push_back({j, i});
    }
    const auto number = static_cast<std::int64_t>(hops.size());
    Clustering c(points.view, rules.view, soft.view, label.data(), centers.data(), fixed, 1);
    const bool admits = c.admits(hops.data(), number);
    const double change = c.change(hops.data(), number);
    std::vector<Hop> back = hops;
    for (Hop& hop : back) hop.to = c.label[hop.item];
    c.apply(hops.data(), number);
    const std::size_t clusters = centers.shape(0), dims = centers.shape(1);
    nb::dict result;
    result["admits"] = admits;
    result["change"] = change;
    result["admits_back"] = c.admits(back.data(), number);
    result["change_back"] = c.change(back.data(), number);
    result["size"] = views::as_array(std::vector(c.size), {clusters});
    result["weight"] = views::as_array(std::vector(c.weight), {clusters});
    result["centers"] = views::as_array(std::vector(c.centers), {clusters, dims});
    c.refresh();
    result["cost"] = c.cost;
    return result;
}

}  // namespace

void add_test_hooks(nb::module_& module) {
    using nb::literals::operator""_a;
    module.def("_sum_of_chunks", &sum_of_chunks, "n"_a, "threads"_a, "nested"_a = false,
               "fail_at"_a = -1, nb::call_guard<WithoutGil>());
    module.def("_judge", &judge, "points"_a, "rules"_a, "soft"_a, "label"_a.noconvert(),
               "centers"_a, "fixed"_a, "items"_a, "to"_a);
    module.def("_meet", &meet, "threads"_a, nb::call_guard<WithoutGil>());
}

}  // namespace bckm
