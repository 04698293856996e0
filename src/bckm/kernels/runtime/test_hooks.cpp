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
#include "moves/relaxed.hpp"
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

// What annealing thinks of a move, at a fine for each kind of rule and at prices after one
// adjustment: one item goes to a cluster, two swap, or one goes to where another leaves from. Also
// what the move back is charged once it is made, and whether all rules hold then; the same summed
// up again, with the objective before and after.
nb::dict judge_relay(const views::PointsView& points, const views::RulesView& rules,
                     const views::SoftView& soft, views::Labels label, views::Matrix centers,
                     bool fixed, views::Vector fines, double price_step, views::Integers items,
                     views::Integers to) {
    views::check_descent(points, rules, soft, label, centers);
    const std::size_t number = items.shape(0);
    views::require(number == to.shape(0) && (number == 1 || number == 2), "one item or two");
    for (std::size_t h = 0; h < number; ++h)
        views::require(0 <= items.data()[h] && items.data()[h] < points.view.n &&
                           0 <= to.data()[h] && to.data()[h] < rules.view.k,
                       "items and clusters");
    RelaxedClustering c(points.view, rules.view, soft.view, label.data(), centers.data(), fixed);
    views::require(static_cast<std::int64_t>(fines.shape(0)) == c.kinds(), "a fine per kind");
    const double before = c.refresh();
    for (std::int64_t kind = 0; kind < c.kinds(); ++kind) c.set_fine(kind, fines.data()[kind]);
    c.update_fines();
    c.adjust_prices(price_step);
    const std::int64_t j = items.data()[0], a = c.label[j], b = to.data()[0];
    Relay move = Relay::relocation(j, a, b), back = Relay::relocation(j, b, a);
    nb::dict result;
    if (number == 2) {
        const std::int64_t l = items.data()[1], d = to.data()[1];
        views::require(c.label[l] == b && d != b, "the second item leaves where the first goes");
        move = d == a ? Relay::swap(j, a, l, b) : Relay::path(j, a, l, b, d);
        back = d == a ? Relay::swap(j, b, l, a) : Relay::path(l, d, j, b, a);
        if (d == a) result["swap_sums_change"] = c.swap_sums_change(j, a, l, b);
    }
    result["change"] = c.distance_change(move) + c.penalty_change(move);
    result["sums_change"] = c.sums_change(move);
    result["charge_change"] = c.charge_change(move);
    result["least_charge_change"] = c.least_charge_change(move);
    result["price_change"] = c.price_change(j, a, b);
    c.apply(move);
    result["charge_change_back"] = c.charge_change(back);
    result["feasible"] = c.feasible();
    result["objective_change"] = c.refresh() - before;
    result["charge_change_back_again"] = c.charge_change(back);
    result["feasible_again"] = c.feasible();
    return result;
}

}  // namespace

void add_test_hooks(nb::module_& module) {
    using nb::literals::operator""_a;
    module.def("_sum_of_chunks", &sum_of_chunks, "n"_a, "threads"_a, "nested"_a = false,
               "fail_at"_a = -1, nb::call_guard<WithoutGil>());
    module.def("_judge", &judge, "points"_a, "rules"_a, "soft"_a, "label"_a.noconvert(),
               "centers"_a, "fixed"_a, "items"_a, "to"_a);
    module.def("_judge_relay", &judge_relay, "points"_a, "rules"_a, "soft"_a, "label"_a.noconvert(),
               "centers"_a, "fixed"_a, "fines"_a, "price_step"_a, "items"_a, "to"_a);
    module.def("_meet", &meet, "threads"_a, nb::call_guard<WithoutGil>());
}

}  // namespace bckm
