#include "moves/relaxed.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "moves/loads.hpp"

namespace bckm {
namespace {

// If a cluster keeps less than this share of its mass, its mean is computed anew.
constexpr double mass_lost = 1e-6;
// Whole numbers are within bounds that are this much wider, whatever rounding is allowed for.
constexpr double size_margin = 1e-3;
// Mean items between two bounds that are too narrow for any margin.
constexpr double narrow = 3.0;
// Mean items beyond a bound that its price follows, at most.
constexpr double most_over = 2.0;

double squared_norm(const double* x, std::int64_t dims) {
    double total = 0.0;
    for (std::int64_t t = 0; t < dims; ++t) total += x[t] * x[t];
    return total;
}

}  // namespace

RelaxedClustering::RelaxedClustering(const Points& points, const Rules& rules, const Soft& soft,
                                     const std::int32_t* first, const double* start, bool fixed,
                                     bool mixed)
    : points(points), rules(rules), m(points.n), k(rules.k), dims(points.dims), fixed(fixed),
      mixed(mixed), label(first, first + points.n), centers(start, start + k * dims), members(k),
      broken_clusters(k), clashing(rules.conflict_start ? m : 0), penalty(soft, m, k),
      sums(1 + rules.loads.number), amount(m * sums), zero(sums), sum(k * sums), lower(k * sums),
      upper(k * sums), room(sums), exact(k * sums), broken(k * sums), broken_in(k), broken_of(sums),
      broken_row(rules.rows), weight(k), total(mixed ? k * dims : 0), square(mixed ? k : 0),
      zeros(mixed ? dims : 0), with_mass(k), position(m), clash(rules.conflict_start ? m : 0),
      activity(rules.rows), fined(k), unit(kinds(), 1.0), row_unit(rules.rows, 1.0), fine(kinds()),
      row_after(rules.rows) {
    const std::int64_t r = rules.loads.number;
    for (std::int64_t j = 0; j < m; ++j) {
        amount[j * sums] = static_cast<double>(rules.count[j]);
        for (std::int64_t q = 0; q < r; ++q)
            amount[j * sums + 1 + q] = rules.loads.amount[j * r + q];
    }
    for (std::int64_t i = 0; i < k; ++i) {
        lower[i * sums] = static_cast<double>(rules.lower[i]) - size_margin;
        upper[i * sums] = static_cast<double>(rules.upper[i]) + size_margin;
        for (std::int64_t q = 0; q < r; ++q) {
            lower[i * sums + 1 + q] = rules.loads.lower[i * r + q];
            upper[i * sums + 1 + q] = rules.loads.upper[i * r + q];
        }
    }
    for (std::int64_t q = 0; q < sums; ++q) {
        double total = 0.0;
        std::int64_t number = 0;
        for (std::int64_t j = 0; j < m; ++j) {
            total += std::fabs(amount[j * sums + q]);
            number += amount[j * sums + q] != 0.0;
        }
        if (total > 0.0) unit[q] = total / static_cast<double>(number);
        room[q] = room_of(q);
    }
    set_margin(0.0);
    if (rules.rows == 0) return;
    std::vector<std::int64_t> number(rules.rows);
    std::fill(row_unit.begin(), row_unit.end(), 0.0);
    for (std::int64_t e = 0; e < rules.column_start[m * k]; ++e) {
        row_unit[rules.column_row[e]] += std::fabs(rules.column_value[e]);
        ++number[rules.column_row[e]];
    }
    for (std::int64_t row = 0; row < rules.rows; ++row)
        row_unit[row] =
            row_unit[row] > 0.0 ? row_unit[row] / static_cast<double>(number[row]) : 1.0;
}

double RelaxedClustering::refresh() {
    for (auto& list : members) list.clear();
    std::fill(weight.begin(), weight.end(), 0.0);
    std::fill(with_mass.begin(), with_mass.end(), 0);
    std::fill(exact.begin(), exact.end(), Compensated{});
    std::fill(activity.begin(), activity.end(), Compensated{});
    for (std::int64_t j = 0; j < m; ++j) {
        const std::int64_t a = label[j];
        position[j] = static_cast<std::int32_t>(members[a].size());
        members[a].push_back(static_cast<std::int32_t>(j));
        weight[a] += mass(j);
        with_mass[a] += mass(j) > 0.0;
        for (std::int64_t q = 0; q < sums; ++q) exact[a * sums + q].add(amount[j * sums + q]);
        update_rows(j, a, 1);
    }
    for (std::int64_t i = 0; i < k && mixed; ++i) sum_up(i);
    for (std::int64_t i = 0; i < k && !(fixed || mixed); ++i) recenter(i);
    broken_clusters.clear();
    clashing.clear();
    std::fill(broken.begin(), broken.end(), 0);
    std::fill(broken_in.begin(), broken_in.end(), 0);
    std::fill(broken_of.begin(), broken_of.end(), 0);
    std::fill(broken_row.begin(), broken_row.end(), 0);
    std::fill(clash.begin(), clash.end(), 0);
    broken_sums = broken_rows = clashes = 0;
    for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t q = 0; q < sums; ++q) note_sum(i, q);
    for (std::int64_t r = 0; r < rules.rows; ++r) note_row(r);
    double cost = (penalty.active ? penalty.refresh(label) : 0.0) + between_sum();
    for (std::int64_t j = 0; j < m; ++j) {
        if (!mixed) cost += mass(j) * distance(j, label[j]);
        if (!rules.conflict_start) continue;
        for (auto e = rules.conflict_start[j]; e < rules.conflict_start[j + 1]; ++e)
            clash[j] += label[rules.conflict_with[e]] == label[j];
        clashes += clash[j];
        clashing.set(j, clash[j] > 0);
    }
    clashes /= 2;
    update_fines();
    return cost;
}

