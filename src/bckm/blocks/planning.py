"""What to ask for in the next look: so many rows that it can be the last, and no more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.blocks.borders import Borders
from bckm.blocks.sample_rows import SampleRows
from bckm.blocks.settling import least_gaps, rounding_of_gaps

SURE = 3.5  # standard deviations of the error of prices within which rows are returned
FEWEST = 16.0  # samples of each cluster that are returned at least, about
SCANNED = 0.06  # share of the samples whose gaps are told, at least
FEW, NUMBERS = 2**10, 2**20  # points, or gaps, that tell how many rows lie where
PART, LITTLE, EACH = 24, 2**15, 64  # of all rows are returned, but so many, in all or per cluster
ALL = 2**12  # so few rows are all returned
MANY = 32  # the budget is not below one of so many that a message may hold
TINY = 4.0  # the least limit, in roundings: samples exactly at a border


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

    @property
    def all(self) -> bool:
        """Whether all rows are asked for."""
        return bool((self.wide == np.inf).all())


class Planner:
    """Plans for the looks of a step."""

    def __init__(self, sample: SampleRows, centers: FloatArray, most: int) -> None:
        self.sample, self.centers, self.most, self.k = sample, centers, most, len(centers)
        self.n, self.different = sample.n, sample.different
        each = EACH * len(centers)
        self.budget = min(most / 2, max(self.n / PART, LITTLE, each))  # rows of a look

    def ask_less(self) -> None:
        """There were more rows than a message may hold."""
        self.budget = max(self.budget / 2, self.most / MANY)

    def plan(
        self,
        prices: FloatArray,
        borders: Borders,
        wrong: FloatArray,
        gone: FloatArray,
        farthest: FloatArray,
        grow: float,
    ) -> Plan:
        """A plan for prices where so many samples will be in the wrong cluster.

        Prices went so far before, `gone` (k, k), one against the other, and may again; `farthest`
        is as in `Answer`; `grow` makes the plan larger.
        """
        k, n = self.k, self.n
        if n <= min(ALL, self.most):
            return Plan.everything(k)
        fewest = max(FEWEST, self.budget / (8 * k))
        beside = borders.reach(np.full(k, grow * fewest)) / 2
        limit = np.maximum(SURE * grow * borders.unsure(wrong), beside + beside[:, None])
        least = TINY * rounding_of_gaps(self.centers, prices)
        # no row is expected between clusters that are far apart
        apart = least_gaps(self.centers, prices, farthest)
        limit = np.where(apart > 2 * limit, beside + beside[:, None], limit)
        limit = np.maximum(limit, least)
        gap, label, number, samples = self._gaps(prices)
        ratio = (gap / limit[label]).min(axis=1, initial=np.inf)
        predicted = float(number[ratio <= 1].sum())
        if predicted > self.different / 2 and self.different <= self.most / 2:
            return Plan.everything(k)
        if predicted > self.budget:
            limit *= _share(ratio, number, self.budget / 2)
        gone = np.where(apart > 2 * gone, 0.0, gone)
        if (gone > limit).any():
            ratio = (gap / np.maximum(gone[label], 1e-300)).min(axis=1, initial=np.inf)
            limit = np.maximum(limit, min(1.0, _share(ratio, number, self.budget / 2)) * gone)
        limit = np.maximum(limit, least)
        each = np.full(k, n / k)
        wide = np.maximum(limit.max(axis=1), borders.reach(SCANNED * each))
        # of rows beyond, about as many are drawn as are returned in any case
        ratio = (gap / limit[label]).min(axis=1, initial=np.inf)
        at = np.flatnonzero((ratio > 1) & (gap.min(axis=1, initial=np.inf) <= wide[label]))
        drawn = float((samples[at] / 2.0 ** np.frexp(ratio[at])[1]).sum())
        thin = max(0, int(np.ceil(np.log2(max(drawn, 1.0) / self.budget))))
        return Plan(limit, wide, thin)

    def _gaps(self, prices: FloatArray) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
        """Gaps of some of the sample to all clusters, labels, and what each stands for.

        That is, how many different rows, and how many samples.
        """
        step = max(1, len(self.sample.points) // max(FEW, NUMBERS // self.k))
        origin = np.median(self.centers, axis=0)
        points, centers = self.sample.points[::step] - origin, self.centers - origin
        value = np.square(centers).sum(axis=1) - prices - 2 * (points @ centers.T)
        label = value.argmin(axis=1)
        gap = value - value.min(axis=1)[:, None]
        gap[np.arange(len(gap)), label] = np.inf
        sample = self.sample
        samples = sample.supply[::step].astype(np.float64) * (step / sample.share)
        return np.asarray(gap), label, step * sample.stands_for[::step], samples


def _share(ratio: FloatArray, number: FloatArray, most: float) -> float:
    """The ratio up to which there are at most so many."""
    order = np.argsort(ratio)
    place = int(np.searchsorted(np.cumsum(number[order]), most))
    return float(ratio[order[place]]) if place < order.size else np.inf
