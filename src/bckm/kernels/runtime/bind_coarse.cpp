// Binds what a coarse search needs: cells, steps on them, and estimates of displaced centers.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <functional>
#include <limits>

#include "moves/displacements.hpp"
#include "moves/equal_cells.hpp"
#include "moves/settling.hpp"
#include "runtime/arrays.hpp"
#include "runtime/bind.hpp"
#include "runtime/gil.hpp"
#include "runtime/pool.hpp"
#include "runtime/stop_check.hpp"
#include "transport/alternate_few.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bckm::views;

namespace {

bckm::EqualCells equal_cells(const PointsView& points, std::int64_t number, std::int64_t each) {
    require(1 <= number && 1 <= each && number <= points.view.n / each,
            "at least one cell, and one point in each");
    const bckm::WithoutGil release;
    return bckm::equal_cells(points.view, number, each);
}

bckm::Alternated alternate_few(const PointsView& points, Matrix centers, Vector prices,
                               Labels label, Out table, Out tabled, Integers lower, Integers upper,
                               std::int64_t steps, double little, double best, double hope,
                               double constant, double seconds, int threads) {
    check_threads(threads);
    check_prices(points, centers, prices);
    check_table(points, centers, table, tabled);
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    require(static_cast<std::int64_t>(label.shape(0)) == points.view.n, "one label per point");
    require(lower.shape(0) == prices.shape(0), "bounds must have one number per cluster");
    const std::vector<std::int64_t> at_most = upper_bounds(lower, upper, points.view.n);
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    const bckm::StopScope scope(stop);
    return bckm::alternate_few(points.view, centers.data(), prices.data(), k, label.data(),
                               {table.data(), tabled.data()}, lower.data(), at_most.data(),
                               {steps, little, best, hope, constant}, threads, stop);
}

bckm::DisplacementsResult displacements(const PointsView& points, Matrix centers, Vector prices,
                                        Labels label, Vector least, Vector most) {
    check_prices(points, centers, prices);
    check_labels(points, label, static_cast<std::int64_t>(centers.shape(0)));
    require(least.shape(0) == prices.shape(0) && most.shape(0) == prices.shape(0),
            "bounds must have one number per cluster");
    const bckm::WithoutGil release;
    const bckm::PricedCenters priced(centers.data(), prices.data(),
                                     static_cast<std::int64_t>(centers.shape(0)), points.view.dims);
    return bckm::displacements(points.view, priced, label.data(), least.data(), most.data());
}

bckm::Settling settling(Matrix left, Matrix drawn, Matrix gaps, Vector room, double near) {
    const auto k = static_cast<std::int64_t>(room.size());
    for (const Matrix& one : {left, drawn, gaps})
        require(one.shape(0) == room.size() && one.shape(1) == room.size(),
                "rows and columns must be as many as clusters");
    require(near > 0.0, "near must be above zero");
    const bckm::WithoutGil release;
    return bckm::settling({left.data(), drawn.data(), gaps.data(), room.data(), near}, k);
}

void add_all(nb::module_& module) {
    using bckm::EqualCells;
    nb::class_<EqualCells>(module, "EqualCells")
        .def_prop_ro("order", column(&EqualCells::order))
        .def_prop_ro("first", column(&EqualCells::first))
        .def_prop_ro("small", column(&EqualCells::small))
        .def_ro("work", &EqualCells::work);
    module.def("equal_cells", equal_cells, "points"_a, "number"_a, "each"_a);
    using bckm::Alternated;
    nb::class_<Alternated>(module, "Alternated")
        .def_prop_ro("centers", column(&Alternated::centers))
        .def_prop_ro("prices", column(&Alternated::prices))
        .def_ro("cost", &Alternated::cost)
        .def_ro("steps", &Alternated::steps)
        .def_ro("rounds", &Alternated::rounds)
        .def_ro("stopped", &Alternated::stopped);
    module.def("alternate_few", alternate_few, "points"_a, "centers"_a, "prices"_a,
               "label"_a.noconvert(), "table"_a.noconvert(), "tabled"_a.noconvert(), "lower"_a,
               "upper"_a, "steps"_a, "little"_a, "best"_a, "hope"_a, "constant"_a, "seconds"_a,
               "threads"_a);
    using bckm::DisplacementsResult;
    nb::class_<DisplacementsResult>(module, "DisplacementsResult")
        .def_prop_ro("halves", column(&DisplacementsResult::halves))
        .def_prop_ro("lost", column(&DisplacementsResult::lost))
        .def_prop_ro("gained", column(&DisplacementsResult::gained))
        .def_prop_ro("left", column(&DisplacementsResult::left))
        .def_prop_ro("drawn", column(&DisplacementsResult::drawn))
        .def_prop_ro("gaps", column(&DisplacementsResult::gaps));
    module.def("displacements", displacements, "points"_a, "centers"_a, "prices"_a, "label"_a,
               "least"_a, "most"_a);
    using bckm::Settling;
    nb::class_<Settling>(module, "Settling")
        .def_prop_ro("left", column(&Settling::left))
        .def_prop_ro("drawn", column(&Settling::drawn))
        .def_prop_ro("both", column(&Settling::both));
    module.def("settling", settling, "left"_a, "drawn"_a, "gaps"_a, "room"_a, "near"_a);
}

}  // namespace

void bckm::add_coarse(nb::module_& module) { add_all(module); }
