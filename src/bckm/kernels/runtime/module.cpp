// The Python module: checks arguments and calls the kernels; the arithmetic is in the other
// folders.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "distance/gather.hpp"
#include "distance/points.hpp"
#include "distance/sparse_distances.hpp"
#include "distance/sweep.hpp"
#include "distance/totals.hpp"
#include "links/clique_cover.hpp"
#include "links/linked.hpp"
#include "links/placement.hpp"
#include "moves/anneal.hpp"
#include "moves/clustering.hpp"
#include "moves/descend.hpp"
#include "moves/mend.hpp"
#include "moves/relaxed.hpp"
#include "runtime/arrays.hpp"
#include "runtime/cpu.hpp"
#include "runtime/gil.hpp"
#include "runtime/pool.hpp"
#include "runtime/stop_check.hpp"
#include "runtime/test_hooks.hpp"
#include "transport/newton_step.hpp"
#include "transport/settle.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bckm::views;

namespace {

using Floats = nb::ndarray<nb::numpy, float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<nb::numpy, const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check_prices(const PointsView& points, const Matrix& centers, const Vector& prices) {
    require(static_cast<std::int64_t>(centers.shape(1)) == points.view.dims,
            "centers must have the features of the points");
    require(centers.shape(0) > 0 && centers.shape(0) == prices.shape(0), "one price per center");
    for (std::size_t i = 0; i < prices.shape(0); ++i)
        require(std::isfinite(prices.data()[i]), "prices must be finite");
    check_finite(centers);
}

void check_threads(int threads) { require(threads >= 1, "threads must be at least 1"); }

bckm::SweepResult sweep(const PointsView& points, Matrix centers, Vector prices, Labels label,
                        Labels runner_up, Floats margin, Floats slack, std::optional<Floats> radius,
                        Vector fixed, Vector slope, bool keep_labels, int threads, double seconds) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    const auto n = static_cast<std::size_t>(points.view.n);
    check_prices(points, centers, prices);
    check_labels(points, label, k);
    require(runner_up.shape(0) == n && margin.shape(0) == n && slack.shape(0) == n,
            "one runner-up, margin and slack per point");
    require(!radius || radius->shape(0) == n, "one radius per point");
    require(fixed.shape(0) == prices.shape(0) && slope.shape(0) == prices.shape(0),
            "drift must have one number per cluster");
    const bckm::WithoutGil release;
    const bckm::PricedCenters priced(centers.data(), prices.data(), k, points.view.dims);
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    const bckm::StopScope scope(stop);
    return bckm::sweep(points.view, priced,
                       {label.data(), runner_up.data(), margin.data(), slack.data(),
                        radius ? radius->data() : nullptr},
                       {fixed.data(), slope.data()}, keep_labels, threads);
}

bckm::SettleResult settle(const PointsView& points, Matrix centers, Vector prices, Labels label,
                          Floats slack, Integers lower, Integers upper, std::int64_t budget,
                          double seconds, int threads) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    const std::int64_t n = points.view.n;
    check_prices(points, centers, prices);
    check_labels(points, label, k);
    require(static_cast<std::int64_t>(slack.shape(0)) == n, "one slack per point");
    require(lower.shape(0) == prices.shape(0) && upper.shape(0) == prices.shape(0),
            "bounds must have one number per cluster");
    std::vector<std::int64_t> held(k, 0), at_most(k);
    std::int64_t least = 0, most = 0, units = 0;
    for (std::int64_t j = 0; j < n; ++j) held[label.data()[j]] += points.view.units(j);
    for (const std::int64_t h : held) units += h;
    for (std::int64_t i = 0; i < k; ++i) {
        require(0 <= lower.data()[i] && lower.data()[i] <= upper.data()[i], "0 <= lower <= upper");
        least += lower.data()[i];
        at_most[i] = std::max(lower.data()[i], std::min(upper.data()[i], units));
        most += at_most[i];
    }
    require(least <= units && units <= most, "the bounds do not admit the samples");
    const bckm::WithoutGil release;
    const bckm::PricedCenters priced(centers.data(), prices.data(), k, points.view.dims);
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    const bckm::StopScope scope(stop);
    return bckm::settle(points.view, priced, label.data(), slack.data(), held.data(), lower.data(),
                        at_most.data(), std::clamp<std::int64_t>(budget, 1, n + 1), threads, stop);
}

