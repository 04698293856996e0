"""What sums leave room for while items are placed."""

from __future__ import annotations

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.problem.structure import Structure


class LoadRoom:
    """Sums in each cluster while items are placed, and what each should come to.

    Attributes
    ----------
    amount : array (m, r)
        What items add.
    sums : array (k, r)
        What clusters hold.
    limit : array (k, r)
        What they may hold at most; infinite for sums that later items may lower again.
    excess : array (k, r)
        How far `sums` are above what they should come to.
    share : array (m,)
        How large each item is, against all of them.
    """

    def __init__(self, s: Structure) -> None:
        loads = s.loads
        self.amount = loads.amount
        self.sums = np.zeros((s.n_clusters, loads.number))
        self.left = loads.amount.sum(axis=0)
        grows = (loads.amount >= 0).all(axis=0)  # the others are known only at the end
        self.limit = np.where(grows, loads.upper, np.inf)
        self._floor = np.where(grows, loads.lower, -np.inf)
        total = np.abs(loads.amount).sum(axis=0)
        total[total == 0] = 1.0
        self.share = (np.abs(loads.amount) / total).max(axis=1)
        self._unit = s.n_items / total
        self._weight = 1 / total**2
        self.excess = -_targets(self.left, loads.lower, loads.upper)

    def imbalance(self, j: int) -> FloatArray:
        """Where the item brings the sums nearest to their goals: least is best, (k,)."""
        return np.asarray(self.excess @ (self.amount[j] * self._weight))

    def broken(self, j: int) -> FloatArray:
        """How far beyond bounds each cluster would be with the item, in items, (k,)."""
        amount = self.amount[j]
        over = np.maximum(self.sums + amount - self.limit, 0)
        missing = np.maximum(self._floor - self.sums, 0)
        still = missing.sum(axis=0) - np.minimum(missing, amount)
        short = np.maximum(still - np.maximum(self.left - amount, 0) * (1 + 1e-12), 0)
        return np.asarray((over + short) @ self._unit)

    def add(self, items: list[int] | IntArray, clusters: list[int] | IntArray) -> None:
        """Place items."""
        amount = self.amount[items]
        np.add.at(self.sums, clusters, amount)
        np.add.at(self.excess, clusters, amount)
        self.left -= amount.sum(axis=0)


def _targets(total: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Between the bounds, as equal as they allow, and in sum the total where that is possible."""
    k = len(lower)
    goal = np.empty_like(lower)
    for r in range(total.size):
        low, up = lower[:, r], upper[:, r]
        ends = np.concatenate([low[np.isfinite(low)], up[np.isfinite(up)], total[[r]] / k])
        a, b = float(ends.min()), float(ends.max())
        a, b = a - abs(total[r]) - 1, b + abs(total[r]) + 1
        for _ in range(100):  # the level to which all clusters are filled
            level = (a + b) / 2
            a, b = (level, b) if np.clip(level, low, up).sum() < total[r] else (a, level)
        goal[:, r] = np.clip(b, low, up)
    return goal
