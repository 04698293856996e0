// The door to Python: checks of arguments and types here, arithmetic in the other files.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "border.hpp"
#include "checks.hpp"
#include "clustering.hpp"
#include "cpu.hpp"
#include "gather.hpp"
#include "gil.hpp"
#include "moves.hpp"
#include "points.hpp"
#include "pool.hpp"
#include "settle.hpp"
#include "sparse.hpp"
#include "sweep.hpp"
#include "totals.hpp"
#include "views.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bckm::views;

namespace {

using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check_market(const Cloud& cloud, const Matrix& centres, const Vector& prices) {
    require(static_cast<std::int64_t>(centres.shape(1)) == cloud.view.dims,
            "centres must have the features of the points");
    require(centres.shape(0) > 0 && centres.shape(0) == prices.shape(0), "one price per centre");
    for (std::size_t i = 0; i < prices.shape(0); ++i)
        require(std::isfinite(prices.data()[i]), "prices must be finite");
    check_finite(centres);
}

void check_threads(int threads) { require(threads >= 1, "threads must be at least 1"); }

// Whether to stop: time is over, or a signal (Ctrl-C) wants to be heard. Looking for signals needs
// Python's lock, so it is done now and then only.
class Stop {
public:
    explicit Stop(double seconds)
        : begun_(Clock::now()), heard_(begun_), seconds_(seconds),
          listens_(PyThread_get_thread_ident() == main_thread) {}
    static unsigned long main_thread;  // the only one that signals come to
    bool operator()() {
        const auto now = Clock::now();
        if (std::chrono::duration<double>(now - begun_).count() > seconds_) return true;
        if (listens_ && now - heard_ > std::chrono::milliseconds(50)) {
            heard_ = now;
            const nb::gil_scoped_acquire lock;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        return false;
    }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point begun_, heard_;
    double seconds_;
    bool listens_;
};

unsigned long Stop::main_thread = 0;

nb::tuple sweep(const Cloud& cloud, Matrix centres, Vector prices, Labels label, Labels runner,
                Floats detour, Floats slack, std::optional<Floats> radius, Vector fixed,
                Vector slope, bool keep, int threads, double seconds) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(centres.shape(0));
    const auto n = static_cast<std::size_t>(cloud.view.n);
    check_market(cloud, centres, prices);
    check_labels(cloud, label, k);
    require(runner.shape(0) == n && detour.shape(0) == n && slack.shape(0) == n,
            "one runner-up, detour and slack per point");
    require(!radius || radius->shape(0) == n, "one radius per point");
    require(fixed.shape(0) == prices.shape(0) && slope.shape(0) == prices.shape(0),
            "drift must have one number per cluster");
    bckm::Swept swept;
    {
        const bckm::WithoutGil release;
        const bckm::Market market(centres.data(), prices.data(), k, cloud.view.dims);
        const std::function<bool()> stop = Stop(seconds);
        const bckm::Listening ear(stop);
        swept = bckm::sweep(cloud.view, market,
                            {label.data(), runner.data(), detour.data(), slack.data(),
                             radius ? radius->data() : nullptr},
                            {fixed.data(), slope.data()}, keep, threads);
    }
    return nb::make_tuple(as_array(std::move(swept.gained), {static_cast<std::size_t>(k)}),
                          swept.looked, swept.regret, swept.change);
}

nb::dict settle(const Cloud& cloud, Matrix centres, Vector prices, Labels label, Floats slack,
                Whole lower, Whole upper, std::int64_t budget, double seconds, int threads) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(centres.shape(0));
    check_market(cloud, centres, prices);
    check_labels(cloud, label, k);
    require(static_cast<std::int64_t>(slack.shape(0)) == cloud.view.n, "one slack per point");
    require(lower.shape(0) == prices.shape(0) && upper.shape(0) == prices.shape(0),
            "bounds must have one number per cluster");
    std::vector<std::int64_t> held(k, 0), most_each(k);
    std::int64_t least = 0, most = 0, units = 0;
    for (std::int64_t j = 0; j < cloud.view.n; ++j) held[label.data()[j]] += cloud.view.units(j);
    for (const std::int64_t h : held) units += h;
    for (std::int64_t i = 0; i < k; ++i) {
        require(0 <= lower.data()[i] && lower.data()[i] <= upper.data()[i], "0 <= lower <= upper");
        least += lower.data()[i];
        most_each[i] = std::max(lower.data()[i], std::min(upper.data()[i], units));
        most += most_each[i];
    }
    require(least <= units && units <= most, "the bounds do not admit the samples");
    bckm::Settled out;
    {
        const bckm::WithoutGil release;
        const bckm::Market market(centres.data(), prices.data(), k, cloud.view.dims);
        const std::function<bool()> stop = Stop(seconds);
        const bckm::Listening ear(stop);
        out = bckm::settle(cloud.view, market, label.data(), slack.data(), held.data(),
                           lower.data(), most_each.data(),
                           std::clamp<std::int64_t>(budget, 1, cloud.view.n + 1), threads, stop);
    }
    std::vector<std::int64_t> point, cluster, parts;
    for (const bckm::Split& split : out.splits) {
        point.push_back(split.point);
        cluster.push_back(split.cluster);
        parts.push_back(split.units);
    }
    const auto clusters = static_cast<std::size_t>(k), splits = point.size();
    nb::dict answer;
    answer["prices"] = as_array(std::move(out.prices), {clusters});
    answer["split_point"] = as_array(std::move(point), {splits});
    answer["split_cluster"] = as_array(std::move(cluster), {splits});
    answer["split_units"] = as_array(std::move(parts), {splits});
    answer["rows"] = out.rows;
    answer["paths"] = out.paths;
    answer["rounds"] = out.rounds;
    answer["stopped"] = out.stopped;
    return answer;
}