std::optional<Column<double>> newton_step(const PointsView& points, Vector prices, Labels label,
                                          Labels runner_up, Floats margin, Vector gradient,
                                          Flags active, int threads) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(prices.shape(0));
    check_labels(points, label, k);
    check_labels(points, runner_up, k);
    require(static_cast<std::int64_t>(margin.shape(0)) == points.view.n, "one margin per point");
    require(gradient.shape(0) == prices.shape(0) && active.shape(0) == prices.shape(0),
            "one gradient and one flag per cluster");
    std::vector<double> step(k);
    bool solved = false;
    {
        const bckm::WithoutGil release;
        solved = bckm::newton_step(
            {points.view, label.data(), runner_up.data(), margin.data(), prices.data(), k},
            gradient.data(), active.data(), step.data(), threads);
    }
    if (!solved) return std::nullopt;
    return Column<double>(as_array(std::move(step), {prices.shape(0)}));
}

bckm::TotalsResult totals(const PointsView& points, Labels label, Matrix centers,
                          std::optional<Floats> radius, int threads) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    check_labels(points, label, k);
    require(static_cast<std::int64_t>(centers.shape(1)) == points.view.dims,
            "centers must have the features of the points");
    require(!radius || static_cast<std::int64_t>(radius->shape(0)) == points.view.n,
            "one radius per point");
    const bckm::WithoutGil release;
    return bckm::totals(points.view, label.data(), k, centers.data(),
                        radius ? radius->data() : nullptr, threads);
}

// (k, dims)
nb::ndarray<nb::numpy, double, nb::ndim<2>> sums(bckm::TotalsResult& result) {
    return {result.sums.data(), {result.mass.size(), static_cast<std::size_t>(result.dims)}};
}

bckm::DescentResult descend(const PointsView& points, const RulesView& rules, const SoftView& soft,
                            Labels label, Matrix centers, bool fixed, double effort, double seconds,
                            int threads) {
    check_threads(threads);
    check_descent(points, rules, soft, label, centers);
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    bckm::Clustering clustering(points.view, rules.view, soft.view, label.data(), centers.data(),
                                fixed, threads);
    const bckm::DescentResult result = bckm::descend(clustering, effort, stop);
    std::copy(clustering.label.begin(), clustering.label.end(), label.data());
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
    bckm::AnnealResult result = bckm::anneal(clustering, {hot, cold, cycles, effort, seed}, stop);
    std::copy(result.label.begin(), result.label.end(), label.data());
    return result;
}

template <class Real>
using Table = nb::ndarray<nb::numpy, const Real, nb::ndim<2>, nb::device::cpu>;
using Out = nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Real>
void gather(Table<Real> data, Integers rows, Vector origin, double scale, Out out, int threads) {
    check_threads(threads);
    const std::size_t dims = data.shape(1);
    require(origin.shape(0) == dims && out.shape(1) == dims && out.shape(0) == rows.shape(0),
            "shapes do not agree");
    for (std::size_t q = 0; q < rows.shape(0); ++q)
        require(rows.data()[q] >= 0 && rows.data()[q] < static_cast<std::int64_t>(data.shape(0)),
                "rows must be indices of data");
    const bckm::WithoutGil release;
    bckm::gather(data.data(), data.stride(0), data.stride(1), rows.data(),
                 static_cast<std::int64_t>(rows.shape(0)), static_cast<std::int64_t>(dims),
                 origin.data(), scale, out.data(), threads);
}

