#include "moves/violation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A bound a little further inside, for the rounding of the values that are compared with it; not
// where that would leave nothing.
void narrow(double& lower, double& upper) {
    const double low = lower + 0x1p-49 * std::fabs(lower), up = upper - 0x1p-49 * std::fabs(upper);
    if (!(low <= up)) return;
    lower = low;
    upper = up;
}

}  // namespace

Violation::Violation(const Rules& rules, const Labels& label, const Weights& weights)
    : rules(rules), m(static_cast<std::int64_t>(label.size())), k(rules.k),
      sums(rules.loads.number + 1), label(label), weights_(weights), amount_(m * sums),
      nothing_(sums, 0.0), lower_(k * sums), upper_(k * sums), value_(k * sums), total_(k * sums),
      row_lower_(rules.row_lower, rules.row_lower + rules.rows),
      row_upper_(rules.row_upper, rules.row_upper + rules.rows), activity_(rules.rows),
      row_after_(rules.rows), now_(k), going_(rules.conflict_start ? m : 0, -1) {
    const std::int64_t r = rules.loads.number;
    for (std::int64_t i = 0; i < k; ++i) {
        std::copy_n(rules.loads.lower + i * r, r, lower_.begin() + i * sums);
        std::copy_n(rules.loads.upper + i * r, r, upper_.begin() + i * sums);
        for (std::int64_t q = 0; q < r; ++q) narrow(lower_[i * sums + q], upper_[i * sums + q]);
        lower_[i * sums + r] = static_cast<double>(rules.lower[i]);
        upper_[i * sums + r] = static_cast<double>(rules.upper[i]);
    }
    for (std::int64_t row = 0; row < rules.rows; ++row) narrow(row_lower_[row], row_upper_[row]);
    for (std::int64_t j = 0; j < m; ++j) {
        const std::int64_t a = label[j];
        std::copy_n(rules.loads.amount + j * r, r, amount_.begin() + j * sums);
        amount_[j * sums + r] = static_cast<double>(rules.count[j]);
        for (std::int64_t q = 0; q < sums; ++q) total_[a * sums + q].add(amount(j)[q]);
        std::int64_t first = -1;
        if (blockers(j, a, first) > 0) broken.push_back(j);
        if (rules.rows == 0) continue;
        for (auto e = rules.column_start[j * k + a]; e < rules.column_start[j * k + a + 1]; ++e)
            activity_[rules.column_row[e]].add(rules.column_value[e]);
    }
    for (std::int64_t i = 0; i < k; ++i) refresh(i);
}

double Violation::weighed(double below, double above, double short_by, double over_by) const {
    if (strict_) return infinity;
    return short_by > 0.0 ? below * short_by : above * over_by;
}

double Violation::row_beyond(std::int64_t r, double value) const {
    const double short_by = row_lower_[r] - value, over_by = value - row_upper_[r];
    if (short_by <= 0.0 && over_by <= 0.0) return 0.0;
    return weighed(weights_.row_below[r], weights_.row_above[r], short_by, over_by);
}

void Violation::refresh(std::int64_t i) {
    now_[i] = 0.0;
    for (std::int64_t q = 0; q < sums; ++q) {
        value_[i * sums + q] = total_[i * sums + q].value();
        now_[i] += beyond(i * sums + q, value_[i * sums + q]);
    }
}

void Violation::set_weights(const Weights& weights) {
    weights_ = weights;
    for (std::int64_t i = 0; i < k; ++i) refresh(i);
}

bool Violation::raise(double factor) {
    bool any = false;
    const auto raise_one = [&](double& below, double& above, double short_by, double over_by) {
        if (short_by > 0.0) below *= factor;
        if (over_by > 0.0) above *= factor;
        any |= short_by > 0.0 || over_by > 0.0;
    };
    for (std::int64_t at = 0; at < k * sums; ++at)
        raise_one(weights_.below[at], weights_.above[at], lower_[at] - value_[at],
                  value_[at] - upper_[at]);
    for (std::int64_t r = 0; r < rules.rows; ++r)
        raise_one(weights_.row_below[r], weights_.row_above[r],
                  row_lower_[r] - activity_[r].value(), activity_[r].value() - row_upper_[r]);
    bool together = false;
    std::int64_t first = -1;
    for (const std::int64_t j : broken) together |= blockers(j, label[j], first) > 0;
    if (together) weights_.conflict *= factor;
    for (std::int64_t i = 0; i < k; ++i) refresh(i);
    return any || together;
}

bool Violation::none() const {
    for (std::int64_t at = 0; at < k * sums; ++at)
        if (value_[at] < lower_[at] || value_[at] > upper_[at]) return false;
    for (std::int64_t r = 0; r < rules.rows; ++r) {
        const double value = activity_[r].value();
        if (value < row_lower_[r] || value > row_upper_[r]) return false;
    }
    std::int64_t first = -1;
    return std::none_of(broken.begin(), broken.end(),
                        [&](std::int64_t j) { return blockers(j, label[j], first) > 0; });
}