std::optional<Array<double>> border_step(const Cloud& cloud, Vector prices, Labels label,
                                         Labels runner, Floats detour, Vector slope, Flags active,
                                         int threads) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(prices.shape(0));
    check_labels(cloud, label, k);
    check_labels(cloud, runner, k);
    require(static_cast<std::int64_t>(detour.shape(0)) == cloud.view.n, "one detour per point");
    require(slope.shape(0) == prices.shape(0) && active.shape(0) == prices.shape(0),
            "one slope and one flag per cluster");
    std::vector<double> step(k);
    bool found = false;
    {
        const bckm::WithoutGil release;
        found = bckm::border_step(
            {cloud.view, label.data(), runner.data(), detour.data(), prices.data(), k},
            slope.data(), active.data(), step.data(), threads);
    }
    if (!found) return std::nullopt;
    return as_array(std::move(step), {prices.shape(0)});
}

nb::tuple totals(const Cloud& cloud, Labels label, Matrix centres, std::optional<Floats> radius,
                 int threads) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(centres.shape(0));
    check_labels(cloud, label, k);
    require(static_cast<std::int64_t>(centres.shape(1)) == cloud.view.dims,
            "centres must have the features of the points");
    require(!radius || static_cast<std::int64_t>(radius->shape(0)) == cloud.view.n,
            "one radius per point");
    bckm::Totals found;
    {
        const bckm::WithoutGil release;
        found = bckm::totals(cloud.view, label.data(), k, centres.data(),
                             radius ? radius->data() : nullptr, threads);
    }
    const std::size_t clusters = centres.shape(0);
    return nb::make_tuple(as_array(std::move(found.sums), {clusters, centres.shape(1)}),
                          as_array(std::move(found.mass), {clusters}), found.cost,
                          as_array(std::move(found.reach), {clusters}));
}

nb::dict descend(const Cloud& cloud, const RuleBook& rules, const SoftBook& soft, Labels label,
                 Matrix centres, bool fixed, double effort, double seconds, int threads) {
    check_threads(threads);
    check_descent(cloud, rules, soft, label, centres);
    bckm::Descent found;
    {
        const bckm::WithoutGil release;
        const std::function<bool()> stop = Stop(seconds);
        bckm::Clustering clustering(cloud.view, rules.view, soft.view, label.data(),
                                    centres.data(), fixed, threads);
        found = bckm::descend(clustering, effort, stop);
        std::copy(clustering.label.begin(), clustering.label.end(), label.data());
    }
    nb::dict answer;
    answer["passes"] = found.passes;
    answer["relocated"] = found.relocated;
    answer["swapped"] = found.swapped;
    answer["chained"] = found.chained;
    answer["flipped"] = found.flipped;
    answer["grouped"] = found.grouped;
    answer["work"] = found.work;
    answer["finished"] = found.finished;
    answer["stopped"] = found.stopped;
    return answer;
}

// Python's idea of the main thread, which need not be the one that imports this module.
unsigned long main_thread_ident() {
    const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
    return nb::cast<unsigned long>(thread.attr("ident"));
}

