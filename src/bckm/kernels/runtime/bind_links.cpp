// What concerns links for Python: checks arguments and calls the kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "links/clique_cover.hpp"
#include "links/linked.hpp"
#include "links/placement.hpp"
#include "links/recolor.hpp"
#include "runtime/arrays.hpp"
#include "runtime/bind.hpp"
#include "runtime/gil.hpp"
#include "runtime/pool.hpp"
#include "runtime/stop_check.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bckm::views;

namespace {

using Counts = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Marks = nb::ndarray<nb::numpy, bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// What both ways of placing share: arguments are checked, and the kernel is called.
class PlacingCall {
public:
    PlacingCall(const Indices<std::int32_t>& conflict_start,
                const Indices<std::int32_t>& conflict_with, const Integers& count,
                const Integers& lower, const Integers& upper, std::int64_t samples,
                const Integers& order, const Counts& label, const Counts& sizes)
        : asked{static_cast<std::int64_t>(count.shape(0)),
                static_cast<std::int64_t>(lower.shape(0)),
                samples,
                conflict_start.data(),
                conflict_with.data(),
                count.data(),
                lower.data(),
                upper.data(),
                nullptr},
          placed{label.data(), sizes.data(), nullptr, 0}, order(order.data()),
          number(static_cast<std::int64_t>(order.shape(0))) {
        const std::int64_t m = asked.items;
        require(asked.k > 0 && upper.shape(0) == lower.shape(0) && sizes.shape(0) == lower.shape(0),
                "bounds and size of each cluster");
        require(static_cast<std::int64_t>(label.shape(0)) == m, "a label of each item");
        check_lists(conflict_start, conflict_with, m, m, "conflicts");
        std::vector<bool> listed(m);
        for (std::int64_t q = 0; q < number; ++q) {
            const std::int64_t item = order.data()[q];
            require(0 <= item && item < m && !listed[item], "each item is placed once");
            listed[item] = true;
        }
        for (std::int64_t j = 0; j < m; ++j) {
            require(label.data()[j] < asked.k, "labels are clusters");
            if (label.data()[j] < 0) placed.remaining += count.data()[j];
            require(label.data()[j] < 0 || !listed[j], "items to place have no label");
            require(listed[j] || conflict_start.data()[j] == conflict_start.data()[j + 1],
                    "all items in conflict are placed");
        }
    }

    template <class Kernel> bool run(const Kernel& kernel, double seconds) {
        const bckm::WithoutGil release;
        const std::function<bool()> stop = bckm::StopCheck(seconds);
        return kernel(asked, order, number, placed, stop);
    }

