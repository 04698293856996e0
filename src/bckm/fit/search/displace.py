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

from bckm._core.arrays import squared_distances
from bckm._core.types import FloatArray, IntArray
from bckm.problem.problem import Problem
from bckm.problem.structure import Structure

EACH, FEWEST = 50, 2_000  # items of each cluster that are looked at, about; and at least in all
ROUNDS = 6  # towards the main axis of a cluster
HOPE = 8  # steps like the last one that a trial may still need
LITTLE = 5e-4  # relative gain of a step after which a better clustering is good enough for now,
SLOW = 1e-4  # and a start is
GAIN = 1e-5  # relative improvement from which a displacement is worth a new estimate
CREDIBLE = 0.6  # share of the cost that several displacements may promise, to be tried at once

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Part:
    """What an estimate looks at: points that stand for all samples.

    Attributes
    ----------
    points : array (p, d)
        Some of the items, or means of many.
    weight : array (p,)
        What each weighs in the cost.
    units : array (p,)
        Samples of each: a price is paid so many times.
    bounds : array (2, k)
        How many points a cluster holds at least and at most, about.
    share : float
        Share of the cost that is theirs.
    """

    points: FloatArray
    weight: FloatArray
    units: FloatArray
    bounds: FloatArray
    share: float

    @classmethod
    def of(cls, problem: Problem) -> Part:
        """Every so many items in their order, which is one in space; see `some`."""
        s, some = problem.structure, cls.some(problem)
        points, weight = problem.points[some], problem.cost_weight[some]
        share = len(points) / s.n_items
        bounds = np.stack(tight_bounds(s)).astype(np.float64) * share
        return cls(points, weight, np.ones(len(points)), bounds, share)

    @staticmethod
    def some(problem: Problem) -> slice:
        """Which items are looked at."""
        s = problem.structure
        return slice(None, None, max(1, s.n_items // max(FEWEST, EACH * s.n_clusters)))


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
        k = len(centers)
        order = np.argsort(labels, kind="stable")
        points, labels, weight = part.points[order], labels[order], part.weight[order]
        paid = np.zeros(k) if prices is None else part.units[order, None] * prices
        rows = np.arange(len(order))
        halves = _halves(points - centers[labels], weight, labels, k) + centers
        near = squared_distances(points, halves.reshape(2 * k, -1)).reshape(-1, 2, k).min(axis=1)
        near *= weight[:, None]
        away = squared_distances(points, centers) * weight[:, None]
        own = away[rows, labels]
        value = away - paid
        best = value[rows, labels]
        value[rows, labels] = np.inf
        next_best = value.argmin(axis=1)
        other = value[rows, next_best]
        lost = np.bincount(labels, other - own, k)
        after = near - best[:, None]
        after[rows, labels] = near[rows, labels] - other
        change = lost[:, None] + lost + _taken(after, *(2 * part.bounds))
        votes = np.bincount(labels * k + next_best, minlength=k * k).reshape(k, k)
        alone = (halves[0] == halves[1]).all(axis=1)
        change[:, alone] = np.inf
        np.fill_diagonal(change, np.inf)
        return cls(centers, halves, change / part.share, votes.argmax(axis=1), cost)

    @staticmethod
    def work(part: Part) -> float:
        """What an estimate takes, in about nanoseconds."""
        (looked, d), k = part.points.shape, part.bounds.shape[1]
        return float(5e5 + 1.5 * looked * k * (d + 10))

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


def _taken(change: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
    """What all items together change that gain by each of k offers, (items, k), within bounds."""
    total = np.empty(least.size)
    for i, column in enumerate(np.ascontiguousarray(change.T)):
        gain = column[column < 0]
        number = int(min(max(gain.size, least[i]), most[i]))
        offers = gain if number <= gain.size else column
        if number >= column.size:
            total[i] = np.inf
        elif number < offers.size:
            total[i] = np.partition(offers, number)[:number].sum()
        else:
            total[i] = offers.sum()
    return total


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


def _halves(points: FloatArray, weight: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Means of the items of each cluster on both sides of its center along its main axis.

    Points are relative to their centers, and sorted by their labels.
    """
    first = np.searchsorted(labels, np.arange(k))
    held = np.bincount(labels, minlength=k) > 0

    def sums(values: FloatArray) -> FloatArray:
        total = np.zeros((k, points.shape[1]))
        total[held] = np.add.reduceat(values, first[held], axis=0)
        return total

    weighted = points * weight[:, None]
    spread = sums(weighted * points)
    axis = (spread == spread.max(axis=1, keepdims=True)).astype(np.float64)
    for _ in range(ROUNDS):
        axis = sums(weighted * (points * axis[labels]).sum(axis=1, keepdims=True))
        axis /= np.maximum(np.sqrt(np.square(axis).sum(axis=1, keepdims=True)), 1e-300)
    above = (points * axis[labels]).sum(axis=1) > 0
    halves = np.zeros((2, k, points.shape[1]))
    for at, side in enumerate((above, ~above)):
        mass = np.bincount(labels, weight * side, k)
        some = mass > 0
        halves[at, some] = sums(weighted * side[:, None])[some] / mass[some, None]
    return halves
