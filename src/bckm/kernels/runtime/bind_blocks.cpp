// What concerns blocks of rows for Python: checks arguments and calls the kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "blocks/cheapest_moves.hpp"
#include "blocks/equal_rows.hpp"
#include "blocks/look.hpp"
#include "blocks/pair_scan.hpp"
#include "blocks/pairs.hpp"
#include "blocks/row_lists.hpp"
#include "blocks/row_paths.hpp"
#include "runtime/arrays.hpp"
#include "runtime/bind.hpp"
#include "runtime/gil.hpp"
#include "transport/price_range.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bckm::views;

namespace {

using Floats = nb::ndarray<nb::numpy, float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class Real> using Rows = nb::ndarray<nb::numpy, const Real, nb::ndim<2>, nb::device::cpu>;

template <class Real>
bckm::LookResult look_at(Rows<Real> rows, Vector origin, double scale, Matrix centers,
                         Vector prices, Labels label, Labels runner_up, Floats margin, Floats slack,
                         double cost_scale, bool sums, int threads) {
    check_threads(threads);
    const std::size_t n = rows.shape(0), dims = rows.shape(1);
    require(dims > 0 && origin.shape(0) == dims && centers.shape(1) == dims,
            "origin and centers must have the features of the rows");
    require(static_cast<std::int64_t>(n) <= bckm::most_rows, "more than 2^24 rows");
    require(centers.shape(0) > 0 && centers.shape(0) == prices.shape(0), "one price per center");
    for (std::size_t i = 0; i < prices.shape(0); ++i)
        require(std::isfinite(prices.data()[i]), "prices must be finite");
    check_finite(centers);
    require(label.shape(0) == n && runner_up.shape(0) == n && margin.shape(0) == n &&
                slack.shape(0) == n,
            "one label, runner-up, margin and slack per row");
    require(scale > 0.0 && cost_scale > 0.0, "scales must be positive");
    std::fill_n(label.data(), n, 0);
    std::fill_n(slack.data(), n, -3.0e38f);
    const bckm::WithoutGil release;
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    const bckm::PricedCenters priced(centers.data(), prices.data(), k,
                                     static_cast<std::int64_t>(dims));
    const bckm::Block<Real> block{rows.data(),
                                  rows.stride(0),
                                  rows.stride(1),
                                  static_cast<std::int64_t>(n),
                                  static_cast<std::int64_t>(dims),
                                  origin.data(),
                                  scale};
    return bckm::look(block, priced,
                      {label.data(), runner_up.data(), margin.data(), slack.data(), nullptr},
                      cost_scale, sums, threads);
}

void pair_scan(const PointsView& points, Matrix centers, Vector prices, Labels label, Matrix limit,
               Out minima, Floats ratio, int threads) {
    check_threads(threads);
    const std::size_t k = centers.shape(0);
    require(static_cast<std::int64_t>(centers.shape(1)) == points.view.dims && k > 0 &&
                prices.shape(0) == k,
            "centers must have the features of the points, and one price each");
    check_labels(points, label, static_cast<std::int64_t>(k));
    require(
        limit.shape(0) == k && limit.shape(1) == k && minima.shape(0) == k && minima.shape(1) == k,
        "limits and minima are (k, k)");
    require(static_cast<std::int64_t>(ratio.shape(0)) == points.view.n, "one ratio per point");
    const bckm::WithoutGil release;
    const bckm::PricedCenters priced(centers.data(), prices.data(), static_cast<std::int64_t>(k),
                                     points.view.dims);
    bckm::pair_scan(points.view, priced, label.data(), limit.data(), minima.data(), ratio.data(),
                    threads);
}

void check_priced(const PointsView& points, const Matrix& centers, const Vector& prices) {
    require(static_cast<std::int64_t>(centers.shape(1)) == points.view.dims &&
                centers.shape(0) > 0 && prices.shape(0) == centers.shape(0),
            "centers must have the features of the points, and one price each");
}

struct ListsView {
    ListsView(const PointsView& points_, Matrix centers, Vector prices, int threads)
        : points(points_), lists(made(points, centers, prices, threads)) {}

    static bckm::RowLists made(const PointsView& points, const Matrix& centers,
                               const Vector& prices, int threads) {
        check_threads(threads);
        check_priced(points, centers, prices);
        const bckm::WithoutGil release;
        const bckm::PricedCenters priced(centers.data(), prices.data(),
                                         static_cast<std::int64_t>(centers.shape(0)),
                                         points.view.dims);
        return {points.view, priced, threads};
    }

