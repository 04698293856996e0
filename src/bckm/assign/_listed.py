"""Items that do not choose freely: linked ones choose together, others among fewer clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.arrays import squared_distances
from bckm._core.memory import require
from bckm._core.rounding import UNIT
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.assign._dual_lp import DIGITS
from bckm.assign._link_trees import Forest
from bckm.problem.problem import Problem

COPIES = 4  # arrays of the size of their costs that are held at a time
LOOK = 5.0  # work of an item looking at a cluster at given costs


@dataclass(frozen=True, eq=False)
class Choice:
    """What listed items choose at prices.

    Attributes
    ----------
    labels : array (t,)
        Their clusters,
    value : float
        and what these cost less what prices pay, with all penalties.
    free_labels : array (t,)
        What they would choose if they were free,
    free_value : float
        and its value.
    """

    labels: IntArray
    value: float
    free_labels: IntArray
    free_value: float


def bound_items(problem: Problem) -> BoolArray:
    """Items that do not choose freely."""
    s, soft = problem.structure, problem.soft
    bound = np.zeros(s.n_items, np.bool_)
    bound[s.edges.ravel()] = True
    bound[s.forbidden // s.n_clusters] = True
    if soft.active:
        bound |= (np.diff(soft.ties.indptr) > 0) | (soft.base_cost > 0)
        bound |= np.diff(soft.cluster_cost.indptr) > 0
    return bound


class ListedItems:
    """The items of a problem that links tie, or that some clusters cost more or are forbidden to.

    Attributes
    ----------
    items : array (t,)
        Which they are.
    distance_cost : array (t, k)
        What they cost at the last centers, without penalties,
    cost : array (t, k)
        and with them; infinite where a cluster is forbidden.
    """

    distance_cost: FloatArray
    cost: FloatArray

    def __init__(self, problem: Problem, others: IntArray | None = None) -> None:
        """Find them; `others` are listed too."""
        s, soft = problem.structure, problem.soft
        # soft links are rounded to some digits of about what an item costs
        mass = float(problem.mass.mean())
        self._scale = problem.variance * problem.points.shape[1] * mass or 1.0
        self.problem, self.forest = problem, Forest(s, soft, self._scale, problem.threads)
        bound = bound_items(problem)
        bound[others if others is not None else []] = True
        self.items: IntArray = np.flatnonzero(bound)
        self.count: IntArray = s.count[self.items]
        require(
            COPIES * 8 * self.items.size * s.n_clusters,
            f"the costs of {self.items.size:,} linked or priced items in {s.n_clusters:,} clusters",
            "Use fewer samples, links or clusters.",
        )
        self._linked: IntArray = np.searchsorted(self.items, self.forest.items)
        self._work = 0.0
        self.alone: IntArray = np.setdiff1d(np.arange(self.items.size), self._linked)

    @property
    def work(self) -> float:
        """What all calls took; see `Assigner.work`."""
        return self._work + self.forest.work

    def move(self, centers: FloatArray) -> None:
        """Compute the costs at new centers."""
        problem, items, k = self.problem, self.items, len(centers)
        self._work += items.size * k * (0.5 * problem.points.shape[1] + 5.0)
        self.distance_cost = squared_distances(problem.points[items], centers)
        self.distance_cost *= problem.cost_weight[items, None]
        self.cost = self.distance_cost
        soft, forbidden = problem.soft, problem.structure.forbidden
        if soft.has_cluster_costs:
            self.cost = self.cost + soft.base_cost[items, None] + soft.cluster_cost[items].toarray()
        if forbidden.size:
            self.cost = self.cost.copy()
            self.cost[np.searchsorted(items, forbidden // k), forbidden % k] = np.inf

    def choose(self, paid: FloatArray) -> Choice:
        """Find the best clusters, given what prices pay each item in each cluster, (t, k)."""
        self._work += LOOK * self.cost.size
        free = self.distance_cost - paid
        free_labels = free.argmin(axis=1)
        value = 0.0
        priced = free if self.cost is self.distance_cost else self.cost - paid
        labels = free_labels.copy()
        if self.alone.size:
            part = priced[self.alone]
            labels[self.alone] = part.argmin(axis=1)
            value += float(part.min(axis=1).sum())
        free_value = float(np.take_along_axis(free, free_labels[:, None], axis=1).sum())
        if self._linked.size:
            together = self.forest.solve(priced[self._linked] / self._scale)
            labels[self._linked] = together.labels
            value += together.cost * self._scale
        return Choice(labels, value, free_labels, free_value)

    def rounding(self, paid: FloatArray) -> float:
        """What rounding may have added to the values of a choice."""
        terms = float(self.cost.min(axis=1).sum() + 4 * np.abs(paid).max(axis=1).sum())
        steps = self.problem.points.shape[1] + self.items.size / 64 + 16
        ties = len(self.problem.soft.ties.data)
        return float(4 * UNIT * steps * terms + ties * 10.0**-DIGITS * self._scale)
