"""Centers in the wrong place: which ones are worth least, and where another one is missing.

The loop moves centers a little at a time: it never takes one from where there are too many to where
there are too few. What that would bring is estimated here for all pairs of clusters at once, at the
prices of the last assignment, which say what sizes cost: without a center, its samples go to their
next best cluster; with one more in a cluster, its two halves and others nearby have a center each.
Then clusters hold too many or too few, and prices rise and fall until sizes are right again: by
second order, from how many samples lie at the borders of each two clusters. Some displacements are
tried, and each trial tells which others are worth one.

References
----------
Fränti: Efficiency of random swap clustering (Journal of Big Data 5, 2018): one center at a time,
drawn at random. Fritzke: The k-means-u* algorithm (2017): by what a center is worth, and by error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot

import numpy as np

from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.kernels import native
from bckm.problem.problem import Problem
from bckm.problem.structure import Structure

EACH, FEWEST = 50, 2_000  # items of each cluster that are looked at, about; and at least in all
HOPE = 8  # steps like the last one that a trial may still need
LITTLE = 5e-4  # relative gain of a step after which a better clustering is good enough for now,
SLOW = 1e-4  # and a start is
GAIN = 1e-5  # relative improvement from which a displacement is worth a new estimate
# work of an estimate: of a call, of a feature of a point, of a cost, of a feature in it, and of a
# triple of clusters
CALL, POINT, COST, FEATURE, TRIPLE = 8e4, 10.0, 11.0, 0.25, 1.0
# how many points a cluster takes up while its price falls by one, in what borders give it on
# average: where sizes leave room, and where they do not (others far away help)
FREE, FIXED = 1e3, 1.0
UNSURE, NOISE = 0.4, 0.3  # deviation of an estimate, in the spread of all; of all else, in that
LEAST, EQUAL = 1e-6, 1e-9  # of a spread, and difference that rounding may make, in the cost
NEAR = 1e-3  # no gap between the two best clusters counts less, in the cost of a point

Pair = tuple[int, int]
Trial = tuple[Pair, float]  # a displacement, and what it changed


@dataclass(frozen=True, eq=False)
class Part:
    """What an estimate looks at: points that stand for all samples.

    Attributes
    ----------
    points : native.Points
        Some of the items, or means of many, with what each weighs in the cost.
    size : tuple of int
        Number of points, of their features, and of clusters.
    bounds : array (2, k)
        How many points a cluster holds at least and at most, about.
    share : float
        Share of the cost that is theirs.
    """

    points: native.Points
    size: tuple[int, int, int]
    bounds: FloatArray
    share: float

    @classmethod
    def of(cls, problem: Problem) -> Part:
        """Every so many items in their order, which is one in space; see `some`."""
        s, some = problem.structure, cls.some(problem)
        points = np.ascontiguousarray(problem.points[some])
        share = len(points) / s.n_items
        bounds = np.stack(tight_bounds(s)).astype(np.float64) * share
        view = native.Points(points, None, np.ascontiguousarray(problem.cost_weight[some]))
        return cls(view, (*points.shape, s.n_clusters), bounds, share)

    @staticmethod
    def some(problem: Problem) -> slice:
        """Which items are looked at."""
        s = problem.structure
        return slice(None, None, max(1, s.n_items // max(FEWEST, EACH * s.n_clusters)))

    @property
    def work(self) -> float:
        """What an estimate takes, in about nanoseconds."""
        n, d, k = self.size
        return CALL + n * (POINT * d + k * (COST + FEATURE * d)) + TRIPLE * k**3


@dataclass(frozen=True, eq=False)
class Displacements:
    """What it would change to take center i to cluster j: lost[i] + gained[j] + both[i, j].

    Attributes
    ----------
    centers : array (k, d)
        As they are.
    halves : array (2, k, d)
        Means of both halves of each cluster.
    lost : array (k,)
        Estimated change of the cost without center i.
    gained : array (k,)
        The same with one more in cluster j; infinite where it cannot be split.
    both : array (k, k)
        What is more or less if both happen: crowds that fill gaps nearby move no prices.
    cost : float
        As it is.
    """

    centers: FloatArray
    halves: FloatArray
    lost: FloatArray
    gained: FloatArray
    both: FloatArray
    cost: float

    @classmethod
    def of(
        cls,
        part: Part,
        labels: IntArray,
        centers: FloatArray,
        prices: FloatArray | None,
        cost: float,
    ) -> Displacements:
        """Estimate from the labels of a part, and what a clustering with these centers costs."""
        k = len(centers)
        if prices is None:
            prices = np.zeros(k)
        found = native.displacements(
            part.points, centers, prices, labels.astype(np.int32), *(2 * part.bounds)
        )
        halves = found.halves.reshape(2, k, -1)
        lost, gained, both = found.lost, found.gained, np.zeros((k, k))
        gained[(halves[0] == halves[1]).all(axis=1)] = np.inf
        left, drawn, gaps = (each.reshape(k, k) for each in (found.left, found.drawn, found.gaps))
        each = cost * part.share / part.size[0]
        if each > 0:
            free = (part.bounds[0] < part.bounds[1]) & (np.abs(prices) <= EQUAL * each)
            rise = _price_rises(left + left.T, gaps + gaps.T, NEAR * each, free)
            by_left, by_drawn = left @ rise, drawn @ rise
            lost = lost + 0.5 * (by_left * left).sum(axis=1)
            gained = gained + 0.5 * (by_drawn * drawn).sum(axis=1)
            both = by_left @ drawn.T
        lost, gained, both = (each / part.share for each in (lost, gained, both))
        return cls(centers, halves, lost, gained, both, cost)

    def after(self, pair: Pair) -> FloatArray:
        """Centers after a displacement."""
        centers, (i, j) = self.centers.copy(), pair
        centers[j], centers[i] = self.halves[:, j]
        return centers


def _price_rises(number: FloatArray, gaps: FloatArray, near: float, free: BoolArray) -> FloatArray:
    """By how much prices must rise, for each point that a cluster has too many.

    Inverse of how many points leave clusters as prices fall: a Laplacian, but for what clusters
    take up. At each border lie so many points, spread evenly from no gap to twice the mean.
    """
    borders = np.zeros_like(gaps)
    np.divide(number**2, 2 * np.maximum(gaps, near * number), out=borders, where=number > 0)
    each = borders.sum(axis=1)
    leaving = np.diag(each + np.where(free, FREE, FIXED) * each.mean()) - borders
    return np.asarray(np.linalg.inv(leaving))


class Forecast:
    """Which displacement to try next: by estimates, and by what became of those that were tried.

    Estimates are off by as much as there is to gain, for the same clusters again and again. So what
    a trial changed beyond what was expected is put down to both of its clusters, to each by how
    unsure its estimate is, and other pairs with one of them are expected to change as much more.
    Next comes the pair that changes least if all goes well, that is, by a standard deviation less
    than expected. (A Gaussian model without covariances.)
    """

    def __init__(self, plan: Displacements) -> None:
        terms, few = (plan.lost, plan.gained), LEAST * plan.cost
        deviation = [UNSURE * max(_spread(term), few) for term in terms]
        self._expected = plan.lost[:, None] + plan.gained + plan.both
        np.fill_diagonal(self._expected, np.inf)
        self._variance = np.stack([np.full(len(plan.lost), one**2) for one in deviation])
        self._noise = (NOISE * min(deviation)) ** 2
        self._well = self._expected - hypot(*deviation)
        self._equal = EQUAL * plan.cost

    def next(self) -> Pair | None:
        """The most promising pair of all that were not tried; None if there is none left."""
        least = self._well.min()
        if not least < np.inf:
            return None
        i, j = divmod(int((self._well <= least + self._equal).argmax()), len(self._well))
        return i, j

    def learn(self, pair: Pair, change: float) -> None:
        """Take in what a trial changed."""
        (i, j), (of_left, of_drawn) = pair, self._variance
        unknown = of_left[i] + of_drawn[j] + self._noise
        beyond = (change - self._expected[pair]) / unknown
        self._expected[pair] = np.inf
        self._expected[i] += of_left[i] * beyond
        self._expected[:, j] += of_drawn[j] * beyond
        of_left[i] *= 1 - of_left[i] / unknown
        of_drawn[j] *= 1 - of_drawn[j] / unknown
        self._well[i] = self._expected[i] - np.sqrt(of_left[i] + of_drawn)
        self._well[:, j] = self._expected[:, j] - np.sqrt(of_left + of_drawn[j])


def _spread(estimates: FloatArray) -> float:
    """Distance of the quartiles of all that are finite."""
    finite = np.sort(estimates[np.isfinite(estimates)])
    quarter = len(finite) // 4
    return float(finite[-1 - quarter] - finite[quarter]) if len(finite) else 0.0


def tight_bounds(s: Structure) -> tuple[IntArray, IntArray]:
    """Bounds on sizes that are as tight as those of the other clusters make them."""
    m, upper = s.n_items, np.minimum(s.upper, s.n_items)
    lower = np.maximum(s.lower, m - (upper.sum() - upper))
    return lower, np.minimum(upper, m - (lower.sum() - lower))


def worth_no_more(best: float) -> Callable[[float, float], bool]:
    """Whether costs before and after a step say that a trial is decided: beaten, or nearly done."""

    def enough(before: float, after: float) -> bool:
        if after > best:
            return after - best > HOPE * (before - after)
        return before - after < LITTLE * after

    return enough


def slow(before: float, after: float) -> bool:
    """Whether a step brought so little that displacements may bring more."""
    return before - after < SLOW * after