template <class Index>
using Indices = nb::ndarray<nb::numpy, const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Squared distances of sparse rows: to every center, or to that of their label.
template <class Index>
Array<double> sparse_distances(Indices<Index> start, Indices<Index> index, Vector value,
                               Matrix centers, std::optional<Integers> label) {
    const auto n = static_cast<std::int64_t>(start.shape(0)) - 1;
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    const auto dims = static_cast<std::int64_t>(centers.shape(1));
    require(n >= 0 && k > 0 && dims > 0, "rows need a start, centers features");
    require(value.shape(0) == index.shape(0), "one value per entry");
    check_lists(start, index, n, dims, "entries");
    if (label) {
        require(static_cast<std::int64_t>(label->shape(0)) == n, "one label per row");
        for (std::int64_t p = 0; p < n; ++p)
            require(0 <= label->data()[p] && label->data()[p] < k, "labels must be clusters");
    }
    std::vector<double> out(label ? n : n * k);
    {
        const bckm::WithoutGil release;
        const bckm::SparseRows<Index> rows{start.data(), index.data(), value.data(), n};
        if (label)
            bckm::sparse_distances_to_own(rows, centers.data(), dims, k, label->data(), out.data());
        else bckm::sparse_distances(rows, centers.data(), dims, k, out.data());
    }
    std::vector<std::size_t> shape{static_cast<std::size_t>(n)};
    if (!label) shape.push_back(static_cast<std::size_t>(k));
    return as_array(std::move(out), shape);
}

using Counts = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Marks = nb::ndarray<nb::numpy, bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

bool place_conflicting(Indices<std::int32_t> conflict_start, Indices<std::int32_t> conflict_with,
                       Integers count, Integers lower, Integers upper, std::int64_t samples,
                       std::optional<Matrix> cost, Integers order, Counts label, Counts sizes,
                       Marks blocked, double seconds) {
    const auto m = static_cast<std::int64_t>(count.shape(0));
    const auto k = static_cast<std::int64_t>(lower.shape(0));
    require(k > 0 && upper.shape(0) == lower.shape(0) && sizes.shape(0) == lower.shape(0),
            "bounds and size of each cluster");
    require(static_cast<std::int64_t>(label.shape(0)) == m &&
                static_cast<std::int64_t>(blocked.shape(0)) == m &&
                static_cast<std::int64_t>(blocked.shape(1)) == k,
            "a label of each item, and whether clusters are blocked for it");
    require(!cost || (cost->shape(0) == blocked.shape(0) && cost->shape(1) == blocked.shape(1)),
            "one cost per item and cluster");
    check_lists(conflict_start, conflict_with, m, m, "conflicts");
    std::vector<bool> listed(m);
    for (std::size_t q = 0; q < order.shape(0); ++q) {
        const std::int64_t item = order.data()[q];
        require(0 <= item && item < m && !listed[item], "each item is placed once");
        listed[item] = true;
    }
    std::int64_t remaining = 0;
    for (std::int64_t j = 0; j < m; ++j) {
        if (label.data()[j] < 0) remaining += count.data()[j];
        require(label.data()[j] < 0 || !listed[j], "items to place have no label");
        require(listed[j] || conflict_start.data()[j] == conflict_start.data()[j + 1],
                "all items in conflict are placed");
    }
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    bckm::Placed placed{label.data(), sizes.data(), blocked.data(), remaining};
    return bckm::place_conflicting(
        {m, k, samples, conflict_start.data(), conflict_with.data(), count.data(), lower.data(),
         upper.data(), cost ? cost->data() : nullptr},
        order.data(), static_cast<std::int64_t>(order.shape(0)), placed, stop);
}