template <class Real> using Table = nb::ndarray<const Real, nb::ndim<2>, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Real>
void gather(Table<Real> data, Whole rows, Vector origin, double scale, Out out, int threads) {
    check_threads(threads);
    const std::size_t dims = data.shape(1);
    require(origin.shape(0) == dims && out.shape(1) == dims &&
                out.shape(0) == rows.shape(0),
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
using Indices = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Squared distances of sparse rows: to every centre, or to the one that their label names.
template <class Index>
Array<double> sparse(Indices<Index> start, Indices<Index> index, Vector value, Matrix centres,
                     std::optional<Whole> label) {
    const auto n = static_cast<std::int64_t>(start.shape(0)) - 1;
    const auto k = static_cast<std::int64_t>(centres.shape(0));
    const auto dims = static_cast<std::int64_t>(centres.shape(1));
    require(n >= 0 && k > 0 && dims > 0, "rows need a start, centres features");
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
            bckm::sparse_own(rows, centres.data(), dims, k, label->data(), out.data());
        else
            bckm::sparse_distances(rows, centres.data(), dims, k, out.data());
    }
    std::vector<std::size_t> shape{static_cast<std::size_t>(n)};
    if (!label) shape.push_back(static_cast<std::size_t>(k));
    return as_array(std::move(out), shape);
}

}  // namespace

NB_MODULE(_native, module) {
    Stop::main_thread = main_thread_ident();
    module.doc() = "Compiled kernels of bckm; use them through bckm.kernels.";
    nb::exception<bckm::Stopped>(module, "Stopped");
    module.def("isa", [] { return bckm::name(bckm::best_isa()); });
    nb::class_<Cloud>(module, "Points")
        .def(nb::init<Matrix, std::optional<Whole>, std::optional<Vector>, std::optional<Whole>,
                      std::int64_t>(),
             "data"_a, "rows"_a.none() = nb::none(), "pull"_a.none() = nb::none(),
             "supply"_a.none() = nb::none(), "step"_a = 1)
        .def_prop_ro("n", [](const Cloud& cloud) { return cloud.view.n; });
    module.def("sweep", sweep, "points"_a, "centres"_a, "prices"_a, "label"_a.noconvert(),
               "runner"_a.noconvert(), "detour"_a.noconvert(), "slack"_a.noconvert(),
               "radius"_a.noconvert().none(),
               "fixed"_a, "slope"_a, "keep"_a, "threads"_a,
               "seconds"_a = std::numeric_limits<double>::infinity());
    module.def("settle", settle, "points"_a, "centres"_a, "prices"_a, "label"_a.noconvert(),
               "slack"_a.noconvert(), "lower"_a, "upper"_a, "budget"_a, "seconds"_a, "threads"_a);
    module.def("border_step", border_step, "points"_a, "prices"_a, "label"_a, "runner"_a,
               "detour"_a, "slope"_a, "active"_a, "threads"_a);
    module.def("totals", totals, "points"_a, "label"_a, "centres"_a,
               "radius"_a.noconvert().none(), "threads"_a);
    module.def("gather", gather<float>, "data"_a.noconvert(), "rows"_a, "origin"_a, "scale"_a,
               "out"_a.noconvert(), "threads"_a);
    module.def("gather", gather<double>, "data"_a.noconvert(), "rows"_a, "origin"_a, "scale"_a,
               "out"_a.noconvert(), "threads"_a);
    module.def("sparse", sparse<std::int32_t>, "start"_a.noconvert(), "index"_a.noconvert(),
               "value"_a, "centres"_a, "label"_a.none() = nb::none());
    module.def("sparse", sparse<std::int64_t>, "start"_a.noconvert(), "index"_a.noconvert(),
               "value"_a, "centres"_a, "label"_a.none() = nb::none());
    nb::class_<RuleBook>(module, "Rules")
        .def(nb::init<Whole, Whole, Whole, Whole, Whole, Whole, Whole, Vector, Vector, Vector,
                      Matrix, Matrix, Matrix>(),
             "count"_a, "lower"_a, "upper"_a, "conflict_start"_a, "conflict_with"_a,
             "column_start"_a, "column_row"_a, "column_value"_a, "row_lower"_a, "row_upper"_a,
             "amount"_a, "load_lower"_a, "load_upper"_a);
    nb::class_<SoftBook>(module, "Soft")
        .def(nb::init<Whole, Whole, Vector, Whole, Whole, Vector, double, Matrix, Matrix, Matrix,
                      Matrix, Matrix>(),
             "tie_start"_a, "tie_with"_a, "tie_price"_a, "lean_start"_a, "lean_to"_a,
             "lean_price"_a, "base"_a, "amount"_a, "lower"_a, "upper"_a, "low"_a, "up"_a);
    module.def("descend", descend, "points"_a, "rules"_a, "soft"_a, "label"_a.noconvert(),
               "centres"_a, "fixed"_a, "effort"_a, "seconds"_a, "threads"_a);
    bckm::add_checks(module);
}
