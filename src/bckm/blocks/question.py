"""`Question`: what goes out to every block in a look."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bckm._core.types import FloatArray
from bckm.blocks.frame import Frame
from bckm.blocks.whole_sums import cost_scale

MOST = 2**18  # rows that a look may return


@dataclass(frozen=True, eq=False)
class Question:
    """Centers and prices, and what is to be told about the rows at them: k * d + 3 k numbers.

    Attributes
    ----------
    frame : Frame
        What the numbers below are in the units of.
    centers, prices : arrays (k, d), (k,)
        Each row counts in the cluster where |x - c_i|^2 - price_i is least.
    near : float
        Rows whose two best clusters differ by no more are counted in the table; zero: none.
    fall, rise : arrays (k,) or None
        Rows that would choose another cluster if prices moved by as much as from -fall to rise
        are returned.
    most : int
        If more (different) rows than this would have to be returned, none are.
    sums : bool
        Whether the rows of each cluster are to be summed up.
    """

    frame: Frame
    centers: FloatArray
    prices: FloatArray
    near: float = 0.0
    fall: FloatArray | None = None
    rise: FloatArray | None = None
    most: int = MOST
    sums: bool = True

    @property
    def k(self) -> int:
        """Number of clusters."""
        return self.prices.size

    @cached_property
    def cost_scale(self) -> float:
        """The power of two that costs are multiplied by before they are summed up."""
        return cost_scale(self.centers)

    @cached_property
    def widest(self) -> float:
        """A row with more slack than this is not returned."""
        if self.fall is None or self.rise is None or self.k == 1:
            return -np.inf
        return float(self.fall.max() + self.rise.max())
