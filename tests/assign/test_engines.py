"""Every engine against brute force on thousands of small instances that mix all kinds of rules."""

from itertools import pairwise

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm._core.status import Status
from bckm.assign import ENGINES
from bckm.assign.base import MatrixAssigner
from bckm.assign.lagrangian import LagrangianAssigner
from bckm.feasibility import feasible_start
from bckm.problem.problem import Problem
from tests.support.instances import all_labels, draw, obeying

BATCH = 100
BATCHES = 24


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_engines_against_brute_force(batch):
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        drawn = draw(seed)
        allowed = obeying(drawn)
        answer = bckm.check(drawn.X, drawn.k, drawn.constraints)
        assert answer.verdict == ("feasible" if len(allowed) else "infeasible"), seed
        if not len(allowed):
            continue
        assert (allowed == answer.labels).all(axis=1).any(), seed
        problem = Problem.build(drawn.X, drawn.k, drawn.constraints, drawn.weight)
        start = feasible_start(problem.structure, problem.rules, Deadline())
        rng = np.random.default_rng(seed)
        # centers anywhere, or on the data: then costs tie and vanish
        on_data = problem.points[rng.integers(len(problem.points), size=drawn.k)]
        centers = rng.normal(size=on_data.shape) if seed % 3 else on_data
        cost = problem.cost(centers)
        share = cost / problem.structure.count[:, None]
        per_sample = share[problem.structure.item]
        best = per_sample[np.arange(len(drawn.X)), allowed].sum(axis=1).min()
        for name, engine in ENGINES.items():
            if problem.features & ~engine.handles or (name == "lagrangian" and seed % 5):
                continue
            assigner = engine().prepare(problem)
            if isinstance(assigner, LagrangianAssigner):
                assigner.centers = centers
            if isinstance(assigner, MatrixAssigner):  # also where nearest labels would do
                found = assigner.from_cost(cost, start, Deadline())
            else:
                found = assigner(centers, start, Deadline())
            labels = problem.structure.expand(found.labels)
            assert (allowed == labels).all(axis=1).any(), (seed, name)
            assert found.bound <= best * (1 + 1e-9) + 1e-14, (seed, name)
            assert found.cost >= best * (1 - 1e-9), (seed, name)
            if name in ("exact", "nearest", "transport"):
                assert found.cost <= best * (1 + 1e-9) + 1e-14, (seed, name)
                assert found.status is Status.OPTIMAL, (seed, name)


RANGES = {
    "wide": lambda rng, shape: 10.0 ** rng.uniform(-4, 4, shape),
    "very wide": lambda rng, shape: 10.0 ** rng.uniform(-12, 12, shape),
    "outliers": lambda rng, shape: np.where(rng.random(shape) < 0.2, 1e6, 1) * rng.random(shape),
    "far outliers": lambda rng, shape: (
        np.where(rng.random(shape) < 0.2, 1e9, 1) * rng.random(shape)
    ),
    "near ties": lambda rng, shape: rng.integers(1, 4, shape) + 1e-8 * rng.integers(-9, 10, shape),
    "zero": lambda rng, shape: np.zeros(shape),
    "tiny": lambda rng, shape: 1e-300 * rng.random(shape),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("costs", RANGES)
def test_exact_under_costs_of_any_range(costs):
    """Solvers work with absolute tolerances: a claim of optimality must survive any costs."""
    proven = seen = 0
    for seed in range(300):
        drawn = draw(seed)
        allowed = obeying(drawn)
        if not len(allowed):
            continue
        problem = Problem.build(drawn.X, drawn.k, drawn.constraints)
        s = problem.structure
        start = feasible_start(s, problem.rules, Deadline())
        cost = RANGES[costs](np.random.default_rng(seed), (s.n_items, drawn.k))
        found = ENGINES["exact"]().prepare(problem).from_cost(cost, start, Deadline())
        first = np.array([np.argmax(s.item == j) for j in range(s.n_items)])
        best = cost[np.arange(s.n_items), allowed[:, first]].sum(axis=1).min()
        assert found.bound <= best * (1 + 1e-9), seed
        seen += 1
        if found.status is Status.OPTIMAL:
            proven += 1
            assert found.cost <= best * (1 + 1e-9), seed
    assert proven >= 0.97 * seen  # the rest is honest about it


def test_exact_with_real_coefficients_that_nearly_tie():
    """Sums that differ by less than a solver's tolerance from their bounds."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, k = 8, 2
        values = 1 + rng.integers(0, 3, n) + 3e-8 * rng.integers(-3, 4, n)
        middle = np.floor(values.sum() / 2)
        rules = bckm.Constraints(capacities={"kg": bckm.Capacity(values, middle - 0.5, middle + 1)})
        labels = np.array([y for y in all_labels(n, k) if not bckm.verify(y, k, rules)])
        if not len(labels):
            continue
        problem = Problem.build(rng.normal(size=(n, 2)), k, rules)
        cost = problem.cost(problem.points[:k])
        start = feasible_start(problem.structure, problem.rules, Deadline())
        found = ENGINES["exact"]().prepare(problem).from_cost(cost, start, Deadline())
        item_labels = labels[:, np.argsort(problem.structure.item)]
        best = cost[np.arange(n), item_labels].sum(axis=1).min()
        if found.status is Status.OPTIMAL:
            assert found.cost <= best * (1 + 1e-9), seed


def test_draws_hold_both_kinds_in_number():
    """The campaign above would prove little if nearly all draws were infeasible."""
    feasible = sum(len(obeying(draw(seed))) > 0 for seed in range(300))
    assert 100 < feasible < 250


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(60))
def test_whole_fit_is_verified_by_brute_force(seed):
    """Labels of a fit are among the labels that obey, and no step of any engine rises."""
    drawn = draw(10_000 + seed)
    allowed = obeying(drawn)
    for solver in ("auto", "exact", "pump", "greedy"):
        if not len(allowed):
            with pytest.raises(bckm.InfeasibleError):
                bckm.kmeans(drawn.X, drawn.k, drawn.constraints, solver=solver)
            continue
        result = bckm.kmeans(
            drawn.X,
            drawn.k,
            drawn.constraints,
            solver=solver,
            sample_weight=drawn.weight,
            random_state=seed,
        )
        assert (allowed == result.labels).all(axis=1).any()
        inertia = [step.objective for step in result.history]
        assert all(b <= a for a, b in pairwise(inertia))


def test_an_empty_cluster_far_away_costs_the_bound_no_digits():
    rng = np.random.default_rng(0)
    problem = Problem.build(rng.normal(size=(40, 3)), 4, bckm.Constraints(size_min=0, size_max=20))
    start = feasible_start(problem.structure, problem.rules, Deadline())
    centers = np.vstack([problem.points[:3], np.full((1, 3), 1e6)])
    found = ENGINES["transport"]().prepare(problem)(centers, start, Deadline())
    assert (found.labels < 3).all()
    assert found.prices[3] <= 0
    assert found.cost - found.bound <= 1e-10 * found.cost