void add_distance(nb::module_& module) {
    nb::class_<PointsView>(module, "Points")
        .def(nb::init<Matrix, std::optional<Integers>, std::optional<Vector>,
                      std::optional<Integers>, std::int64_t>(),
             "data"_a, "rows"_a.none() = nb::none(), "cost_weight"_a.none() = nb::none(),
             "supply"_a.none() = nb::none(), "step"_a = 1)
        .def_prop_ro("n", [](const PointsView& points) { return points.view.n; });
    using bckm::SweepResult;
    nb::class_<SweepResult>(module, "SweepResult")
        .def_prop_ro("gained", column(&SweepResult::gained))
        .def_ro("evaluated", &SweepResult::evaluated)
        .def_ro("regret", &SweepResult::regret)
        .def_ro("change", &SweepResult::change);
    module.def("sweep", sweep, "points"_a, "centers"_a, "prices"_a, "label"_a.noconvert(),
               "runner_up"_a.noconvert(), "margin"_a.noconvert(), "slack"_a.noconvert(),
               "radius"_a.noconvert().none(), "fixed"_a, "slope"_a, "keep_labels"_a, "threads"_a,
               "seconds"_a = std::numeric_limits<double>::infinity());
    using bckm::TotalsResult;
    nb::class_<TotalsResult>(module, "TotalsResult")
        .def_prop_ro("sums", sums)
        .def_prop_ro("mass", column(&TotalsResult::mass))
        .def_prop_ro("reach", column(&TotalsResult::reach))
        .def_ro("cost", &TotalsResult::cost);
    module.def("totals", totals, "points"_a, "label"_a, "centers"_a, "radius"_a.noconvert().none(),
               "threads"_a);
    const auto add_gather = [&](auto function) {
        module.def("gather", function, "data"_a.noconvert(), "rows"_a, "origin"_a, "scale"_a,
                   "out"_a.noconvert(), "threads"_a);
    };
    add_gather(gather<float>);
    add_gather(gather<double>);
    const auto add_sparse = [&](auto function) {
        module.def("sparse_distances", function, "start"_a.noconvert(), "index"_a.noconvert(),
                   "value"_a, "centers"_a, "label"_a.none() = nb::none());
    };
    add_sparse(sparse_distances<std::int32_t>);
    add_sparse(sparse_distances<std::int64_t>);
}

void add_transport(nb::module_& module) {
    module.def("newton_step", newton_step, "points"_a, "prices"_a, "label"_a, "runner_up"_a,
               "margin"_a, "gradient"_a, "active"_a, "threads"_a);
    using bckm::SettleResult;
    nb::class_<SettleResult>(module, "SettleResult")
        .def_prop_ro("prices", column(&SettleResult::prices))
        .def_prop_ro("split_point", column(&SettleResult::split_point))
        .def_prop_ro("split_cluster", column(&SettleResult::split_cluster))
        .def_prop_ro("split_units", column(&SettleResult::split_units))
        .def_ro("rows", &SettleResult::rows)
        .def_ro("paths", &SettleResult::paths)
        .def_ro("rounds", &SettleResult::rounds)
        .def_ro("stopped", &SettleResult::stopped);
    module.def("settle", settle, "points"_a, "centers"_a, "prices"_a, "label"_a.noconvert(),
               "slack"_a.noconvert(), "lower"_a, "upper"_a, "budget"_a, "seconds"_a, "threads"_a);
}

void add_moves(nb::module_& module) {
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
        .def_ro("raises", &MendResult::raises)
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
        .def_ro("stopped", &AnnealResult::stopped);
    module.def("anneal", anneal, "points"_a, "rules"_a, "soft"_a, "label"_a.noconvert(),
               "centers"_a, "fixed"_a, "hot"_a, "cold"_a, "cycles"_a, "effort"_a, "seed"_a,
               "seconds"_a);
}

using Pairs =
    nb::ndarray<nb::numpy, const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

void check_pairs(const Pairs& pairs, std::int64_t nodes) {
    for (std::size_t e = 0; e < pairs.size(); ++e)
        require(0 <= pairs.data()[e] && pairs.data()[e] < nodes, "pairs must be of items");
    for (std::size_t e = 0; e < pairs.shape(0); ++e)
        require(pairs.data()[2 * e] != pairs.data()[2 * e + 1], "pairs must be of two items");
}

bckm::LinkedLabels solve_linked(const bckm::Linked& linked, Out cost, int threads,
                                std::int64_t search_nodes) {
    check_threads(threads);
    require(static_cast<std::int64_t>(cost.shape(0)) == linked.nodes() && cost.shape(1) > 0,
            "costs of each item");
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(std::numeric_limits<double>::infinity());
    const bckm::StopScope scope(stop);
    return linked.solve(cost.data(), static_cast<std::int64_t>(cost.shape(1)), search_nodes,
                        threads);
}

