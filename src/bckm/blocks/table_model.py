"""Prices from the table of a look, without another one.

In the model each row knows its best two clusters only, and gaps are spread evenly over each bin of
the table. There the dual (see `assign/transport_state.py`) is concave and piecewise quadratic in
the change of the prices, and is raised by as many Newton steps as it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.assign.transport_state import SizeBounds, walk
from bckm.blocks.answer import Table

STEPS, TRIES, SHORTER = 40, 8, 0.4
LEVELS = 12  # depths at which the rows near the borders of a cluster are counted
LEAST, PER_EXCESS = 8.0, 2.0  # rows from which a curvature is measured
BEYOND = 4.0  # rows that the table does not count are thought to reach so much farther
LONGEST = 3.0  # depths that a step goes at most
RIDGE = 1e-4  # of the degree, for clusters without any border
ROUNDS, ACCURACY = 100, 1e-6  # of the conjugate gradients


@dataclass(frozen=True, eq=False)
class Proposal:
    """Where the model leads.

    Attributes
    ----------
    change : array (k,)
        Of the prices.
    left : array (k,)
        Samples that each cluster would still have too few (or, negative, too many).
    """

    change: FloatArray
    left: FloatArray


class TableModel:
    """The dual near the prices of a look."""

    def __init__(
        self,
        table: Table,
        near: FloatArray,
        counts: IntArray,
        prices: FloatArray,
        bounds: SizeBounds,
    ) -> None:
        self.k, self.bounds = prices.size, bounds
        self.counts, self.prices = counts.astype(np.float64), prices
        self.total = float(counts.sum())
        best, second, begin, end, number = _cells(table, near, self.counts)
        self.best, self.second, self.number = best, second, number
        self.begin, self.end = begin, end
        self.width = np.maximum(end - begin, 1e-300)
        # pairs of clusters: on the axis of a pair a row stands at its gap, or on the other side
        least, most = np.minimum(best, second), np.maximum(best, second)
        pair, self.pair = np.unique(least * self.k + most, return_inverse=True)
        self.one, self.two = np.divmod(pair, self.k)
        self.side = np.where(best < second, 1.0, -1.0)
        self.levels, self.held = self._depths()

    def _depths(self) -> tuple[FloatArray, FloatArray]:
        """How many rows lie how near to the borders of each cluster, (LEVELS,) and (LEVELS, k)."""
        levels = float(self.end.max(initial=0.0)) * np.power(4.0, -np.arange(LEVELS))
        held: FloatArray = np.empty((LEVELS, self.k))
        for at, depth in enumerate(levels):
            inside = self.number * np.clip((depth - self.begin) / self.width, 0.0, 1.0)
            held[at] = self._around(inside)
        return levels, held

    def _around(self, cells: FloatArray) -> FloatArray:
        """Sums over the cells of each cluster, as best or as second."""
        k = self.k
        both = np.bincount(self.best, cells, k) + np.bincount(self.second, cells, k)
        return both.astype(np.float64)

    def depth(self, excess: FloatArray) -> FloatArray:
        """How deep the rows lie that a cluster has to win or lose, and a few more."""
        goal = np.maximum(LEAST, PER_EXCESS * np.abs(excess))
        depth = np.full(self.k, self.levels[0])
        for level, held in zip(self.levels, self.held, strict=True):
            depth = np.where(held >= goal, level, depth)
        return depth

    def at(self, change: FloatArray) -> tuple[FloatArray, float]:
        """Samples of each cluster after a change of prices, and the dual but for a constant."""
        x = change[self.second] - change[self.best]
        inside = np.clip(x - self.begin, 0.0, self.width)
        moved = self.number * (inside / self.width)
        # what the movers gain: x - gap, summed up over those with a gap below x
        gain = self.number @ (inside * (x - self.begin - inside / 2) / self.width)
        k = self.k
        units = self.counts - np.bincount(self.best, moved, k) + np.bincount(self.second, moved, k)
        after, bounds = self.prices + change, self.bounds
        value = bounds.lower @ after.clip(0.0) + bounds.upper @ after.clip(max=0.0)
        return units, float(value - self.counts @ change - gain)

    def density(self, change: FloatArray, depth: FloatArray) -> FloatArray:
        """Rows of each pair per unit of price, measured that deep around the present border."""
        x = (change[self.two] - change[self.one])[self.pair] * self.side
        deep = np.maximum(depth[self.best], depth[self.second])
        overlap = np.minimum(self.end, x + deep) - np.maximum(self.begin, x - deep)
        inside = self.number * np.clip(overlap / self.width, 0.0, 1.0) / (2 * deep)
        return np.bincount(self.pair, inside, self.one.size).astype(np.float64)

    def newton(self, change: FloatArray, gradient: FloatArray) -> FloatArray | None:
        """A Newton step; None where no row is near a border."""
        prices, bounds, k = self.prices + change, self.bounds, self.k
        active = (gradient != 0) | (prices != 0) | (bounds.lower == bounds.upper)
        depth = self.depth(gradient)
        weight = self.density(change, depth)
        pairs = sp.coo_array((weight, (self.one, self.two)), (k, k)).tocsr()
        pairs = (pairs + pairs.T).tocsr()
        degree = np.asarray(pairs.sum(axis=1)).ravel()
        mean = float(degree.mean())
        if not mean > 0:
            return None
        degree = np.where(degree > 0, degree * (1 + RIDGE), RIDGE * mean)
        longest = LONGEST * float(depth.max())
        return _solved(pairs, degree, np.where(active, gradient, 0.0), active).clip(
            -longest, longest
        )

    def solved(self) -> Proposal:
        """The change of prices that is best in the model, within the reach of the table."""
        bounds, k = self.bounds, self.k
        change, farthest = np.zeros(k), float(self.end.max(initial=0.0))
        units, value = self.at(change)
        gradient = bounds.gradient(units, self.prices)
        for _ in range(STEPS):
            if np.abs(gradient).sum() < np.sqrt(k):
                break
            step = self.newton(change, gradient)
            if step is None:
                break
            for _ in range(TRIES):
                after = walk(bounds, self.prices + change, step, gradient) - self.prices
                after = np.median(after) + (after - np.median(after)).clip(-farthest, farthest)
                after = bounds.shifted(self.prices + after, self.total) - self.prices
                units, risen = self.at(after)
                if risen > value:
                    break
                step = step * SHORTER
            else:
                break
            gained, change, value = risen - value, after, risen
            gradient = bounds.gradient(units, self.prices + change)
            if gained <= 1e-15 * abs(value):
                break
        units, _ = self.at(change)
        left = bounds.gradient(units, self.prices + change)
        return Proposal(change, left)


def _cells(
    table: Table, near: FloatArray, counts: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]:
    """The cells of a table, and further ones for the rows that it does not count.

    These are thought to be where those that it counts are, only farther from the border.
    """
    k = near.size
    best, second, begin, end = table.cells(k)
    number = table.number.astype(np.float64)
    pair, which = np.unique(best * k + second, return_inverse=True)
    a, b = np.divmod(pair, k)
    counted = np.bincount(which, number, pair.size)
    share = counted / np.maximum(np.bincount(a, counted, k)[a], 1e-300)
    rest = (counts - np.bincount(best, number, k)).clip(0.0)[a] * share
    limit = near[a] + near[b]
    return (
        np.concatenate([best, a]),
        np.concatenate([second, b]),
        np.concatenate([begin, limit]),
        np.concatenate([end, BEYOND * limit]),
        np.concatenate([number, rest]),
    )


def _solved(
    pairs: sp.csr_array, degree: FloatArray, wanted: FloatArray, active: BoolArray
) -> FloatArray:
    """The step after which each active cluster has won what it wants: conjugate gradients."""
    x, rest = np.zeros_like(wanted), wanted.copy()
    z = rest / degree
    way, weight = z.copy(), float(rest @ z)
    enough = ACCURACY * weight
    for _ in range(ROUNDS):
        if weight <= enough:
            break
        image = np.where(active, degree * way - pairs @ way, 0.0)
        length = weight / float(way @ image)
        x += length * way
        rest -= length * image
        z = rest / degree
        before, weight = weight, float(rest @ z)
        way = z + weight / before * way
    return x
