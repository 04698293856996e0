"""Sums as coordinates: prices by Newton steps and a small LP, without the matrix of all costs."""

from dataclasses import replace

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm.feasibility import feasible_start
from bckm.fit.seeding import spread
from bckm.kernels import missing
from bckm.problem.problem import Problem
from tests.support.steps import check_steps, feasible_draws

if missing:
    pytest.skip("needs the compiled kernels", allow_module_level=True)

from bckm.assign._coordinates import Coordinates
from bckm.assign._dual_lp import Prices, Resources
from bckm.assign._heaps import Heaps
from bckm.assign._price_newton import Border, newton_step
from bckm.assign._sums import SumsAssigner
from bckm.assign.lagrangian import Lagrangian, LagrangianAssigner

BATCH, BATCHES = 40, 12


def loaded(seed, n=3000, k=12, weights=False):
    """Capacities within bounds of each cluster, quotas, sizes, links; some of it soft."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 3 * rng.normal(size=(k, 3))[rng.integers(k, size=n)]
    amounts = rng.integers(1, 20, n).astype(float)
    mean = amounts.sum() / k
    order = rng.permutation(n)
    together, apart = np.split(order[: 4 * (n // 40)].reshape(-1, 2), 2)
    share = rng.uniform(0.9, 1.0, k)
    asked = bckm.Constraints(
        must_link=together.tolist(),
        cannot_link=apart.tolist(),
        capacities={"load": bckm.Capacity(amounts, 0.9 * mean * share, 1.1 * mean / share)},
        quotas=bckm.Quota(rng.integers(2, size=n), "±5%"),
        size_min=n // k // 2,
    )
    asked &= bckm.Constraints(size_max=n // k + 20).soft(confidence=0.2)
    weight = np.where(rng.random(n) < 0.01, 0.0, rng.uniform(0.5, 2, n)) if weights else None
    return X, k, asked, weight


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_labels_obey_and_bounds_hold(batch):
    for known in feasible_draws(range(batch * BATCH, (batch + 1) * BATCH)):
        if not known.problem.structure.linear.number:
            check_steps(known, SumsAssigner, 2)


@pytest.mark.parametrize("weights", [False, True])
def test_a_look_finds_what_the_matrix_of_costs_says(weights):
    X, k, asked, weight = loaded(1, n=400, weights=weights)
    problem = Problem.build(X, k, asked, weight)
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(k, 3))
    assigner = SumsAssigner(problem)
    assigner._begin(centers)
    level, resources = assigner.levels[0], assigner.resources
    assigner.listed.move(centers)
    wild = rng.normal(size=resources.lower.shape) / resources.mean_amount
    prices = resources.clipped(Prices(wild, np.empty(0)))
    look = level.look(centers, prices.resources, Deadline())
    priced = problem.cost(centers) / assigner.coordinates.unit - resources.refunds(prices)
    np.testing.assert_array_equal(level.state.label, priced[level.items].argmin(axis=1))
    labels = assigner._labels(look)
    np.testing.assert_allclose(look.sums, resources.sums(labels), rtol=1e-9, atol=1e-9)
    alone = priced[level.items].min(axis=1).sum() + resources.constant(prices)
    tied = look.choice.value / assigner.coordinates.unit
    assert look.dual == pytest.approx(alone + tied, rel=1e-9)


@pytest.mark.parametrize("weights", [False, True])
def test_it_agrees_with_the_matrix_of_costs(weights):
    X, k, asked, weight = loaded(2, weights=weights)
    problem = Problem.build(X, k, asked, weight)
    assert isinstance(Lagrangian().prepare(problem), SumsAssigner)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = spread(problem, np.random.default_rng(0), Deadline()).centers
    found = SumsAssigner(problem)(centers, start, Deadline())
    other = LagrangianAssigner(problem)(centers, start, Deadline())
    for one, two in ((found, other), (other, found)):
        assert problem.structure.feasible(one.labels)
        assert one.cost == pytest.approx(problem.within(one.labels, centers))
        assert one.bound <= two.cost
    assert found.cost - found.bound < 7e-4 * found.cost


def test_partition_does_not_depend_on_threads_or_scale():
    X, k, asked, _ = loaded(3, n=1000)
    options = {"search": "none", "random_state": 0, "max_iter": 2}
    found = bckm.kmeans(X, k, asked, n_jobs=1, **options)
    for scale, shift, jobs in ((1.0, 0.0, 2), (1e6, 0.0, 1), (1e-6, 0.0, 1), (1.0, 1e6, 1)):
        # a price in units of the inertia would change its meaning: rules here have none
        other = bckm.kmeans(scale * X + shift, k, asked, n_jobs=jobs, **options)
        np.testing.assert_array_equal(found.labels, other.labels)


@pytest.mark.parametrize("weights", [False, True])
def test_nearest_items_are_those_of_the_matrix_of_costs_whatever_was_known(weights):
    X, k, asked, weight = loaded(6, n=600, weights=weights)
    problem = Problem.build(X, k, asked, weight)
    rng = np.random.default_rng(0)
    centers = X[rng.choice(len(X), k, replace=False)] - X.mean(axis=0)
    assigner = SumsAssigner(problem)
    assigner._begin(centers)
    level, resources = assigner.levels[0], assigner.resources
    rows, size = np.arange(level.items.size), resources.amount[level.items] / resources.mean_amount
    size = np.abs(size).max(axis=1)
    wild = rng.normal(size=resources.lower.shape) / resources.mean_amount
    for step in range(8):  # ever smaller ones: more and more is not evaluated anew
        centers = centers + 2.0**-step * rng.normal(size=centers.shape)
        wild = wild + 4.0**-step * rng.normal(size=wild.shape) / resources.mean_amount
        prices = resources.clipped(Prices(wild, np.empty(0)))
        assigner.listed.move(centers)
        level.look(centers, prices.resources, Deadline())
        priced = problem.cost(centers) / assigner.coordinates.unit - resources.refunds(prices)
        priced = np.sort(priced[level.items], axis=1)
        loss = priced[:, 1] - priced[:, 0]
        for number in (1, 50, 300, 10_000):
            near = level.nearest(number, Deadline())
            expected = np.sort(np.argsort(loss / size)[: min(number, rows.size)])
            np.testing.assert_array_equal(near.places, expected)
            np.testing.assert_allclose(near.loss, loss[expected], rtol=1e-9, atol=1e-9)
            assert near.depth == pytest.approx((loss / size)[expected].max())


def test_without_time_the_labels_at_hand_are_returned():
    X, k, asked, _ = loaded(4, n=1000)
    problem = Problem.build(X, k, asked)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = spread(problem, np.random.default_rng(0), Deadline()).centers
    found = SumsAssigner(problem)(centers, start, Deadline.after(0))
    np.testing.assert_array_equal(found.labels, start)
    assert found.cost == pytest.approx(problem.within(start, centers))


def test_one_share_for_all_needs_no_feature():
    problem = Problem.build(np.random.default_rng(0).normal(size=(50, 2)), 3)
    amount = np.stack([problem.mass, np.arange(50.0), 2 * problem.mass], axis=1)
    assert Coordinates(problem, amount, 1.0).data.shape == (50, 3)


def test_a_newton_step_moves_what_is_too_much_to_the_neighbor():
    """Items lie evenly along a border of two clusters; 10 of 100 are too many in the first."""
    loss = (np.arange(200) + 0.5) / 100
    label = np.repeat([0, 1], 100)
    loss = np.concatenate([loss[:100], loss[:100]])
    border = Border(label, 1 - label, loss, np.ones((200, 1)))
    gradient = np.array([[-10.0], [10.0]])
    step = newton_step(border, gradient, np.ones((2, 1), bool))
    assert step is not None
    assert step[1, 0] - step[0, 0] == pytest.approx(0.1, rel=0.1)
    assert (
        newton_step(
            Border(*(a[:0] for a in (label, label, loss)), np.ones((0, 1))),
            gradient,
            np.ones((2, 1), bool),
        )
        is None
    )


def test_soft_bounds_end_prices():
    X, k, asked, _ = loaded(5, n=1000)
    problem = Problem.build(X, k, asked)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = spread(problem, np.random.default_rng(0), Deadline()).centers
    assigner = SumsAssigner(problem)
    assigner(centers, start, Deadline())
    resources = Resources.of(problem, assigner.coordinates.unit)
    assert (assigner.prices <= resources.lower_penalty).all()
    assert (assigner.prices >= -resources.upper_penalty).all()


@pytest.mark.parametrize("kind", [SumsAssigner, LagrangianAssigner])
def test_samples_without_weight_fill_what_bounds_ask_for(kind):
    rng = np.random.default_rng(0)
    n, k = 3000, 20
    X = rng.normal(size=(n, 3)) + 2 * rng.normal(size=(k, 3))[rng.integers(k, size=n)]
    amounts = rng.integers(1, 20, n).astype(float)
    mean = amounts.sum() / k
    asked = bckm.Constraints(
        capacities={"load": bckm.Capacity(amounts, 0.98 * mean, 1.02 * mean)},
        size_min=140,
        size_max=160,
    )
    problem = Problem.build(X, k, asked, np.where(rng.random(n) < 1 / 3, 0.0, 1.0))
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = spread(problem, rng, Deadline()).centers
    found = kind(problem)(centers, start, Deadline())
    assert problem.structure.feasible(found.labels)
    assert found.cost - found.bound < 1e-3 * found.cost


def test_heaps_are_divided_by_the_shares_that_leave():
    rng = np.random.default_rng(0)
    cost = np.where(np.arange(40)[:, None] % 4 > 0, 0.0, rng.random((40, 5)))
    cost[1, 2] = np.inf
    amount = rng.random((40, 2))
    heaps = Heaps.of(cost, amount, linked=np.array([2]))
    rest = [j for j in range(3, 40) if j % 4]
    assert sorted(heaps.items) == rest
    assert heaps.others.tolist() == [j for j in range(40) if j not in rest]
    np.testing.assert_allclose(heaps.merged(amount).sum(axis=0), amount.sum(axis=0))
    whole = np.zeros(heaps.first.size, np.int64)
    stay = heaps.divided(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), whole)
    assert not stay.any()
    two = replace(heaps, first=np.array([0, 10]))
    heap, to, share = np.array([0, 0, 1]), np.array([1, 3, 2]), np.array([0.3, 0.2, 1.0])
    labels = two.divided(heap, to, share, np.array([2, 4]))
    assert np.bincount(labels[:10], minlength=5).tolist() == [0, 3, 5, 2, 0]
    assert (labels[10:] == 2).all()
