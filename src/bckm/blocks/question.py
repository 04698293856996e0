"""`Question`: what goes out to every block in a look."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

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
    """Centers and prices, and what is to be told about the rows at them.

    Attributes
    ----------
    frame : Frame
        What the numbers below are in the units of.
    centers, prices : arrays (k, d), (k,)
        Each row counts in the cluster where |x - c_i|^2 - price_i is least.
    limit : array (k, k) or None
        Rows of cluster a are returned whose gap to some b, what b costs more at the prices, is at
        most limit[a, b].
    wide : array (k,) or None
        Of rows that are not returned the least gap is told, pair by pair, as long as the least gap
        of a row of cluster a is at most wide[a]. No limit is larger. Of these rows some are drawn
        and returned, too: of those with a gap of up to 2^l limits one of 2^(l + thin).
    thin, draw : int
        See above; another `draw` draws other rows.
    most : int
        If more (different) rows than this would have to be returned, none are, but for those that
        are drawn; if more were drawn, fewer are.
    sums : bool
        Whether the rows of each cluster are to be summed up.
    listed : Listed or None
        Rows whose samples are to be counted.
    """

    frame: Frame
    centers: FloatArray
    prices: FloatArray
    limit: FloatArray | None = None
    wide: FloatArray | None = None
    thin: int = 0
    draw: int = 0
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
