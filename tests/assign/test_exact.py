"""The exact engine's work: limited where asked, counted as its programs took it."""

import numpy as np
import pytest

from bckm import Capacity, Constraints
from bckm._core.deadline import Deadline
from bckm.assign import choose
from bckm.assign.base import STEP, cost_work
from bckm.assign.exact import CORE, PICKED, Exact
from bckm.feasibility import feasible_start
from bckm.problem.problem import Problem
from bckm.programs.highs import CHECK_WORK, MIP_WORK, Model
from bckm.programs.relaxation import PRICED, ROUND, WRITTEN


@pytest.fixture
def solved(monkeypatch):
    """Every program that HiGHS solves: whether integral, and what it took."""
    seen, solve = [], Model.solve

    def recorded(self, *given, **named):
        solution = solve(self, *given, **named)
        seen.append((self._integer, self._size, self._columns, solution))
        return solution

    monkeypatch.setattr(Model, "solve", recorded)
    return seen


def knapsacks(seed=0):
    """40 samples, 5 clusters, loads within 1 %, some apart: a tree search that takes long."""
    rng = np.random.default_rng(seed)
    amount = rng.integers(20, 60, 40) + rng.random(40).round(3)
    mean = amount.sum() / 5
    apart = rng.choice(40, (8, 2), replace=False).tolist()
    load = Capacity(amount, min=0.99 * mean, max=1.01 * mean)
    asked = Constraints(cannot_link=apart, capacities={"kg": load})
    problem = Problem.build(rng.normal(size=(40, 2)), 5, asked)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    return problem, start, problem.points[:5]


def test_a_work_limit_ends_a_search_that_a_limit_on_nodes_would_not(solved):
    problem, start, centers = knapsacks()
    solved.clear()  # feasibility may have asked
    effort = 5e7
    assigner = Exact(effort).prepare(problem)
    found = assigner(centers, start, Deadline())
    searches = [(size, solution) for integral, size, _, solution in solved if integral]
    assert searches
    assert not all(solution.finished for _, solution in searches)
    each, by_size = CHECK_WORK
    largest = max(size for size, _ in searches)
    assert assigner.work < 4 * effort + 10 * (each + by_size * largest)
    assert problem.structure.feasible(found.labels)
    assert found.bound < found.cost
    first = problem.cost(centers)[np.arange(40), start].sum()
    assert found.cost <= first * (1 + 1e-12)
    again = Exact(effort).prepare(problem)
    assert np.array_equal(again(centers, start, Deadline()).labels, found.labels)
    assert again.work == assigner.work


def test_without_a_limit_the_search_ends_at_the_optimum():
    rng = np.random.default_rng(1)
    asked = Constraints(
        must_link=[(0, 1), (2, 3, 4)], cannot_link=[(0, 5), (2, 6), (5, 6)], size_min=4, size_max=8
    )
    problem = Problem.build(rng.normal(size=(30, 2)), 5, asked)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    whole = Exact().prepare(problem)(problem.points[:5], start, Deadline())
    limited = Exact(1e9).prepare(problem)(problem.points[:5], start, Deadline())
    assert whole.cost - whole.bound <= 1e-9 * whole.cost
    assert limited.bound <= whole.cost * (1 + 1e-12)
    assert whole.cost <= limited.cost * (1 + 1e-12)


def test_all_programs_are_counted(solved):
    problem, start, centers = knapsacks(2)
    solved.clear()  # feasibility may have asked
    assigner = Exact(2e7).prepare(problem)
    for _ in range(2):
        start = assigner(centers, start, Deadline()).labels
    assert {integral for integral, *_ in solved} == {False, True}
    counted = sum(solution.work for *_, solution in solved)
    # rounds of the LP and cores are priced and picked from all columns, and some are written
    cells = problem.structure.n_items * problem.structure.n_clusters
    searches = [integral for integral, *_ in solved]
    rounds, cores = searches.count(False), assigner.counters["cores"]
    assert 1 <= cores <= searches.count(True)
    counted += rounds * (ROUND + PRICED * cells) + cores * (CORE + PICKED * cells)
    counted += WRITTEN * sum(columns for integral, _, columns, _ in solved if not integral)
    assert assigner.work == pytest.approx(counted + 2 * (STEP + cost_work(problem)))
    number, *_, each, _ = MIP_WORK
    for integral, size, _, solution in solved:
        if integral:  # it takes an iteration or more
            assert solution.work > number * size + each


def test_effort_within_a_fit_follows_the_costs():
    for n, least, most in ((40, 3e7, 3e7), (1600, 1.9e8, 2e8)):
        asked = Constraints(cannot_link=[(0, 1)], fixed={0: 0})
        problem = Problem.build(np.arange(float(n))[:, None], 6, asked)
        assigner = choose("auto", problem).prepare(problem)
        assert least <= assigner._effort <= most
