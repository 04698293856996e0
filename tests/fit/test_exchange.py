"""Clusters with different bounds: when the loop stands still, two exchange theirs."""

from dataclasses import replace

import numpy as np
import pytest

from bckm import Constraints
from bckm._core.deadline import Deadline
from bckm.feasibility import feasible_start
from bckm.fit.lloyd import Run, _exchange, _exchanges
from bckm.problem.problem import Problem
from tests.support.lp_engine import PricedAssigner, dual_value


def unequal(seed):
    """Draw a problem with unequal size bounds, centers and feasible labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)) + 4 * rng.normal(size=(5, 2))[rng.integers(5, size=30)]
    low = rng.integers(0, 6, 5)
    problem = Problem.build(X, 5, Constraints(size_min=low, size_max=low + rng.integers(1, 9, 5)))
    return problem, problem.points[rng.choice(30, 5, replace=False)]


def feasible_problems():
    for seed in range(60):
        problem, centers = unequal(seed)
        if problem.structure.lower.sum() <= 30 <= problem.structure.upper.sum():
            yield problem, centers


@pytest.mark.full
def test_bounds_of_exchanges_hold_and_are_sorted():
    close = 0
    for problem, centers in feasible_problems():
        s, assigner = problem.structure, PricedAssigner(problem)
        start = feasible_start(s, problem.rules, Deadline())
        last = assigner(centers, start, Deadline())
        pairs, bounds = _exchanges(s, last)
        assert (np.diff(bounds) >= 0).all()
        different = s.cluster_class[:, None] != s.cluster_class
        assert len(pairs) == np.triu(different, 1).sum()
        for (a, b), bound in zip(pairs.tolist(), bounds, strict=True):
            order = np.arange(5)
            order[[a, b]] = b, a
            after = assigner(centers[order], start, Deadline())
            assert bound <= after.cost * (1 + 1e-9)
            # exactly the dual value of prices that travel with their centers
            cost = problem.cost(centers[order])
            value = dual_value(cost, s.count, s.lower, s.upper, last.prices[order])
            assert bound == pytest.approx(value, rel=1e-9, abs=1e-9)
            close += bound > last.cost
    assert close > 50, "bounds that prune nothing would be of no use"


@pytest.mark.full
def test_prices_find_the_same_exchange_with_less_work():
    found, same, calls = 0, 0, np.zeros(2, int)
    for problem, centers in feasible_problems():
        start = feasible_start(problem.structure, problem.rules, Deadline())
        swaps = []
        for priced in (True, False):
            assigner = PricedAssigner(problem)
            last = assigner(centers, start, Deadline())
            run = Run(last.labels, centers, last.cost)
            given = last if priced else replace(last, prices=None)
            swaps.append(_exchange(assigner, centers, run, given, Deadline()))
            calls[1 - priced] += assigner.counters["calls"]
        with_prices, without = swaps
        assert (with_prices is None) == (without is None)
        if without is not None:
            found += 1
            # several exchanges may cost the same: bounds that are slack either way
            assert with_prices.assignment.cost == pytest.approx(without.assignment.cost, rel=1e-12)
            same += with_prices.order.tolist() == without.order.tolist()
    assert found >= 5
    assert same > 0.7 * found
    assert calls[0] < 0.7 * calls[1]
