// Arrays of Python as the kernels see them; each view keeps the arrays it looks at alive.
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

#include "clustering.hpp"
#include "points.hpp"
#include "rules.hpp"

namespace bckm::views {

namespace nb = nanobind;

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Whole = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T> using Array = nb::ndarray<nb::numpy, T>;

template <class T> Array<T> as_array(std::vector<T>&& values, std::vector<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array<T>(kept->data(), shape.size(), shape.data(), owner);
}

inline void require(bool good, const char* what) {
    if (!good) throw std::invalid_argument(what);
}

// Points together with the arrays they look at, which it keeps alive.
struct Cloud {
    Cloud(Matrix data_, std::optional<Whole> rows_, std::optional<Vector> pull_,
          std::optional<Whole> supply_, std::int64_t step)
        : data(data_), rows(rows_), pull(pull_), supply(supply_) {
        require(step >= 1, "step must be at least 1");
        const auto all = static_cast<std::int64_t>(rows ? rows->shape(0) : data.shape(0));
        view.data = data.data();
        view.dims = static_cast<std::int64_t>(data.shape(1));
        view.step = step;
        view.n = (all + step - 1) / step;
        require(view.dims > 0, "points need features");
        // within a chunk of the sweep and in fragments, 32 bits number points
        require(view.n <= 2147483647, "more than 2^31 points");
        if (rows) {
            view.rows = rows->data();
            for (std::int64_t j = 0; j < all; ++j)
                require(0 <= view.rows[j] &&
                            view.rows[j] < static_cast<std::int64_t>(data.shape(0)),
                        "rows must be indices of data");
        }
        if (pull) {
            require(pull->shape(0) == data.shape(0), "pull must have one number per row of data");
            view.pull = pull->data();
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
    std::optional<Whole> rows;
    std::optional<Vector> pull;
    std::optional<Whole> supply;
    bckm::Points view;
};

// Labels come from these kernels, but a wrong one would write anywhere in memory.
inline void check_labels(const Cloud& cloud, const Labels& label, std::int64_t k) {
    require(static_cast<std::int64_t>(label.shape(0)) == cloud.view.n, "one label per point");
    const std::int32_t* values = label.data();
    bool good = true;
    for (std::int64_t j = 0; j < cloud.view.n; ++j) good &= values[j] >= 0 && values[j] < k;
    require(good, "labels must be clusters");
}

// Lists of indices below `end`, one after the other.
template <class Indices>
void check_lists(const Indices& start, const Indices& index, std::int64_t number, std::int64_t end,
                 const char* what) {
    require(static_cast<std::int64_t>(start.shape(0)) == number + 1 && start.data()[0] == 0 &&
                start.data()[number] == static_cast<std::int64_t>(index.shape(0)),
            what);
    for (std::int64_t i = 0; i < number; ++i)
        require(start.data()[i] <= start.data()[i + 1], what);
    for (std::size_t e = 0; e < index.shape(0); ++e)
        require(0 <= index.data()[e] && index.data()[e] < end, what);
}

// Sums of each cluster, together with the arrays they look at.
struct LoadBook {
    LoadBook(Matrix amount_, Matrix lower_, Matrix upper_)
        : amount(amount_), lower(lower_), upper(upper_) {
        view = {static_cast<std::int64_t>(amount.shape(1)), amount.data(), lower.data(),
                upper.data()};
    }

    void check(std::int64_t items, std::int64_t clusters) const {
        require(static_cast<std::int64_t>(amount.shape(0)) == items, "amounts of each item");
        for (const Matrix* bound : {&lower, &upper})
            require(static_cast<std::int64_t>(bound->shape(0)) == clusters &&
                        bound->shape(1) == amount.shape(1),
                    "bounds of each sum in each cluster");
    }

    Matrix amount, lower, upper;
    bckm::Loads view;
};

// What labels must obey, together with the arrays it looks at.
struct RuleBook {
    RuleBook(Whole count_, Whole lower_, Whole upper_, Whole conflict_start_, Whole conflict_with_,
             Whole column_start_, Whole column_row_, Vector column_value_, Vector row_lower_,
             Vector row_upper_, Matrix amount_, Matrix load_lower_, Matrix load_upper_)
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

    Whole count, lower, upper, conflict_start, conflict_with, column_start, column_row;
    Vector column_value, row_lower, row_upper;
    LoadBook loads;
    bckm::Rules view;
};

// What labels should obey, likewise.
struct SoftBook {
    SoftBook(Whole tie_start_, Whole tie_with_, Vector tie_price_, Whole lean_start_,
             Whole lean_to_, Vector lean_price_, double base, Matrix amount_, Matrix lower_,
             Matrix upper_, Matrix low_, Matrix up_)
        : tie_start(tie_start_), tie_with(tie_with_), tie_price(tie_price_),
          lean_start(lean_start_), lean_to(lean_to_), lean_price(lean_price_),
          loads(amount_, lower_, upper_), low(low_), up(up_) {
        items = static_cast<std::int64_t>(amount_.shape(0));
        clusters = static_cast<std::int64_t>(lower_.shape(0));
        loads.check(items, clusters);
        view.loads = loads.view;
        view.base = base;
        for (const Matrix* prices : {&low, &up})
            require(prices->shape(0) == lower_.shape(0) && prices->shape(1) == lower_.shape(1),
                    "one price per bound");
        view.low = low.data();
        view.up = up.data();
        require(tie_price.shape(0) == tie_with.shape(0), "one price per tie");
        require(lean_price.shape(0) == lean_to.shape(0), "one price per leaning");
        if (tie_with.shape(0) > 0) {
            check_lists(tie_start, tie_with, items, items, "ties");
            view.tie_start = tie_start.data();
            view.tie_with = tie_with.data();
            view.tie_price = tie_price.data();
        }
        if (lean_to.shape(0) > 0) {
            check_lists(lean_start, lean_to, items, clusters, "leanings");
            view.lean_start = lean_start.data();
            view.lean_to = lean_to.data();
            view.lean_price = lean_price.data();
        }
    }

    Whole tie_start, tie_with;
    Vector tie_price;
    Whole lean_start, lean_to;
    Vector lean_price;
    LoadBook loads;
    Matrix low, up;
    std::int64_t items = 0, clusters = 0;
    bckm::Soft view;
};

inline void check_finite(const Matrix& centres) {
    for (std::size_t i = 0; i < centres.size(); ++i)
        require(std::isfinite(centres.data()[i]), "centres must be finite");
}

// What local search starts from.
inline void check_descent(const Cloud& cloud, const RuleBook& rules, const SoftBook& soft,
                          const Labels& label, const Matrix& centres) {
    check_labels(cloud, label, rules.view.k);
    require(!cloud.view.supply && static_cast<std::int64_t>(rules.count.shape(0)) == cloud.view.n,
            "one count per point");
    require(soft.items == cloud.view.n && soft.clusters == rules.view.k,
            "soft rules of these points and clusters");
    require(static_cast<std::int64_t>(centres.shape(0)) == rules.view.k &&
                static_cast<std::int64_t>(centres.shape(1)) == cloud.view.dims,
            "one centre per cluster, with the features of the points");
    check_finite(centres);
}

}  // namespace bckm::views