// The mean of a cluster; one without mass keeps its center.
void RelaxedClustering::recenter(std::int64_t i) {
    if (with_mass[i] == 0) {
        weight[i] = 0.0;
        return;
    }
    double* c = centers.data() + i * dims;
    weight[i] = 0.0;
    std::fill(c, c + dims, 0.0);
    for (const std::int32_t j : members[i]) {
        const double w = mass(j);
        const double* x = points.row(j);
        weight[i] += w;
        for (std::int64_t t = 0; t < dims; ++t) c[t] += w * x[t];
    }
    for (std::int64_t t = 0; t < dims; ++t) c[t] /= weight[i];
}

// The sum of the points of a cluster, and its square.
void RelaxedClustering::sum_up(std::int64_t i) {
    double* s = total.data() + i * dims;
    std::fill(s, s + dims, 0.0);
    for (const std::int32_t j : members[i])
        for (std::int64_t t = 0; t < dims; ++t) s[t] += mass(j) * points.row(j)[t];
    square[i] = with_mass[i] == 0 ? 0.0 : squared_norm(s, dims) / weight[i];
}

bool RelaxedClustering::asked(std::int64_t kind) const {
    if (kind == sums) return rules.conflict_start != nullptr;
    if (kind > sums) return rules.rows > 0;
    const std::int64_t all = std::accumulate(rules.count, rules.count + m, std::int64_t{0});
    for (std::int64_t i = 0; i < k; ++i) {
        // sizes between none and all of the samples ask for nothing
        if (kind > 0 || rules.lower[i] > 0 || rules.upper[i] < all) return true;
    }
    return false;
}

bool RelaxedClustering::indifferent() const {
    if (!fixed || mixed || penalty.active) return false;
    for (std::int64_t i = 1; i < k; ++i)
        if (!std::equal(centers.begin(), centers.begin() + dims, centers.begin() + i * dims))
            return false;
    return true;
}

double RelaxedClustering::room_of(std::int64_t q) const {
    double total = 0.0, below = 0.0, above = 0.0, least = unit[q];
    for (std::int64_t j = 0; j < m; ++j) total += amount[j * sums + q];
    for (std::int64_t i = 0; i < k; ++i) {
        below += lower[i * sums + q];
        above += upper[i * sums + q];
        const double width = upper[i * sums + q] - lower[i * sums + q];
        least = std::min(least, width < narrow * unit[q] ? 0.0 : width / 4);
    }
    const auto clusters = static_cast<double>(k);
    return std::max(
        0.0, std::min({least, (total - below) / (2 * clusters), (above - total) / (2 * clusters)}));
}

void RelaxedClustering::set_margin(double share) {
    for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t q = 0; q < sums; ++q) {
            sum[i * sums + q].lower = lower[i * sums + q] + share * room[q];
            sum[i * sums + q].upper = upper[i * sums + q] - share * room[q];
        }
}

void RelaxedClustering::set_fine(std::int64_t kind, double value) {
    fine[kind] = value / unit[kind];
}

void RelaxedClustering::update_fines() {
    for (std::int64_t i = 0; i < k; ++i) {
        fined[i] = 0.0;
        for (std::int64_t q = 0; q < sums; ++q)
            fined[i] += fine[q] * sum[i * sums + q].beyond(sum[i * sums + q].held);
    }
}

void RelaxedClustering::adjust_prices(double step) {
    for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t q = 0; q < sums; ++q) {
            Sum& s = sum[i * sums + q];
            const double before = s.price;
            double over = 0.0;
            if (before > 0.0 || s.held > s.upper) over = s.held - s.upper;
            else if (before < 0.0 || s.held < s.lower) over = s.held - s.lower;
            s.price += step * std::clamp(over / unit[q], -most_over, most_over) / unit[q];
            if (before * s.price < 0.0) s.price = 0.0;
        }
}

std::int64_t RelaxedClustering::blockers(std::int64_t j, std::int64_t b,
                                         std::int64_t& first) const {
    std::int64_t number = 0;
    for (auto e = rules.conflict_start[j]; e < rules.conflict_start[j + 1]; ++e)
        if (label[rules.conflict_with[e]] == b && number++ == 0) first = rules.conflict_with[e];
    return number;
}

