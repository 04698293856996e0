// NumPy arrays as the kernels see them; each view keeps its arrays alive.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "distance/points.hpp"
#include "moves/clustering.hpp"
#include "moves/rules.hpp"

namespace bckm::views {

namespace nb = nanobind;

using Matrix = nb::ndarray<nb::numpy, const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<nb::numpy, const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers =
    nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Out = nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class Index>
using Indices = nb::ndarray<nb::numpy, const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T> using Array = nb::ndarray<nb::numpy, T>;
template <class T> using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T> Array<T> as_array(std::vector<T>&& values, std::vector<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array<T>(kept->data(), shape.size(), shape.data(), owner);
}

// A property that shows a vector of a result as an array, which keeps the result alive.
template <class Result, class T> auto column(std::vector<T> Result::* member) {
    return [member](Result& result) {
        std::vector<T>& values = result.*member;
        return Column<T>(values.data(), {values.size()});
    };
}

inline void require(bool good, const char* what) {
    if (!good) throw std::invalid_argument(what);
}

struct PointsView {
    PointsView(Matrix data_, std::optional<Integers> rows_, std::optional<Vector> cost_weight_,
               std::optional<Integers> supply_, std::int64_t step)
        : data(data_), rows(rows_), cost_weight(cost_weight_), supply(supply_) {
        require(step >= 1, "step must be at least 1");
        const auto all = static_cast<std::int64_t>(rows ? rows->shape(0) : data.shape(0));
        view.data = data.data();
        view.dims = static_cast<std::int64_t>(data.shape(1));
        view.step = step;
        view.n = (all + step - 1) / step;
        require(view.dims > 0, "points need features");
        // the sweep and fragments number points in 32 bits
        require(view.n <= 2147483647, "more than 2^31 points");
        if (rows) {
            view.rows = rows->data();
            for (std::int64_t j = 0; j < all; ++j)
                require(
                    0 <= view.rows[j] && view.rows[j] < static_cast<std::int64_t>(data.shape(0)),
                    "rows must be indices of data");
        }
        if (cost_weight) {
            require(cost_weight->shape(0) == data.shape(0),
                    "pull must have one number per row of data");
            view.cost_weight = cost_weight->data();
        }
        if (supply) {
            require(static_cast<std::int64_t>(supply->shape(0)) == all,
                    "supply must have one number per point");
            view.supply = supply->data();
            for (std::int64_t j = 0; j < all; ++j)
                require(view.supply[j] >= 1, "supply must be at least 1");
        }
    }

    Matrix data;
    std::optional<Integers> rows;
    std::optional<Vector> cost_weight;
    std::optional<Integers> supply;
    bckm::Points view;
};

// A wrong label would write anywhere in memory.
inline void check_labels(const PointsView& points, const Labels& label, std::int64_t k) {
    require(static_cast<std::int64_t>(label.shape(0)) == points.view.n, "one label per point");
    const std::int32_t* values = label.data();
    bool good = true;
    for (std::int64_t j = 0; j < points.view.n; ++j) good &= values[j] >= 0 && values[j] < k;
    require(good, "labels must be clusters");
}

// `number` lists of indices below `end`, one after the other.
template <class Indices>
void check_lists(const Indices& start, const Indices& index, std::int64_t number, std::int64_t end,
                 const char* what) {
    require(static_cast<std::int64_t>(start.shape(0)) == number + 1 && start.data()[0] == 0 &&
                start.data()[number] == static_cast<std::int64_t>(index.shape(0)),
            what);
    for (std::int64_t i = 0; i < number; ++i) require(start.data()[i] <= start.data()[i + 1], what);
    for (std::size_t e = 0; e < index.shape(0); ++e)
        require(0 <= index.data()[e] && index.data()[e] < end, what);
}

struct LoadsView {
    LoadsView(Matrix amount_, Matrix lower_, Matrix upper_)
        : amount(amount_), lower(lower_), upper(upper_) {
        view = {static_cast<std::int64_t>(amount.shape(1)), amount.data(), lower.data(),
                upper.data()};
    }

    void check(std::int64_t items, std::int64_t clusters) const {
        require(static_cast<std::int64_t>(amount.shape(0)) == items,
                "loads: one row of amounts per item");
        for (const Matrix* bound : {&lower, &upper})
            require(static_cast<std::int64_t>(bound->shape(0)) == clusters &&
                        bound->shape(1) == amount.shape(1),
                    "loads: one bound per cluster and load");
    }

    Matrix amount, lower, upper;
    bckm::Loads view;
};

struct RulesView {
    RulesView(Integers count_, Integers lower_, Integers upper_, Integers conflict_start_,
              Integers conflict_with_, Integers column_start_, Integers column_row_,
              Vector column_value_, Vector row_lower_, Vector row_upper_, Matrix amount_,
              Matrix load_lower_, Matrix load_upper_)
        : count(count_), lower(lower_), upper(upper_), conflict_start(conflict_start_),
          conflict_with(conflict_with_), column_start(column_start_), column_row(column_row_),
          column_value(column_value_), row_lower(row_lower_), row_upper(row_upper_),
          loads(amount_, load_lower_, load_upper_) {
        const auto m = static_cast<std::int64_t>(count.shape(0));
        view.k = static_cast<std::int64_t>(lower.shape(0));
        view.rows = static_cast<std::int64_t>(row_lower.shape(0));
        require(view.k > 0 && upper.shape(0) == lower.shape(0), "bounds of each cluster");
        require(row_upper.shape(0) == row_lower.shape(0), "bounds of each row");
        view.count = count.data();
        view.lower = lower.data();
        view.upper = upper.data();
        if (conflict_with.shape(0) > 0) {
            check_lists(conflict_start, conflict_with, m, m, "conflicts");
            view.conflict_start = conflict_start.data();
            view.conflict_with = conflict_with.data();
        }
        if (view.rows > 0) {
            check_lists(column_start, column_row, m * view.k, view.rows, "rows");
            require(column_value.shape(0) == column_row.shape(0), "one value per entry of rows");
            view.column_start = column_start.data();
            view.column_row = column_row.data();
            view.column_value = column_value.data();
            view.row_lower = row_lower.data();
            view.row_upper = row_upper.data();
        }
        loads.check(m, view.k);
        view.loads = loads.view;
    }