    bckm::Placing asked;
    bckm::Placed placed;

private:
    const std::int64_t* order;
    std::int64_t number;
};

bool place_in_order(Indices<std::int32_t> conflict_start, Indices<std::int32_t> conflict_with,
                    Integers count, Integers lower, Integers upper, Integers order, Counts label,
                    Counts sizes, double seconds) {
    return PlacingCall(conflict_start, conflict_with, count, lower, upper, 0, order, label, sizes)
        .run(bckm::place_in_order, seconds);
}

bool place_conflicting(Indices<std::int32_t> conflict_start, Indices<std::int32_t> conflict_with,
                       Integers count, Integers lower, Integers upper, std::int64_t samples,
                       std::optional<Matrix> cost, Integers order, Counts label, Counts sizes,
                       Marks blocked, double seconds) {
    PlacingCall call(conflict_start, conflict_with, count, lower, upper, samples, order, label,
                     sizes);
    require(blocked.shape(0) == count.shape(0) && blocked.shape(1) == lower.shape(0),
            "whether each cluster is blocked for each item");
    require(!cost || (cost->shape(0) == blocked.shape(0) && cost->shape(1) == blocked.shape(1)),
            "one cost per item and cluster");
    call.placed.blocked = blocked.data();
    call.asked.cost = cost ? cost->data() : nullptr;
    return call.run(bckm::place_conflicting, seconds);
}

bckm::RecolorResult recolor(Indices<std::int32_t> conflict_start,
                            Indices<std::int32_t> conflict_with, Marks closed, Labels label,
                            double effort, std::uint64_t seed, double seconds) {
    const auto m = static_cast<std::int64_t>(label.shape(0));
    const auto k = static_cast<std::int64_t>(closed.shape(1));
    require(static_cast<std::int64_t>(closed.shape(0)) == m && k > 0,
            "whether an item may not go to a cluster");
    for (std::int64_t j = 0; j < m; ++j)
        require(0 <= label.data()[j] && label.data()[j] < k, "labels must be clusters");
    check_lists(conflict_start, conflict_with, m, m, "conflicts");
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(seconds);
    return bckm::recolor({m, k, conflict_start.data(), conflict_with.data(), closed.data()},
                         label.data(), effort, seed, stop);
}

using Pairs =
    nb::ndarray<nb::numpy, const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

void check_pairs(const Pairs& pairs, std::int64_t nodes) {
    for (std::size_t e = 0; e < pairs.size(); ++e)
        require(0 <= pairs.data()[e] && pairs.data()[e] < nodes, "pairs must be of items");
    for (std::size_t e = 0; e < pairs.shape(0); ++e)
        require(pairs.data()[2 * e] != pairs.data()[2 * e + 1], "pairs must be of two items");
}

bckm::LinkedLabels solve_linked(const bckm::Linked& linked, Out cost, int threads,
                                std::int64_t search_nodes) {
    check_threads(threads);
    require(static_cast<std::int64_t>(cost.shape(0)) == linked.nodes() && cost.shape(1) > 0,
            "costs of each item");
    const bckm::WithoutGil release;
    const std::function<bool()> stop = bckm::StopCheck(std::numeric_limits<double>::infinity());
    const bckm::StopScope scope(stop);
    return linked.solve(cost.data(), static_cast<std::int64_t>(cost.shape(1)), search_nodes,
                        threads);
}

bckm::CliqueCover clique_cover(std::int64_t nodes, Pairs edges, Integers set_start,
                               Integers set_member, double effort) {
    require(nodes >= 0 && set_start.shape(0) > 0, "sets need a start");
    check_pairs(edges, nodes);
    const auto number = static_cast<std::int64_t>(edges.shape(0));
    const std::int64_t* pair = edges.data();
    for (std::int64_t e = 0; e < number; ++e) {
        require(pair[2 * e] < pair[2 * e + 1], "pairs must have the smaller item first");
        require(e == 0 || pair[2 * e - 2] < pair[2 * e] ||
                    (pair[2 * e - 2] == pair[2 * e] && pair[2 * e - 1] < pair[2 * e + 1]),
                "pairs must be sorted, each once");
    }
    const auto count = static_cast<std::int64_t>(set_start.shape(0)) - 1;
    check_lists(set_start, set_member, count, nodes, "sets of items");
    std::vector<std::vector<std::int64_t>> sets(count);
    for (std::int64_t s = 0; s < count; ++s)
        sets[s].assign(set_member.data() + set_start.data()[s],
                       set_member.data() + set_start.data()[s + 1]);
    const bckm::WithoutGil release;
    return bckm::clique_cover(nodes, pair, number, sets, effort);
}

void add_all(nb::module_& module) {
    module.def("place_in_order", place_in_order, "conflict_start"_a, "conflict_with"_a, "count"_a,
               "lower"_a, "upper"_a, "order"_a, "label"_a, "sizes"_a, "seconds"_a);
    module.def("place_conflicting", place_conflicting, "conflict_start"_a, "conflict_with"_a,
               "count"_a, "lower"_a, "upper"_a, "samples"_a, "cost"_a.none(), "order"_a,
               "label"_a.noconvert(), "sizes"_a.noconvert(), "blocked"_a.noconvert(), "seconds"_a);
    using bckm::RecolorResult;
    nb::class_<RecolorResult>(module, "RecolorResult")
        .def_ro("left", &RecolorResult::left)
        .def_ro("moves", &RecolorResult::moves)
        .def_ro("work", &RecolorResult::work)
        .def_ro("stopped", &RecolorResult::stopped);
    module.def("recolor", recolor, "conflict_start"_a, "conflict_with"_a, "closed"_a,
               "label"_a.noconvert(), "effort"_a, "seed"_a, "seconds"_a);
    using bckm::CliqueCover;
    nb::class_<CliqueCover>(module, "CliqueCover")
        .def_prop_ro("start", column(&CliqueCover::start))
        .def_prop_ro("member", column(&CliqueCover::member));
    module.def("clique_cover", clique_cover, "nodes"_a, "edges"_a, "set_start"_a, "set_member"_a,
               "effort"_a);
    using bckm::Linked;
    using bckm::LinkedLabels;
    nb::class_<LinkedLabels>(module, "LinkedLabels")
        .def_prop_ro("label", column(&LinkedLabels::label))
        .def_ro("bound", &LinkedLabels::bound)
        .def_ro("obeys", &LinkedLabels::obeys)
        .def_ro("work", &LinkedLabels::work);
    nb::class_<Linked>(module, "Linked")
        .def(
            "__init__",
            [](Linked* self, std::int64_t nodes, Pairs pairs, Vector tie) {
                require(nodes >= 0 && pairs.shape(0) == tie.shape(0), "one tie per pair");
                check_pairs(pairs, nodes);
                for (std::size_t e = 0; e < tie.shape(0); ++e)
                    require(!std::isnan(tie.data()[e]) && tie.data()[e] != 0.0 &&
                                tie.data()[e] < std::numeric_limits<double>::infinity(),
                            "ties must not be zero, nor infinite where they hold together");
                new (self) Linked(nodes, pairs.data(), tie.data(),
                                  static_cast<std::int64_t>(tie.shape(0)));
            },
            "nodes"_a, "pairs"_a, "tie"_a)
        .def_prop_ro("complete", &Linked::complete)
        .def("solve", solve_linked, "cost"_a.noconvert(), "threads"_a, "search_nodes"_a = 400);
}

}  // namespace

void bckm::add_links(nb::module_& module) { add_all(module); }
