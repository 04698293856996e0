// What concerns blocks of rows for Python: checks arguments and calls the kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "blocks/look.hpp"
#include "blocks/pair_scan.hpp"
#include "runtime/arrays.hpp"
#include "runtime/bind.hpp"
#include "runtime/gil.hpp"

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
}
