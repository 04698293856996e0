"""Rows counted by their cluster, another one, and what they would cost more there.

So many numbers tell how many rows change cluster when prices move, however far: a model of the dual
(`kernels/blocks/gap_table`) that is asked of a quick holder instead of rows. Where clusters lie in
groups, rows between two groups are few, and no sample has enough of them; counts have them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import squared_distances
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.kernels import native

BINS, SHIFT, LOWEST = 64, 22, (127 - 32) << 1  # bits of a float32 below 1, from 2^-32 on
OTHERS = 128  # clusters of which the rows of each tell what they cost more there, at most
ROOM = 3 * 2**13  # numbers of a block of a device that counts: bins and features of the others
SOME = 16.0  # rows of a pair that are asked for at least
DOUBT = 4.0  # rows more or less say nothing
CHANGE, LEAST = (0.1, 3.0), 0.05  # of a share


@dataclass(frozen=True, eq=False)
class GapCounts:
    """How many rows of each cluster cost how much more in some others.

    Attributes
    ----------
    other : array (k, m)
        Other clusters, increasing.
    count : array (k, m, BINS)
        Rows of each bin of what they cost more.
    shift : array (k, m)
        From where on bins of each pair are fine; the first one begins at 0.
    top : float
        How far bins reach from there.
    """

    other: NDArray[np.int32]
    count: NDArray[np.uint32]
    shift: FloatArray
    top: float

    @property
    def ends(self) -> FloatArray:
        """Where bins end, from where on they are fine, (BINS,)."""
        bits = (np.arange(1, BINS + 1) + LOWEST) << SHIFT
        return self.top * bits.astype(np.int32).view(np.float32).astype(np.float64)

    def table(
        self,
        many: FloatArray,
        prices: FloatArray,
        units: FloatArray,
        threads: int,
        share: FloatArray | None = None,
    ) -> native.GapTable:
        """The model, at prices where clusters hold so many rows, `many` of which have to move."""
        share = np.ones(self.other.shape) if share is None else share
        return native.GapTable(
            self.other, self.count, share, self.shift, self.ends, many, prices, units, threads
        )

    def first(self) -> FloatArray:
        """What no row costs less than, about, (k, m): where the first bin with a row begins."""
        held = self.count > 0
        first = np.where(held.any(axis=2), held.argmax(axis=2), 0)
        return np.where(first > 0, self.shift + self.ends[first - 1], 0.0)

    def beyond(self, limit: FloatArray, which: BoolArray, times: float) -> FloatArray:
        """Limits up to which some pairs, (k, m), have so many times as many rows, and some more."""
        limit, ends = limit.copy(), np.append(self.ends, np.inf)
        rows = np.cumsum(self.count[which], axis=1, dtype=np.int64)
        fine = limit[which] - self.shift[which]
        bins = np.minimum(np.searchsorted(ends, fine, side="right"), BINS)
        known = np.where(bins > 0, rows[np.arange(bins.size), bins - 1], 0)
        goal = np.maximum(times * known, known + SOME)
        place = np.maximum((rows < goal[:, None]).sum(axis=1), bins)
        limit[which] = self.shift[which] + ends[place]
        return limit


def bin_of(gap: FloatArray, top: float) -> IntArray:
    """The bin of what rows cost more, as holders count them."""
    bits = np.maximum(gap / top, 0.0).astype(np.float32).view(np.int32)
    return np.clip((bits >> SHIFT).astype(np.int64) - LOWEST, 0, BINS - 1)


def others_of_each(k: int, d: int) -> int:
    """How many other clusters of each are told of."""
    return max(1, min(k - 1, OTHERS, ROOM // (BINS + d)))


def others_of(
    centers: FloatArray, prices: FloatArray, means: FloatArray, met: Flow | None = None
) -> NDArray[np.int32]:
    """Other clusters that cost the mean of each the least, (k, m), increasing.

    Before these, those that its rows have `met`, or that rows have come from; the last ones first.
    """
    k, d = centers.shape
    many = others_of_each(k, d)
    if many == k - 1:
        each = np.arange(k)
        return (each[1:] - (each[1:] <= each[:, None])).astype(np.int32)
    value = np.square(centers).sum(axis=1) - prices - 2 * (means @ centers.T)
    if met is not None and met.pair.size:
        value -= value.max()
        first, away, to = 2 * float(value.min()) - 1, met.pair // k, met.pair % k
        for pair in ((away, to), (to, away)):
            value[pair] = np.minimum(value[pair], first * (1 + met.rows))
    np.fill_diagonal(value, np.inf)
    nearest = np.argpartition(value, many - 1, axis=1)[:, :many]
    return np.sort(nearest, axis=1).astype(np.int32)


def top_of(
    centers: FloatArray, prices: FloatArray, farthest: FloatArray, other: NDArray[np.int32]
) -> float:
    """What no row costs more in one of the others: by how far rows and centers are apart."""
    apart = np.sqrt(squared_distances(centers, centers))
    most = apart * (apart + 2 * np.sqrt(farthest)[:, None]) + prices[:, None] - prices
    most = np.take_along_axis(most, other.astype(np.int64), axis=1)
    return max(1.001 * float(most.max()), float(np.finfo(np.float32).tiny))


@dataclass(frozen=True, eq=False)
class Flow:
    """Rows that went from a cluster to another one.

    Attributes
    ----------
    pair : array (p,)
        k from + to, increasing.
    rows : array (p,)
        How many.
    """

    pair: IntArray
    rows: FloatArray

    @classmethod
    def none(cls) -> Flow:
        """No rows."""
        return cls(np.empty(0, np.int64), np.empty(0))

    def of(self, pair: IntArray) -> FloatArray:
        """Rows of some pairs."""
        if not self.pair.size:
            return np.zeros(pair.size)
        at = np.minimum(np.searchsorted(self.pair, pair), self.pair.size - 1)
        return np.where(self.pair[at] == pair, self.rows[at], 0.0)

    def later(self, other: Flow) -> Flow:
        """Pairs of both, and instead of rows when they were seen last, from 1 on."""
        last = float(self.rows.max(initial=0.0))
        pair, at = np.unique(np.concatenate([self.pair, other.pair]), return_inverse=True)
        when = np.zeros(pair.size)
        np.maximum.at(when, at, np.append(self.rows, np.full(other.pair.size, last + 1)))
        return Flow(pair, when)

    def plus(self, other: Flow) -> Flow:
        """The rows of both."""
        pair, at = np.unique(np.concatenate([self.pair, other.pair]), return_inverse=True)
        rows = np.bincount(at, np.concatenate([self.rows, other.rows]), pair.size)
        return Flow(pair, rows.astype(np.float64))


class Shares:
    """Which part of the rows that a table promised have moved, for each pair of clusters.

    A row that could go to several clusters counts for each; clusters of a group far away are such.
    """

    def __init__(self) -> None:
        self._less = Flow.none()  # 1 less the share

    def of(self, other: NDArray[np.int32]) -> FloatArray:
        """The share of each pair, (k, m); 1 where nothing was seen."""
        return 1.0 - self._less.of(pairs_of(other)).reshape(other.shape)

    def learn(self, other: NDArray[np.int32], promised: FloatArray, moved: Flow) -> None:
        """What has moved after so many were promised, (k, m)."""
        pair = pairs_of(other)
        change = (moved.of(pair) + DOUBT) / (promised.ravel() + DOUBT)
        share = np.clip(self.of(other).ravel() * np.clip(change, *CHANGE), LEAST, 1.0)
        self._less = Flow(pair, 1.0 - share)


def pairs_of(other: NDArray[np.int32]) -> IntArray:
    """A number for each pair, increasing; see `Flow`."""
    k = len(other)
    return (np.arange(k)[:, None] * k + other).ravel()
