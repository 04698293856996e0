#include "moves/clustering.hpp"

#include <algorithm>
#include <cmath>

#include "distance/totals.hpp"

namespace bckm {
namespace {

// If a cluster keeps less than this share of its mass, the remainder is round-off;
constexpr double mass_rounding = 1e-15;
// if it keeps less than this share, everything is summed up again.
constexpr double mass_lost = 1e-6;

}  // namespace

Clustering::Clustering(const Points& points, const Rules& rules, const Soft& soft,
                       const std::int32_t* first, const double* start, bool fixed, int threads)
    : points(points), rules(rules), m(points.n), k(rules.k), dims(points.dims), fixed(fixed),
      threads(threads), label(first, first + points.n), centers(start, start + k * dims),
      weight(k, 0.0), with_mass(k, 0), without_mass(k, 0), size(k, 0), penalty(soft, m, k),
      loads(rules.loads, k), activity(rules.rows), shift(dims, 0.0), row_after(rules.rows),
      going(rules.conflict_start ? m : 0, -1) {
    refresh();
}

void Clustering::refresh() {
    if (!fixed) {
        const TotalsResult sums = totals(points, label.data(), k, centers.data(), nullptr, threads);
        for (std::int64_t i = 0; i < k; ++i)
            if (sums.mass[i] > 0.0)
                for (std::int64_t t = 0; t < dims; ++t)
                    centers[i * dims + t] = sums.sums[i * dims + t] / sums.mass[i];
    }
    TotalsResult sums = totals(points, label.data(), k, centers.data(), nullptr, threads);
    weight = std::move(sums.mass);
    cost = sums.cost;
    if (penalty.active) cost += penalty.refresh(label);
    loads.refresh(label);
    std::fill(with_mass.begin(), with_mass.end(), 0);
    std::fill(without_mass.begin(), without_mass.end(), 0);
    std::fill(size.begin(), size.end(), 0);
    std::fill(activity.begin(), activity.end(), Compensated{});
    for (std::int64_t j = 0; j < m; ++j) {
        const std::int64_t a = label[j];
        (mass(j) > 0.0 ? with_mass : without_mass)[a] += 1;
        size[a] += rules.count[j];
        if (rules.rows == 0) continue;
        for (auto e = rules.column_start[j * k + a]; e < rules.column_start[j * k + a + 1]; ++e)
            activity[rules.column_row[e]].add(rules.column_value[e]);
    }
}

double Clustering::distance(std::int64_t j, std::int64_t i) const {
    return squared_distance(points.row(j), centers.data() + i * dims, dims);
}

double Clustering::apart(std::int64_t j, std::int64_t l) const {
    return squared_distance(points.row(j), points.row(l), dims);
}

std::int64_t Clustering::blockers(std::int64_t j, std::int64_t b, std::int64_t& first) const {
    std::int64_t number = 0;
    if (!rules.conflict_start) return number;
    for (auto e = rules.conflict_start[j]; e < rules.conflict_start[j + 1]; ++e)
        if (label[rules.conflict_with[e]] == b && number++ == 0) first = rules.conflict_with[e];
    return number;
}

void Clustering::touch(const Hop* hops, std::int64_t number) {
    touched.clear();
    const auto note = [this](std::int64_t i) {
        if (std::find(touched.begin(), touched.end(), i) == touched.end()) touched.push_back(i);
    };
    for (std::int64_t h = 0; h < number; ++h) {
        note(label[hops[h].item]);
        note(hops[h].to);
    }
}

bool Clustering::admits(const Hop* hops, std::int64_t number) {
    touch(hops, number);
    for (const std::int64_t i : touched) {
        std::int64_t after = size[i];
        for (std::int64_t h = 0; h < number; ++h) {
            const std::int64_t j = hops[h].item;
            after += rules.count[j] * ((hops[h].to == i) - (label[j] == i));
        }
        if (after < rules.lower[i] || after > rules.upper[i]) return false;
    }
    return apart_after(hops, number) && loads.hold_after(hops, number, label, touched) &&
           rows_hold(hops, number);
}

bool Clustering::apart_after(const Hop* hops, std::int64_t number) {
    if (!rules.conflict_start) return true;
    for (std::int64_t h = 0; h < number; ++h) going[hops[h].item] = hops[h].to;
    bool good = true;
    for (std::int64_t h = 0; good && h < number; ++h) {
        const std::int64_t j = hops[h].item;
        for (auto e = rules.conflict_start[j]; e < rules.conflict_start[j + 1]; ++e) {
            const std::int64_t other = rules.conflict_with[e];
            good &= (going[other] < 0 ? label[other] : going[other]) != hops[h].to;
        }
    }
    for (std::int64_t h = 0; h < number; ++h) going[hops[h].item] = -1;
    return good;
}

bool Clustering::rows_hold(const Hop* hops, std::int64_t number) {
    if (rules.rows == 0) return true;
    row_touched.clear();
    // first the rows that hops touch, then what comes and goes
    for (const bool noted : {false, true})
        for (std::int64_t h = 0; h < number; ++h)
            for (const bool comes : {false, true}) {
                const std::int64_t to = comes ? hops[h].to : label[hops[h].item];
                const std::int64_t column = hops[h].item * k + to;
                for (auto e = rules.column_start[column]; e < rules.column_start[column + 1]; ++e) {
                    const std::int64_t r = rules.column_row[e];
                    if (noted) {
                        row_after[r].add(comes ? rules.column_value[e] : -rules.column_value[e]);
                    } else {
                        row_touched.push_back(r);
                        row_after[r] = activity[r];
                    }
                }
            }
    bool good = true;
    for (const std::int64_t r : row_touched)
        good &= within(row_after[r], rules.row_lower[r], rules.row_upper[r]);
    return good;
}

// Around the old center c of a cluster, an item that comes adds w |x - c|^2 and one that goes
// removes it. The new mean is c + u / W', where u sums w (x - c) of what comes minus what goes;
// around it the cluster costs |u|^2 / W' less.
double Clustering::change(const Hop* hops, std::int64_t number) {
    double total = 0.0;
    touch(hops, number);
    for (const std::int64_t i : touched) {
        const double* c = centers.data() + i * dims;
        double linear = 0.0, after = weight[i];
        std::int64_t held = with_mass[i];
        std::fill(shift.begin(), shift.end(), 0.0);
        for (std::int64_t h = 0; h < number; ++h) {
            const std::int64_t j = hops[h].item;
            const int sign = (hops[h].to == i) - (label[j] == i);
            if (sign == 0 || mass(j) == 0.0) continue;
            const double w = sign * mass(j);
            const double* x = points.row(j);
            linear += w * squared_distance(x, c, dims);
            after += w;
            held += sign;
            if (!fixed)
                for (std::int64_t t = 0; t < dims; ++t) shift[t] += w * (x[t] - c[t]);
        }
        total += linear;
        if (fixed || held == 0) continue;  // an empty cluster costs nothing
        double square = 0.0;
        for (std::int64_t t = 0; t < dims; ++t) square += shift[t] * shift[t];
        total -= square / std::max(after, mass_rounding * weight[i]);
    }
    return penalty.active ? total + penalty.change(hops, number, label, touched) : total;
}

void Clustering::apply(const Hop* hops, std::int64_t number) {
    touch(hops, number);
    bool lost = false;
    for (const std::int64_t i : touched) {
        double* c = centers.data() + i * dims;
        const double before = weight[i];
        std::fill(shift.begin(), shift.end(), 0.0);
        for (std::int64_t h = 0; h < number; ++h) {
            const std::int64_t j = hops[h].item;
            const int sign = (hops[h].to == i) - (label[j] == i);
            if (sign == 0) continue;
            const double w = sign * mass(j);
            weight[i] += w;
            (mass(j) > 0.0 ? with_mass : without_mass)[i] += sign;
            size[i] += sign * rules.count[j];
            const double* x = points.row(j);
            for (std::int64_t t = 0; t < dims; ++t) shift[t] += w * (x[t] - c[t]);
        }
        if (with_mass[i] == 0) weight[i] = 0.0;
        if (fixed || with_mass[i] == 0) continue;
        lost |= weight[i] <= mass_lost * before;
        if (weight[i] <= mass_lost * before) continue;
        for (std::int64_t t = 0; t < dims; ++t) c[t] += shift[t] / weight[i];
    }
    loads.apply(hops, number, label);
    penalty.apply(hops, number, label);
    for (std::int64_t h = 0; h < number; ++h) {
        const std::int64_t j = hops[h].item;
        if (rules.rows > 0) {
            const std::int64_t from = j * k + label[j], to = j * k + hops[h].to;
            for (auto e = rules.column_start[from]; e < rules.column_start[from + 1]; ++e)
                activity[rules.column_row[e]].add(-rules.column_value[e]);
            for (auto e = rules.column_start[to]; e < rules.column_start[to + 1]; ++e)
                activity[rules.column_row[e]].add(rules.column_value[e]);
        }
        label[j] = static_cast<std::int32_t>(hops[h].to);
    }
    if (lost) refresh();
}

}  // namespace bckm