    std::pair<double, Column<std::int64_t>> look(Vector prices, Labels label, Labels runner_up,
                                                 Floats margin, int threads) const {
        check_threads(threads);
        const std::int64_t n = lists.size();
        require(static_cast<std::int64_t>(prices.shape(0)) == lists.k, "one price per cluster");
        require(static_cast<std::int64_t>(label.shape(0)) == n &&
                    static_cast<std::int64_t>(runner_up.shape(0)) == n &&
                    static_cast<std::int64_t>(margin.shape(0)) == n,
                "one label, runner-up and margin per point");
        std::vector<std::int64_t> units(lists.k);
        double cost = 0.0;
        {
            const bckm::WithoutGil release;
            cost = lists.look(points.view, prices.data(), label.data(), runner_up.data(),
                              margin.data(), units.data(), threads);
        }
        return {cost, Column<std::int64_t>(as_array(std::move(units), {prices.shape(0)}))};
    }

    std::pair<Column<double>, Column<double>> climb(
        nb::ndarray<nb::numpy, const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> temperature,
        Vector lower, Vector upper, Vector units, Vector prices, double target, int steps,
        int threads) const {
        check_threads(threads);
        require(static_cast<std::int64_t>(temperature.shape(0)) == lists.size(),
                "one temperature per point");
        for (const Vector* one : {&lower, &upper, &units, &prices})
            require(static_cast<std::int64_t>(one->shape(0)) == lists.k,
                    "bounds, samples and a price of each cluster");
        bool good = true;
        for (std::size_t j = 0; j < temperature.shape(0); ++j) good &= temperature.data()[j] > 0.0f;
        require(good, "temperatures must be positive");
        std::vector<double> price(prices.data(), prices.data() + lists.k);
        std::vector<double> left;
        {
            const bckm::WithoutGil release;
            const auto values = [this](const Vector& v) {
                return std::vector<double>(v.data(), v.data() + lists.k);
            };
            left = lists.climb(points.view, temperature.data(),
                               {values(lower), values(upper), values(units)}, target, steps, price,
                               threads);
        }
        return {Column<double>(as_array(std::move(price), {prices.shape(0)})),
                Column<double>(as_array(std::move(left), {prices.shape(0)}))};
    }

    PointsView points;
    bckm::RowLists lists;
};

struct PathsView {
    PathsView(Matrix centers_, Vector prices_, Integers units, Integers lower, Integers upper,
              Matrix limit)
        : centers(centers_), prices(prices_), priced(made(centers, prices)),
          arcs(priced, checked(limit)),
          paths(priced, {values(units), values(lower), values(upper)}, arcs) {}

    const double* checked(const Matrix& limit) const {
        require(limit.shape(0) == centers.shape(0) && limit.shape(1) == centers.shape(0),
                "one limit per pair of clusters");
        return limit.data();
    }

    static bckm::PricedCenters made(const Matrix& centers, const Vector& prices) {
        require(centers.shape(0) > 0 && prices.shape(0) == centers.shape(0),
                "one price per center");
        return {centers.data(), prices.data(), static_cast<std::int64_t>(centers.shape(0)),
                static_cast<std::int64_t>(centers.shape(1))};
    }

    std::vector<std::int64_t> values(const Integers& one) const {
        require(one.shape(0) == centers.shape(0), "one size and two bounds per cluster");
        return {one.data(), one.data() + one.shape(0)};
    }

    void check_clusters(const Indices<std::int32_t>& cluster) const {
        bool good = true;
        for (std::size_t j = 0; j < cluster.shape(0); ++j)
            good &= cluster.data()[j] >= 0 && cluster.data()[j] < arcs.k;
        require(good, "clusters that there are");
    }

    template <class Real>
    void add_rows(
        nb::ndarray<nb::numpy, const Real, nb::ndim<2>, nb::c_contig, nb::device::cpu> rows,
        Integers number, Indices<std::int32_t> label, Vector origin, double scale) {
        require(rows.shape(1) == centers.shape(1) && origin.shape(0) == centers.shape(1),
                "rows and origin must have the features of the centers");
        require(number.shape(0) == rows.shape(0) && label.shape(0) == rows.shape(0),
                "one number and one label per row");
        bool good = true;
        for (std::size_t j = 1; j < number.shape(0); ++j)
            good &= number.data()[j - 1] < number.data()[j];
        require(good, "numbers must be increasing");
        check_clusters(label);
        kept.push_back(nb::cast(rows));
        kept.push_back(nb::cast(origin));
        arcs.add_rows(bckm::ListedArcs::Rows<Real>{rows.data(), number.data(), label.data(),
                                                   static_cast<std::int64_t>(rows.shape(0)),
                                                   origin.data(), scale});
    }

