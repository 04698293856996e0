"""Centers in the wrong place: which ones are worth least, and where another one is missing.

The loop moves centers a little at a time: it never takes one from where there are too many to where
there are too few. What that would bring is estimated here for all pairs of clusters at once, at the
prices of the last assignment, which say what sizes cost: without a center, its samples go to their
next best cluster; with one more in a cluster, its two halves and others nearby have a center each.
That is first order (other prices and centers stay), so the best are tried.

References
----------
Fränti: Efficiency of random swap clustering (Journal of Big Data 5, 2018): one center at a time,
drawn at random. Fritzke: The k-means-u* algorithm (2017): by what a center is worth, and by error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
# work of an estimate: of a call, of a feature of a point, of a cost, and of a feature in it
CALL, POINT, COST, FEATURE = 2e4, 10.0, 11.0, 0.25
CREDIBLE = 0.6  # share of the cost that several displacements may promise, to be tried at once

Pairs = tuple[tuple[int, int], ...]


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
        return CALL + n * (POINT * d + k * (COST + FEATURE * d))


@dataclass(frozen=True, eq=False)
class Displacements:
    """What it would change to take center i to cluster j.

    Attributes
    ----------
    centers : array (k, d)
        As they are.
    halves : array (2, k, d)
        Means of both halves of each cluster.
    change : array (k, k)
        Estimated change of the cost; infinite where it is not possible.
    heir : array (k,)
        The cluster that most of the items of a cluster would go to.
    cost : float
        As it is.
    """

    centers: FloatArray
    halves: FloatArray
    change: FloatArray
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
        if prices is None:
            prices = np.zeros(len(centers))
        found = native.displacements(
            part.points, centers, prices, labels.astype(np.int32), *(2 * part.bounds)
        )
        halves, change = found.halves.reshape(2, *centers.shape), found.change / part.share
        change = change.reshape(len(centers), -1)
        change[:, (halves[0] == halves[1]).all(axis=1)] = np.inf
        np.fill_diagonal(change, np.inf)
        return cls(centers, halves, change, found.heir, cost)

    def after(self, pairs: Pairs) -> FloatArray:
        """Centers after some displacements."""
        centers = self.centers.copy()
        for i, j in pairs:
            centers[j], centers[i] = self.halves[:, j]
        return centers

    def trials(self, most: int | None = None) -> Iterator[Pairs]:
        """What to try: at most so many at once that seem to help, half of them and so on; then one.

        Prices stay in the estimate, so it is too good: where it promises more than there is, all at
        once end far off. If one helps nothing, another one of the same center or to the same
        cluster would not either: each is tried once.
        """
        many = self.together()[:most]
        gain = -np.cumsum([self.change[pair] for pair in many])
        many = many[: max(1, int(np.count_nonzero(gain <= CREDIBLE * self.cost)))]
        while len(many) > 1:
            yield many
            many = many[: len(many) // 2]
        change = self.change.copy()
        while np.isfinite(change.min()):
            i, j = (int(at) for at in np.unravel_index(change.argmin(), change.shape))
            yield ((i, j),)
            change[i] = np.inf
            change[:, j] = np.inf

    def together(self) -> Pairs:
        """Displacements that help and share no cluster, nor the heir of one that leaves."""
        change, pairs = self.change.copy(), []
        while change.min() < 0:
            i, j = (int(at) for at in np.unravel_index(change.argmin(), change.shape))
            pairs.append((i, j))
            taken = [i, j, int(self.heir[i])]
            change[taken] = np.inf
            change[:, taken] = np.inf
            change[self.heir == i] = np.inf
        return tuple(pairs)


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
