#include "transport/arcs.hpp"

#include <cmath>
#include <functional>
#include <numeric>

#include "runtime/pool.hpp"

namespace bckm {

Arcs::Arcs(const Points& points, const PricedCenters& priced, const std::int32_t* label,
           const float* slack, int threads)
    : k(priced.k), width(padded(k)), loops(row_loops()), points(points), priced(priced),
      label(label), slack(slack), threads(threads), move(k * width, infinity), top(k * width, none),
      member(k), state(points.n, implicit), near_points(k), near_move(k * width, infinity) {}

void Arcs::add_first_rows(std::int64_t budget) {
    far_slack = quantile(budget);
    extend_pool(quantile(16 * budget));
    std::vector<std::int64_t> chosen;
    const auto most = static_cast<std::size_t>(2 * budget);  // ties may make it many more
    for (const std::int64_t j : pool)
        if (slack[j] <= far_slack && chosen.size() < most) {
            chosen.push_back(j);
            state[j] = known;
        }
    for (const std::int64_t j : pool)
        if (state[j] == implicit) far_slack = std::min<double>(far_slack, slack[j]);
    add_rows(chosen);
    for (std::int64_t a = 0; a < k; ++a) rebuild(a);
}

void Arcs::refine(std::int64_t a, std::int64_t b, double horizon) {
    if (far_move(a, b) < near_move[a * width + b]) bound_more_points(horizon);
    else add_near_rows(a, b);
}

void Arcs::transfer(std::int32_t f, std::int32_t to, std::int64_t units) {
    const std::int32_t row = fragment[f].row;
    fragment[f].units -= units;
    if (fragment[f].units == 0) withdraw(f);
    std::int32_t there = first_fragment[row];
    while (there != none && fragment[there].cluster != to) there = fragment[there].sibling;
    if (there != none) fragment[there].units += units;
    else offer(add_fragment(row, to, units));
}

double Arcs::quantile(std::int64_t count) const {
    const std::int64_t skip = std::max<std::int64_t>(1, points.n / 20000);
    const std::int64_t rank = count / skip;
    if (rank >= (points.n + skip - 1) / skip) return infinity;
    std::vector<float> some;
    for (std::int64_t j = 0; j < points.n; j += skip) some.push_back(slack[j]);
    std::nth_element(some.begin(), some.begin() + rank, some.end());
    return some[rank];
}

void Arcs::extend_pool(double most) {
    constexpr std::int64_t chunk_size = 1 << 16;
    const std::int64_t chunks = (points.n + chunk_size - 1) / chunk_size;
    std::vector<std::vector<std::int64_t>> found(chunks);
    const auto above = static_cast<float>(pooled), up_to = static_cast<float>(most);
    parallel(chunks, threads, [&](std::int64_t chunk, int) {
        const std::int64_t from = chunk * chunk_size;
        const std::int64_t to = std::min(points.n, from + chunk_size);
        std::vector<std::int64_t> mine(to - from + 1);
        std::int64_t count = 0;
        for (std::int64_t j = from; j < to; ++j) {  // no branches: this runs over all points
            mine[count] = j;
            count += (slack[j] > above) & (slack[j] <= up_to);
        }
        found[chunk].assign(mine.begin(), mine.begin() + count);
    });
    for (const auto& part : found) pool.insert(pool.end(), part.begin(), part.end());
    pooled = up_to;
}

void Arcs::add_rows(const std::vector<std::int64_t>& chosen) {
    const auto count = static_cast<std::int64_t>(chosen.size()), from = rows();
    cost.resize((from + count) * width);
    row_point.insert(row_point.end(), chosen.begin(), chosen.end());
    first_fragment.resize(from + count, none);
    constexpr std::int64_t batch = 64;
    parallel((count + batch - 1) / batch, threads, [&](std::int64_t chunk, int) {
        const std::int64_t r = chunk * batch;
        exact_costs(priced, points, chosen.data() + r, std::min(batch, count - r),
                    cost.data() + (from + r) * width);
    });
    for (std::int64_t r = 0; r < count; ++r)
        add_fragment(static_cast<std::int32_t>(from + r), label[chosen[r]],
                     points.units(chosen[r]));
}

void Arcs::bound_more_points(double horizon) {
    double most = std::max(8.0 * horizon, 3.0 * far_slack);
    if (!(most > 0.0)) most = infinity;
    if (most > pooled) extend_pool(std::max(most, 4.0 * pooled));
    ByCluster fresh(k);
    std::vector<double> bounds(k * width, infinity);
    // no bound may decrease: the prices rely on the higher ones
    std::vector<double> before(k * width);
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t b = 0; b < k; ++b) before[a * width + b] = far_move(a, b);
    for (const std::int64_t j : pool)
        if (state[j] == implicit && slack[j] <= most) {
            fresh[label[j]].push_back(j);
            state[j] = near;
        }
    far_slack = most;
    lower_pair_bounds(points, priced, fresh, bounds.data(), threads);
    for (std::int64_t a = 0; a < k; ++a) {
        for (std::int64_t i = a * width; i < a * width + k; ++i)
            near_move[i] = std::min(near_move[i], std::max(bounds[i], before[i]));
        near_points[a].insert(near_points[a].end(), fresh[a].begin(), fresh[a].end());
        rebuild(a);
    }
}