    Integers count, lower, upper, conflict_start, conflict_with, column_start, column_row;
    Vector column_value, row_lower, row_upper;
    LoadsView loads;
    bckm::Rules view;
};

struct SoftView {
    SoftView(Integers link_start_, Integers link_with_, Vector link_penalty_, Integers label_start_,
             Integers label_cluster_, Vector label_penalty_, double constant, Matrix amount_,
             Matrix lower_, Matrix upper_, Matrix below_, Matrix above_)
        : link_start(link_start_), link_with(link_with_), link_penalty(link_penalty_),
          label_start(label_start_), label_cluster(label_cluster_), label_penalty(label_penalty_),
          loads(amount_, lower_, upper_), below(below_), above(above_) {
        items = static_cast<std::int64_t>(amount_.shape(0));
        clusters = static_cast<std::int64_t>(lower_.shape(0));
        loads.check(items, clusters);
        view.loads = loads.view;
        view.constant = constant;
        for (const Matrix* penalty : {&below, &above})
            require(penalty->shape(0) == lower_.shape(0) && penalty->shape(1) == lower_.shape(1),
                    "one penalty per bound");
        view.below = below.data();
        view.above = above.data();
        require(link_penalty.shape(0) == link_with.shape(0), "one penalty per link");
        require(label_penalty.shape(0) == label_cluster.shape(0), "one penalty per label");
        if (link_with.shape(0) > 0) {
            check_lists(link_start, link_with, items, items, "links");
            view.link_start = link_start.data();
            view.link_with = link_with.data();
            view.link_penalty = link_penalty.data();
        }
        if (label_cluster.shape(0) > 0) {
            check_lists(label_start, label_cluster, items, clusters, "penalties of labels");
            view.label_start = label_start.data();
            view.label_cluster = label_cluster.data();
            view.label_penalty = label_penalty.data();
        }
    }

    Integers link_start, link_with;
    Vector link_penalty;
    Integers label_start, label_cluster;
    Vector label_penalty;
    LoadsView loads;
    Matrix below, above;
    std::int64_t items = 0, clusters = 0;
    bckm::Soft view;
};

inline void check_finite(const Matrix& centers) {
    for (std::size_t i = 0; i < centers.size(); ++i)
        require(std::isfinite(centers.data()[i]), "centers must be finite");
}

inline void check_prices(const PointsView& points, const Matrix& centers, const Vector& prices) {
    require(static_cast<std::int64_t>(centers.shape(1)) == points.view.dims,
            "centers must have the features of the points");
    require(centers.shape(0) > 0 && centers.shape(0) == prices.shape(0), "one price per center");
    for (std::size_t i = 0; i < prices.shape(0); ++i)
        require(std::isfinite(prices.data()[i]), "prices must be finite");
    check_finite(centers);
}

// Checks bounds; upper ones no larger than they need be.
inline std::vector<std::int64_t> upper_bounds(const Integers& lower, const Integers& upper,
                                              std::int64_t units) {
    require(lower.shape(0) == upper.shape(0), "bounds must have one number per cluster");
    std::vector<std::int64_t> out;
    std::int64_t least = 0, most = 0;
    for (std::size_t i = 0; i < lower.shape(0); ++i) {
        require(0 <= lower.data()[i] && lower.data()[i] <= upper.data()[i], "0 <= lower <= upper");
        least += lower.data()[i];
        out.push_back(std::max(lower.data()[i], std::min(upper.data()[i], units)));
        most += out.back();
    }
    require(least <= units && units <= most, "the bounds do not admit the samples");
    return out;
}

// Costs of few points, each one sample, and the centers that these belong to.
inline void check_table(const PointsView& points, const Matrix& centers, const Out& table,
                        const Out& tabled) {
    const auto k = static_cast<std::int64_t>(centers.shape(0));
    require(points.view.supply == nullptr, "each point must be one sample");
    require(static_cast<std::int64_t>(table.shape(0)) == points.view.n &&
                static_cast<std::int64_t>(table.shape(1)) == padded(k),
            "a table of all points and all clusters, padded to a multiple of eight");
    require(tabled.shape(0) == centers.shape(0) && tabled.shape(1) == centers.shape(1),
            "the centers of the table");
}

inline void check_threads(int threads) { require(threads >= 1, "threads must be at least 1"); }

// The input of local search, without and with centers.
inline void check_moves(const PointsView& points, const RulesView& rules, const SoftView& soft,
                        const Labels& label) {
    check_labels(points, label, rules.view.k);
    require(!points.view.supply && static_cast<std::int64_t>(rules.count.shape(0)) == points.view.n,
            "one count per point");
    require(soft.items == points.view.n && soft.clusters == rules.view.k,
            "soft rules of these points and clusters");
}

inline void check_descent(const PointsView& points, const RulesView& rules, const SoftView& soft,
                          const Labels& label, const Matrix& centers) {
    check_moves(points, rules, soft, label);
    require(static_cast<std::int64_t>(centers.shape(0)) == rules.view.k &&
                static_cast<std::int64_t>(centers.shape(1)) == points.view.dims,
            "one center per cluster, with the features of the points");
    check_finite(centers);
}

}  // namespace bckm::views
