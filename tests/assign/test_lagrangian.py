"""The Lagrangian engine and its parts: trees of links, prices of resources, mending."""

from itertools import product

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm.assign import choose
from bckm.assign._dual_lp import Prices, Resources, trust_region_step
from bckm.assign._link_trees import Forest
from bckm.assign._mend_numpy import mend
from bckm.assign._spanning_forest import SpanningForest
from bckm.assign.exact import Exact
from bckm.assign.lagrangian import Lagrangian
from bckm.feasibility import feasible_start
from bckm.fit.seeding import spread
from bckm.kernels import missing
from bckm.problem.problem import Problem


def pairs(rng, n, number):
    return [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(number)]


def loaded(seed, n=400, k=8, links=20, tight=0.05, **rules):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 4 * rng.normal(size=(k, 3))[rng.integers(k, size=n)]
    amounts = rng.integers(1, 20, n).astype(float)
    mean = amounts.sum() / k
    asked = bckm.Constraints(
        must_link=pairs(rng, n, links),
        cannot_link=pairs(rng, n, links),
        capacities={"load": bckm.Capacity(amounts, mean * (1 - tight), mean * (1 + tight))},
        size_min=0,
        **rules,
    )
    return X, k, asked


def tied_cost(problem, cost, labels):
    edges = problem.structure.edges
    if (labels[edges[:, 0]] == labels[edges[:, 1]]).any():
        return np.inf
    return cost[np.arange(labels.size), labels].sum() + problem.soft.coupled(labels)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(60))
def test_a_forest_finds_the_best_labels_of_links(seed):
    rng = np.random.default_rng(seed)
    n, k = 6, int(rng.integers(2, 4))
    together, apart = pairs(rng, n, rng.integers(1, 4)), pairs(rng, n, rng.integers(1, 4))
    asked = bckm.Constraints(cannot_link=pairs(rng, n, rng.integers(1, 3)), size_min=0)
    asked &= bckm.Constraints(must_link=together).soft(price=rng.random(len(together)))
    asked &= bckm.Constraints(cannot_link=apart).soft(price=rng.random(len(apart)))
    problem = Problem.build(rng.normal(size=(n, 2)), k, asked)
    cost = problem.cost(rng.normal(size=(k, 2)))
    forest = Forest(problem.structure, problem.soft)
    tied = forest.solve(cost[forest.items])
    labels = cost.argmin(axis=1)
    labels[forest.items] = tied.labels
    alone = np.setdiff1d(np.arange(n), forest.items)
    found = tied.cost + cost[alone].min(axis=1).sum()
    best = min(tied_cost(problem, cost, np.array(y)) for y in product(range(k), repeat=n))
    assert found <= best + 1e-8  # what is soft is rounded
    if forest.complete and np.isfinite(best):
        assert tied_cost(problem, cost, labels) == pytest.approx(best)
        assert tied.obeys


def test_a_forest_leaves_out_the_cheapest_link_of_a_cycle():
    asked = bckm.Constraints(cannot_link=[(0, 1)])
    asked &= bckm.Constraints(must_link=[(1, 2), (2, 0)]).soft(price=[3.0, 1.0])
    problem = Problem.build([[0.0], [0.1], [0.2]], 2, asked)
    ends, tie = np.array([[0, 1], [1, 2], [0, 2]]), np.array([-np.inf, 3.0, 1.0])
    assert not SpanningForest(3, ends, tie).complete
    forest = Forest(problem.structure, problem.soft)
    labels = forest.solve(np.zeros((3, 2))).labels
    where = {int(p): int(labels[i]) for i, p in enumerate(forest.items)}
    item = problem.structure.item
    assert where[item[1]] == where[item[2]] != where[item[0]]


