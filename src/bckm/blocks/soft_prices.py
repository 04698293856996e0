"""Prices by Newton's method on the softened dual of some rows, which a quick holder keeps.

The rows are drawn once. They know which clusters are best for them where they were last listed, so
that a step takes a fraction of a look; temperatures fall as in `assign/soft_newton`. What rows
have above their share where all rows have been counted is their *lesson*: asked for exactly that,
they lead from the counts of a look to prices that are right for all rows, nearly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.soft_newton import Softened, ascend, sides
from bckm.assign.transport_state import SizeBounds
from bckm.blocks.frame import Frame
from bckm.blocks.question import Question

NEAR, FARTHEST = 2.0, 0.2  # share of rows below the first temperature, of those that are wrong
LEAST, EACH = 1e-3, 8.0  # share of rows below the last one, and rows of each cluster
HOTTER, MANY = (1.0, 10.0, 100.0), 0.05  # the same again from so many times more, while a larger
# share of the rows is in the wrong cluster
COOLER, STAGES = 3.0, 16  # temperatures
TRIES, SHORTER = 4, 0.3  # prices that lower the dual are tried again, nearer to the last ones
ROUNDING = 1e-7  # of the dual: values are of float32
STAY = 0.01  # share of rows in the wrong cluster: if it is less, a look at all rows tells more
MOVED = 0.2  # share of rows in the wrong cluster, from which prices are forgotten
NEARBY = 0.5  # of what lists reach: prices may move so far before rows are listed anew
BLANK = 1e-30  # gaps in the units of the frame that are none
TIED = 1e-9  # of the largest gap: lower temperatures tell nothing
DAMPING = 1e-3
ENOUGH, BEYOND = 1.5, 4.0  # times as many rows must list a cluster as it needs; else its price
# rises by so many times what lists reach at most
NOISE, LEFT = 0.05, 0.3  # of the errors of counts, and of wrong rows, that may be left


@dataclass(frozen=True, eq=False)
class Listing:
    """What is listed of rows, about, told by some of them.

    Attributes
    ----------
    gaps : array (m,)
        Between the best two clusters of some rows.
    reach : float
        How much more than the best one clusters cost that are not listed, at least, in the middle.
    known : array (k,)
        Share of the rows that list each cluster.
    part : array (k,)
        The part of each cluster: of each part the best cluster is listed.
    """

    gaps: NDArray[np.float32]
    reach: float
    known: FloatArray
    part: IntArray


class SoftRows(Protocol):
    """Rows that know their best clusters.

    Attributes
    ----------
    size : int
        How many.
    """

    size: int

    def list(self, question: Question) -> Listing:
        """Find the best clusters of each."""

    def soften(self, prices: FloatArray, temperature: float) -> Softened:
        """Share rows among the clusters that are listed."""


class SoftPrices:
    """Prices for some centers.

    Parameters
    ----------
    rows : SoftRows
        Some of all rows.
    frame, centers : Frame, array (k, d)
        Where clusters are.
    bounds : SizeBounds
        How many of all rows each may hold.
    n_rows : int
        How many these are.
    """

    def __init__(
        self, rows: SoftRows, frame: Frame, centers: FloatArray, bounds: SizeBounds, n_rows: int
    ) -> None:
        self.rows, self.frame, self.centers = rows, frame, centers
        self.share = rows.size / n_rows
        self.bounds = bounds.scaled(self.share)
        # no row costs more than that in any cluster: rows of the frame are no longer than sqrt(d)
        longest = float(np.sqrt(np.square(centers).sum(axis=1).max()))
        self.dearest = 2.0 * (longest + float(np.sqrt(centers.shape[1]))) ** 2
        self.listed: FloatArray | None = None  # prices where rows were listed
        self._last: tuple[FloatArray, float, Softened] | None = None
        self.least = min(FARTHEST, max(LEAST, EACH * len(centers) / rows.size))

    def lead(self, prices: FloatArray, lesson: FloatArray, deadline: Deadline) -> FloatArray:
        """From any prices to where the rows obey bounds, about."""
        bounds, best, highest = self._asked(lesson), prices, -np.inf
        enough = NOISE * float(np.sqrt(self.rows.size * prices.size))
        self._see(prices)
        if self._is_blank or self._left(bounds, prices) <= STAY * self.rows.size:
            return prices
        best = self._nearer(bounds, best)
        for hotter in HOTTER:
            self._see(best)
            if self._is_blank:
                break
            there = self._cooled(best, bounds, hotter, enough, deadline)
            self._see(there)
            if self._is_blank:
                break
            soft = self._coldest(there)
            dual = soft.hard + sides(bounds, there)
            if dual > highest:
                best, highest = there, dual
            if self._wrong(bounds, soft.units, there) <= MANY * self.rows.size:
                break
        return best

    def correct(
        self, prices: FloatArray, counts: IntArray, deadline: Deadline, hotter: float = 1.0
    ) -> FloatArray:
        """From prices at which clusters hold so many of all rows to such that bounds are obeyed.

        The first temperature is so many times higher.
        """
        deadline.check()
        self._see(prices)
        if self._is_blank:
            return prices
        soft = self._coldest(prices)
        bounds = self._asked(soft.shared - self.share * counts)
        enough = LEFT * self._left(bounds, prices)
        return self._cooled(prices, bounds, hotter, enough, deadline)

    def lesson(self, prices: FloatArray, sizes: IntArray) -> FloatArray:
        """What the rows have above their share, at prices where all rows have these sizes, (k,)."""
        self._see(prices)
        if self._is_blank:
            return np.zeros(prices.size)
        return np.asarray(self._coldest(prices).shared - self.share * sizes)

    def _asked(self, lesson: FloatArray) -> SizeBounds:
        """How many of the rows each cluster may hold; the rows can obey that."""
        bounds = self.bounds.moved(lesson)
        lower = np.maximum(bounds.lower, 0.0)
        lower *= min(1.0, self.rows.size / max(float(lower.sum()), 1e-300))
        return SizeBounds(lower, np.maximum(bounds.upper, lower))

    def _nearer(self, bounds: SizeBounds, prices: FloatArray) -> FloatArray:
        """These prices, or none at all: after large moves the last ones are worse."""
        wrong = self._wrong(bounds, self._coldest(prices).units, prices)
        if wrong <= MOVED * self.rows.size or not prices.any():
            return prices
        none = np.zeros(prices.size)
        self._list(none)
        if self._is_blank:
            return prices
        fewer = self._wrong(bounds, self._coldest(none).units, none) < wrong
        return none if fewer else prices

    def _cooled(
        self,
        prices: FloatArray,
        bounds: SizeBounds,
        hotter: float,
        enough: float,
        deadline: Deadline,
    ) -> FloatArray:
        """Prices as temperatures fall, from so many times more, until that few rows are wrong."""
        wrong = self._left(bounds, prices)
        if self._wrong(bounds, self._coldest(prices).units, prices) == 0 or wrong == 0:
            return prices
        share = float(np.clip(NEAR * wrong / self.rows.size, self.least, FARTHEST))
        temperature, damping = hotter * self._temperature(share), DAMPING
        for _ in range(STAGES):
            deadline.check()
            if self._is_blank:
                break
            last = temperature <= self.lowest
            done = enough if last else np.inf
            begin, before = prices, self._soften(prices, temperature)
            there, damping, after = self._ascended(
                prices, bounds, before, temperature, damping, done
            )
            if self._is_far(there):
                if self.listed is not prices:  # what rows cost here is to be known as well
                    self._list(prices)
                    temperature = max(temperature, self.lowest)
                    continue
                least = before.soft + sides(bounds, prices)
                found = self._checked(prices, there, bounds, temperature, least)
                if found is None:
                    break
                there, after = found
            prices = there
            # where no step is good enough at the last temperature, none will be
            if last and (there is begin or self._wrong(bounds, after.shared, prices) <= done):
                break
            temperature = max(temperature / COOLER, self.lowest)
        return prices

    def _checked(
        self,
        prices: FloatArray,
        there: FloatArray,
        bounds: SizeBounds,
        temperature: float,
        least: float,
    ) -> tuple[FloatArray, Softened] | None:
        """Prices at which the dual is as large where rows are listed anew, or some before them.

        None if there are none.
        """
        least -= ROUNDING * abs(least)
        step = there - prices
        # who rises above others of its part is best for rows that do not know it
        shorter = [prices + SHORTER**number * step for number in range(1, TRIES)]
        for some in (there, np.minimum(there, self._level(there)), *shorter):
            self._list(some)
            if self._is_blank:
                return None
            after = self._soften(some, temperature)
            if after.soft + sides(bounds, some) >= least:
                return some, after
        return None

    def _level(self, prices: FloatArray) -> FloatArray:
        """Up to which prices others of their parts let clusters be seen where rows are listed."""
        assert self.listed is not None
        part = self.listing.part
        rise = medians_of(prices - self.listed, part)[part]
        return np.asarray(self.listed + rise + BEYOND * self.listing.reach)

    def _ascended(
        self,
        prices: FloatArray,
        bounds: SizeBounds,
        soft: Softened,
        temperature: float,
        damping: float,
        done: float,
    ) -> tuple[FloatArray, float, Softened]:
        size, listed = float(self.rows.size), self.listed
        assert listed is not None
        # who is listed by fewer rows than must come would rise for ever
        blind = size * self.listing.known < ENOUGH * bounds.lower

        def within(there: FloatArray) -> FloatArray:
            rise = there - listed
            most = listed + float(np.median(rise)) + BEYOND * self.listing.reach
            found = np.where(blind, np.minimum(there, most), there)
            return np.clip(found, -self.dearest, self.dearest)

        return ascend(self._soften, bounds, size, prices, soft, temperature, damping, done, within)

    def _see(self, prices: FloatArray) -> None:
        """List rows at prices, or near to them."""
        if self.listed is None or self._is_far(prices):
            self._list(prices)

    def _list(self, prices: FloatArray) -> None:
        self.listing = self.rows.list(Question(self.frame, self.centers, prices))
        self.listed, self._last = prices, None
        self.lowest = self._temperature(self.least)

    def _is_far(self, prices: FloatArray) -> bool:
        """Whether prices are so far from where rows were listed that others may be best."""
        assert self.listed is not None
        rise = prices - self.listed
        return bool(np.abs(rise - np.median(rise)).max() > NEARBY * self.listing.reach)

    def _temperature(self, share: float) -> float:
        """What this share of the rows would cost less more in another cluster."""
        gaps = self.listing.gaps
        at = min(int(share * gaps.size), gaps.size - 1)
        found = float(np.partition(gaps, at)[at])
        return max(found, TIED * float(gaps.max(initial=0.0)))

    @property
    def _is_blank(self) -> bool:
        """Whether all rows are at borders."""
        return not self.listing.gaps.max(initial=0.0) > BLANK

    def _soften(self, prices: FloatArray, temperature: float) -> Softened:
        """Share rows, but for what was asked last."""
        if self._last is None or self._last[1] != temperature or self._last[0] is not prices:
            self._last = prices, temperature, self.rows.soften(prices, temperature)
        return self._last[2]

    def _coldest(self, prices: FloatArray) -> Softened:
        return self._soften(prices, self.lowest)

    def _left(self, bounds: SizeBounds, prices: FloatArray) -> float:
        return self._wrong(bounds, self._coldest(prices).shared, prices)

    @staticmethod
    def _wrong(bounds: SizeBounds, units: FloatArray, prices: FloatArray) -> float:
        return float(np.abs(bounds.gradient(units, prices)).sum()) / 2


def medians_of(values: FloatArray, part: IntArray) -> FloatArray:
    """The median of each part, (parts,)."""
    order = np.lexsort((values, part))
    begin = np.searchsorted(part[order], np.arange(int(part.max()) + 2))
    return np.asarray(values[order][(begin[:-1] + begin[1:] - 1) // 2])
