"""Sums over the items of each cluster, kept up to date move by move, and helpers for moves."""

from __future__ import annotations

import numpy as np

from bckm._linear import Loads
from bckm._types import BoolArray, FloatArray, IntArray

# Rows and sums hold to the last digit when they are summed up anew; kept move by move they may
# round, so that a move has to keep this share of them away from the bounds.
SUM_ROUNDING = 1e-13


class Sums:
    """Sums of loads, `now` (k, r)."""

    now: FloatArray

    def __init__(self, loads: Loads) -> None:
        self.loads = loads

    def refresh(self, labels: IntArray) -> None:
        """Sum up anew."""
        self.now = self.loads.of(labels)

    def apply(self, items: IntArray, start: IntArray, to: IntArray) -> None:
        """Follow one move; all arrays are (h,)."""
        amount = self.loads.amount[items]
        np.subtract.at(self.now, start, amount)
        np.add.at(self.now, to, amount)

    def comes(
        self, cluster: IntArray, items: IntArray, start: IntArray, to: IntArray
    ) -> FloatArray:
        """What each move adds to the sums of a cluster of its own, (n, r)."""
        return np.asarray(
            np.einsum("nh,nhr->nr", signs(start, to, cluster), self.loads.amount[items])
        )

    def hold_after(self, items: IntArray, start: IntArray, to: IntArray) -> BoolArray:
        """Whether all bounds hold after each move, (n,)."""
        good = np.ones(len(items), np.bool_)
        for cluster in touched(start, to):
            now = self.now[cluster]
            after = now + self.comes(cluster, items, start, to)
            rounding = SUM_ROUNDING * (np.abs(now) + np.abs(after))
            kept = after >= self.loads.lower[cluster] + rounding
            kept &= after <= self.loads.upper[cluster] - rounding
            # sums that no item counts in are not asked for
            counts = (self.loads.amount[items] != 0) & (signs(start, to, cluster) != 0)[:, :, None]
            good &= (kept | ~counts.any(axis=1)).all(axis=1)
        return good


def touched(start: IntArray, to: IntArray) -> IntArray:
    """Clusters that each move touches, each once, (t, n); -1: none further."""
    both = np.sort(np.concatenate([start, to], axis=1), axis=1)
    both[:, 1:][both[:, 1:] == both[:, :-1]] = -1
    return both.T[(both >= 0).any(axis=0)]


def signs(start: IntArray, to: IntArray, cluster: IntArray) -> IntArray:
    """Whether each item comes to a cluster (1), goes (-1), or neither (0), (n, h)."""
    i = cluster[:, None]
    sign: IntArray = (to == i).astype(np.int64) - (start == i)
    return sign


def entries(start: IntArray, which: IntArray) -> tuple[IntArray, IntArray]:
    """Places of the entries of some compressed lists, and in `which` the place of their list."""
    length = start[which + 1] - start[which]
    whose = np.repeat(np.arange(which.size), length)
    first = np.cumsum(length) - length
    return np.arange(whose.size) + (start[which] - first)[whose], whose