    void add_moves(Integers place, Indices<std::int32_t> cluster, Vector cost) {
        require(place.shape(0) == cluster.shape(0) && place.shape(0) == cost.shape(0),
                "a row, a cluster and a cost each");
        bool good = true;
        for (std::size_t j = 0; j < place.shape(0); ++j)
            good &= place.data()[j] >= 0 && place.data()[j] < arcs.last_rows();
        require(good, "places of the last rows");
        check_clusters(cluster);
        const bckm::WithoutGil release;
        arcs.add_moves(place.data(), cluster.data(), cost.data(),
                       static_cast<std::int64_t>(place.shape(0)));
    }

    int run(std::int64_t searches) {
        const bckm::WithoutGil release;
        using State = bckm::RowPaths::State;
        auto found = paths.run(searches);
        if (found == State::settled && !paths.center()) found = State::asking;
        return static_cast<int>(found);
    }

    void raise(Matrix limit) { arcs.raise(checked(limit)); }

    Array<std::uint8_t> asked() const {
        const auto k = static_cast<std::size_t>(arcs.k);
        return as_array(std::vector<std::uint8_t>(arcs.asked().begin(), arcs.asked().end()),
                        {k, k});
    }

    Column<double> reached() const { return shown(paths.prices()); }
    Column<std::int64_t> sizes() const { return shown(paths.sizes()); }

    template <class T> static Column<T> shown(std::vector<T>&& values) {
        const std::size_t number = values.size();
        return Column<T>(as_array(std::move(values), {number}));
    }

