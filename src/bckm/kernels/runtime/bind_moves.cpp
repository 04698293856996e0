// Local search, mending and annealing for Python: checks arguments and calls the kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "moves/anneal.hpp"
#include "moves/clustering.hpp"
#include "moves/descend.hpp"
#include "moves/mend.hpp"
#include "moves/mix.hpp"
#include "moves/relaxed.hpp"
#include "runtime/arrays.hpp"
#include "runtime/bind.hpp"
#include "runtime/gil.hpp"
#include "runtime/pool.hpp"
#include "runtime/stop_check.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bckm::views;

namespace {

bckm::DescentResult descend(const PointsView& points, const RulesView& rules, const SoftView& soft,
                            Labels label, Matrix centers, bool fixed, double effort, double seconds,
                            int threads) {
    check_threads(threads);
    check_descent(points, rules, soft, label, centers);
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    bckm::Clustering clustering(points.view, rules.view, soft.view, label.data(), centers.data(),
                                fixed, threads);
    bckm::DescentResult result;
    const auto write = [&] {
        std::copy(clustering.label.begin(), clustering.label.end(), label.data());
    };
    try {
        result = bckm::descend(clustering, effort, stop);
    } catch (...) {  // Ctrl-C, which is heard between two moves: those made are not lost
        write();
        throw;
    }
    write();
    return result;
}

bckm::MendResult mend(const PointsView& points, const RulesView& rules, const SoftView& soft,
                      Labels label, Matrix centers, Matrix prices, Matrix soft_prices,
                      Vector row_prices, double unit, std::optional<Integers> items,
                      std::optional<Matrix> costs, std::int64_t rounds, double effort,
                      double seconds, int threads) {
    check_threads(threads);
    check_descent(points, rules, soft, label, centers);
    const auto k = static_cast<std::size_t>(rules.view.k);
    require(prices.shape(0) == k && prices.shape(1) == rules.loads.amount.shape(1) + 1,
            "one price per sum and cluster, and of samples");
    require(soft_prices.shape(0) == k && soft_prices.shape(1) == soft.loads.amount.shape(1),
            "one price per soft sum and cluster");
    require(row_prices.shape(0) == rules.row_lower.shape(0), "one price per row");
    require(unit > 0.0 && std::isfinite(unit), "the unit must be positive");
    for (std::size_t p = 0; items && p < items->shape(0); ++p)
        require(0 <= items->data()[p] && items->data()[p] < points.view.n, "items must be points");
    require(!costs || (costs->shape(1) == k &&
                       static_cast<std::int64_t>(costs->shape(0)) == points.view.n),
            "costs of each point in each cluster");
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    const bckm::StopScope scope(stop);
    const bckm::SumPrices paid{prices.data(), soft_prices.data(), row_prices.data(), unit};
    return bckm::mend(points.view, rules.view, soft.view, centers.data(),
                      costs ? costs->data() : nullptr, paid, items ? items->data() : nullptr,
                      items ? static_cast<std::int64_t>(items->shape(0)) : 0, label.data(), rounds,
                      effort, threads, stop);
}

bckm::AnnealResult anneal(const PointsView& points, const RulesView& rules, const SoftView& soft,
                          Labels label, Matrix centers, bool fixed, double hot, double cold,
                          std::int64_t cycles, double effort, std::uint64_t seed, double seconds) {
    check_descent(points, rules, soft, label, centers);
    require(0.0 < cold && cold <= hot && std::isfinite(hot), "0 < cold <= hot");
    require(cycles >= 1 && effort >= 0.0 && std::isfinite(effort), "cycles and a finite effort");
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    bckm::RelaxedClustering clustering(points.view, rules.view, soft.view, label.data(),
                                       centers.data(), fixed);
    bckm::AnnealResult result;
    const auto write = [&] { std::copy(result.label.begin(), result.label.end(), label.data()); };
    try {
        bckm::anneal(clustering, {hot, cold, cycles, effort, seed, seconds}, stop, result);
    } catch (...) {  // Ctrl-C: the best labels by then are not lost
        write();
        throw;
    }
    write();
    return result;
}

bckm::AnnealResult mix(const PointsView& points, const RulesView& rules, const SoftView& soft,
                       Labels label, Integers mass_kind, Integers kind, double effort,
                       double enough, std::uint64_t seed, double seconds) {
    check_moves(points, rules, soft, label);
    const auto items = static_cast<std::size_t>(points.view.n);
    require(mass_kind.shape(0) == items && kind.shape(0) == items, "one kind per point");
    require(effort > 0.0 && std::isfinite(effort), "a finite effort");
    const std::vector<double> nowhere(rules.view.k * points.view.dims);
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    bckm::RelaxedClustering clustering(points.view, rules.view, soft.view, label.data(),
                                       nowhere.data(), true, true);
    bckm::AnnealResult result;
    const auto write = [&] { std::copy(result.label.begin(), result.label.end(), label.data()); };
    try {
        bckm::mix(clustering, {mass_kind.data(), kind.data()}, {effort, enough, seed, seconds},
                  stop, result);
    } catch (...) {  // Ctrl-C: the best labels by then are not lost
        write();
        throw;
    }
    write();
    return result;
}

void add_all(nb::module_& module) {
    nb::class_<RulesView>(module, "Rules")
        .def(nb::init<Integers, Integers, Integers, Integers, Integers, Integers, Integers, Vector,
                      Vector, Vector, Matrix, Matrix, Matrix>(),
             "count"_a, "lower"_a, "upper"_a, "conflict_start"_a, "conflict_with"_a,
             "column_start"_a, "column_row"_a, "column_value"_a, "row_lower"_a, "row_upper"_a,
             "amount"_a, "load_lower"_a, "load_upper"_a);
    nb::class_<SoftView>(module, "Soft")
        .def(nb::init<Integers, Integers, Vector, Integers, Integers, Vector, double, Matrix,
                      Matrix, Matrix, Matrix, Matrix>(),
             "link_start"_a, "link_with"_a, "link_penalty"_a, "label_start"_a, "label_cluster"_a,
             "label_penalty"_a, "constant"_a, "amount"_a, "lower"_a, "upper"_a, "below"_a,
             "above"_a);
    using bckm::DescentResult;
    nb::class_<DescentResult>(module, "DescentResult")
        .def_ro("passes", &DescentResult::passes)
        .def_ro("relocated", &DescentResult::relocated)
        .def_ro("swapped", &DescentResult::swapped)
        .def_ro("chained", &DescentResult::chained)
        .def_ro("flipped", &DescentResult::flipped)
        .def_ro("grouped", &DescentResult::grouped)
        .def_ro("work", &DescentResult::work)
        .def_ro("finished", &DescentResult::finished)
        .def_ro("stopped", &DescentResult::stopped);
    module.def("descend", descend, "points"_a, "rules"_a, "soft"_a, "label"_a.noconvert(),
               "centers"_a, "fixed"_a, "effort"_a, "seconds"_a, "threads"_a);
    using bckm::MendResult;
    nb::class_<MendResult>(module, "MendResult")
        .def_ro("obeys", &MendResult::obeys)
        .def_ro("stopped", &MendResult::stopped)
        .def_ro("moves", &MendResult::moves)
        .def_ro("work", &MendResult::work);
    module.def("mend", mend, "points"_a, "rules"_a, "soft"_a, "label"_a.noconvert(), "centers"_a,
               "prices"_a, "soft_prices"_a, "row_prices"_a, "unit"_a, "items"_a.none(),
               "costs"_a.none(), "rounds"_a, "effort"_a, "seconds"_a, "threads"_a);
    using bckm::AnnealResult;
    nb::class_<AnnealResult>(module, "AnnealResult")
        .def_ro("proposed", &AnnealResult::proposed)
        .def_ro("relocated", &AnnealResult::relocated)
        .def_ro("swapped", &AnnealResult::swapped)
        .def_ro("ejected", &AnnealResult::ejected)
        .def_ro("work", &AnnealResult::work)
        .def_ro("cost", &AnnealResult::cost)
        .def_ro("feasible", &AnnealResult::feasible)
        .def_ro("hurried", &AnnealResult::hurried)
        .def_ro("stopped", &AnnealResult::stopped);
    module.def("anneal", anneal, "points"_a, "rules"_a, "soft"_a, "label"_a.noconvert(),
               "centers"_a, "fixed"_a, "hot"_a, "cold"_a, "cycles"_a, "effort"_a, "seed"_a,
               "seconds"_a);
    module.def("mix", mix, "points"_a, "rules"_a, "soft"_a, "label"_a.noconvert(), "mass_kind"_a,
               "kind"_a, "effort"_a, "enough"_a, "seed"_a, "seconds"_a);
}

}  // namespace

void bckm::add_moves(nb::module_& module) { add_all(module); }
