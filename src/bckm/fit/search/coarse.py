"""First centers by a search in coarse pictures of the data.

A start on all items takes some twenty steps, and each displaced center (see `displace`) five more.
But items that are close to each other mostly stay together. So they are put into *cells* of as many
items each, and a cell becomes one point. Sizes then ask for numbers of cells, and steps take a
fraction of the time: starts and displacements are tried on few cells first, then on more of them,
and the best centers are where to begin with all items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bckm._core.deadline import Deadline, TimeUp
from bckm._core.types import FloatArray, IntArray
from bckm.assign.few_points import work_of_few
from bckm.fit.greedy_seeds import Seeds, greedy
from bckm.fit.search.displace import (
    LITTLE,
    SLOW,
    Displacements,
    Forecast,
    Part,
    tight_bounds,
)
from bckm.kernels import native
from bckm.problem.problem import Problem
from bckm.problem.structure import Structure

LARGE, SMALL = 8, 4  # cells for each cluster, and parts of a cell
SEEN, SEEN_EACH = 20_000, 500  # items that are looked at, in all and for each cluster, at least
EQUAL = 1e-9  # relative difference that rounding may make
GAIN = 1e-4  # relative improvement from which a displacement is worth a new estimate
SAME = 3e-4  # relative difference of two starts that found the same
STALE = 12, 120  # trials in a row that find nothing better, after which a picture is done
STEPS, HOPE = 100, 1.0  # of a loop, at most; steps like the last one that a trial may still need
MEAN, SEED = 8.0, 4e4  # work of a feature in a mean, and of choosing a center


@dataclass(frozen=True, eq=False)
class Cells:
    """Items that are close to each other, as one point; all of about as many.

    Attributes
    ----------
    points : array (c, d)
        Mean of each cell.
    weight : array (c,)
        What it weighs in the cost.
    scatter : float
        What the items cost at the means of their cells.
    work : float
        Of finding them.
    """

    points: FloatArray
    weight: FloatArray
    scatter: float
    work: float

    @classmethod
    def of(cls, problem: Problem) -> tuple[Cells, Cells]:
        """Some large cells, and the small ones that these consist of.

        Of very many items every so many are looked at; where they are few, each is a small cell.
        """
        m, k = problem.structure.n_items, problem.structure.n_clusters
        step = max(1, m // max(SEEN, SEEN_EACH * k))
        points, weight = problem.points[::step], problem.cost_weight[::step]
        weight = weight * (problem.cost_weight.sum() / weight.sum())  # what they stand for, about
        number = min(LARGE * k, len(points))
        cut = native.equal_cells(
            native.Points(problem.points, None, None, None, step),
            number,
            max(1, min(SMALL, len(points) // number)),
        )
        points, weight = points[cut.order], weight[cut.order]
        large, small = (cls._between(points, weight, first) for first in (cut.first, cut.small))
        return replace(large, work=large.work + cut.work), small

    @classmethod
    def _between(cls, points: FloatArray, weight: FloatArray, first: IntArray) -> Cells:
        """The points of a cell follow each other."""
        mass = np.add.reduceat(weight, first)[:, None]
        means = points[first]  # where nothing weighs anything
        sums = np.add.reduceat(points * weight[:, None], first, axis=0)
        np.divide(sums, mass, out=means, where=mass > 0)
        away = points - np.repeat(means, np.diff(first, append=len(points)), axis=0)
        scatter = float(weight @ np.square(away).sum(axis=1))
        return cls(means, mass[:, 0], scatter, points.size * MEAN)


@dataclass(frozen=True, eq=False)
class Clustering:
    """Means of labels of cells, the prices that led to these, and what all items cost there."""

    centers: FloatArray
    prices: FloatArray
    labels: IntArray
    cost: float


class Picture:
    """The loop and displaced centers among cells.

    Parameters
    ----------
    cells : Cells
        At least as many as clusters, unless there are fewer items.
    s : Structure
        What is asked of sizes.
    stale : int
        Trials in a row that find nothing better, after which it is done.
    threads : int
        For steps.
    deadline : Deadline
        When to end, with `TimeUp`.

    Attributes
    ----------
    work : float
        What was done, in about nanoseconds.
    """

    def __init__(
        self, cells: Cells, s: Structure, stale: int, threads: int, deadline: Deadline
    ) -> None:
        self._scatter, self._stale = cells.scatter, stale
        self._threads, self._deadline = threads, deadline
        (number, d), k = cells.points.shape, s.n_clusters
        self._size = number, k, d
        self._points = native.Points(cells.points, None, cells.weight)
        # where they leave no room, the middle of all prices is known
        bounds = np.stack(tight_bounds(s)) * (number / s.n_items)
        self._lower = np.floor(bounds[0] + EQUAL).astype(np.int64)
        self._upper = np.ceil(bounds[1] - EQUAL).astype(np.int64)
        self._part = Part(self._points, (number, d, k), bounds, 1.0)
        self._label = np.zeros(number, np.int32)
        self._table = np.empty((number, -(-k // 8) * 8)), np.full((k, d), np.nan)
        self.work = 0.0

    def started(self, centers: FloatArray) -> Clustering:
        """Alternate until displaced centers may bring more."""
        return self._loop(centers, np.zeros(len(centers)), SLOW, np.inf)

    def displaced(self, best: Clustering, effort: float) -> Clustering:
        """Take centers to where others are missing; see `Forecast`."""
        effort += self.work
        (plan, forecast), failed = self._estimated(best), 0
        while (
            self.work < effort and failed < self._stale and (pairs := forecast.next()) is not None
        ):
            prices = best.prices.copy()
            for i, j in pairs:
                prices[i] = prices[j]
            found = self._loop(plan.after(pairs), prices, LITTLE, best.cost)
            if found.cost < best.cost * (1 - GAIN):
                best, failed = found, 0
                plan, forecast = self._estimated(best)
            else:
                forecast.learn(pairs, found.cost - best.cost)
                failed += 1
        return best

    def _estimated(self, best: Clustering) -> tuple[Displacements, Forecast]:
        self.work += self._part.work
        plan = Displacements.of(self._part, best.labels, best.centers, best.prices, best.cost)
        return plan, Forecast(plan)

    def _loop(
        self, centers: FloatArray, prices: FloatArray, little: float, best: float
    ) -> Clustering:
        """Alternate until that is enough: see `slow` and `worth_no_more`."""
        self._deadline.check()
        number, k, d = self._size
        done = native.alternate_few(
            self._points,
            centers,
            prices,
            self._label,
            *self._table,
            self._lower,
            self._upper,
            STEPS,
            little,
            best,
            HOPE,
            self._scatter,
            min(self._deadline.left, 1e9),
            self._threads,
        )
        if done.stopped:
            raise TimeUp
        self.work += work_of_few(number * done.steps, done.rounds, k, d)
        return Clustering(
            done.centers.reshape(k, d), done.prices, self._label.astype(np.int64), done.cost
        )


class CoarseSearch:
    """Starts and displaced centers among cells.

    Parameters
    ----------
    problem : Problem
        It asks for sizes at most, and clusters are interchangeable.
    deadline : Deadline
        When to return what was found; `TimeUp` if there is no time for the cells.
    """

    def __init__(self, problem: Problem, deadline: Deadline) -> None:
        deadline.check()
        s = problem.structure
        self._cells, small = Cells.of(problem)
        self._k, self._deadline, self._work = s.n_clusters, deadline, self._cells.work + small.work
        pictures = zip((self._cells, small), STALE, strict=True)
        self._rough, self._fine = (
            Picture(cells, s, stale, problem.threads, deadline) for cells, stale in pictures
        )

    @property
    def work(self) -> float:
        """What was done, in about nanoseconds."""
        return self._work + self._rough.work + self._fine.work

    def __call__(self, rng: np.random.Generator, effort: float) -> Seeds:
        """The best centers that are found with so much work."""
        cells, k = self._cells, self._k
        best, least = cells.points[np.arange(k) % len(cells.points)], np.inf
        try:
            while self.work < effort:
                seeds = greedy(cells.points, cells.weight, cells.points[:0], k, rng, self._deadline)
                self._work += SEED * k
                best = best if np.isfinite(least) else seeds.centers
                found = self._start(seeds.centers, effort)
                same = abs(found.cost - least) <= SAME * found.cost
                if found.cost < least * (1 - EQUAL):
                    best, least = found.centers, found.cost
                if same:  # nothing else is likely
                    break
        except TimeUp:
            return Seeds(best, complete=False)
        return Seeds(best)

    def _start(self, centers: FloatArray, effort: float) -> Clustering:
        """In the rough picture first, where gross errors are found sooner."""
        found = self._rough.started(centers)
        found = self._rough.displaced(found, effort - self.work)
        found = self._fine.started(found.centers)
        return self._fine.displaced(found, effort - self.work)