    Matrix centers;
    Vector prices;
    bckm::PricedCenters priced;
    bckm::ListedArcs arcs;
    bckm::RowPaths paths;
    std::vector<nb::object> kept;  // what the paths have views of
};

void cheapest_moves(const PointsView& points, Matrix centers, Integers which, Integers cluster,
                    Out move, int threads) {
    check_threads(threads);
    const std::size_t k = centers.shape(0);
    require(static_cast<std::int64_t>(centers.shape(1)) == points.view.dims && k > 0,
            "centers must have the features of the points");
    require(move.shape(0) == k && move.shape(1) == k, "moves are (k, k)");
    require(which.shape(0) == cluster.shape(0), "one cluster per point");
    bool good = true;
    for (std::size_t i = 0; i < which.shape(0); ++i)
        good &= which.data()[i] >= 0 && which.data()[i] < points.view.n && cluster.data()[i] >= 0 &&
                cluster.data()[i] < static_cast<std::int64_t>(k);
    require(good, "points and clusters that there are");
    const bckm::WithoutGil release;
    const std::vector<double> none(k, 0.0);
    const bckm::PricedCenters priced(centers.data(), none.data(), static_cast<std::int64_t>(k),
                                     points.view.dims);
    bckm::cheapest_moves(points.view, priced, which.data(), cluster.data(),
                         static_cast<std::int64_t>(which.shape(0)), move.data(), threads);
}

template <class Real>
std::pair<Column<std::int64_t>, std::int64_t> equal_rows(
    nb::ndarray<nb::numpy, const Real, nb::ndim<2>, nb::c_contig, nb::device::cpu> rows,
    int threads) {
    check_threads(threads);
    std::vector<std::int64_t> group(rows.shape(0));
    std::int64_t different = 0;
    {
        const bckm::WithoutGil release;
        different =
            bckm::equal_rows(rows.data(), static_cast<std::int64_t>(rows.shape(0)),
                             static_cast<std::int64_t>(rows.shape(1)), group.data(), threads);
    }
    return {Column<std::int64_t>(as_array(std::move(group), {rows.shape(0)})), different};
}

std::optional<Column<double>> price_range(Matrix length, Vector prices, bool free, double rounding,
                                          int tries, int rounds, int threads) {
    check_threads(threads);
    const std::size_t nodes = prices.shape(0);
    require(nodes > 1 && length.shape(0) == nodes && length.shape(1) == nodes,
            "one price per node, the hub's the last");
    std::vector<double> price(prices.data(), prices.data() + nodes);
    {
        const bckm::WithoutGil release;
        const auto number = static_cast<std::int64_t>(nodes);
        if (!bckm::obeying_prices(length.data(), number, rounding, tries, price, threads))
            return std::nullopt;
        bckm::middle_prices(length.data(), number, free ? number - 1 : 0, rounds, price);
    }
    return Column<double>(as_array(std::move(price), {nodes}));
}

bckm::Places places_of(const Matrix& apart, const Vector& prices, const Vector& farthest,
                       int threads) {
    check_threads(threads);
    const std::size_t k = prices.shape(0);
    require(apart.shape(0) == k && apart.shape(1) == k && farthest.shape(0) == k && k > 0,
            "distances of all pairs of clusters, one price and one reach each");
    return {static_cast<std::int64_t>(k), apart.data(), prices.data(), farthest.data()};
}

void check_pairs(const Out& out, std::int64_t k) {
    require(static_cast<std::int64_t>(out.shape(0)) == k &&
                static_cast<std::int64_t>(out.shape(1)) == k,
            "one number per pair of clusters");
}

void pair_distances(Matrix centers, Out apart, int threads) {
    check_threads(threads);
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    check_pairs(apart, k);
    const std::vector<double> none(k, 0.0);
    const bckm::WithoutGil release;
    const bckm::PricedCenters priced(centers.data(), none.data(), k,
                                     static_cast<std::int64_t>(centers.shape(1)));
    bckm::pair_distances(priced, apart.data(), threads);
}

void pair_reach(
    Matrix apart, Vector prices, Vector farthest,
    nb::ndarray<nb::numpy, const float, nb::ndim<2>, nb::c_contig, nb::device::cpu> minima,
    Vector wide, Integers rest, double rounding, Out reach, int threads) {
    const bckm::Places places = places_of(apart, prices, farthest, threads);
    check_pairs(reach, places.k);
    require(minima.shape(0) == prices.shape(0) && minima.shape(1) == prices.shape(0) &&
                wide.shape(0) == prices.shape(0) && rest.shape(0) == prices.shape(0),
            "one gap per pair, one width and one rest per cluster");
    const bckm::WithoutGil release;
    bckm::pair_reach(places, minima.data(), wide.data(), rest.data(), rounding, reach.data(),
                     threads);
}

double beyond_reach(Vector went, Matrix reach, int threads) {
    check_threads(threads);
    const std::size_t k = went.shape(0);
    require(k > 0 && reach.shape(0) == k && reach.shape(1) == k, "reaches are (k, k)");
    const bckm::WithoutGil release;
    return bckm::beyond_reach(static_cast<std::int64_t>(k), went.data(), reach.data(), threads);
}

void pair_limits(Matrix apart, Vector prices, Vector farthest, Matrix moves, double sure,
                 Vector beside, double least, Out limit, int threads) {
    const bckm::Places places = places_of(apart, prices, farthest, threads);
    check_pairs(limit, places.k);
    require(moves.shape(0) == prices.shape(0) && moves.shape(1) > 0 &&
                beside.shape(0) == prices.shape(0),
            "moves and a width of each cluster");
    const bckm::WithoutGil release;
    bckm::pair_limits(places, moves.data(), static_cast<std::int64_t>(moves.shape(1)), sure,
                      beside.data(), least, limit.data(), threads);
}

void pair_ways(Matrix apart, Vector prices, Vector farthest, Matrix ways, Out gone, int threads) {
    const bckm::Places places = places_of(apart, prices, farthest, threads);
    check_pairs(gone, places.k);
    require(ways.shape(1) == prices.shape(0), "ways of each price");
    const bckm::WithoutGil release;
    bckm::pair_ways(places, ways.data(), static_cast<std::int64_t>(ways.shape(0)), gone.data(),
                    threads);
}

bool border_moves(Integers best, Integers second, Vector weight, double ridge, Indices<bool> active,
                  Matrix errors, Out moves, int threads) {
    check_threads(threads);
    const std::size_t n = best.shape(0), k = active.shape(0);
    require(second.shape(0) == n && weight.shape(0) == n, "two clusters and a weight each");
    require(
        k > 0 && errors.shape(0) == k && moves.shape(0) == k && errors.shape(1) == moves.shape(1),
        "errors and moves of each cluster");
    bool good = true;
    for (std::size_t j = 0; j < n; ++j)
        for (const std::int64_t a : {best.data()[j], second.data()[j]})
            good &= a >= 0 && a < static_cast<std::int64_t>(k);
    require(good, "clusters that there are");
    const bckm::WithoutGil release;
    return bckm::border_moves({static_cast<std::int64_t>(n), static_cast<std::int64_t>(k),
                               best.data(), second.data(), weight.data()},
                              ridge, active.data(), errors.data(),
                              static_cast<std::int64_t>(errors.shape(1)), moves.data(), threads);
}

}  // namespace

