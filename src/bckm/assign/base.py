"""The interface of every assignment engine: centers in, labels with their bound out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bckm._core.arrays import Totals
from bckm._core.deadline import Deadline
from bckm._core.memory import require
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem

OPTIMALITY = 1e-9  # relative distance of cost and bound at which an assignment counts as optimal
STEP = 1.5e5  # work of a call beyond what its data take
COPIES = 3  # arrays of the size of the cost matrix that an engine holds at a time


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels of items for given centers.

    `status` is OPTIMAL only if ``cost - bound`` is within `OPTIMALITY`, relative to the cost, or
    within `tolerance`.

    Attributes
    ----------
    labels : array (m,)
        Cluster of each item.
    cost : float
        What they cost.
    bound : float
        No labels that obey cost less.
    prices : array (k,) or None
        Prices of the size bounds, where the engine has them: what a cluster pays each of its
        samples (or, below zero, charges it) so that no item gains by moving. `bound` is then their
        dual value: the sum over items of min_i (cost_ji - count_j prices_i), and over clusters of
        lower_i max(prices_i, 0) - upper_i max(-prices_i, 0).
    totals : Totals or None
        Sums over the clusters, where the engine knows them: the means are then at hand.
    tolerance : float
        See `optimality_tolerance`.
    """

    labels: IntArray
    cost: float
    bound: float
    prices: FloatArray | None = None
    totals: Totals | None = None
    tolerance: float = 0.0

    @property
    def status(self) -> Status:
        """OPTIMAL or FEASIBLE."""
        close = self.cost - self.bound <= max(OPTIMALITY * abs(self.cost), self.tolerance)
        return Status.OPTIMAL if close else Status.FEASIBLE


def optimality_tolerance(problem: Problem) -> float:
    """What cost and bound of optimal labels may differ by, however little the labels cost.

    It is what rounding leaves where samples lie at their centers, and a share of what all labels
    cost alike, which is part of the inertia.
    """
    return problem.zero_tolerance + OPTIMALITY * problem.constant


class Assigner(ABC):
    """An engine prepared for one problem; call it with new centers as often as needed."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.structure = problem.structure
        self.counters: Counter[str] = Counter()
        # what all calls took, in about the nanoseconds of a quick machine, but counted and not
        # measured: what is decided by it is the same everywhere
        self.work = 0.0

    @property
    def effort(self) -> float:
        """What a search goes by: `work`, unless rounding has a say in that."""
        return self.work

    def __call__(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign items to clusters, with a bound that no rounding has lifted too high.

        See `assign`.
        """
        problem, answer = self.problem, self.assign(centers, start, deadline)
        bound = problem.safe_bound(answer.bound, answer.cost, centers, answer.prices)
        tolerance = optimality_tolerance(problem)
        tolerance += problem.weightless_margin(centers, answer.prices)
        return replace(answer, bound=bound, tolerance=tolerance)

    @abstractmethod
    def assign(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign items to clusters.

        The bound is one on the costs as `Problem.cost` computes them; what rounding may have added
        to these is for `__call__` to take off.

        Parameters
        ----------
        centers : array (k, d)
            Center of each cluster, in the units of `Problem.points`.
        start : array (m,)
            Feasible labels to fall back on; the loop refuses an answer that is worse.
        deadline : Deadline
            When to return the best labels found.
        """


def cost_work(problem: Problem) -> float:
    """Work of computing all costs."""
    m, d = problem.points.shape
    return float(m * problem.structure.n_clusters * (0.5 * d + 5.0))


class MatrixAssigner(Assigner):
    """An engine that works on the matrix of all costs, (m, k)."""

    unbound: FloatArray | None = None  # prices where no bound binds, for an engine that has prices

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        m, k = problem.structure.n_items, problem.structure.n_clusters
        require(
            COPIES * 8 * m * k,
            f"the {m:,} × {k:,} cost matrix",
            "Use fewer samples or clusters; `bckm.assign_to` labels further samples in parts.",
        )

    def assign(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; nearest labels that obey are optimal, so they are tried first."""
        self.work += STEP + cost_work(self.problem)
        cost = self.problem.cost(centers)
        nearest = cost.argmin(axis=1)
        if self.structure.feasible(nearest) and self.problem.soft.coupled(nearest) == 0:
            total = float(cost[np.arange(nearest.size), nearest].sum())
            return Assignment(nearest, total, total, self.unbound)
        return self.from_cost(cost, start, deadline)

    @abstractmethod
    def from_cost(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign items to clusters.

        Parameters
        ----------
        cost : array (m, k)
            Cost of each item in each cluster; not negative.
        start, deadline :
            As in `assign`.
        """


class Engine(ABC):
    """A way to assign; `handles` says which features it can express.

    `cheap_step` says that a step takes about as long as a look at all items, `quick_step` that it
    takes no more than some dozens of these, `cheap_bound` that the engine is called once more at
    the last centers, for the bound alone.
    """

    name: ClassVar[str]
    handles: ClassVar[Feature]
    cheap_step: bool = False
    quick_step: bool = False
    cheap_bound: ClassVar[bool] = False

    def adapted(self, problem: Problem) -> Engine:
        """The same engine, knowing for which problem it was chosen."""
        return self

    @abstractmethod
    def prepare(self, problem: Problem) -> Assigner:
        """Compile what does not change between calls."""
