"""`Answer`: what a look at blocks tells, mergeable in any order and grouping to the same bits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray, IntArray
from bckm.blocks.drawn import Drawn, merged_drawn
from bckm.blocks.equal_rows import groups_of

FAN = 16  # answers that are held before they are merged
SPARE = 3  # one of 2^3 rows that are returned is drawn, too
FEW = 16  # samples at one row that are listed; of more, their number is told


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

    @property
    def nbytes(self) -> int:
        """Size of the message."""
        arrays = (self.rows, self.label, self.number, self.first, self.index, self.which)
        return sum(int(array.nbytes) for array in arrays)

    def united(self, most: int) -> Taken:
        """List equal rows once."""
        group = groups_of(self.rows)
        different = int(group.max(initial=-1)) + 1
        if different > most:
            return Taken.none(self.rows.shape[1], self.rows.dtype, overflow=True)
        if different == 0:
            return self
        if different == group.size and (self.first[1:] > self.first[:-1]).all():
            few = self.number[self.which] <= FEW
            if few.all() and (self.index[1:] > self.index[:-1]).all():
                return self  # as they should be
        order = np.lexsort((self.first, group))
        begin = np.flatnonzero(np.diff(group[order], prepend=-1))
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
    taken : Taken
        Rows that may change their cluster, or that others might label otherwise.
    spare, drawn : Drawn
        Some of these, in case they are too many; some of the rows beyond.
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
    taken: Taken
    spare: Drawn
    drawn: Drawn
    minima: NDArray[np.float32]
    located: IntArray
    most: int

    @property
    def nbytes(self) -> int:
        """Size of the message, about."""
        taken = self.taken
        arrays = (self.counts, self.farthest, self.high, self.low, self.minima, self.located)
        rows = taken.nbytes + self.spare.nbytes + self.drawn.nbytes
        return sum(int(array.nbytes) for array in arrays) + rows


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
        taken=_merged_taken([part.taken for part in parts], first.most),
        spare=merged_drawn([part.spare for part in parts], first.most >> SPARE),
        drawn=merged_drawn([part.drawn for part in parts], first.most),
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
        rows += len(answer.taken.rows) + len(answer.drawn.rows)
        if len(held) > FAN or rows > 2 * answer.most:
            held = [merged(held)]
            rows = len(held[0].taken.rows) + len(held[0].drawn.rows)
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