void Arcs::add_near_rows(std::int64_t a, std::int64_t b) {
    std::vector<std::int64_t>& listed = near_points[a];
    const auto size = static_cast<std::int64_t>(listed.size());
    const std::int64_t count = std::min<std::int64_t>(size, 32);
    const std::vector<double> key = move_bounds(listed, a, b);
    std::vector<std::int64_t> order(size);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto less = [&key](std::int64_t p, std::int64_t q) {
        return key[p] != key[q] ? key[p] < key[q] : p < q;
    };
    double& rest = near_move[a * width + b];
    rest = infinity;
    if (count < size) {
        std::nth_element(order.begin(), order.begin() + count, order.end(), less);
        rest = key[order[count]];
    }
    order.resize(count);
    std::sort(order.begin(), order.end(), std::greater<>());  // so that places stay valid
    std::vector<std::int64_t> chosen;
    for (const std::int64_t place : order) {
        chosen.push_back(listed[place]);
        listed[place] = listed.back();
        listed.pop_back();
    }
    const std::size_t before = member[a].size();
    add_rows(chosen);
    for (std::size_t q = before; q < member[a].size(); ++q) offer(member[a][q]);
    recompute(a, b);
}

std::vector<double> Arcs::move_bounds(const std::vector<std::int64_t>& listed, std::int64_t a,
                                      std::int64_t b) const {
    const auto count = static_cast<std::int64_t>(listed.size());
    std::vector<double> key(count);
    constexpr std::int64_t batch = 1024;
    parallel((count + batch - 1) / batch, threads, [&](std::int64_t chunk, int) {
        const std::int64_t to = std::min(count, (chunk + 1) * batch);
        for (std::int64_t q = chunk * batch; q < to; ++q) key[q] = move_bound(listed[q], a, b);
    });
    return key;
}

double Arcs::move_bound(std::int64_t j, std::int64_t a, std::int64_t b) const {
    const double *ca = priced.centers + a * priced.dims, *cb = priced.centers + b * priced.dims;
    const double* x = points.row(j);
    // |x - cb|^2 - |x - ca|^2 = (cb - ca) ((cb - x) + (ca - x))
    double sum = 0.0, size = 0.0;
    for (std::int64_t t = 0; t < priced.dims; ++t) {
        const double term = (cb[t] - ca[t]) * ((cb[t] - x[t]) + (ca[t] - x[t]));
        sum += term;
        size += std::fabs(term);
    }
    const double rounding = 2.3e-16 * (static_cast<double>(priced.dims) + 4.0) * size;
    return points.weight(j) * (sum - rounding);
}

bool Arcs::raise_bounds(std::int64_t a, std::int64_t b, double horizon) {
    if (far_move(a, b) >= near_move[a * width + b]) return false;
    bound_more_points(horizon);
    return true;
}

void Arcs::list_unknown() {
    std::vector<char> has_row(points.n, 0);
    for (const std::int64_t j : row_point) has_row[j] = 1;
    unknown.assign(k, {});
    for (std::int64_t j = 0; j < points.n; ++j)
        if (!has_row[j]) unknown[label[j]].push_back({j, slack[j]});
}

double Arcs::exact_cost_of(std::int64_t a, std::int64_t b) const {
    const double dearer = priced.prices[b] - priced.prices[a];
    double least = infinity;
    for (const std::int32_t f : member[a]) least = std::min(least, costs(f)[b] - costs(f)[a]);
    for (const Unknown& one : unknown[a])
        if (one.slack + dearer < least) least = std::min(least, move_bound(one.point, a, b));
    return std::max(least, cost_of(a, b));
}

std::int32_t Arcs::add_fragment(std::int32_t row, std::int32_t cluster, std::int64_t units) {
    std::int32_t f;
    if (free_fragments.empty()) {
        f = static_cast<std::int32_t>(fragment.size());
        fragment.emplace_back();
    } else {
        f = free_fragments.back();
        free_fragments.pop_back();
    }
    fragment[f] = {row, cluster, units, static_cast<std::int32_t>(member[cluster].size()),
                   first_fragment[row]};
    first_fragment[row] = f;
    member[cluster].push_back(f);
    return f;
}

void Arcs::drop_fragment(std::int32_t f) {
    const Fragment gone = fragment[f];
    std::int32_t* link = &first_fragment[gone.row];
    while (*link != f) link = &fragment[*link].sibling;
    *link = gone.sibling;
    auto& list = member[gone.cluster];
    list[gone.place] = list.back();
    fragment[list.back()].place = gone.place;
    list.pop_back();
    free_fragments.push_back(f);
}

void Arcs::rebuild(std::int64_t a) {
    for (std::int64_t b = 0; b < k; ++b) {
        move[a * width + b] = b == a ? infinity : virtual_move(a, b);
        top[a * width + b] = none;
    }
    for (const std::int32_t f : member[a]) offer(f);
}

void Arcs::offer(std::int32_t f) {
    const std::int64_t a = fragment[f].cluster;
    double* m = move.data() + a * width;
    std::int64_t* t = top.data() + a * width;
    const double kept = m[a];
    loops.offer(costs(f), costs(f)[a], f, k, m, t);
    m[a] = kept;
    t[a] = none;
}

void Arcs::withdraw(std::int32_t f) {
    const std::int64_t a = fragment[f].cluster;
    drop_fragment(f);
    for (std::int64_t b = 0; b < k; ++b)
        if (top[a * width + b] == f) recompute(a, b);
}

void Arcs::recompute(std::int64_t a, std::int64_t b) {
    double least = virtual_move(a, b);
    std::int32_t best = none;
    for (const std::int32_t f : member[a]) {
        const double change = costs(f)[b] - costs(f)[a];
        if (change < least) {
            least = change;
            best = f;
        }
    }
    move[a * width + b] = least;
    top[a * width + b] = best;
}

}  // namespace bckm
