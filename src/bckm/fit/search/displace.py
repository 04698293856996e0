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

import numpy as np

from bckm._core.types import FloatArray, IntArray
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
# deviation of an estimate, in the spread of all or in twice its distance from their middle; of all
# else, in the least of these
UNSURE, OUTLIER, NOISE = 0.4, 2.0, 0.3
CREDIBLE = 0.6  # share of the cost that several displacements may promise, to be tried at once
LEAST, EQUAL = 1e-6, 1e-9  # of a spread, and difference that rounding may make, in the cost
NEAR = 1e-3  # no gap between the two best clusters counts less, in the cost of a point

Pair = tuple[int, int]
Pairs = tuple[Pair, ...]
Trial = tuple[Pairs, float]  # displacements at once, and what they changed


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
    heir: IntArray
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
        mean = cost * part.share / part.size[0]
        if mean > 0:
            room = (part.bounds[0] < part.bounds[1]) & (np.abs(prices) <= EQUAL * mean)
            more = native.settling(left, drawn, gaps, room.astype(np.float64), NEAR * mean)
            lost, gained, both = lost + more.left, gained + more.drawn, more.both.reshape(k, k)
        lost, gained, both = (each / part.share for each in (lost, gained, both))
        return cls(centers, halves, lost, gained, both, left.argmax(axis=1), cost)

    def after(self, pairs: Pairs) -> FloatArray:
        """Centers after some displacements."""
        centers = self.centers.copy()
        for i, j in pairs:
            centers[j], centers[i] = self.halves[:, j]
        return centers


class Forecast:
    """Which displacements to try next: by estimates, and by what became of those that were tried.

    Estimates are off by as much as there is to gain, for the same clusters again and again. So what
    a trial changed beyond what was expected is put down to both of its clusters, to each by how
    unsure its estimate is, and other pairs with one of them are expected to change as much more.
    Next comes the pair that changes least if all goes well, that is, by a standard deviation less
    than expected. (A Gaussian model without covariances.)

    Where many clusters are wrong, that is one trial for each. So at first those that seem to help
    are tried at once, at most so many, half of them if that was too much, and so on.

    Parameters
    ----------
    plan : Displacements
        Estimates.
    most : int
        How many to try at once.
    """

    def __init__(self, plan: Displacements, most: int = 1) -> None:
        few = LEAST * (plan.cost or 1.0)
        deviation = np.stack([_unsure(term, few) for term in (plan.lost, plan.gained)])
        self._expected = plan.lost[:, None] + plan.gained + plan.both
        np.fill_diagonal(self._expected, np.inf)
        self._variance = np.square(deviation)
        self._noise = (NOISE * float(deviation.min())) ** 2
        self._well = self._expected - np.sqrt(np.add.outer(*self._variance))
        self._most, self._cost, self._heir = most, plan.cost, plan.heir

    def next(self) -> Pairs | None:
        """The most promising of all that were not tried; None if there is none left."""
        if self._most > 1 and len(many := self._together()) > 1:
            return many
        return None if (pair := self._least(self._well)) is None else (pair,)

    def _together(self) -> Pairs:
        """Displacements that help, far from each other, and do not promise too much together."""
        pairs: Pairs = ()
        expected, left = self._expected.copy(), CREDIBLE * self._cost
        while len(pairs) < self._most and (pair := self._least(expected)) is not None:
            left += expected[pair]
            if not expected[pair] < 0 < left:
                break
            pairs = (*pairs, pair)
            taken = [*pair, self._heir[pair[0]]]
            expected[taken] = np.inf
            expected[:, taken] = np.inf
            expected[self._heir == pair[0]] = np.inf
        return pairs

    def _least(self, change: FloatArray) -> Pair | None:
        """The first pair with the least change, but for rounding."""
        if not (least := change.min()) < np.inf:
            return None
        i, j = divmod(int((change <= least + EQUAL * self._cost).argmax()), len(change))
        return i, j

    def learn(self, pairs: Pairs, change: float) -> None:
        """Take in what a trial changed."""
        self._most = len(pairs) // 2
        if len(pairs) > 1:  # no telling which one
            return
        pair, (of_left, of_drawn) = pairs[0], self._variance
        i, j = pair
        unknown = of_left[i] + of_drawn[j] + self._noise
        beyond = (change - self._expected[pair]) / unknown
        self._expected[pair] = np.inf
        self._expected[i] += of_left[i] * beyond
        self._expected[:, j] += of_drawn[j] * beyond
        of_left[i] *= 1 - of_left[i] / unknown
        of_drawn[j] *= 1 - of_drawn[j] / unknown
        self._well[i] = self._expected[i] - np.sqrt(of_left[i] + of_drawn)
        self._well[:, j] = self._expected[:, j] - np.sqrt(of_left + of_drawn[j])


def _unsure(estimates: FloatArray, least: float) -> FloatArray:
    """How far off each may be: as all spread between the quartiles, or as it lies off itself."""
    finite = np.sort(estimates[np.isfinite(estimates)])
    if not len(finite):
        return np.full(len(estimates), least)
    quarter, middle = len(finite) // 4, finite[len(finite) // 2]
    spread = max(finite[-1 - quarter] - finite[quarter], least)
    away = np.where(np.isfinite(estimates), np.abs(estimates - middle), 0.0)
    return np.asarray(UNSURE * np.maximum(spread, OUTLIER * away))


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
