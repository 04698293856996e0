"""Sums over the items of each cluster, kept up to date move by move, and helpers for moves."""

from __future__ import annotations

import numpy as np

from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.problem.linear import Loads

# Sums are kept to twice the digits of a number, and looked at as one: so much that may round.
SUM_ROUNDING = 4 * np.finfo(float).eps


class Twofold:
    """Numbers that follow what is added to them without losing what is small: `high` and `low`."""

    def __init__(self, high: FloatArray, low: FloatArray) -> None:
        self.high, self.low = high, low

    def add(self, more: FloatArray) -> None:
        """Add numbers of the same shape."""
        before, after = self.high, self.high + more
        part = after - before
        self.low = self.low + ((before - (after - part)) + (more - part))
        self.high = after

    def split(self) -> tuple[FloatArray, FloatArray]:
        """The nearest numbers, and what is left."""
        value = self.high + self.low
        return value, self.low - (value - self.high)


class Sums:
    """Sums of loads, `now` (k, r)."""

    now: FloatArray

    def __init__(self, loads: Loads) -> None:
        self.loads = loads

    def refresh(self, labels: IntArray) -> None:
        """Sum up anew."""
        self.now, self._low = self.loads.twofold(labels)

    def apply(self, items: IntArray, start: IntArray, to: IntArray) -> None:
        """Follow one move; all arrays are (h,)."""
        if not self.loads.number:
            return
        for cluster in np.unique(np.concatenate([start, to])).reshape(-1, 1):
            both = self._after(cluster, items[None], start[None], to[None])
            self.now[cluster], self._low[cluster] = both.split()

    def after(
        self, cluster: IntArray, items: IntArray, start: IntArray, to: IntArray
    ) -> FloatArray:
        """What the sums of a cluster of its own are after each move, (n, r)."""
        return self._after(cluster, items, start, to).split()[0]

    def _after(self, cluster: IntArray, items: IntArray, start: IntArray, to: IntArray) -> Twofold:
        found = Twofold(self.now[cluster], self._low[cluster])
        sign = signs(start, to, cluster)
        for h in range(items.shape[1]):
            found.add(sign[:, h, None] * self.loads.amount[items[:, h]])
        return found

    def hold_after(self, items: IntArray, start: IntArray, to: IntArray) -> BoolArray:
        """Whether all bounds hold after each move, (n,)."""
        good = np.ones(len(items), np.bool_)
        for cluster in touched(start, to):
            after = self.after(cluster, items, start, to)
            rounding = SUM_ROUNDING * np.abs(after)
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