void RelaxedClustering::apply(const Relay& move) {
    for (int e = 0; e < move.n_exchanges; ++e) {
        if (mixed) update_total(move.exchanges[e]);
        else update_center(move.exchanges[e]);
    }
    for (int h = 0; h < move.n_hops; ++h) {
        const Hop& hop = move.hops[h];
        penalty.apply(&hop, 1, label);
        if (rules.conflict_start) update_clashes(hop);
        update_rows(hop.item, label[hop.item], -1);
        update_rows(hop.item, hop.to, 1);
        take(hop.item, hop.to);
    }
    for (int e = 0; e < move.n_exchanges; ++e) {
        const Exchange& exchange = move.exchanges[e];
        const std::int64_t i = exchange.cluster;
        fined[i] = 0.0;
        for (std::int64_t q = 0; q < sums; ++q) {
            if (exchange.out >= 0) exact[i * sums + q].add(-amount[exchange.out * sums + q]);
            if (exchange.in >= 0) exact[i * sums + q].add(amount[exchange.in * sums + q]);
            note_sum(i, q);
            fined[i] += fine[q] * sum[i * sums + q].beyond(sum[i * sums + q].held);
        }
        if (!(fixed || mixed) && weight[i] < 0.0) recenter(i);
    }
}

void RelaxedClustering::note_sum(std::int64_t i, std::int64_t q) {
    Sum& s = sum[i * sums + q];
    s.held = exact[i * sums + q].value();
    const char now = !within(exact[i * sums + q], lower[i * sums + q], upper[i * sums + q]);
    if (now == broken[i * sums + q]) return;
    const int sign = now ? 1 : -1;
    broken[i * sums + q] = now;
    broken_in[i] += sign;
    broken_of[q] += sign;
    broken_sums += sign;
    broken_clusters.set(i, broken_in[i] > 0);
}

// A negative weight says that the mean must be computed anew, once its members are known.
void RelaxedClustering::update_center(const Exchange& e) {
    const std::int64_t i = e.cluster;
    double* c = centers.data() + i * dims;
    const double before = weight[i];
    const double in = e.in < 0 ? 0.0 : mass(e.in), out = e.out < 0 ? 0.0 : mass(e.out);
    with_mass[i] += (in > 0.0) - (out > 0.0);
    if (with_mass[i] == 0) {
        weight[i] = 0.0;
        return;
    }
    const double after = before + in - out;
    weight[i] = after;
    if (fixed) return;
    if (!(after > mass_lost * before) || before == 0.0) {
        weight[i] = -1.0;
        return;
    }
    const double from_in = in / after, from_out = out / after;
    const double* x = e.in < 0 ? c : points.row(e.in);
    const double* y = e.out < 0 ? c : points.row(e.out);
    for (std::int64_t t = 0; t < dims; ++t)
        c[t] += from_in * (x[t] - c[t]) - from_out * (y[t] - c[t]);
}

void RelaxedClustering::update_total(const Exchange& e) {
    const std::int64_t i = e.cluster;
    double* s = total.data() + i * dims;
    const double in = e.in < 0 ? 0.0 : mass(e.in), out = e.out < 0 ? 0.0 : mass(e.out);
    const double* x = e.in < 0 ? zeros.data() : points.row(e.in);
    const double* y = e.out < 0 ? zeros.data() : points.row(e.out);
    for (std::int64_t t = 0; t < dims; ++t) s[t] += in * x[t] - out * y[t];
    weight[i] += in - out;
    with_mass[i] += (in > 0.0) - (out > 0.0);
    square[i] = with_mass[i] == 0 ? 0.0 : squared_norm(s, dims) / weight[i];
}

void RelaxedClustering::update_clashes(const Hop& hop) {
    const std::int64_t j = hop.item, a = label[j];
    std::int32_t mine = 0;
    for (auto e = rules.conflict_start[j]; e < rules.conflict_start[j + 1]; ++e) {
        const std::int64_t other = rules.conflict_with[e];
        const int change = (label[other] == hop.to) - (label[other] == a);
        mine += label[other] == hop.to;
        if (change == 0) continue;
        clash[other] += change;
        clashing.set(other, clash[other] > 0);
    }
    clashes += mine - clash[j];
    clash[j] = mine;
    clashing.set(j, mine > 0);
}

void RelaxedClustering::update_rows(std::int64_t j, std::int64_t i, int sign) {
    if (rules.rows == 0) return;
    for (auto e = rules.column_start[j * k + i]; e < rules.column_start[j * k + i + 1]; ++e) {
        activity[rules.column_row[e]].add(sign * rules.column_value[e]);
        note_row(rules.column_row[e]);
    }
}

void RelaxedClustering::note_row(std::int64_t r) {
    const char now = !within(activity[r], rules.row_lower[r], rules.row_upper[r]);
    broken_rows += now - broken_row[r];
    broken_row[r] = now;
}

void RelaxedClustering::take(std::int64_t j, std::int64_t b) {
    std::vector<std::int32_t>& from = members[label[j]];
    from[position[j]] = from.back();
    position[from.back()] = position[j];
    from.pop_back();
    position[j] = static_cast<std::int32_t>(members[b].size());
    members[b].push_back(static_cast<std::int32_t>(j));
    label[j] = static_cast<std::int32_t>(b);
}

}  // namespace bckm
