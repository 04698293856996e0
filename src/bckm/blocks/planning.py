"""What to ask for in the next look: so many rows that it can be the last, and no more."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray
from bckm.blocks.borders import Borders
from bckm.blocks.frame import Frame
from bckm.blocks.look import scan, see
from bckm.blocks.pairs import Pairs
from bckm.blocks.question import Question
from bckm.blocks.sample_rows import SampleRows
from bckm.blocks.settling import rounding_of_gaps

SURE = 3.5  # standard deviations of the error of prices within which rows are returned
FEWEST = 16.0  # samples of each cluster that are returned at least, about
SCANNED = 0.06  # share of the samples whose gaps are told, at least
PART, LITTLE, EACH = 24, 2**15, 128  # of all rows are returned, but so many, in all or per cluster
QUICK, QUICK_EACH = 2**14, 24  # the same where looks take less time than what follows them
ALL = 2**12  # so few rows are all returned
MANY = 32  # the budget is not below one of so many that a message may hold
MORE = 2.0  # times as many rows, where they did not suffice
FULL = 0.8  # of a message: as many rows as it may be asked for
TELLING = 32  # points that tell a ratio
TINY = 4.0  # the least limit, in roundings: samples exactly at a border
LOST = 1e-6  # the same where no look will do
FINER = 8.0  # where they are too many, they are told apart as far as numbers go


@dataclass(frozen=True, eq=False)
class Plan:
    """What a look is asked for; see `Question`."""

    limit: FloatArray
    wide: FloatArray
    thin: int = 0

    @classmethod
    def everything(cls, k: int) -> Plan:
        """All rows."""
        return cls(np.full((k, k), np.inf), np.full(k, np.inf))


class Planner:
    """Plans for the looks of a step."""

    def __init__(
        self,
        sample: SampleRows,
        centers: FloatArray,
        pairs: Pairs,
        most: int,
        threads: int,
        *,
        quick: bool,
    ) -> None:
        self.sample, self.centers, self.pairs, self.k = sample, centers, pairs, len(centers)
        self.most, self.threads = most, threads
        self.n, self.different = sample.n, sample.different
        each = EACH * len(centers)
        self.budget = min(most / 2, max(self.n / PART, LITTLE, each))  # rows of a look
        if quick:
            self.budget = min(self.budget, max(QUICK, QUICK_EACH * len(centers)))
        self.drawn = self.budget  # rows from beyond
        self.share = 0.5  # of it, where there is no room for all
        self.was_cut = False  # whether limits are smaller than they should be
        self.tiny = TINY

    def ask_less(self) -> None:
        """There were more rows than a message may hold."""
        self.budget, self.share = max(self.budget / 2, self.most / MANY), 0.5
        self.tiny /= FINER

    def ask_more(self, *, levels: bool) -> None:
        """The rows that came did not suffice: more, if there was not enough room for all.

        `levels`: gaps come in levels, and the next one has many rows.
        """
        if levels and self.was_cut and self.budget >= self.most / 2:
            self.budget, self.share = FULL * self.most, 1.0
        elif self.was_cut:
            self.budget = self.drawn = max(self.budget, min(self.most / 2, MORE * self.budget))

    @property
    def is_lost(self) -> bool:
        """Whether there are too many rows at one border that numbers do not tell apart."""
        return self.tiny < LOST

    def plan(
        self,
        prices: FloatArray,
        borders: Borders,
        wrong: FloatArray,
        ways: FloatArray,
        farthest: FloatArray,
        grow: float,
    ) -> Plan:
        """A plan for prices where so many samples will be in the wrong cluster.

        Prices went some `ways` before, (g, k), and may again; `farthest` is as in `Answer`; `grow`
        makes the plan larger.
        """
        k, n, pairs = self.k, self.n, self.pairs
        if n <= min(ALL, self.most):
            return Plan.everything(k)
        fewest = max(FEWEST, self.budget / (8 * k))
        beside = borders.reach(np.full(k, grow * fewest)) / 2
        least = self.tiny * rounding_of_gaps(self.centers, prices)
        moves = borders.moves(wrong, self.threads)
        limit = pairs.limits(prices, farthest, moves, SURE * grow, beside, least)
        few = _Few(self, prices)
        ratio = few.ratio(limit)
        predicted = float(few.number[ratio <= 1].sum())
        if predicted > self.different / 2 and self.different <= self.most / 2:
            return Plan.everything(k)
        self.was_cut = predicted > self.budget
        if self.was_cut:
            limit *= _share(ratio, few.number, self.share * self.budget)
            np.maximum(limit, least, out=limit)
        gone = pairs.ways(prices, farthest, ways)
        if (gone > limit).any():
            share = _share(few.ratio(gone), few.number, self.budget / 2)
            np.maximum(limit, min(1.0, share) * gone, out=limit)
        wide = np.maximum(limit.max(axis=1), borders.reach(np.full(k, SCANNED * n / k)))
        # of rows beyond, about as many are drawn as are returned in any case
        ratio = few.ratio(limit)
        at = np.flatnonzero((ratio > 1) & (few.gap <= wide[few.label]))
        drawn = float((few.samples[at] / 2.0 ** np.frexp(ratio[at])[1]).sum())
        thin = max(0, int(np.ceil(np.log2(max(drawn, 1.0) / self.drawn))))
        return Plan(limit, wide, thin)


class _Few:
    """Some of the sample at prices: what each stands for, and how near it is to borders.

    Attributes
    ----------
    number, samples : arrays (m,)
        How many different rows, and how many samples, each stands for.
    label, gap : arrays (m,)
        Best cluster, and what the second best costs more.
    """

    def __init__(self, planner: Planner, prices: FloatArray) -> None:
        sample = planner.sample
        self.points, step = sample.few
        self.question = Question(Frame.none(self.points.shape[1]), planner.centers, prices)
        seen = see(self.points, planner.centers, prices, planner.threads)
        self.label, self.gap = seen.label, seen.gap
        self.number = step * sample.stands_for[::step]
        self.samples = sample.supply[::step].astype(np.float64) * (step / sample.share)
        self.threads = planner.threads

    def ratio(self, limit: FloatArray) -> NDArray[np.float32]:
        """The least gap of each, in limits."""
        question = replace(self.question, limit=limit)
        return scan(self.points, self.label, question, np.empty_like(limit), self.threads)


def _share(ratio: NDArray[np.float32], number: FloatArray, most: float) -> float:
    """The ratio up to which there are at most so many."""
    order = np.argsort(ratio)
    total = np.cumsum(number[order])
    place = int(np.searchsorted(total, most))
    if place == order.size:
        return np.inf
    # few of them tell little: below, there are about as many as a ratio is large
    at = min(max(place, TELLING), order.size - 1)
    return max(float(ratio[order[at]]), 0.0) * min(1.0, most / float(total[at]))