void bckm::add_blocks(nb::module_& module) {
    using bckm::LookResult;
    nb::class_<LookResult>(module, "LookResult")
        .def_prop_ro("counts", column(&LookResult::counts))
        .def_prop_ro("high", column(&LookResult::high))
        .def_prop_ro("low", column(&LookResult::low))
        .def_prop_ro("cost", column(&LookResult::cost))
        .def_prop_ro("farthest", column(&LookResult::farthest));
    const auto add_look = [&](auto function) {
        module.def("look", function, "rows"_a.noconvert(), "origin"_a, "scale"_a, "centers"_a,
                   "prices"_a, "label"_a.noconvert(), "runner_up"_a.noconvert(),
                   "margin"_a.noconvert(), "slack"_a.noconvert(), "cost_scale"_a, "sums"_a,
                   "threads"_a);
    };
    module.def("pair_scan", ::pair_scan, "points"_a, "centers"_a, "prices"_a, "label"_a, "limit"_a,
               "minima"_a.noconvert(), "ratio"_a.noconvert(), "threads"_a);
    add_look(look_at<float>);
    add_look(look_at<double>);
    nb::class_<ListsView>(module, "RowLists")
        .def(nb::init<const PointsView&, Matrix, Vector, int>(), "points"_a, "centers"_a,
             "prices"_a, "threads"_a)
        .def("look", &ListsView::look, "prices"_a, "label"_a.noconvert(), "runner_up"_a.noconvert(),
             "margin"_a.noconvert(), "threads"_a)
        .def("climb", &ListsView::climb, "temperature"_a, "lower"_a, "upper"_a, "units"_a,
             "prices"_a, "target"_a, "steps"_a, "threads"_a);
    const auto owned = nb::rv_policy::automatic;  // arrays of their own
    nb::class_<PathsView>(module, "RowPaths")
        .def(nb::init<Matrix, Vector, Integers, Integers, Integers, Matrix>(), "centers"_a,
             "prices"_a, "units"_a, "lower"_a, "upper"_a, "limit"_a)
        .def("add_rows", &PathsView::add_rows<float>, "rows"_a.noconvert(), "number"_a, "label"_a,
             "origin"_a, "scale"_a)
        .def("add_rows", &PathsView::add_rows<double>, "rows"_a.noconvert(), "number"_a, "label"_a,
             "origin"_a, "scale"_a)
        .def("add_moves", &PathsView::add_moves, "place"_a, "cluster"_a, "cost"_a)
        .def("run", &PathsView::run, "searches"_a)
        .def("raise_limits", &PathsView::raise, "limit"_a)
        .def_prop_ro("asked", &PathsView::asked, owned)
        .def_prop_ro("prices", &PathsView::reached, owned)
        .def_prop_ro("sizes", &PathsView::sizes, owned)
        .def_prop_ro("found", [](const PathsView& view) { return view.paths.paths(); });
    module.def("cheapest_moves", ::cheapest_moves, "points"_a, "centers"_a, "which"_a, "cluster"_a,
               "move"_a.noconvert(), "threads"_a);
    module.def("equal_rows", ::equal_rows<float>, "rows"_a.noconvert(), "threads"_a);
    module.def("equal_rows", ::equal_rows<double>, "rows"_a.noconvert(), "threads"_a);
    module.def("price_range", ::price_range, "length"_a, "prices"_a, "free"_a, "rounding"_a,
               "tries"_a, "rounds"_a, "threads"_a);
    module.def("pair_distances", ::pair_distances, "centers"_a, "apart"_a.noconvert(), "threads"_a);
    module.def("pair_reach", ::pair_reach, "apart"_a, "prices"_a, "farthest"_a, "minima"_a,
               "wide"_a, "rest"_a, "rounding"_a, "reach"_a.noconvert(), "threads"_a);
    module.def("beyond_reach", ::beyond_reach, "went"_a, "reach"_a, "threads"_a);
    module.def("pair_limits", ::pair_limits, "apart"_a, "prices"_a, "farthest"_a, "moves"_a,
               "sure"_a, "beside"_a, "least"_a, "limit"_a.noconvert(), "threads"_a);
    module.def("pair_ways", ::pair_ways, "apart"_a, "prices"_a, "farthest"_a, "ways"_a,
               "gone"_a.noconvert(), "threads"_a);
    module.def("border_moves", ::border_moves, "best"_a, "second"_a, "weight"_a, "ridge"_a,
               "active"_a, "errors"_a, "moves"_a.noconvert(), "threads"_a);
}