bckm::CliqueCover clique_cover(std::int64_t nodes, Pairs edges, Integers set_start,
                               Integers set_member, double effort) {
    require(nodes >= 0 && set_start.shape(0) > 0, "sets need a start");
    check_pairs(edges, nodes);
    const auto number = static_cast<std::int64_t>(edges.shape(0));
    const std::int64_t* pair = edges.data();
    for (std::int64_t e = 0; e < number; ++e) {
        require(pair[2 * e] < pair[2 * e + 1], "pairs must have the smaller item first");
        require(e == 0 || pair[2 * e - 2] < pair[2 * e] ||
                    (pair[2 * e - 2] == pair[2 * e] && pair[2 * e - 1] < pair[2 * e + 1]),
                "pairs must be sorted, each once");
    }
    const auto count = static_cast<std::int64_t>(set_start.shape(0)) - 1;
    check_lists(set_start, set_member, count, nodes, "sets of items");
    std::vector<std::vector<std::int64_t>> sets(count);
    for (std::int64_t s = 0; s < count; ++s)
        sets[s].assign(set_member.data() + set_start.data()[s],
                       set_member.data() + set_start.data()[s + 1]);
    const bckm::WithoutGil release;
    return bckm::clique_cover(nodes, pair, number, sets, effort);
}

void add_links(nb::module_& module) {
    module.def("place_conflicting", place_conflicting, "conflict_start"_a, "conflict_with"_a,
               "count"_a, "lower"_a, "upper"_a, "samples"_a, "cost"_a.none(), "order"_a,
               "label"_a.noconvert(), "sizes"_a.noconvert(), "blocked"_a.noconvert(), "seconds"_a);
    using bckm::CliqueCover;
    nb::class_<CliqueCover>(module, "CliqueCover")
        .def_prop_ro("start", column(&CliqueCover::start))
        .def_prop_ro("member", column(&CliqueCover::member));
    module.def("clique_cover", clique_cover, "nodes"_a, "edges"_a, "set_start"_a, "set_member"_a,
               "effort"_a);
    using bckm::Linked;
    using bckm::LinkedLabels;
    nb::class_<LinkedLabels>(module, "LinkedLabels")
        .def_prop_ro("label", column(&LinkedLabels::label))
        .def_ro("bound", &LinkedLabels::bound)
        .def_ro("obeys", &LinkedLabels::obeys)
        .def_ro("work", &LinkedLabels::work);
    nb::class_<Linked>(module, "Linked")
        .def(
            "__init__",
            [](Linked* self, std::int64_t nodes, Pairs pairs, Vector tie) {
                require(nodes >= 0 && pairs.shape(0) == tie.shape(0), "one tie per pair");
                check_pairs(pairs, nodes);
                for (std::size_t e = 0; e < tie.shape(0); ++e)
                    require(!std::isnan(tie.data()[e]) && tie.data()[e] != 0.0 &&
                                tie.data()[e] < std::numeric_limits<double>::infinity(),
                            "ties must not be zero, nor infinite where they hold together");
                new (self) Linked(nodes, pairs.data(), tie.data(),
                                  static_cast<std::int64_t>(tie.shape(0)));
            },
            "nodes"_a, "pairs"_a, "tie"_a)
        .def_prop_ro("complete", &Linked::complete)
        .def("solve", solve_linked, "cost"_a.noconvert(), "threads"_a, "search_nodes"_a = 400);
}

}  // namespace

NB_MODULE(_native, module) {
    bckm::StopCheck::find_main_thread();
    module.doc() = "Compiled kernels of bckm; use them through bckm.kernels.";
    // NOLINTNEXTLINE(bugprone-unused-raii, bugprone-throw-keyword-missing): it registers the class
    nb::exception<bckm::Stopped>(module, "Stopped");
    module.def("isa", [] { return bckm::name(bckm::best_isa()); });
    add_distance(module);
    add_transport(module);
    add_moves(module);
    add_links(module);
#if defined(BCKM_TEST_HOOKS)
    bckm::add_test_hooks(module);
#endif
}
