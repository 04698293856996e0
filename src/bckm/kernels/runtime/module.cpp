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

#include "distance/contenders.hpp"
#include "distance/gather.hpp"
#include "distance/points.hpp"
#include "distance/seeding.hpp"
#include "distance/sparse_distances.hpp"
#include "distance/sweep.hpp"
#include "distance/totals.hpp"
#include "runtime/arrays.hpp"
#include "runtime/bind.hpp"
#include "runtime/cpu.hpp"
#include "runtime/gil.hpp"
#include "runtime/pool.hpp"
#include "runtime/stop_check.hpp"
#include "runtime/test_hooks.hpp"
#include "transport/newton_step.hpp"
#include "transport/settle.hpp"
#include "transport/soft_dual.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bckm::views;

namespace {

using Floats = nb::ndarray<nb::numpy, float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<nb::numpy, const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

bckm::SweepResult sweep(const PointsView& points, Matrix centers, Vector prices, Labels label,
                        Labels runner_up, Floats margin, Floats slack, std::optional<Floats> radius,
                        Vector fixed, Vector slope, bool keep_labels, int threads, double seconds,
                        bckm::Contenders* contenders) {
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
    require(contenders == nullptr || contenders->size() == points.view.n,
            "one list of contenders per point");
    require(contenders == nullptr || contenders->width_of_rows() == 0 ||
                contenders->width_of_rows() == k,
            "one value per cluster in the rows of contenders");
    const bckm::WithoutGil release;
    const bckm::PricedCenters priced(centers.data(), prices.data(), k, points.view.dims);
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    const bckm::StopScope scope(stop);
    return bckm::sweep(points.view, priced,
                       {label.data(), runner_up.data(), margin.data(), slack.data(),
                        radius ? radius->data() : nullptr},
                       {fixed.data(), slope.data()}, keep_labels, threads, contenders);
}

bckm::SettleResult settle(const PointsView& points, Matrix centers, Vector prices, Labels label,
                          Floats slack, Integers lower, Integers upper, std::int64_t budget,
                          double seconds, int threads, bool exact_prices,
                          const bckm::Contenders* contenders, std::int64_t most_rounds) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    const std::int64_t n = points.view.n;
    check_prices(points, centers, prices);
    check_labels(points, label, k);
    require(static_cast<std::int64_t>(slack.shape(0)) == n, "one slack per point");
    require(contenders == nullptr || contenders->size() == n, "one list of contenders per point");
    require(n <= std::numeric_limits<std::uint32_t>::max(), "fewer points");
    require(lower.shape(0) == prices.shape(0), "bounds must have one number per cluster");
    std::vector<std::int64_t> held(k, 0);
    std::int64_t units = 0;
    for (std::int64_t j = 0; j < n; ++j) held[label.data()[j]] += points.view.units(j);
    for (const std::int64_t h : held) units += h;
    const std::vector<std::int64_t> at_most = upper_bounds(lower, upper, units);
    const bckm::WithoutGil release;
    const bckm::PricedCenters priced(centers.data(), prices.data(), k, points.view.dims);
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    const bckm::StopScope scope(stop);
    return bckm::settle(points.view, priced, label.data(), slack.data(), held.data(), lower.data(),
                        at_most.data(), std::clamp<std::int64_t>(budget, 1, n + 1), exact_prices,
                        threads, stop, contenders, most_rounds);
}

bckm::SettleResult settle_few(const PointsView& points, Matrix centers, Vector prices, Labels label,
                              Floats slack, Out table, Out tabled, Integers lower, Integers upper,
                              double seconds, int threads) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    const std::int64_t n = points.view.n;
    check_prices(points, centers, prices);
    require(static_cast<std::int64_t>(label.shape(0)) == n &&
                static_cast<std::int64_t>(slack.shape(0)) == n,
            "one label and one slack per point");
    check_table(points, centers, table, tabled);
    require(lower.shape(0) == prices.shape(0), "bounds must have one number per cluster");
    const std::vector<std::int64_t> at_most = upper_bounds(lower, upper, n);
    const bckm::WithoutGil release;
    const bckm::PricedCenters priced(centers.data(), prices.data(), k, points.view.dims);
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    const bckm::StopScope scope(stop);
    return bckm::settle_few(points.view, priced, label.data(), slack.data(),
                            {table.data(), tabled.data()}, lower.data(), at_most.data(), threads,
                            stop);
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

