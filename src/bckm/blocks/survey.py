"""The first pass over the blocks: are all numbers finite, how far do they reach, and a sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import blocks
from bckm._core.deadline import Deadline
from bckm._core.rounding import read_scale
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.blocks.frame import Frame

NUMBERS = 2**19  # in a part of a block: temporary arrays are no larger


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass found; `merged` surveys do not depend on the blocks.

    Attributes
    ----------
    n : int
        Rows.
    bad : tuple of int or None
        Row and feature of the first number that is NaN or infinite, if there is one.
    low, high : arrays (d,)
        Least and largest value of each feature.
    index, rows : arrays (m,), (m, d)
        The sample: numbers of its rows, increasing, and the rows as in X.
    """

    n: int
    bad: tuple[int, int] | None
    low: FloatArray
    high: FloatArray
    index: IntArray
    rows: NDArray[Any]

    def check(self) -> None:
        """Raise a ValueError that names the first number that is not finite."""
        if self.bad is not None:
            row, feature = self.bad
            raise ValueError(
                f"X contains NaN or infinity, first at sample {row}, feature {feature}; "
                "impute or drop such samples before clustering."
            )

    def frame(self) -> Frame:
        """The frame of these rows; refused where squares overflow."""
        frame = Frame.of(self.low, self.high, self.rows)
        read_scale(frame.x_scale, 1.0, self.n * self.low.size)
        return frame


def survey(
    block: NDArray[Any], offset: int, share: float, seed: int, deadline: Deadline | None = None
) -> Survey:
    """Survey a block whose first row is number `offset`; about `share` of all rows are sampled.

    Whether a row belongs to the sample is decided by its number and the seed alone.
    """
    n, d = block.shape
    low, high, bad = np.full(d, np.inf), np.full(d, -np.inf), None
    chosen = []
    for part in blocks(n, d, NUMBERS):
        if deadline is not None:
            deadline.check()
        rows = block[part]
        low = np.minimum(low, rows.min(axis=0))
        high = np.maximum(high, rows.max(axis=0))
        if bad is None and not (np.isfinite(low).all() and np.isfinite(high).all()):
            row, feature = (int(at[0]) for at in np.nonzero(~np.isfinite(rows)))
            bad = (offset + part.start + row, feature)
        number = np.arange(offset + part.start, offset + part.stop)
        chosen.append(number[sampled(number, share, seed)])
    index = np.concatenate(chosen) if chosen else np.empty(0, np.int64)
    return Survey(n, bad, low, high, index, block[index - offset])


def sampled(number: IntArray, share: float, seed: int) -> BoolArray:
    """Which rows belong to the sample: a hash of their number is below the share."""
    if share >= 1:
        return np.ones(number.size, bool)
    return np.asarray(hashed(number, seed) < np.uint64(int(share * 2.0**64)))


def hashed(number: IntArray, seed: int) -> NDArray[np.uint64]:
    """Row numbers as if drawn at random (splitmix64)."""
    z = number.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15) % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def merged_surveys(surveys: Iterable[Survey]) -> Survey:
    """One survey of all rows; in any order and grouping the same."""
    parts = list(surveys)
    index = np.concatenate([part.index for part in parts])
    order = np.argsort(index)
    return Survey(
        n=sum(part.n for part in parts),
        bad=min((part.bad for part in parts if part.bad is not None), default=None),
        low=np.minimum.reduce([part.low for part in parts]),
        high=np.maximum.reduce([part.high for part in parts]),
        index=index[order],
        rows=np.concatenate([part.rows for part in parts])[order],
    )
