#include "blocks/row_paths.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace bckm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double ahead = 3.0;    // times the longest path: moves of such paths are asked for, too
constexpr double enough = 1e-3;  // of the room of the narrowest price, for each row
constexpr double tight = 1e-9;   // of the range of prices: less room is none
constexpr int rounds = 40, halvings = 40;  // in which room is looked for
constexpr std::int64_t sweeps = 6;  // in which prices go to the middle of what the others permit

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

// Arcs that are at most so long, prices included.
std::vector<RowPaths::Arc> RowPaths::short_arcs(double most) const {
    std::vector<Arc> arcs;
    const auto hub = static_cast<std::int32_t>(arcs_.k);
    const std::vector<double>& price = flow_.price;
    for (std::int32_t a = 0; a < hub; ++a) {
        const double* move = arcs_.from(a);
        for (std::int32_t b = 0; b < hub; ++b)
            if (move[b] + price[a] - price[b] <= most && move[b] < infinity)
                arcs.push_back({a, b, move[b], arcs_.sample(a, b) != ListedArcs::none});
        if (flow_.hub_flow[a] < flow_.hub_capacity[a] && price[a] - price[hub] <= most)
            arcs.push_back({a, hub, 0.0, false});
        if (flow_.hub_flow[a] > 0 && price[hub] - price[a] <= most)
            arcs.push_back({hub, a, 0.0, false});
    }
    return arcs;
}

// Lowers prices until each row has some room to where it would go; false if there is none.
bool RowPaths::leave_room(double room) {
    std::vector<double> there(flow_.price);
    // nothing falls by more than the room of all rows of a path
    const std::vector<Arc> arcs = short_arcs(room * static_cast<double>(arcs_.k + 2));
    for (int round = 0; round < rounds; ++round) {
        bool moved = false;
        for (const Arc& arc : arcs) {
            const double most = there[arc.from] + arc.length - (arc.is_row ? room : 0.0);
            if (there[arc.to] > most) there[arc.to] = most, moved = true;
        }
        if (!moved) {
            flow_.price = std::move(there);
            return true;
        }
    }
    return false;
}

bool RowPaths::center() {
    double room = infinity;
    center_prices(flow_.network(sweeps), flow_.price, &room);
    // the middle of two corners may lie on an edge: some room for each row, as much as there is
    const auto is_row = [](const Arc& arc) { return arc.is_row; };
    const std::vector<Arc> narrow =
        room < infinity ? short_arcs(enough * room) : std::vector<Arc>();
    if (std::any_of(narrow.begin(), narrow.end(), is_row)) {
        for (int halved = 0; halved < halvings && !leave_room(room); ++halved) room /= 2;
        even_prices(flow_.network(sweeps), flow_.price);
    }
    // where a limit leaves no room, more has to be known
    const auto [least, largest] =
        std::minmax_element(flow_.price.begin(), flow_.price.begin() + arcs_.k);
    for (const Arc& arc : short_arcs(tight * (*largest - *least)))
        if (arc.to < arcs_.k && arc.from < arcs_.k && !arc.is_row)
            arcs_.refine(arc.from, arc.to, 0.0);
    return !arcs_.is_asking();
}

std::vector<std::int64_t> RowPaths::sizes() const {
    std::vector<std::int64_t> out(arcs_.k);
    for (std::int64_t i = 0; i < arcs_.k; ++i)
        out[i] = lower_[i] + flow_.hub_flow[i] + flow_.surplus[i];
    return out;
}

}  // namespace bckm
