"""Items that are alike, as one point of several samples: what a look at points need not repeat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.kernels import native


@dataclass(frozen=True, eq=False)
class Settled:
    """What `kernels.native.settle` found, or nothing where there was nothing to settle."""

    prices: FloatArray
    split_point: IntArray
    split_cluster: IntArray
    split_units: IntArray

    @classmethod
    def still(cls, prices: FloatArray) -> Settled:
        """All is settled at these prices."""
        none = np.empty(0, np.int64)
        return cls(prices, none, none, none)


@dataclass(frozen=True, eq=False)
class Groups:
    """Items as points: those that are alike are listed once.

    Attributes
    ----------
    weight : array (m,)
        Weight of each sample of an item in the cost.
    first, members : arrays (p,) or None
        First item of each point and their number; None where each item is a point.
    supply : array (p,) or None
        Samples of each point; None where each has one.
    """

    weight: FloatArray
    first: IntArray | None = None
    members: IntArray | None = None
    supply: IntArray | None = None

    @classmethod
    def of(
        cls,
        points: FloatArray,
        cost_weight: FloatArray,
        count: IntArray | None = None,
        single: BoolArray | None = None,
    ) -> Groups:
        """Find equal points: they are neighbors, because items are ordered by their values.

        Items may have several samples (`count`); only those that are `single` are joined.
        """
        m = len(cost_weight)
        weight = cost_weight if count is None else cost_weight / count
        new = np.ones(m, bool)
        block = max(1, 2**20 // points.shape[1])
        for begin in range(1, m, block):
            rows = slice(begin, min(m, begin + block))
            before = slice(rows.start - 1, rows.stop - 1)
            equal = (points[rows] == points[before]).all(axis=1)
            new[rows] = ~(equal & (cost_weight[rows] == cost_weight[before]))
        if single is not None:
            new[1:] |= ~(single[1:] & single[:-1])
        first = np.flatnonzero(new)
        members = np.diff(first, append=m)
        if first.size > 0.95 * m and members.max() < 8:  # not worth the indirection
            return cls(weight, supply=count)
        supply = members if count is None else np.add.reduceat(count, first)
        return cls(weight, first, members, supply)

    def point(self, items: IntArray) -> IntArray:
        """Points of items."""
        if self.first is None:
            return items
        return np.asarray(np.searchsorted(self.first, items, side="right") - 1)

    def expand(
        self,
        label: NDArray[np.int32],
        settled: native.SettleResult | Settled | None = None,
        points: IntArray | None = None,
    ) -> IntArray:
        """Labels of items from those of points; `points` are those that were settled, else all."""
        if self.members is None or self.first is None:
            return label.astype(np.int64)
        labels = np.repeat(label.astype(np.int64), self.members)
        if settled is None:
            return labels
        which = settled.split_point if points is None else points[settled.split_point]
        end = self.first + self.members
        parts = zip(which, settled.split_cluster, settled.split_units, strict=True)
        for point, cluster, units in parts:
            labels[end[point] - units : end[point]] = cluster
            end[point] -= units
        return labels