double Violation::rows() const {
    double total = 0.0;
    for (std::int64_t r = 0; r < rules.rows; ++r) total += row_beyond(r, activity_[r].value());
    return total;
}

double Violation::room(std::int64_t i, const double* price) const {
    double total = 0.0;
    for (std::int64_t q = 0; q < sums; ++q) {
        const std::int64_t at = i * sums + q;
        const double left = price[at] > 0.0 ? value_[at] - lower_[at] : upper_[at] - value_[at];
        if (price[at] != 0.0 && left > 0.0) total += std::fabs(price[at]) * left;
    }
    return total;
}

double Violation::row_room(const double* price) const {
    double total = 0.0;
    for (std::int64_t r = 0; r < rules.rows; ++r) {
        const double value = activity_[r].value();
        const double left = price[r] > 0.0 ? value - row_lower_[r] : row_upper_[r] - value;
        if (price[r] != 0.0 && left > 0.0) total += std::fabs(price[r]) * left;
    }
    return total;
}

std::int64_t Violation::blockers(std::int64_t j, std::int64_t i, std::int64_t& first) const {
    std::int64_t number = 0;
    if (!rules.conflict_start) return number;
    for (auto e = rules.conflict_start[j]; e < rules.conflict_start[j + 1]; ++e)
        if (label[rules.conflict_with[e]] == i && number++ == 0) first = rules.conflict_with[e];
    return number;
}

double Violation::rows_change(const Hop* hops, std::int64_t number) {
    if (rules.rows == 0) return 0.0;
    row_touched_.clear();
    // first the rows that hops touch, then what comes and goes
    for (const bool noted : {false, true})
        for (std::int64_t h = 0; h < number; ++h)
            for (const bool comes : {false, true}) {
                const std::int64_t column =
                    hops[h].item * k + (comes ? hops[h].to : label[hops[h].item]);
                for (auto e = rules.column_start[column]; e < rules.column_start[column + 1]; ++e) {
                    const std::int64_t r = rules.column_row[e];
                    if (noted) {
                        row_after_[r].add(comes ? rules.column_value[e] : -rules.column_value[e]);
                    } else {
                        row_touched_.push_back(r);
                        row_after_[r] = activity_[r];
                    }
                }
            }
    std::sort(row_touched_.begin(), row_touched_.end());
    row_touched_.erase(std::unique(row_touched_.begin(), row_touched_.end()), row_touched_.end());
    double total = 0.0;
    for (const std::int64_t r : row_touched_)
        total += row_beyond(r, row_after_[r].value()) - row_beyond(r, activity_[r].value());
    return total;
}

double Violation::conflicts_change(const Hop* hops, std::int64_t number) {
    if (!rules.conflict_start) return 0.0;
    for (std::int64_t h = 0; h < number; ++h) going_[hops[h].item] = hops[h].to;
    std::int64_t more = 0;
    for (std::int64_t h = 0; h < number; ++h) {
        const std::int64_t j = hops[h].item;
        for (auto e = rules.conflict_start[j]; e < rules.conflict_start[j + 1]; ++e) {
            const std::int64_t other = rules.conflict_with[e];
            if (going_[other] >= 0 && other < j) continue;  // both move: count the pair once
            more += (going_[other] < 0 ? label[other] : going_[other]) == hops[h].to;
            more -= label[other] == label[j];
        }
    }
    for (std::int64_t h = 0; h < number; ++h) going_[hops[h].item] = -1;
    if (strict_ && more > 0) return infinity;
    return weights_.conflict * static_cast<double>(more);
}

void Violation::apply(std::int64_t j, std::int64_t to) {
    const std::int64_t a = label[j];
    for (std::int64_t q = 0; q < sums; ++q) {
        total_[a * sums + q].add(-amount(j)[q]);
        total_[to * sums + q].add(amount(j)[q]);
    }
    if (rules.rows > 0) {
        const std::int64_t from = j * k + a, there = j * k + to;
        for (auto e = rules.column_start[from]; e < rules.column_start[from + 1]; ++e)
            activity_[rules.column_row[e]].add(-rules.column_value[e]);
        for (auto e = rules.column_start[there]; e < rules.column_start[there + 1]; ++e)
            activity_[rules.column_row[e]].add(rules.column_value[e]);
    }
    label[j] = static_cast<std::int32_t>(to);
    refresh(a);
    refresh(to);
    std::int64_t first = -1;
    if (blockers(j, to, first) > 0) broken.push_back(j);
}

}  // namespace bckm