@pytest.mark.parametrize("seed", range(4))
def test_any_prices_give_a_bound_and_steps_in_a_box_raise_it(seed):
    X, k, asked = loaded(seed, n=60, k=4, links=3)
    problem = Problem.build(X, k, asked)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = spread(problem, np.random.default_rng(seed), Deadline()).centers
    cost = problem.cost(centers)
    best = Exact().prepare(problem).from_cost(cost, start, Deadline()).cost
    resources = Resources.of(problem)
    rng = np.random.default_rng(seed)
    prices, last = resources.none(), -np.inf
    for radius in (0.05, 0.1, 0.2, 0.4, 0.8):
        wild = Prices(prices.resources + rng.normal(size=prices.resources.shape), prices.rows)
        for tried in (resources.clipped(wild), prices):
            priced = cost - resources.refunds(tried)
            value = priced.min(axis=1).sum() + resources.constant(tried)
            assert value <= best * (1 + 1e-9)
        assert value >= last - 1e-9 * abs(last)
        last = value
        step = trust_region_step(
            resources, cost, priced, priced.argmin(axis=1), radius, prices, Deadline()
        )
        prices = step.prices
    assert last > cost.min(axis=1).sum()
    assert last > best * 0.6


def test_gap_and_partition_do_not_depend_on_the_scale():
    X, k, asked = loaded(1, n=600, links=30)
    options = {"solver": "lagrangian", "search": "none", "random_state": 0}
    found = bckm.kmeans(X, k, asked, **options)
    assert found.inertia - found.lower_bound < 0.02 * found.inertia
    for scale in (1e-6, 1e6):
        other = bckm.kmeans(scale * X, k, asked, **options)
        np.testing.assert_array_equal(found.labels, other.labels)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [1, 2])