bckm::SoftDual soft_dual(const PointsView& points, const bckm::Contenders& contenders,
                         Vector known_prices, Labels label, Floats slack, Vector prices,
                         double temperature, int threads) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(prices.shape(0));
    check_labels(points, label, k);
    require(static_cast<std::int64_t>(slack.shape(0)) == points.view.n, "one slack per point");
    require(known_prices.shape(0) == prices.shape(0), "prices for the same clusters");
    require(temperature > 0.0, "temperature must be positive");
    require(contenders.size() == points.view.n && contenders.clusters() == k,
            "contenders of these points and clusters");
    const bckm::WithoutGil release;
    return bckm::soft_dual(
        {points.view, contenders, label.data(), slack.data(), known_prices.data(), k},
        prices.data(), temperature, threads);
}

// (k, k)
nb::ndarray<nb::numpy, double, nb::ndim<2>> edges(bckm::SoftDual& dual) {
    return {dual.edge.data(), {dual.units.size(), dual.units.size()}};
}

std::optional<Column<double>> damped_step(Matrix edge, Vector gradient, Flags active,
                                          double damping) {
    const std::size_t k = gradient.shape(0);
    require(edge.shape(0) == k && edge.shape(1) == k && active.shape(0) == k,
            "one row of edges, one gradient and one flag per cluster");
    std::vector<double> step(k);
    if (!bckm::damped_step(edge.data(), static_cast<std::int64_t>(k), gradient.data(),
                           active.data(), damping, step.data()))
        return std::nullopt;
    return Column<double>(as_array(std::move(step), {k}));
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

// Keeps its points alive.
struct Seeding {
    Seeding(const PointsView& points, Vector mass, int threads)
        : points(points), distances(made(points, mass, threads)) {}

    static bckm::SeedDistances made(const PointsView& points, const Vector& mass, int threads) {
        check_threads(threads);
        require(static_cast<std::int64_t>(mass.shape(0)) == points.view.n, "one mass per point");
        const bckm::WithoutGil release;
        return bckm::SeedDistances(points.view, mass.data(), threads);
    }

    void check(const Matrix& rows) const {
        require(static_cast<std::int64_t>(rows.shape(1)) == points.view.dims,
                "centers must have the features of the points");
        check_finite(rows);
    }

    void add(Matrix centers) {
        check(centers);
        const bckm::WithoutGil release;
        distances.add(centers.data(), static_cast<std::int64_t>(centers.shape(0)));
    }

    Column<double> gains(Matrix candidates) {
        check(candidates);
        candidate_count = candidates.shape(0);
        std::vector<double> gain;
        {
            const bckm::WithoutGil release;
            gain = distances.gains(candidates.data(), static_cast<std::int64_t>(candidate_count));
        }
        return Column<double>(as_array(std::move(gain), {candidate_count}));
    }

    void take(std::int64_t candidate) {
        require(0 <= candidate && candidate < static_cast<std::int64_t>(candidate_count),
                "one of the last candidates");
        distances.take(candidate);
    }

    PointsView points;
    bckm::SeedDistances distances;
    std::size_t candidate_count = 0;
};

template <class Real>
using Table = nb::ndarray<nb::numpy, const Real, nb::ndim<2>, nb::device::cpu>;

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

void add_distance(nb::module_& module) {
    nb::class_<PointsView>(module, "Points")
        .def(nb::init<Matrix, std::optional<Integers>, std::optional<Vector>,
                      std::optional<Integers>, std::int64_t>(),
             "data"_a, "rows"_a.none() = nb::none(), "cost_weight"_a.none() = nb::none(),
             "supply"_a.none() = nb::none(), "step"_a = 1)
        .def_prop_ro("n", [](const PointsView& points) { return points.view.n; })
        .def_prop_ro("n_features", [](const PointsView& points) { return points.view.dims; });
    nb::class_<bckm::Contenders>(module, "Contenders")
        .def(nb::init<std::int64_t, std::int64_t>(), "n"_a, "clusters"_a = 0);
    using bckm::SweepResult;
    nb::class_<SweepResult>(module, "SweepResult")
        .def_prop_ro("gained", column(&SweepResult::gained))
        .def_ro("evaluated", &SweepResult::evaluated)
        .def_ro("regret", &SweepResult::regret)
        .def_ro("change", &SweepResult::change);
    module.def("sweep", sweep, "points"_a, "centers"_a, "prices"_a, "label"_a.noconvert(),
               "runner_up"_a.noconvert(), "margin"_a.noconvert(), "slack"_a.noconvert(),
               "radius"_a.noconvert().none(), "fixed"_a, "slope"_a, "keep_labels"_a, "threads"_a,
               "seconds"_a = std::numeric_limits<double>::infinity(),
               "contenders"_a.none() = nb::none());
    using bckm::TotalsResult;
    nb::class_<TotalsResult>(module, "TotalsResult")
        .def_prop_ro("sums", sums)
        .def_prop_ro("mass", column(&TotalsResult::mass))
        .def_prop_ro("reach", column(&TotalsResult::reach))
        .def_ro("cost", &TotalsResult::cost);
    module.def("totals", totals, "points"_a, "label"_a, "centers"_a, "radius"_a.noconvert().none(),
               "threads"_a);
    nb::class_<Seeding>(module, "SeedDistances")
        .def(nb::init<const PointsView&, Vector, int>(), "points"_a, "mass"_a, "threads"_a)
        .def("add", &Seeding::add, "centers"_a)
        .def("gains", &Seeding::gains, "candidates"_a)
        .def("take", &Seeding::take, "candidate"_a)
        .def_prop_ro("distance", [](Seeding& seeding) {
            std::vector<double>& values = seeding.distances.distance;
            return Column<double>(values.data(), {values.size()});
        });
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
    using bckm::SoftDual;
    nb::class_<SoftDual>(module, "SoftDual")
        .def_ro("soft", &SoftDual::soft)
        .def_ro("hard", &SoftDual::hard)
        .def_prop_ro("shared", column(&SoftDual::shared))
        .def_prop_ro("units", column(&SoftDual::units))
        .def_prop_ro("edge", edges);
    module.def("soft_dual", soft_dual, "points"_a, "contenders"_a, "known_prices"_a, "label"_a,
               "slack"_a, "prices"_a, "temperature"_a, "threads"_a);
    module.def("damped_step", damped_step, "edge"_a, "gradient"_a, "active"_a, "damping"_a);
    using bckm::SettleResult;
    nb::class_<SettleResult>(module, "SettleResult")
        .def_prop_ro("prices", column(&SettleResult::prices))
        .def_prop_ro("split_point", column(&SettleResult::split_point))
        .def_prop_ro("split_cluster", column(&SettleResult::split_cluster))
        .def_prop_ro("split_units", column(&SettleResult::split_units))
        .def_ro("rows", &SettleResult::rows)
        .def_ro("paths", &SettleResult::paths)
        .def_ro("rounds", &SettleResult::rounds)
        .def_ro("regret", &SettleResult::regret)
        .def_prop_ro("least_moves", column(&SettleResult::least_moves))
        .def_ro("stopped", &SettleResult::stopped);
    module.def("settle", settle, "points"_a, "centers"_a, "prices"_a, "label"_a.noconvert(),
               "slack"_a.noconvert(), "lower"_a, "upper"_a, "budget"_a, "seconds"_a, "threads"_a,
               "exact_prices"_a = false, "contenders"_a.none() = nb::none(),
               "most_rounds"_a = std::numeric_limits<std::int64_t>::max());
    module.def("settle_few", settle_few, "points"_a, "centers"_a, "prices"_a, "label"_a.noconvert(),
               "slack"_a.noconvert(), "table"_a.noconvert(), "tabled"_a.noconvert(), "lower"_a,
               "upper"_a, "seconds"_a, "threads"_a);
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
    bckm::add_blocks(module);
    bckm::add_coarse(module);
    bckm::add_moves(module);
    bckm::add_links(module);
#if defined(BCKM_TEST_HOOKS)
    bckm::add_test_hooks(module);
#endif
}
