"""`Answer`: what a look at blocks tells, mergeable in any order and grouping to the same bits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import blocks
from bckm._core.types import FloatArray, IntArray

NUMBERS = 2**19  # in a part of rows that are compared
FAN = 16  # answers that are held before they are merged
FEW = 16  # samples at one row that are listed; of more, their number is told
BINS = 256  # of the table, for each pair of clusters: four for each factor of two
SHIFT, LOWEST = 21, (127 - 52) << 2  # bins are bits of a float32, from 2^-52 on


@dataclass(frozen=True, eq=False)
class Table:
    """How many rows there are whose best two clusters are a and b, by the gap between these.

    Attributes
    ----------
    key : array (m,)
        (a * k + b) * BINS + bin, increasing; see `cells`.
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

    @classmethod
    def of_gaps(cls, best: IntArray, second: IntArray, gap: FloatArray, near: FloatArray) -> Table:
        """Count rows by their best two clusters and the gap between these; see `Question.near`."""
        at = np.flatnonzero(gap <= near[best] + near[second])
        bits = gap[at].astype(np.float32).view(np.int32) >> SHIFT
        place = np.clip(bits.astype(np.int64) - LOWEST, 0, BINS - 1)  # negative gaps are rounding
        return cls.counted((best[at] * near.size + second[at]) * BINS + place)

    def cells(self, k: int) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Best and second cluster of each cell, and from where to where its gaps reach."""
        pair, place = np.divmod(self.key, BINS)
        best, second = np.divmod(pair, k)
        ends = ((np.arange(BINS + 1) + LOWEST) << SHIFT).astype(np.int32).view(np.float32)
        edges = ends.astype(np.float64)
        edges[0] = 0.0
        return best, second, edges[place], edges[place + 1]


@dataclass(frozen=True, eq=False)
class Taken:
    """Rows that were returned; equal rows once.

    Attributes
    ----------
    rows : array (u, d)
        Different rows, as in X, in the order of their first samples.
    label : array (u,)
        Their best cluster.
    number, first : arrays (u,)
        How many samples each row stands for, and the first of them.
    index, which : arrays (m,)
        Samples of rows that stand for at most `FEW`, increasing, and the place of each in `rows`.
    overflow : bool
        Whether there would have been more than `most` different rows: then there are none.
    """

    rows: NDArray[Any]
    label: NDArray[np.int32]
    number: IntArray
    first: IntArray
    index: IntArray
    which: IntArray
    overflow: bool = False

    @classmethod
    def none(cls, n_features: int, dtype: Any, *, overflow: bool = False) -> Taken:
        """Nothing was asked for, or too much."""
        empty, rows = np.empty(0, np.int64), np.empty((0, n_features), dtype)
        return cls(rows, np.empty(0, np.int32), empty, empty, empty, empty, overflow)

    @classmethod
    def found(
        cls, rows: NDArray[Any], label: NDArray[np.int32], index: IntArray, most: int
    ) -> Taken:
        """Rows as they were found, given with the sample of each."""
        each = np.arange(index.size)
        return cls(rows, label, np.ones_like(index), index, index, each).united(most)

    def united(self, most: int) -> Taken:
        """List equal rows once."""
        group = groups_of(self.rows)
        order = np.lexsort((self.first, group))
        begin = np.flatnonzero(np.diff(group[order], prepend=-1))
        if begin.size > most:
            return Taken.none(self.rows.shape[1], self.rows.dtype, overflow=True)
        if begin.size == 0:
            return self
        kept, number = order[begin], np.add.reduceat(self.number[order], begin)
        by_first = np.argsort(self.first[kept])
        place = np.empty_like(by_first)
        place[by_first] = np.arange(by_first.size)
        kept, number = kept[by_first], number[by_first]
        which = place[group[self.which]]
        few = number[which] <= FEW
        index, which = self.index[few], which[few]
        order = np.argsort(index)
        rows, label, first = self.rows[kept], self.label[kept], self.first[kept]
        return Taken(rows, label, number, first, index[order], which[order])


def groups_of(rows: NDArray[Any]) -> IntArray:
    """A number for each row, the same for equal rows."""
    parts = list(blocks(len(rows), max(1, rows.shape[1]), NUMBERS))
    factors = np.random.default_rng(0).integers(1, 2**63, _words(rows[:0]).shape[1], np.uint64)
    key = np.empty(len(rows), np.uint64)
    for part in parts:
        words = _words(rows[part])
        words ^= words >> np.uint64(29)
        key[part] = words @ (factors * np.uint64(2) + np.uint64(1))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    alike = (_words(rows[part]) == _words(rows[first[group[part]]]) for part in parts)
    if all(same.all() for same in alike):
        return np.asarray(group)
    _, group = np.unique(_words(rows), axis=0, return_inverse=True)  # two rows with one key
    return np.asarray(group).reshape(-1)


def _words(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """The bytes of rows as whole numbers, in an array of their own."""
    rows = np.ascontiguousarray(rows + 0.0 if rows.dtype.kind == "f" else rows)  # no minus zero
    size = rows.shape[1] * rows.dtype.itemsize
    words = np.zeros((len(rows), -(-size // 8) * 8), np.uint8)
    words[:, :size] = rows.view(np.uint8).reshape(len(rows), size)
    return words.view(np.uint64)


def alike(listed: NDArray[Any], rows: NDArray[Any]) -> IntArray:
    """The first listed row that each row equals; -1 where there is none."""
    group = groups_of(np.concatenate([listed, rows]))
    first = np.full(int(group.max(initial=-1)) + 1, -1)
    first[group[: len(listed)][::-1]] = np.arange(len(listed))[::-1]  # the last one written stays
    return np.asarray(first[group[len(listed) :]])


@dataclass(frozen=True, eq=False)
class Answer:
    """What a look tells; see `Question`.

    Attributes
    ----------
    counts : array (k,)
        Rows of each cluster.
    cost : int
        Squared distances to the own centers, summed up; see `whole_sums`.
    farthest : array (k,)
        Largest squared distance of a row of each cluster to its center.
    high, low : arrays (k, d)
        Sums of the rows of each cluster, in two pieces; see `whole_sums`. Empty if not asked for.
    table : Table
        Rows near the borders of clusters.
    taken : Taken
        Rows that may change their cluster.
    minima : array (k, k)
        Least gap of all other rows of cluster a to cluster b, where that is at most `wide`. Empty
        if no rows were asked for.
    located : array (t, WINDOWS)
        Samples of listed rows; empty if none were listed.
    most : int
        As in the question.
    """

    counts: IntArray
    cost: int
    farthest: FloatArray
    high: IntArray
    low: IntArray
    table: Table
    taken: Taken
    minima: NDArray[np.float32]
    located: IntArray
    most: int

    @property
    def nbytes(self) -> int:
        """Size of the message, about."""
        taken, table = self.taken, self.table
        arrays = (
            self.counts,
            self.high,
            self.low,
            table.key,
            table.number,
            self.minima,
            self.located,
        )
        rows = (taken.rows, taken.label, taken.number, taken.first, taken.index, taken.which)
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
        farthest=np.maximum.reduce([part.farthest for part in parts]),
        high=_sum(part.high for part in parts),
        low=_sum(part.low for part in parts),
        table=Table.counted(
            np.concatenate([part.table.key for part in parts]),
            np.concatenate([part.table.number for part in parts]),
        ),
        taken=_merged_taken([part.taken for part in parts], first.most),
        minima=np.minimum.reduce([part.minima for part in parts]),
        located=_sum(part.located for part in parts),
        most=first.most,
    )


def gathered(answers: Iterable[Answer]) -> Answer:
    """The same of answers that come one by one: few of them, and of their rows, are held."""
    held: list[Answer] = []
    rows = 0
    for answer in answers:
        held.append(answer)
        rows += len(answer.taken.rows)
        if len(held) > FAN or rows > answer.most:
            held = [merged(held)]
            rows = len(held[0].taken.rows)
    return merged(held)


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
    return Taken(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.number for part in parts]),
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.index for part in parts]),
        np.concatenate([part.which + b for part, b in zip(parts, begin, strict=True)]),
    ).united(most)
