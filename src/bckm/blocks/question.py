"""`Question`: what goes out to every block in a look."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray, IntArray
from bckm.blocks.frame import Frame
from bckm.blocks.whole_sums import cost_scale

WINDOWS = 1024  # see `Listed`
MOST = 2**18  # rows that a look may return


@dataclass(frozen=True, eq=False)
class Listed:
    """Rows whose samples are to be counted by where they are.

    Attributes
    ----------
    rows : array (t, d)
        As in X; a row may be listed several times.
    begin : array (t,)
        For each, the number of the first sample to count.
    width : int
        Samples are counted in `WINDOWS` windows of so many numbers each.
    slack : float
        None of these rows has more slack.
    """

    rows: NDArray[Any]
    begin: IntArray
    width: int
    slack: float


@dataclass(frozen=True, eq=False)
class Question:
    """Centers and prices, and what is to be told about the rows at them: k * d + 4 k numbers.

    Attributes
    ----------
    frame : Frame
        What the numbers below are in the units of.
    centers, prices : arrays (k, d), (k,)
        Each row counts in the cluster where |x - c_i|^2 - price_i is least.
    near : array (k,) or None
        Rows whose two best clusters a and b differ by no more than near_a + near_b are counted in
        the table.
    way, beside : arrays (k,) or None
        Rows that would choose another cluster on the way from `prices` to prices + way, or beside
        it by no more than that, are returned; see `limit`.
    wide : float
        Of rows that are not returned the least gap is told, pair by pair; a gap above this as this.
    most : int
        If more (different) rows than this would have to be returned, none are.
    sums : bool
        Whether the rows of each cluster are to be summed up.
    listed : Listed or None
        Rows whose samples are to be counted.
    """

    frame: Frame
    centers: FloatArray
    prices: FloatArray
    near: FloatArray | None = None
    way: FloatArray | None = None
    beside: FloatArray | None = None
    wide: float = 0.0
    most: int = MOST
    sums: bool = True
    listed: Listed | None = None

    @property
    def k(self) -> int:
        """Number of clusters."""
        return self.prices.size

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to others: not what follows from it, some of which is (k, k)."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def cost_scale(self) -> float:
        """The power of two that costs are multiplied by before they are summed up."""
        return cost_scale(self.centers)

    @cached_property
    def limit(self) -> FloatArray | None:
        """Rows of cluster a whose gap to some b is no larger are returned, (k, k)."""
        if self.way is None or self.beside is None:
            return None
        way, beside = self.way, self.beside
        limit: FloatArray = np.abs(way - way[:, None]) + beside + beside[:, None]
        return limit
