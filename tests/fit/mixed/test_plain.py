"""Mixed groups without the compiled kernels."""

import numpy as np

import bckm
from bckm._core.deadline import Deadline
from bckm.feasibility import feasible_start
from bckm.fit.mixed.plain import improved
from bckm.fit.mixed.points import Points
from bckm.problem.problem import Problem


def test_swaps_and_relocations_keep_all_rules_and_help():
    X = np.random.default_rng(0).normal(size=(40, 2))
    rules = bckm.Constraints(
        must_link=[(0, 1)], cannot_link=[(2, 3, 4)], size_min=8, size_max=12, fixed=[(5, 1)]
    ) & bckm.Constraints(must_link=[(6, 7)]).soft(confidence=1)
    problem = Problem.build(X, 4, rules)
    points = Points(problem)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    found = improved(problem, points, start, Deadline())
    assert problem.structure.feasible(found)
    assert problem.penalty(found) == 0
    assert points.between(found) < 0.01 * points.between(start)
    again = improved(problem, points, found, Deadline())
    assert np.array_equal(again, found)
    assert np.array_equal(improved(problem, points, start, Deadline.after(0)), start)
