"""`Frame`: from the units of X to numbers of at most 1, which can be summed up exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray
from bckm._core.validation import LARGEST

FEW = 2**13  # rows that tell where the middle is


MIDDLE = 2**20  # numbers that tell where the middle is


@dataclass(frozen=True, eq=False)
class Frame:
    """Rows are seen as (x - origin) / x_scale, no number of which is beyond 1.

    Attributes
    ----------
    origin : array (d,)
        In the middle of most rows.
    x_scale : float
        A power of two, so that dividing by it is exact.
    """

    origin: FloatArray
    x_scale: float

    @classmethod
    def of(cls, low: FloatArray, high: FloatArray, some: NDArray[Any]) -> Frame:
        """A frame for rows between `low` and `high`, features one by one; `some` of them."""
        largest = max(-float(low.min()), float(high.max()))
        if largest > LARGEST:
            raise ValueError(f"X contains {largest:g}, whose square overflows; rescale X.")
        few = some[:FEW].astype(np.float64)
        middle = np.median(few, axis=0) if len(few) else (low + high) / 2
        origin = np.clip(middle, low, high)
        reach = float(np.maximum(high - origin, origin - low).max())
        return cls(origin, float(np.ldexp(1.0, int(np.frexp(reach)[1]))) if reach > 0 else 1.0)

    @classmethod
    def none(cls, n_features: int) -> Frame:
        """The frame of rows that are in the units of a frame already."""
        return cls(np.zeros(n_features), 1.0)

    def inside(self, rows: NDArray[Any]) -> FloatArray:
        """Rows or centers in the units of the frame, in an array of their own."""
        seen: FloatArray = np.subtract(rows, self.origin, dtype=np.float64, order="C")
        seen *= 1 / self.x_scale
        return seen

    def inside_all(self, parts: Sequence[NDArray[Any]]) -> FloatArray:
        """Rows of several arrays, one after the other, without a copy between."""
        seen: FloatArray = np.empty((sum(len(part) for part in parts), self.origin.size))
        at = 0
        for part in parts:
            np.subtract(part, self.origin, out=seen[at : at + len(part)], dtype=np.float64)
            at += len(part)
        seen *= 1 / self.x_scale
        return seen

    def outside(self, rows: FloatArray) -> FloatArray:
        """Rows or centers in the units of X again."""
        return rows * self.x_scale + self.origin
