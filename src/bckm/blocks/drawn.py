"""`Drawn`: rows that were drawn by their numbers, each of which stands for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import BoolArray, IntArray
from bckm.blocks.survey import hashed

LEVELS = 40  # one of 2^40 rows is drawn at least


@dataclass(frozen=True, eq=False)
class Drawn:
    """Some of the rows near borders; equal rows are drawn one by one.

    Attributes
    ----------
    rows : array (m, d)
        As in X.
    index : array (m,)
        Their numbers, increasing.
    level : array (m,)
        One of 2^level such rows was drawn.
    draw, thinned : int
        As in the question; fewer were drawn, by so many levels, where there would have been more
        than `most`.
    """

    rows: NDArray[Any]
    index: IntArray
    level: NDArray[np.int8]
    draw: int
    thinned: int = 0

    @classmethod
    def none(cls, n_features: int, dtype: Any, draw: int) -> Drawn:
        """Nothing was asked for."""
        empty, rows = np.empty(0, np.int64), np.empty((0, n_features), dtype)
        return cls(rows, empty, empty.astype(np.int8), draw)

    @classmethod
    def among(
        cls, block: NDArray[Any], at: IntArray, level: NDArray[np.int8], offset: int, draw: int
    ) -> Drawn:
        """Draw some of these rows of a block, whose first row is number `offset`."""
        some = np.flatnonzero(_are_drawn(at + offset, level, draw))
        index = at[some]
        return cls(block[index], index + offset, level[some], draw)

    @property
    def number(self) -> IntArray:
        """How many rows each stands for."""
        return np.int64(1) << self.level.astype(np.int64)

    @property
    def nbytes(self) -> int:
        """Size of the message, about."""
        return int(self.rows.nbytes + self.index.nbytes + self.level.nbytes)

    def thinner(self, thinned: int) -> Drawn:
        """Fewer: half of them at each level."""
        if thinned == self.thinned:
            return self
        level = (self.level + (thinned - self.thinned)).astype(np.int8)
        at = np.flatnonzero(_are_drawn(self.index, level, self.draw))
        return Drawn(self.rows[at], self.index[at], level[at], self.draw, thinned)

    def at_most(self, most: int) -> Drawn:
        """So many: as much thinner as needed."""
        drawn = self
        while len(drawn.rows) > most:
            drawn = drawn.thinner(drawn.thinned + 1)
        return drawn


def levels(ratio: NDArray[np.float32], thin: int) -> NDArray[np.int8]:
    """For rows whose gaps are so many limits, above one: the farther, the fewer are drawn."""
    level = np.clip(np.frexp(np.minimum(ratio, 1e30))[1], 1, LEVELS)
    return np.asarray(np.minimum(level + thin, 63), np.int8)


def _are_drawn(index: IntArray, level: NDArray[np.int8], draw: int) -> BoolArray:
    chance = np.uint64(1) << (63 - np.minimum(level, 63)).astype(np.uint64)
    return np.asarray(hashed(index, draw) >> np.uint64(1) < chance)


def merged_drawn(parts: Sequence[Drawn], most: int) -> Drawn:
    """Of all rows; in any order and grouping the same.

    Parts are thinner only where that many were too many, so all together would have been, too.
    """
    thinned = max(part.thinned for part in parts)
    parts = [part.thinner(thinned) for part in parts]
    index = np.concatenate([part.index for part in parts])
    order = np.argsort(index)
    drawn = Drawn(
        np.concatenate([part.rows for part in parts])[order],
        index[order],
        np.concatenate([part.level for part in parts])[order],
        parts[0].draw,
        thinned,
    )
    return drawn.at_most(most)