def test_means_far_from_zero_are_not_rounded_before_the_end(seed):
    """LPs have many best vertices: what is off by 1e-10 leads to another one."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(300, 4)) * 2**10) / 2**10  # so that the shift loses nothing
    colors = bckm.Quota(rng.integers(3, size=300), "±5%")
    asked = bckm.Constraints(size_min=25, size_max=25, quotas=colors)
    found, far = (
        bckm.kmeans(data, 12, asked, solver="lagrangian", search="none", random_state=0)
        for data in (X, X + 2.0**20)
    )
    np.testing.assert_array_equal(found.labels, far.labels)
    assert far.lower_bound == pytest.approx(found.lower_bound, rel=1e-8)


@pytest.mark.parametrize("rules", ["plain", "soft", "quota", "places", "few moves"])
def test_every_kind_of_rule_is_priced_or_mended(rules):
    rng = np.random.default_rng(3)
    n, k = 300, 5
    more = {
        "plain": bckm.Constraints(),
        "soft": bckm.Constraints(size_max=40).soft(confidence=0.3)
        & bckm.Constraints(must_link=pairs(rng, n, 40)).soft(confidence=0.5)
        & bckm.Constraints(cannot_link=pairs(rng, n, 40)).soft(confidence=0.5),
        "quota": bckm.Constraints(quotas=bckm.Quota(rng.integers(3, size=n), "±5%")),
        "places": bckm.Constraints(fixed={0: 1, 1: 2}, forbidden=[(2, 0), (2, 1)]),
        "few moves": bckm.Constraints(stay=bckm.Stay(rng.integers(k, size=n), at_most=150)),
    }
    X, _, asked = loaded(3, n=n, k=k, links=10)
    problem = Problem.build(X, k, asked & more[rules])
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = spread(problem, rng, Deadline()).centers
    found = Lagrangian().prepare(problem)(centers, start, Deadline())
    assert problem.structure.feasible(found.labels)
    assert found.cost == pytest.approx(problem.within(found.labels, centers))
    assert found.cost < 0.8 * problem.within(start, centers)
    exact = Exact(effort=1e9).prepare(problem)(centers, found.labels, Deadline.after(20))
    assert found.bound <= exact.cost * (1 + 1e-9)
    assert exact.bound <= found.cost * (1 + 1e-9)
    assert found.cost - found.bound < 0.06 * found.cost


def test_mending_keeps_what_obeys_and_gives_up_on_what_cannot_be():
    X, k, asked = loaded(2, n=80, k=4)
    problem = Problem.build(X, k, asked)
    s, resources = problem.structure, Resources.of(problem)
    start = feasible_start(s, problem.rules, Deadline())
    cost = np.random.default_rng(0).random((s.n_items, k))
    np.testing.assert_array_equal(mend(s, resources, cost, start, Deadline()), start)
    broken = np.zeros_like(start)
    mended = mend(s, resources, cost, broken, Deadline())
    assert mended is not None
    assert s.feasible(mended)
    assert mend(s, resources, cost, broken, Deadline.after(0)) is None
    forbidden = np.full_like(cost, np.inf)
    forbidden[:, 0] = 0
    assert mend(s, resources, forbidden, broken, Deadline()) is None


def test_swaps_mend_where_single_moves_cannot():
    asked = bckm.Constraints(capacities={"kg": bckm.Capacity([3, 1, 2, 2], 4, 4)}, size_min=0)
    problem = Problem.build([[0.0], [1.0], [5.0], [6.0]], 2, asked)
    s = problem.structure
    place = s.item  # samples are items here
    labels = np.empty(4, np.int64)
    labels[place] = [0, 1, 0, 1]  # 5 and 3
    mended = mend(s, Resources.of(problem), np.zeros((4, 2)), labels, Deadline())
    assert mended is not None
    assert s.feasible(mended)


def test_auto_takes_it_for_sums_that_are_not_tiny():
    X, k, asked = loaded(0)
    assert choose("auto", Problem.build(X, k, asked)).name == "lagrangian"
    X, k, asked = loaded(0, n=60, k=4, links=2)
    assert choose("auto", Problem.build(X, k, asked)).name == "exact"


@pytest.mark.parametrize(("n", "solver"), [(60, "exact"), (60, "lagrangian"), (6000, "lagrangian")])
def test_a_fit_that_stops_early_is_still_bounded_at_its_centers(n, solver):
    """Where a last look is cheap, the bound is that of an assignment to the returned centers."""
    X, k, asked = loaded(5, n=n, k=4, links=n // 20, tight=0.1)
    found = bckm.kmeans(X, k, asked, solver=solver, search="none", max_iter=1, random_state=0)
    assert found.status is bckm.Status.ITERATION_LIMIT
    best = bckm.assign_to(X, found.centers, asked, solver=solver)
    assert found.lower_bound <= best.inertia * (1 + 1e-9)
    assert found.lower_bound >= best.lower_bound * (1 - 1e-3)


def test_sums_get_fewer_starts():
    X, k, asked = loaded(0, n=200, k=5, links=0)
    starts = {}
    for name, rules in {"sums": asked, "sizes": bckm.Constraints(size_max=50)}.items():
        steps = []
        bckm.kmeans(X, k, rules, search="none", random_state=0, on_step=steps.append)
        starts[name] = 1 + max(step.start for step in steps)
    # without kernels no start is cheap
    assert starts == ({"sums": 1, "sizes": 1} if missing else {"sums": 2, "sizes": 20})


def test_items_in_conflict_do_not_stand_in_the_way_of_others():
    """A hundred items would like to go where another is missing, but each has its foe there."""
    foes = [(p, 100 + p) for p in range(100)]
    ones = bckm.Capacity(np.ones(205), min=[0, 101])
    asked = bckm.Constraints(cannot_link=foes, capacities={"ones": ones}, size_min=0)
    problem = Problem.build(np.random.default_rng(0).normal(size=(205, 2)), 2, asked)
    s = problem.structure
    labels, cost = np.zeros(205, np.int64), np.zeros((205, 2))
    labels[s.item[:100]] = 1
    cost[s.item[100:200], 1] = -1.0
    cost[s.item[200:], 1] = np.arange(1.0, 6.0)
    mended = mend(s, Resources.of(problem), cost, labels, Deadline())
    assert mended is not None
    assert np.flatnonzero(mended[s.item] != labels[s.item]).tolist() == [200]
