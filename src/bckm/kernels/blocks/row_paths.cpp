#include "blocks/row_paths.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double ahead = 20.0;   // times the longest path: moves of such paths are asked for, too
constexpr double enough = 1e-3;  // of the room of the narrowest price, for each row
constexpr double tight = 1e-9;   // of the range of prices: less room is none
constexpr int halvings = 40;     // in which room is looked for
constexpr std::int64_t sweeps = 6;  // in which prices go to the middle of what others permit
constexpr std::int64_t many = 256;  // clusters, among which only short arcs are looked at
constexpr std::int64_t neighbors = 16, some = 20000;  // of a cluster; pairs that are looked at

bool never() { return false; }

}  // namespace

RowPaths::RowPaths(const PricedCenters& priced, const Sizes& sizes, ListedArcs& arcs)
    : arcs_(arcs), flow_(arcs, priced), lower_(sizes.lower) {
    flow_.start_flow(sizes.units.data(), sizes.lower.data(), sizes.upper.data());
}

void RowPaths::ask_ahead() {
    const std::vector<double>& price = flow_.price;
    for (std::int64_t a = 0; a < arcs_.k; ++a) {
        const double distance = flow_.tree.distance[a], horizon = flow_.tree.horizon;
        if (!(distance <= horizon)) continue;
        const double near = ahead * horizon - distance - price[a];
        for (std::int64_t b = 0; b < arcs_.k; ++b)
            if (arcs_.is_virtual(a, b) && arcs_.cost_of(a, b) - price[b] <= near)
                arcs_.refine(a, b, horizon);
    }
}

RowPaths::State RowPaths::run(std::int64_t searches) {
    for (std::int64_t s = 0; s < searches; ++s) {
        if (flow_.wrong() == 0) return State::settled;
        if (!flow_.search()) return State::stuck;
        flow_.raise_prices();
        const std::int64_t before = found_.paths;
        flow_.augment(found_, never);
        if (found_.paths == before && arcs_.is_asking()) {
            ask_ahead();
            return State::asking;
        }
        arcs_.ask_no_more();  // asked for again where it is still needed
    }
    return flow_.wrong() == 0 ? State::settled : State::working;
}

double RowPaths::some_length() const {
    if (arcs_.k < many) return infinity;
    const std::vector<double>& price = flow_.price;
    const std::int64_t pairs = arcs_.k * arcs_.k,
                       skip = std::max<std::int64_t>(1, pairs / some) | 1;
    std::vector<double> length;
    for (std::int64_t pair = 0; pair < pairs; pair += skip) {
        const std::int64_t a = pair / arcs_.k, b = pair % arcs_.k;
        if (a != b) length.push_back(arcs_.cost_of(a, b) + price[a] - price[b]);
    }
    const auto rank = static_cast<std::ptrdiff_t>(length.size()) * neighbors / arcs_.k;
    std::nth_element(length.begin(), length.begin() + rank, length.end());
    return length[rank] > 0.0 ? length[rank] : infinity;
}

NearArcs RowPaths::short_arcs(double most) const {
    std::vector<NearArcs::Arc> near;
    const auto hub = static_cast<std::int32_t>(arcs_.k);
    const std::vector<double>& price = flow_.price;
    for (std::int32_t a = 0; a < hub; ++a) {
        const double *move = arcs_.from(a), here = price[a];
        for (std::int32_t b = 0; b < hub; ++b)
            if (move[b] + here - price[b] <= most && move[b] < infinity)
                near.push_back({a, b, move[b], arcs_.sample(a, b) != ListedArcs::none, true});
        if (flow_.hub_flow[a] < flow_.hub_capacity[a] && here - price[hub] <= most)
            near.push_back({a, hub, 0.0, false, false});
        if (flow_.hub_flow[a] > 0 && price[hub] - here <= most)
            near.push_back({hub, a, 0.0, false, false});
    }
    return {arcs_.k + 1, std::move(near), most};
}

double RowPaths::range() const {
    const auto [least, largest] =
        std::minmax_element(flow_.price.begin(), flow_.price.begin() + arcs_.k);
    return *largest - *least;
}

double RowPaths::room_of_pairs(const NearArcs& near) const {
    const double fixed = tight * range();
    double narrowest = infinity;
    for (const NearArcs::Arc& arc : near.all()) {
        if (!arc.needs_room) continue;
        const double both = arc.cost + arcs_.cost_of(arc.to, arc.from);
        if (both > fixed) narrowest = std::min(narrowest, both);
    }
    return narrowest / 4;
}

// Some room for each row, as much as there is, and more where there is more.
void RowPaths::spread(const NearArcs& near, double room) {
    std::vector<double>& price = flow_.price;
    const auto is_narrow = [&](const NearArcs::Arc& arc) {
        return arc.is_row && NearArcs::length(arc, price) <= enough * room;
    };
    if (!(room < infinity) || std::none_of(near.all().begin(), near.all().end(), is_narrow)) return;
    for (int halved = 0; halved < halvings && !near.leave_room(room, price); ++halved) room /= 2;
    near.even(sweeps, arcs_.k, price);
}

void RowPaths::ask_for_room(const NearArcs& near) {
    const double least = tight * range();
    for (const NearArcs::Arc& arc : near.all())
        if (arc.needs_room && !arc.is_row && NearArcs::length(arc, flow_.price) <= least)
            arcs_.refine(arc.from, arc.to, 0.0);
}

bool RowPaths::center() {
    double room = infinity;
    if (arcs_.k < many) center_prices(flow_.network(sweeps), flow_.price, &room);
    const NearArcs near = short_arcs(some_length());
    spread(near, std::min(room, room_of_pairs(near)));
    ask_for_room(near);
    return !arcs_.is_asking();
}

std::vector<std::int64_t> RowPaths::sizes() const {
    std::vector<std::int64_t> out(arcs_.k);
    for (std::int64_t i = 0; i < arcs_.k; ++i)
        out[i] = lower_[i] + flow_.hub_flow[i] + flow_.surplus[i];
    return out;
}

}  // namespace bckm
