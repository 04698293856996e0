"""Steps of an assigner against brute force, on small instances of all kinds of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign import Assigner, Assignment
from bckm.feasibility import feasible_start
from bckm.problem.problem import Problem
from tests.support.instances import draw, obeying


@dataclass(frozen=True)
class Known:
    """A problem with labels to begin with, and all labels of its samples that obey."""

    seed: int
    problem: Problem
    start: IntArray
    allowed: np.ndarray

    def centers(self, rng: np.random.Generator) -> FloatArray:
        """Centers anywhere, or on the data: then costs tie and vanish."""
        points = self.problem.points
        on_data = points[rng.integers(len(points), size=self.problem.structure.n_clusters)]
        return rng.normal(size=on_data.shape) if self.seed % 3 else on_data

    def check(self, found: Assignment, centers: FloatArray) -> float:
        """Labels obey, their cost is what it says, the bound is one; return the least cost."""
        s = self.problem.structure
        of_sample = (self.problem.cost(centers) / s.count[:, None])[s.item]
        every = np.arange(len(s.item))
        best = float(of_sample[every, self.allowed].sum(axis=1).min())
        labels = s.expand(found.labels)
        assert (self.allowed == labels).all(axis=1).any(), self.seed
        cost = of_sample[every, labels].sum()
        assert found.cost == pytest.approx(cost, rel=1e-9, abs=1e-12), self.seed
        assert found.bound <= best * (1 + 1e-9) + 1e-14, self.seed
        return best


def feasible_draws(seeds: Iterable[int]) -> Iterator[Known]:
    """Of the instances drawn with these seeds, those that some labels obey."""
    for seed in seeds:
        drawn = draw(seed)
        allowed = obeying(drawn)
        if len(allowed):
            problem = Problem.build(drawn.X, drawn.k, drawn.constraints, drawn.weight)
            start = feasible_start(problem.structure, problem.rules, Deadline())
            yield Known(seed, problem, start, allowed)


def check_steps(known: Known, prepare: Callable[[Problem], Assigner], calls: int) -> None:
    """Each call of an assigner begins where the last one ended."""
    rng = np.random.default_rng(known.seed)
    assigner = prepare(known.problem)
    for _ in range(calls):
        centers = known.centers(rng)
        known.check(assigner(centers, known.start, Deadline()), centers)
