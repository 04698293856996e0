"""`Answer`: what a look at blocks tells, mergeable in any order and grouping to the same bits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray, IntArray

BINS = 32  # of the table, for each pair of clusters; quadratic, so fine near zero


@dataclass(frozen=True, eq=False)
class Table:
    """How many rows there are whose best two clusters are a and b, by the gap between these.

    Attributes
    ----------
    key : array (m,)
        (a * k + b) * BINS + bin, increasing; see `edges`.
    number : array (m,)
        Rows.
    """

    key: IntArray
    number: IntArray

    @classmethod
    def counted(cls, key: IntArray, number: IntArray | None = None) -> Table:
        """Count keys, or add up the numbers of equal ones."""
        if number is None:
            found, number = np.unique(key, return_counts=True)
            return cls(found, number.astype(np.int64))
        order = np.argsort(key, kind="stable")
        key, number = key[order], number[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        return cls(key[first], np.add.reduceat(number, first) if first.size else number)

    @staticmethod
    def edges(near: float) -> FloatArray:
        """Where bins begin and the last one ends, (BINS + 1,)."""
        return near * np.square(np.arange(BINS + 1) / BINS)

    @staticmethod
    def bins(gap: FloatArray, near: float) -> IntArray:
        """The bin of each gap."""
        share = np.sqrt(np.maximum(gap, 0.0) / near)
        return np.minimum((BINS * share).astype(np.int64), BINS - 1)


@dataclass(frozen=True, eq=False)
class Taken:
    """Rows that were returned; equal rows once.

    Attributes
    ----------
    rows : array (u, d)
        Different rows, as in X, in the order of their first samples.
    label : array (u,)
        Their best cluster.
    index, which : arrays (m,)
        Numbers of all samples, increasing, and the place of each in `rows`.
    overflow : bool
        Whether there would have been more than `most` different rows: then there are none.
    """

    rows: NDArray[Any]
    label: NDArray[np.int32]
    index: IntArray
    which: IntArray
    overflow: bool = False

    @classmethod
    def none(cls, n_features: int, dtype: Any, *, overflow: bool = False) -> Taken:
        """Nothing was asked for, or too much."""
        empty = np.empty(0, np.int64)
        rows = np.empty((0, n_features), dtype)
        return cls(rows, np.empty(0, np.int32), empty, empty, overflow)

    @classmethod
    def found(
        cls, rows: NDArray[Any], label: NDArray[np.int32], index: IntArray, most: int
    ) -> Taken:
        """Find equal ones among rows, given with the number of each."""
        return cls.united(rows, label, index, np.arange(index.size), most)

    @classmethod
    def united(
        cls,
        rows: NDArray[Any],
        label: NDArray[np.int32],
        index: IntArray,
        which: IntArray,
        most: int,
    ) -> Taken:
        """List equal rows once; `which` says where in `rows` each sample is."""
        order = np.argsort(index, kind="stable")
        index, which = index[order], which[order]
        group = _groups(rows)
        # groups in the order of their first samples
        _, first, place = np.unique(group[which], return_index=True, return_inverse=True)
        if first.size > most:
            return cls.none(rows.shape[1], rows.dtype, overflow=True)
        by_first = np.argsort(first)
        rank = np.empty_like(by_first)
        rank[by_first] = np.arange(by_first.size)
        kept = which[first[by_first]]
        return cls(rows[kept], label[kept], index, rank[place])

    @property
    def number(self) -> IntArray:
        """Samples at each row."""
        return np.bincount(self.which, minlength=len(self.rows))


def _groups(rows: NDArray[Any]) -> IntArray:
    """A number for each row, the same for equal rows."""
    rows = np.ascontiguousarray(rows + 0.0 if rows.dtype.kind == "f" else rows)  # no minus zero
    size = rows.shape[1] * rows.dtype.itemsize
    words = np.zeros((len(rows), -(-size // 8) * 8), np.uint8)
    words[:, :size] = rows.view(np.uint8).reshape(len(rows), size)
    numbers = words.view(np.uint64)
    factors = np.random.default_rng(0).integers(1, 2**63, numbers.shape[1], np.uint64) * 2 + 1
    key = (numbers ^ (numbers >> np.uint64(29))) @ factors
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    if (numbers[first[group]] == numbers).all():
        return np.asarray(group)
    _, group = np.unique(numbers, axis=0, return_inverse=True)  # two rows with one key
    return np.asarray(group).reshape(-1)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a look tells; see `Question`.

    Attributes
    ----------
    counts : array (k,)
        Rows of each cluster.
    cost : int
        Squared distances to the own centers, summed up; see `whole_sums`.
    high, low : arrays (k, d)
        Sums of the rows of each cluster, in two pieces; see `whole_sums`. Empty if not asked for.
    table : Table
        Rows near the borders of clusters.
    taken : Taken
        Rows that may change their cluster.
    most : int
        As in the question.
    """

    counts: IntArray
    cost: int
    high: IntArray
    low: IntArray
    table: Table
    taken: Taken
    most: int

    @property
    def nbytes(self) -> int:
        """Size of the message, about."""
        taken, table = self.taken, self.table
        arrays = (self.counts, self.high, self.low, table.key, table.number)
        rows = (taken.rows, taken.label, taken.index, taken.which)
        return sum(int(array.nbytes) for array in (*arrays, *rows))


def merged(answers: Iterable[Answer]) -> Answer:
    """One answer for all rows; in any order and grouping the same."""
    parts = list(answers)
    first = parts[0]
    if len(parts) == 1:
        return first
    return Answer(
        counts=_sum(part.counts for part in parts),
        cost=sum(part.cost for part in parts),
        high=_sum(part.high for part in parts),
        low=_sum(part.low for part in parts),
        table=Table.counted(
            np.concatenate([part.table.key for part in parts]),
            np.concatenate([part.table.number for part in parts]),
        ),
        taken=_merged_taken([part.taken for part in parts], first.most),
        most=first.most,
    )


def _sum(arrays: Iterable[IntArray]) -> IntArray:
    parts = iter(arrays)
    total = next(parts).copy()
    for part in parts:
        total += part
    return total


def _merged_taken(parts: list[Taken], most: int) -> Taken:
    first = parts[0]
    if any(part.overflow for part in parts):
        return Taken.none(first.rows.shape[1], first.rows.dtype, overflow=True)
    parts = [part for part in parts if len(part.rows)] or [first]
    if len(parts) == 1:
        return parts[0]
    begin = np.cumsum([0, *(len(part.rows) for part in parts[:-1])])
    return Taken.united(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.index for part in parts]),
        np.concatenate([part.which + b for part, b in zip(parts, begin, strict=True)]),
        most,
    )
