"""COP order with repair: place items one by one, then mend what does not fit.

COP-k-means (Wagstaff et al. 2001) takes samples in the order given and fails when none of the
clusters is left. Here the items with the fewest choices come first, and a tabu search mends the
rest; when even that fails, the labels at hand stay. The same construction, with costs of zero,
looks for feasible labels before a fit.
"""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.base import Assignment, Engine, MatrixAssigner
from bckm.construct.placement import place
from bckm.construct.repair import repair
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem
from bckm.problem.structure import Structure


def construct(
    structure: Structure,
    cost: FloatArray | None,
    deadline: Deadline,
    rng: np.random.Generator | None = None,
) -> IntArray | None:
    """Build feasible labels of low cost, or return None when the repair gives up.

    Parameters
    ----------
    structure : Structure
        What to obey.
    cost : array (m, k) or None
        Cost of each item in each cluster.
    deadline : Deadline
        When to give up.
    rng : Generator, optional
        Shuffles ties, for repeated tries.
    """
    labels = place(structure, cost, deadline, rng)
    labels = repair(structure, cost, labels, deadline, rng)
    return labels if structure.feasible(labels) else None


class GreedyAssigner(MatrixAssigner):
    """See the module."""

    def from_cost(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; keeps `start` when nothing better is found."""
        items = np.arange(start.size)
        coupled = self.problem.soft.coupled
        best, total = start, float(cost[items, start].sum()) + coupled(start)
        labels = construct(self.structure, cost, deadline)
        if labels is not None:
            value = float(cost[items, labels].sum()) + coupled(labels)
            if value < total:
                best, total = labels, value
        return Assignment(best, total, float(cost.min(axis=1).sum()))


class Greedy(Engine):
    """Fast and feasible, without any promise of quality."""

    name = "greedy"
    handles = ~Feature.NONE

    def prepare(self, problem: Problem) -> GreedyAssigner:
        """Compile nothing."""
        return GreedyAssigner(problem)
