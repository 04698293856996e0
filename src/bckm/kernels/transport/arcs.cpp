#include "transport/arcs.hpp"

#include <cmath>
#include <numeric>

#include "runtime/pool.hpp"

namespace bckm {
namespace {

constexpr std::int64_t fewest_moves = 32;  // that are listed at once,
constexpr std::int64_t share = 64;         // or one in so many
constexpr double dear = 1.0 / 128;  // cost of a point and a pair in a pass, in those of one alone

}  // namespace

Arcs::Arcs(const Points& points, const PricedCenters& priced, const std::int32_t* label,
           const float* slack, const Contenders* contenders, int threads)
    : k(priced.k), width(padded(k)), points(points), priced(priced), label(label), slack(slack),
      threads(threads), limit(k * width, infinity), near(k * width, infinity),
      move(k * width, infinity), top(k * width, none), list_of(k * k, none), present(k),
      is_explicit(points.n, 0), pair_bounds(points, priced, contenders), scratch(width) {
    if (pair_bounds.are_weak()) enough = dear * static_cast<double>(points.n * k);
}

void Arcs::add_first_points(std::int64_t budget) {
    reach = quantile(std::min(budget, points.n / 2));
    std::vector<std::int64_t> chosen = points_up_to(reach);
    const auto most = static_cast<std::size_t>(2 * budget);  // ties may make it many more
    if (chosen.size() > most) {
        float least = slack[chosen[most]];
        for (std::size_t i = most; i < chosen.size(); ++i)
            least = std::min(least, slack[chosen[i]]);
        reach = std::nextafter(least, -std::numeric_limits<float>::infinity());
        chosen.resize(most);
    }
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t b = 0; b < k; ++b)
            if (a != b) move[a * width + b] = limit[a * width + b] = far_move(a, b);
    std::stable_sort(chosen.begin(), chosen.end(),
                     [this](std::int64_t i, std::int64_t j) { return label[i] < label[j]; });
    struct Found {
        std::vector<Listed> moves;
        std::vector<std::size_t> end;  // of the moves of each point
    };
    std::vector<Found> of(k);
    std::vector<std::size_t> begin(k + 1, 0);
    for (const std::int64_t j : chosen) ++begin[label[j] + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    parallel(k, threads, [&](std::int64_t a, int) {
        constexpr std::size_t batch = 16;
        std::vector<double> cost(batch * width);
        for (std::size_t i = begin[a]; i < begin[a + 1];) {
            if (pair_bounds.knows(chosen[i])) {
                note_known_moves(chosen[i++], a, cost.data(), of[a].moves);
                of[a].end.push_back(of[a].moves.size());
                continue;
            }
            std::size_t count = 1;
            while (count < batch && i + count < begin[a + 1] &&
                   !pair_bounds.knows(chosen[i + count]))
                ++count;
            exact_costs(priced, points, chosen.data() + i, static_cast<std::int64_t>(count),
                        cost.data());
            for (std::size_t q = 0; q < count; ++q) {
                note_moves(cost.data() + q * width, a, of[a].moves);
                of[a].end.push_back(of[a].moves.size());
            }
            i += count;
        }
    });
    std::vector<std::size_t> count(k);
    for (std::int64_t a = 0; a < k; ++a) {
        std::fill(count.begin(), count.end(), 0);
        for (const Listed& one : of[a].moves) ++count[one.to];
        for (std::int64_t b = 0; b < k; ++b)
            if (count[b] > 0) list(a, b).reserve(count[b]);
        std::size_t next = 0;
        for (std::size_t i = begin[a]; i < begin[a + 1]; ++i) {
            const std::int32_t f = add_point(chosen[i]);
            for (; next < of[a].end[i - begin[a]]; ++next)
                insert(a, of[a].moves[next].to, {of[a].moves[next].cost, f});
        }
    }
}

void Arcs::refine(std::int64_t a, std::int64_t b, double horizon) {
    if (raise_limits(a, b, horizon)) return;
    if (effort > enough) look_at_all();
    else list_moves(a, b);
}

bool Arcs::raise_limits(std::int64_t a, std::int64_t b, double horizon) {
    if (limit[a * width + b] >= near[a * width + b]) return false;
    const double most = std::max(8.0 * horizon, 3.0 * reach);
    raise_reach(most > 0.0 ? most : infinity);
    return true;
}

double Arcs::exact_cost_of(std::int64_t a, std::int64_t b) const {
    if (sample(a, b) != none) return cost_of(a, b);
    const double dearer = priced.prices[b] - priced.prices[a];
    double least = infinity;
    for (const std::int32_t f : present[a])
        if (fragment[f].cluster == a) {
            const std::int64_t j = row_point[fragment[f].row];
            least = std::min(least, cost_in(j, b) - cost_in(j, a));
        }
    for (const std::int64_t j : members(a))
        if (!is_explicit[j] && slack[j] + dearer < least)
            least = std::min(least, cost_in(j, b) - cost_in(j, a));
    return std::max(least, cost_of(a, b));
}

void Arcs::transfer(std::int32_t f, std::int32_t to, std::int64_t units) {
    const std::int32_t row = fragment[f].row;
    fragment[f].units -= units;
    if (fragment[f].units == 0) withdraw(f);
    std::int32_t there = first_fragment[row];
    while (there != none && fragment[there].cluster != to) there = fragment[there].sibling;
    if (there != none) {
        fragment[there].units += units;
        return;
    }
    const std::int32_t arrived = add_fragment(row, to, units);
    find_moves(row_point[row], to);
    for (const Listed& one : found) insert(to, one.to, {one.cost, arrived});
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

std::vector<std::int64_t> Arcs::points_up_to(double most) const {
    constexpr std::int64_t chunk_size = 1 << 16;
    const std::int64_t chunks = (points.n + chunk_size - 1) / chunk_size;
    std::vector<std::vector<std::int64_t>> part(chunks);
    const auto up_to = static_cast<float>(most);
    parallel(chunks, threads, [&](std::int64_t chunk, int) {
        const std::int64_t from = chunk * chunk_size;
        const std::int64_t to = std::min(points.n, from + chunk_size);
        std::vector<std::int64_t> mine(to - from + 1);
        std::int64_t count = 0;
        for (std::int64_t j = from; j < to; ++j) {  // no branches: this runs over all points
            mine[count] = j;
            count += slack[j] <= up_to;
        }
        part[chunk].assign(mine.begin(), mine.begin() + count);
    });
    std::vector<std::int64_t> all;
    for (const auto& some : part) all.insert(all.end(), some.begin(), some.end());
    return all;
}

void Arcs::list_members() {
    if (!member_begin.empty()) return;
    member_begin.assign(k + 1, 0);
    for (std::int64_t j = 0; j < points.n; ++j) ++member_begin[label[j] + 1];
    std::partial_sum(member_begin.begin(), member_begin.end(), member_begin.begin());
    std::vector<std::int64_t> next(member_begin.begin(), member_begin.end() - 1);
    member.resize(points.n);
    for (std::int64_t j = 0; j < points.n; ++j)
        member[next[label[j]]++] = static_cast<std::uint32_t>(j);
    member_slack.resize(points.n);
    for (std::int64_t m = 0; m < points.n; ++m) member_slack[m] = slack[member[m]];
}

double Arcs::cost_in(std::int64_t j, std::int64_t a) const {
    // in the order of `exact_costs`: the same bits
    const double *x = points.row(j), *c = priced.centers + a * priced.dims;
    double sum = 0.0;
    for (std::int64_t t = 0; t < priced.dims; ++t) sum += (x[t] - c[t]) * (x[t] - c[t]);
    return points.weight(j) * sum;
}

void Arcs::raise_reach(double most) {
    list_members();
    const double before = reach;
    reach = most;
    ++raises;
    parallel(k, threads, [&](std::int64_t a, int) {
        std::vector<std::int64_t> fresh(member_begin[a + 1] - member_begin[a] + 1);
        std::int64_t count = 0;
        for (std::int64_t m = member_begin[a]; m < member_begin[a + 1]; ++m) {  // no branches
            fresh[count] = member[m];
            const int more = member_slack[m] > before, enough = member_slack[m] <= most;
            count += more & enough;
        }
        fresh.resize(count);
        fresh.erase(std::remove_if(fresh.begin(), fresh.end(),
                                   [this](std::int64_t j) { return is_explicit[j] != 0; }),
                    fresh.end());
        double *bounds = near.data() + a * width, *limits = limit.data() + a * width;
        pair_bounds.lower(a, fresh, bounds);
        for (std::int64_t b = 0; b < k; ++b) {
            if (b == a) continue;
            // no limit may decrease: the prices rely on them
            limits[b] = std::max(limits[b], std::min(bounds[b], far_move(a, b)));
            if (top[a * width + b] == none) move[a * width + b] = limits[b];
        }
    });
}

void Arcs::look_at_all() {
    list_members();
    enough = reach = infinity;
    ++raises;
    parallel(k, threads, [&](std::int64_t a, int) {
        std::vector<std::int64_t> here;
        for (const std::int64_t j : members(a))
            if (!is_explicit[j]) here.push_back(j);
        for (const std::int32_t f : present[a])
            if (fragment[f].cluster == a) here.push_back(row_point[fragment[f].row]);
        std::vector<double> bounds(width, infinity);
        pair_bounds.lower_by_pass(a, here, bounds.data());
        for (std::int64_t b = 0; b < k; ++b) {
            if (b == a) continue;
            double& most = limit[a * width + b];
            most = near[a * width + b] = std::max(most, bounds[b]);
            if (top[a * width + b] == none) move[a * width + b] = most;
        }
    });
}

void Arcs::list_moves(std::int64_t a, std::int64_t b) {
    list_members();
    effort += static_cast<double>(member_begin[a + 1] - member_begin[a] + present[a].size());
    struct Candidate {
        double bound;  // below the cost of the move
        std::int64_t point;
        std::int32_t fragment;
        bool operator<(const Candidate& other) const {
            return bound != other.bound ? bound < other.bound : point < other.point;
        }
    };
    const double before = limit[a * width + b], dearer = priced.prices[b] - priced.prices[a];
    const double cutoff = far_move(a, b) > before ? far_move(a, b) : infinity;
    std::vector<Candidate> some;
    const auto consider = [&](std::int64_t j) {
        if (is_explicit[j]) return;
        const double bound = bound_of(j, a, b);
        if (bound < cutoff) some.push_back({bound, j, none});
    };
    if (cutoff < infinity && pair_bounds.keeps()) {
        // a limit was raised: points with less slack than `reach` are explicit or were listed
        for (const std::int64_t j : pair_bounds.near(a, b, cutoff)) consider(j);
    } else {
        for (const std::int64_t j : members(a))
            if (slack[j] + dearer < cutoff) consider(j);
    }
    for (const std::int32_t f : present[a])
        if (fragment[f].cluster == a) {
            const double bound = bound_of(row_point[fragment[f].row], a, b);
            if (bound < cutoff) some.push_back({bound, row_point[fragment[f].row], f});
        }
    const auto size = static_cast<std::int64_t>(some.size());
    std::int64_t count = std::max(fewest_moves, size / share);
    double up_to = cutoff;
    for (; count < size; count *= 2) {
        std::nth_element(some.begin(), some.begin() + count, some.end());
        up_to = some[count].bound;
        if (up_to > before) break;  // else there are many that cost the same
        up_to = cutoff;
    }
    if (count < size) some.resize(count);
    std::sort(some.begin(), some.end());
    // all that cost less than the limit are listed anew
    limit[a * width + b] = near[a * width + b] = up_to;
    if (list_of[a * k + b] != none) listed[list_of[a * k + b]].clear();
    update(a, b);
    for (const Candidate& one : some) {
        const std::int32_t pair[] = {static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)};
        double cost[2];
        exact_costs_in(priced, points.row(one.point), points.weight(one.point), pair, 2, cost);
        const double change = cost[1] - cost[0];
        if (!(change < up_to)) continue;
        if (one.fragment == none && slack[one.point] > reach) {  // `near` does not know its moves
            find_moves(one.point, a);
            const std::int32_t f = add_point(one.point);
            for (const Listed& other : found) insert(a, other.to, {other.cost, f});
        } else {
            insert(a, b, {change, one.fragment == none ? add_point(one.point) : one.fragment});
        }
    }
}

double Arcs::move_bound(std::int64_t j, std::int64_t a, std::int64_t b) const {
    const double *ca = priced.centers + a * priced.dims, *cb = priced.centers + b * priced.dims;
    const double* x = points.row(j);
    // |x - cb|^2 - |x - ca|^2 = (cb - ca) ((cb - x) + (ca - x)); partial sums do not wait for each
    // other
    double sum[4] = {}, size[4] = {};
    std::int64_t t = 0;
    for (; t + 4 <= priced.dims; t += 4)
        for (int q = 0; q < 4; ++q) {
            const double term =
                (cb[t + q] - ca[t + q]) * ((cb[t + q] - x[t + q]) + (ca[t + q] - x[t + q]));
            sum[q] += term;
            size[q] += std::fabs(term);
        }
    for (; t < priced.dims; ++t) {
        const double term = (cb[t] - ca[t]) * ((cb[t] - x[t]) + (ca[t] - x[t]));
        sum[0] += term;
        size[0] += std::fabs(term);
    }
    const double all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    const double sizes = (size[0] + size[1]) + (size[2] + size[3]);
    return points.weight(j) * (all - 2.3e-16 * (static_cast<double>(priced.dims) + 4.0) * sizes);
}

std::int32_t Arcs::add_point(std::int64_t j) {
    const auto row = static_cast<std::int32_t>(rows());
    row_point.push_back(j);
    first_fragment.push_back(none);
    is_explicit[j] = 1;
    return add_fragment(row, label[j], points.units(j));
}

std::int32_t Arcs::add_fragment(std::int32_t row, std::int32_t cluster, std::int64_t units) {
    const auto f = static_cast<std::int32_t>(fragment.size());
    fragment.push_back({row, cluster, units, first_fragment[row]});
    first_fragment[row] = f;
    present[cluster].push_back(f);
    return f;
}

void Arcs::find_moves(std::int64_t j, std::int64_t a) {
    found.clear();
    if (pair_bounds.knows(j)) {
        note_known_moves(j, a, scratch.data(), found);
        return;
    }
    exact_costs(priced, points.row(j), points.weight(j), scratch.data());
    note_moves(scratch.data(), a, found);
}

void Arcs::note_moves(const double* cost, std::int64_t a, std::vector<Listed>& moves) {
    const double here = cost[a], *limits = limit.data() + a * width;
    double* bounds = near.data() + a * width;
    for (std::int64_t b = 0; b < k; ++b) {
        const double change = cost[b] - here;
        if (change >= limits[b]) bounds[b] = std::min(bounds[b], change);
        else if (b != a) moves.push_back({static_cast<std::int32_t>(b), change});
    }
}

void Arcs::note_known_moves(std::int64_t j, std::int64_t a, double* least,
                            std::vector<Listed>& moves) {
    const double* limits = limit.data() + a * width;
    double* bounds = near.data() + a * width;
    pair_bounds.moves(j, a, least);
    least[a] = infinity;
    std::vector<std::int32_t> some{static_cast<std::int32_t>(a)};
    for (std::int64_t b = 0; b < k; ++b) {
        if (least[b] < limits[b]) some.push_back(static_cast<std::int32_t>(b));
        else bounds[b] = std::min(bounds[b], least[b]);
    }
    const auto count = static_cast<int>(some.size());
    std::vector<double> cost(count);
    exact_costs_in(priced, points.row(j), points.weight(j), some.data(), count, cost.data());
    for (int q = 1; q < count; ++q) {
        const double change = cost[q] - cost[0];
        if (change < limits[some[q]]) moves.push_back({some[q], change});
        else bounds[some[q]] = std::min(bounds[some[q]], change);
    }
}

std::vector<Arcs::Move>& Arcs::list(std::int64_t a, std::int64_t b) {
    std::int32_t& which = list_of[a * k + b];
    if (which == none) {
        which = static_cast<std::int32_t>(listed.size());
        listed.emplace_back();
    }
    return listed[which];
}

void Arcs::insert(std::int64_t a, std::int64_t b, Move one) {
    std::vector<Move>& heap = list(a, b);
    heap.push_back(one);
    std::push_heap(heap.begin(), heap.end());
    if (one.cost < move[a * width + b])
        lowered.push_back({static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)});
    if (top[a * width + b] == none || one.cost < move[a * width + b]) {
        move[a * width + b] = one.cost;
        top[a * width + b] = one.fragment;
    }
}

void Arcs::withdraw(std::int32_t f) {
    const Fragment gone = fragment[f];
    std::int32_t* link = &first_fragment[gone.row];
    while (*link != f) link = &fragment[*link].sibling;
    *link = gone.sibling;
    fragment[f].cluster = none;
    for (std::int64_t b = 0; b < k; ++b)
        if (top[gone.cluster * width + b] == f) update(gone.cluster, b);
}

void Arcs::update(std::int64_t a, std::int64_t b) {
    move[a * width + b] = limit[a * width + b];
    top[a * width + b] = none;
    if (list_of[a * k + b] == none) return;
    std::vector<Move>& heap = listed[list_of[a * k + b]];
    while (!heap.empty() && fragment[heap.front().fragment].cluster != a) {
        std::pop_heap(heap.begin(), heap.end());
        heap.pop_back();
    }
    if (heap.empty()) return;
    move[a * width + b] = heap.front().cost;
    top[a * width + b] = heap.front().fragment;
}

}  // namespace bckm
