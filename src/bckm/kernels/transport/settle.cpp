#include "transport/settle.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "runtime/pool.hpp"
#include "transport/arcs.hpp"
#include "transport/dense_arcs.hpp"
#include "transport/path_flow.hpp"

namespace bckm {
namespace {

constexpr std::int32_t none = Arcs::none;
constexpr std::int64_t careful = 10, brief = 2;  // rounds of moving prices to the middle, at most

// Labels of explicit points, and which of their samples are elsewhere.
void tell_labels(const Arcs& arcs, std::int32_t* label, SettleResult& out) {
    const std::vector<Fragment>& fragment = arcs.fragment;
    std::vector<std::int32_t> parts;
    for (std::int64_t r = 0; r < arcs.rows(); ++r) {
        const std::int64_t point = arcs.row_point[r];
        parts.clear();
        for (std::int32_t f = arcs.first_fragment[r]; f != none; f = fragment[f].sibling)
            parts.push_back(f);
        // by cluster, not as paths came: halves of a point are as large as each other
        std::sort(parts.begin(), parts.end(), [&fragment](std::int32_t f, std::int32_t g) {
            return fragment[f].cluster < fragment[g].cluster;
        });
        std::int32_t largest = parts.front();
        for (const std::int32_t f : parts)
            if (fragment[f].units > fragment[largest].units) largest = f;
        label[point] = fragment[largest].cluster;
        for (const std::int32_t f : parts)
            if (f != largest) {
                out.split_point.push_back(point);
                out.split_cluster.push_back(fragment[f].cluster);
                out.split_units.push_back(fragment[f].units);
            }
    }
}

}  // namespace

SettleResult settle(const Points& points, const PricedCenters& priced, std::int32_t* label,
                    const float* slack, const std::int64_t* units, const std::int64_t* lower,
                    const std::int64_t* upper, std::int64_t budget, bool exact_prices, int threads,
                    const std::function<bool()>& stop, const Contenders* contenders,
                    std::int64_t most_rounds) {
    SettleResult out;
    Arcs arcs(points, priced, label, slack, contenders, threads);
    PathFlow<Arcs> network(arcs, priced);
    try {
        if (network.start_flow(units, lower, upper) > 0 || exact_prices) {
            arcs.add_first_points(budget);
            network.find_paths(out, most_rounds, stop);
            if (!out.stopped) network.center(exact_prices, careful, stop);
            if (!out.stopped) out.least_moves = network.least_moves(network.prices());
        }
    } catch (const Stopped&) {
        out.stopped = true;
    }
    out.prices = network.prices();
    out.rows = arcs.rows();
    if (!out.stopped) tell_labels(arcs, label, out);
    return out;
}

SettleResult settle_few(const Points& points, const PricedCenters& priced, std::int32_t* label,
                        float* slack, const CostTable& table, const std::int64_t* lower,
                        const std::int64_t* upper, int threads, const std::function<bool()>& stop) {
    SettleResult out;
    out.rows = points.n;
    try {
        DenseArcs arcs(points, priced, label, table, threads);
        PathFlow<DenseArcs> network(arcs, priced);
        const auto start_flow = [&] {
            return network.start_flow(arcs.units().data(), lower, upper);
        };
        const std::int64_t wrong = start_flow();
        const std::vector<double> before = network.price;
        const bool priced_at_all =
            std::any_of(before.begin(), before.end(), [](double one) { return one != 0.0; });
        if (priced_at_all && wrong > points.n / 8) {  // after large moves often worse than none
            std::fill(network.price.begin(), network.price.end(), 0.0);
            arcs.choose(network.price);
            if (start_flow() > wrong) {
                network.price = before;
                arcs.choose(network.price);
                start_flow();
            }
        }
        network.find_paths(out, std::numeric_limits<std::int64_t>::max(), stop);
        if (!out.stopped) network.center(true, slack ? careful : brief, stop);
        out.prices = network.prices();
        if (!out.stopped && slack) out.regret = arcs.prove(out.prices, slack);
    } catch (const Stopped&) {
        out.stopped = true;
    }
    return out;
}

}  // namespace bckm
