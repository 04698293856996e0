"""A limit on moves alone: those stay that lose least."""

import itertools

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm._core.status import Status
from bckm.assign import choose
from bckm.feasibility import feasible_start
from bckm.kernels import missing
from bckm.problem.problem import Problem

if missing:
    pytest.skip("needs the compiled kernels", allow_module_level=True)

from bckm.assign._staying import StayAssigner, few_may_leave


@pytest.mark.parametrize("seed", range(12))
def test_labels_are_optimal(seed):
    rng = np.random.default_rng(seed)
    n, k = 6, 3
    links = [tuple(rng.choice(n, 2, replace=False).tolist())] if seed % 3 == 0 else []
    previous = rng.integers(-1, k, n)
    for a, b in links:
        previous[b] = previous[a]
    stay = bckm.Stay(previous, at_most=int(rng.integers(0, 4)))
    asked = bckm.Constraints(stay=stay, must_link=links, size_min=0 if seed % 2 else 1)
    weight = rng.integers(0, 3, n).astype(float) + (np.arange(n) == 0)
    problem = Problem.build(rng.normal(size=(n, 2)), k, asked, weight if seed % 4 == 0 else None)
    s = problem.structure
    if not few_may_leave(problem):
        pytest.skip("a linked pair came from two clusters")
    every = (np.array(y) for y in itertools.product(range(k), repeat=s.n_items))
    allowed = [y for y in every if s.feasible(y)]
    assigner = StayAssigner(problem)
    if not allowed:
        return
    for _ in range(3):
        centers = rng.normal(size=(k, 2))
        best = min(problem.within(y, centers) for y in allowed)
        found = assigner(centers, allowed[0], Deadline())
        assert s.feasible(found.labels)
        assert found.cost == pytest.approx(problem.within(found.labels, centers), abs=1e-9)
        assert found.bound <= best * (1 + 1e-9) + 1e-12
        if seed % 2 and not links:  # clusters may be empty: nothing else is asked
            assert found.cost <= best * (1 + 1e-9) + 1e-12


def test_a_large_fit_is_proven_at_each_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)) + 3 * rng.normal(size=(10, 3))[rng.integers(10, size=3000)]
    before = rng.integers(10, size=3000)
    asked = bckm.Constraints(stay=bckm.Stay(before, at_most=300))
    engine = choose("auto", Problem.build(X, 10, asked))
    assert (engine.name, engine.cheap_step) == ("lagrangian", True)
    found = []
    for jobs, scale in ((1, 1.0), (2, 1e6)):
        result = bckm.kmeans(scale * X, 10, asked, random_state=0, search="none", n_jobs=jobs)
        assert all(step.status is Status.OPTIMAL for step in result.history)
        assert (result.labels != before).sum() <= 300
        found.append(result.labels)
    np.testing.assert_array_equal(*found)


def test_without_time_the_labels_at_hand_are_returned():
    X = np.random.default_rng(0).normal(size=(500, 2))
    asked = bckm.Constraints(stay=bckm.Stay(np.arange(500) % 5, at_most=50))
    problem = Problem.build(X, 5, asked)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    found = StayAssigner(problem)(problem.points[:5], start, Deadline.after(0))
    np.testing.assert_array_equal(found.labels, start)
