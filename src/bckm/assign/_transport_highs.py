"""Sizes without the compiled kernels: labels from HiGHS, and the prices that prove them optimal."""

from __future__ import annotations

import warnings

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.rounding import SUMS, UNIT
from bckm._core.types import FloatArray, IntArray
from bckm.assign.base import Assignment, MatrixAssigner
from bckm.assign.exact import Exact
from bckm.kernels import missing
from bckm.problem.problem import Problem

LARGE = 2_000_000  # numbers in a cost matrix from which on it is worth a word


class HighsTransportAssigner(MatrixAssigner):
    """The exact engine (HiGHS), with prices: what `transport` is where the kernels are missing."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        if problem.mass.size * self.structure.n_clusters > LARGE:
            warnings.warn(f"This fit will be slow: {missing}", RuntimeWarning, stacklevel=2)
        self.exact = Exact().prepare(problem)
        self.counters = self.exact.counters
        self.unbound = np.zeros(self.structure.n_clusters)

    def from_cost(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the class."""
        assignment = self.exact.from_cost(cost, start, deadline)
        lower, upper = self.structure.lower, self.structure.upper
        prices = prices_of(cost, assignment.labels, lower, upper)
        if prices is None:
            return assignment
        dual = max(0.0, dual_value(cost, prices, lower, upper))  # no cost is negative
        return Assignment(assignment.labels, assignment.cost, min(dual, assignment.cost), prices)


def dual_value(cost: FloatArray, prices: FloatArray, lower: IntArray, upper: IntArray) -> float:
    """What no labels under the bounds can cost less than, less what rounding may have added.

    True for any prices (weak duality): see `Assignment.prices`.
    """
    subsidy, tax = np.maximum(prices, 0.0), np.maximum(-prices, 0.0)
    upper = np.minimum(upper, len(cost))
    least = (cost - prices).min(axis=1)
    sides = lower @ subsidy - upper @ tax
    dearest, clusters = float(np.abs(prices).max()), prices.size + 8
    sizes = float(np.abs(least).sum()) + len(cost) * dearest
    sizes = SUMS / 8 * sizes + clusters * float(lower @ subsidy + upper @ tax)
    return float(least.sum() + sides - 2 * UNIT * sizes)


def prices_of(
    cost: FloatArray, labels: IntArray, lower: IntArray, upper: IntArray
) -> FloatArray | None:
    """Prices under which no sample would gain by moving, in the middle of what the labels permit.

    Moving the cheapest sample from a to b costs m_ab, so price_b - price_a <= m_ab for all pairs;
    a cluster above its lower bound has no subsidy, one below its upper bound pays no tax. Such
    prices are shortest paths; where there are none, a cycle of moves would lower the cost: None.
    """
    k = lower.size
    hub = k  # where samples beyond a lower bound come from and go to; its price is zero
    move = np.full((k + 1, k + 1), np.inf)
    for a in range(k):
        members = cost[labels == a]
        if len(members):
            move[a, :k] = (members - members[:, [a]]).min(axis=0)
    sizes = np.bincount(labels, minlength=k)
    move[:k, hub] = np.where(sizes < upper, 0.0, np.inf)
    move[hub, :k] = np.where((sizes > lower) | (lower == 0), 0.0, np.inf)
    np.fill_diagonal(move, 0.0)

    prices = _shortest(move, np.zeros(k + 1))
    rounding = 1e-12 * float(cost.max())
    if (prices[:, None] + move < prices - rounding).any():
        return None
    reduced = np.maximum(move + prices[:, None] - prices, 0.0)
    free = bool((lower < upper).any())
    still = np.where(np.arange(k + 1) == (hub if free else 0), 0.0, np.inf)
    up, down = _shortest(reduced, still), _shortest(reduced.T, still)
    finite = np.concatenate([up[np.isfinite(up)], down[np.isfinite(down)]])
    most = float(finite.max())
    prices = prices + (np.minimum(up, most) - np.minimum(down, most)) / 2
    # the middle of two corners may still lie on an edge: then each price goes to the middle of what
    # the others permit, a few times
    np.fill_diagonal(move, np.inf)
    for _ in range(10):
        for v in range(k):
            rise = max(0.0, float((move[:, v] + prices).min() - prices[v]))
            fall = max(0.0, float((move[v] - prices).min() + prices[v]))
            if np.isfinite(rise) and np.isfinite(fall) and (free or v):
                prices[v] += (rise - fall) / 2
    zero = float(prices[hub] if free else prices[:k].mean())
    return prices[:k] - zero


def _shortest(length: FloatArray, start: FloatArray) -> FloatArray:
    """Shortest paths by rounds of relaxation (Bellman, Ford), at most one per node."""
    for _ in range(len(start)):
        shorter = (start[:, None] + length).min(axis=0)
        if (shorter >= start).all():
            break
        start = np.minimum(start, shorter)
    return start
