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

// What labels must obey, together with the arrays it looks at.
struct RuleBook {
    RuleBook(Whole count_, Whole lower_, Whole upper_, Whole conflict_start_, Whole conflict_with_,
             Whole column_start_, Whole column_row_, Vector column_value_, Vector row_lower_,
             Vector row_upper_)
        : count(count_), lower(lower_), upper(upper_), conflict_start(conflict_start_),
          conflict_with(conflict_with_), column_start(column_start_), column_row(column_row_),
          column_value(column_value_), row_lower(row_lower_), row_upper(row_upper_) {
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
    }

    static void check_lists(const Whole& start, const Whole& index, std::int64_t number,
                            std::int64_t end, const char* what) {
        require(static_cast<std::int64_t>(start.shape(0)) == number + 1 && start.data()[0] == 0 &&
                    start.data()[number] == static_cast<std::int64_t>(index.shape(0)),
                what);
        for (std::int64_t i = 0; i < number; ++i)
            require(start.data()[i] <= start.data()[i + 1], what);
        for (std::size_t e = 0; e < index.shape(0); ++e)
            require(0 <= index.data()[e] && index.data()[e] < end, what);
    }

    Whole count, lower, upper, conflict_start, conflict_with, column_start, column_row;
    Vector column_value, row_lower, row_upper;
    bckm::Rules view;
};

inline void check_finite(const Matrix& centres) {
    for (std::size_t i = 0; i < centres.size(); ++i)
        require(std::isfinite(centres.data()[i]), "centres must be finite");
}

// What local search starts from.
inline void check_descent(const Cloud& cloud, const RuleBook& rules, const Labels& label,
                          const Matrix& centres) {
    check_labels(cloud, label, rules.view.k);
    require(!cloud.view.supply && static_cast<std::int64_t>(rules.count.shape(0)) == cloud.view.n,
            "one count per point");
    require(static_cast<std::int64_t>(centres.shape(0)) == rules.view.k &&
                static_cast<std::int64_t>(centres.shape(1)) == cloud.view.dims,
            "one centre per cluster, with the features of the points");
    check_finite(centres);
}

}  // namespace bckm::views
