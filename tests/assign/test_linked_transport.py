"""Sizes with links: prices, linked items that choose together, single samples settled exactly."""

import itertools

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm.assign import choose
from bckm.feasibility import feasible_start
from bckm.fit.seeding import spread
from bckm.kernels import missing
from bckm.problem.problem import Problem
from tests.support.steps import check_steps, feasible_draws

if missing:
    pytest.skip("needs the compiled kernels", allow_module_level=True)

from bckm.assign._linked_transport import HANDLES, LinkedTransportAssigner

BATCH, BATCHES = 50, 12


def linked(n, k, share, seed=0, **more):
    rng = np.random.default_rng(seed)
    X = 1.5 * rng.normal(size=(k, 3))[rng.integers(k, size=n)] + rng.normal(size=(n, 3))
    order = rng.permutation(n)
    together, apart = np.split(order[: 4 * int(share * n)].reshape(-1, 2), 2)
    asked = bckm.Constraints(must_link=together.tolist(), cannot_link=apart.tolist(), **more)
    return X, asked


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_labels_obey_and_bounds_hold(batch):
    for known in feasible_draws(range(batch * BATCH, (batch + 1) * BATCH)):
        if not known.problem.features & ~HANDLES:
            check_steps(known, LinkedTransportAssigner, 3)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(40))
def test_soft_links_weights_and_places(seed):
    rng = np.random.default_rng(seed)
    n, k = 7, 3

    def pairs(number):
        return [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(number)]

    asked = bckm.Constraints(size_min=1, size_max=3, forbidden=[(0, int(rng.integers(k)))])
    asked &= bckm.Constraints(cannot_link=pairs(1))
    asked &= bckm.Constraints(must_link=pairs(2)).soft(price=rng.random(2).tolist())
    asked &= bckm.Constraints(cannot_link=pairs(2)).soft(price=rng.random(2).tolist())
    asked &= bckm.Constraints(fixed={6: 1}).soft(price=0.3)
    weight = rng.integers(0, 3, n).astype(float)
    weight[rng.integers(n)] = 1.0
    problem = Problem.build(rng.normal(size=(n, 2)), k, asked, weight)
    s = problem.structure
    centers = rng.normal(size=(k, 2))
    every = [np.array(y) for y in itertools.product(range(k), repeat=s.n_items)]
    allowed = [y for y in every if s.feasible(y)]
    best = min(problem.within(y, centers) for y in allowed)
    found = LinkedTransportAssigner(problem)(centers, allowed[0], Deadline())
    assert s.feasible(found.labels)
    assert found.bound <= best * (1 + 1e-9) + 1e-12
    assert found.cost == pytest.approx(problem.within(found.labels, centers), abs=1e-9)
    assert best <= found.cost * (1 + 1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("bounds", [{"size_min": 150, "size_max": 150}, {"size_max": 160}, {}])
def test_steps_are_nearly_optimal_and_independent_of_threads(bounds):
    X, asked = linked(3000, 20, 0.05, **bounds)
    found = []
    for jobs, scale, shift in [(1, 1.0, 0.0), (2, 2.0**20, 0.0), (1, 1e6, 0.0), (1, 1.0, 1e6)]:
        result = bckm.kmeans(
            scale * X + shift, 20, asked, search="none", random_state=0, n_jobs=jobs
        )
        assert result.solver == "lagrangian"
        found.append(result)
        for step in result.history:
            assert step.assigned - step.lower_bound <= 2e-4 * step.assigned
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].labels, other.labels)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [10, 0, *range(1, 10)])
def test_exact_sizes_and_links_are_settled_the_same_at_every_scale(seed):
    """Pairs that are split in halves, and prices of which many would do, are chosen by the data."""
    X, asked = linked(600, 8, 0.04, seed, size_min=75, size_max=75)
    X = np.round(X * 1024) / 1024  # so that the shift is exact
    found = [
        bckm.kmeans(Y, 8, asked, solver="lagrangian", search="none", random_state=0)
        for Y in (X, X * 1e-6, X * 1e6, X + 2.0**20)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].labels, other.labels)


def test_equal_samples_are_one_point_and_linked_ones_are_not():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 2)).astype(float)
    order = rng.permutation(400)
    asked = bckm.Constraints(
        size_min=50,
        size_max=50,
        must_link=order[:20].reshape(-1, 2).tolist(),
        cannot_link=order[20:60].reshape(-1, 2).tolist(),
    )
    problem = Problem.build(X, 8, asked)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = spread(problem, rng, Deadline()).centers
    assigner = LinkedTransportAssigner(problem)
    assert assigner.groups.first is not None
    found = assigner(centers, start, Deadline())
    assert problem.structure.feasible(found.labels)
    assert found.cost - found.bound <= 1e-3 * found.cost
    exact = choose("exact", problem).prepare(problem)(centers, start, Deadline.after(20))
    assert exact.bound <= found.cost * (1 + 1e-9)
    assert found.bound <= exact.cost * (1 + 1e-9)


def test_without_time_the_labels_at_hand_are_returned():
    X, asked = linked(400, 5, 0.02, size_min=80, size_max=80)
    problem = Problem.build(X, 5, asked)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = spread(problem, np.random.default_rng(0), Deadline()).centers
    found = LinkedTransportAssigner(problem)(centers, start, Deadline.after(0))
    assert problem.structure.feasible(found.labels)
    assert found.cost == pytest.approx(problem.within(found.labels, centers))


def test_auto_takes_prices_where_few_samples_have_links():
    X, asked = linked(3000, 20, 0.02, size_min=150, size_max=150)
    engine = choose("auto", Problem.build(X, 20, asked))
    assert engine.name == "lagrangian"
    assert engine.cheap_step
    X, asked = linked(300, 5, 0.02, size_min=60, size_max=60)
    assert choose("auto", Problem.build(X, 5, asked)).name == "exact"
