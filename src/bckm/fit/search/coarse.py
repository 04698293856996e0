"""First centers by a search in a coarse picture of the data.

A start on all items takes some twenty steps, and each displaced center (see `displace`) five more.
But items that are close to each other mostly stay together. So they are put into *cells*, some ten
for each cluster, and a cell becomes one point of as many samples. Sizes stay exact, since a step
may split it, and steps take a fraction of the time: several starts and many displacements are tried
there, and the best centers are where to begin with all items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from bckm._core.deadline import Deadline, TimeUp
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.fit.greedy_seeds import Seeds, greedy
from bckm.fit.search.displace import (
    GAIN,
    Displacements,
    Pairs,
    Part,
    slow,
    tight_bounds,
    worth_no_more,
)
from bckm.kernels import native
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem

CELLS = 8  # for each cluster, at least
SEEN, SEEN_EACH = 20_000, 500  # items that are looked at, in all and for each cluster, at least
EQUAL = 1e-9  # relative difference that rounding may make
STALE = 25  # trials in a row that find nothing better, after which another start is tried
STEPS = 100  # of a loop, at most
# work: of putting an item into a cell, and for each of its features; of choosing a center
PUT, PUT_FEATURE, SEED = 430.0, 45.0, 4e4
# of a step, of a cost in it, and for each feature; of a search for paths, and for two clusters
STEP, LOOK, FEATURE, PATHS, PATHS_PAIR = 1.5e5, 3.0, 0.8, 2e3, 2.8
UNKNOWN = -3e38  # slack of a cell that must be evaluated


@dataclass(frozen=True, eq=False)
class Cells:
    """Items that are close to each other, as one point.

    Attributes
    ----------
    points : array (c, d)
        Mean of each cell.
    weight : array (c,)
        What it weighs in the cost.
    units : array (c,)
        Its items; in all as many as there are.
    scatter : float
        What the items cost at the means of their cells.
    """

    points: FloatArray
    weight: FloatArray
    units: IntArray
    scatter: float

    @classmethod
    def of(cls, problem: Problem, deadline: Deadline) -> Cells:
        """Bisect all items, their halves and so on; of very many items every so many."""
        m, k = problem.structure.n_items, problem.structure.n_clusters
        step = max(1, m // max(SEEN, SEEN_EACH * k))
        points, weight = problem.points[::step], problem.cost_weight[::step]
        units = np.array([len(points)])
        while len(units) < CELLS * k:
            deadline.check()
            cell = np.repeat(np.arange(len(units)), units)
            half = 2 * cell + _above(points, weight, cell, units)
            order = np.argsort(half, kind="stable")
            points, weight = points[order], weight[order]
            halves = np.bincount(half)
            halves = halves[halves > 0]
            if len(halves) == len(units):  # all that differs is apart
                break
            units = halves
        mass, means = _means(points, weight, units)
        away = points - np.repeat(means, units, axis=0)
        scatter = float(weight @ np.square(away).sum(axis=1))
        samples = units * step
        samples[samples.argmax()] += m - samples.sum()  # those after the last that was looked at
        return cls(means, mass * step, samples, scatter * step)


def _means(
    points: FloatArray, weight: FloatArray, units: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Weight and mean of each cell; the points of a cell follow each other."""
    first = np.cumsum(units) - units
    mass = np.add.reduceat(weight, first)
    return mass, np.add.reduceat(points * weight[:, None], first, axis=0) / mass[:, None]


def _above(points: FloatArray, weight: FloatArray, cell: IntArray, units: IntArray) -> BoolArray:
    """Which points lie above the mean of their cell, along its feature of largest spread."""
    means = _means(points, weight, units)[1]
    away = points - means[cell]
    spread = _means(np.square(away), weight, units)[1]
    # the first of the largest ones, and nothing at the mean: rounding has no say
    axis = (spread >= (1 - EQUAL) * spread.max(axis=1, keepdims=True)).argmax(axis=1)
    rows = np.arange(len(axis))
    least = EQUAL * (np.sqrt(spread[rows, axis]) + np.abs(means[rows, axis]))
    return np.asarray(away[np.arange(len(cell)), axis[cell]] > least[cell])


@dataclass(frozen=True, eq=False)
class Clustering:
    """Means of labels of cells, the prices that led to these, and what all items cost there."""

    centers: FloatArray
    prices: FloatArray
    labels: IntArray
    cost: float


class CoarseSearch:
    """Starts and displaced centers among cells.

    Parameters
    ----------
    problem : Problem
        It asks for sizes at most, and clusters are interchangeable.
    deadline : Deadline
        When to return what was found; `TimeUp` if there is no time for the cells.

    Attributes
    ----------
    work : float
        What was done, in about nanoseconds.
    """

    def __init__(self, problem: Problem, deadline: Deadline) -> None:
        s = problem.structure
        self._cells = cells = Cells.of(problem, deadline)
        self._k, self._threads, self._deadline = s.n_clusters, problem.threads, deadline
        # where they leave no room, the middle of all prices is known
        self._lower, self._upper = tight_bounds(s)
        self._exact_prices = Feature.SIZES in problem.features  # estimates go by them
        self._each = cells.weight / cells.units  # weight of a sample
        weights = None if (self._each == 1).all() else self._each
        self._points = native.Points(cells.points, None, weights, cells.units, 1)
        number = len(cells.units)
        bounds = np.stack([self._lower, self._upper]).astype(np.float64) * (number / s.n_items)
        self._part = Part(cells.points, cells.weight, cells.units.astype(np.float64), bounds, 1.0)
        self._label, self._runner = np.zeros(number, np.int32), np.zeros(number, np.int32)
        self._margin, self._slack = np.zeros(number, np.float32), np.zeros(number, np.float32)
        m, d = problem.points.shape
        self.work = m * (PUT + PUT_FEATURE * d)

    def __call__(self, rng: np.random.Generator, effort: float) -> Seeds:
        """The best centers that are found with so much work."""
        cells, k = self._cells, self._k
        best, least = cells.points[np.arange(k) % len(cells.points)], np.inf
        try:
            while self.work < effort:
                seeds = greedy(cells.points, cells.weight, cells.points[:0], k, rng, self._deadline)
                self.work += SEED * k
                best = best if np.isfinite(least) else seeds.centers
                found = self._displaced(self._loop(seeds.centers, np.zeros(k), slow), effort)
                if found.cost < least * (1 - EQUAL):
                    best, least = found.centers, found.cost
                elif found.cost <= least * (1 + EQUAL):  # twice the same: nothing else is likely
                    break
        except TimeUp:
            return Seeds(best, complete=False)
        return Seeds(best)

    def _displaced(self, best: Clustering, effort: float) -> Clustering:
        """Take centers to where others are missing; see `Displacements`."""
        trials, plan = self._trials(best)
        while self.work < effort and (pairs := next(trials, None)) is not None:
            prices = best.prices.copy()
            for i, j in pairs:
                prices[i] = prices[j]
            found = self._loop(plan.after(pairs), prices, worth_no_more(best.cost))
            if found.cost < best.cost * (1 - GAIN):
                best = found
                trials, plan = self._trials(best, len(pairs))
        return best

    def _trials(
        self, best: Clustering, most: int | None = None
    ) -> tuple[Iterator[Pairs], Displacements]:
        self.work += Displacements.work(self._part)
        plan = Displacements.of(self._part, best.labels, best.centers, best.prices, best.cost)
        return islice(plan.trials(most), STALE), plan

    def _loop(
        self, centers: FloatArray, prices: FloatArray, until: Callable[[float, float], bool]
    ) -> Clustering:
        """Alternate until that is enough."""
        found = self._step(centers, prices)
        for _ in range(STEPS):
            self._deadline.check()
            before, found = found.cost, self._step(found.centers, found.prices)
            if before - found.cost <= EQUAL * before or until(before, found.cost):
                break
        return found

    def _step(self, centers: FloatArray, prices: FloatArray) -> Clustering:
        """Assign cells to centers, exactly within sizes, and find the means."""
        cells, points, k = self._cells, self._points, self._k
        self.work += STEP + len(cells.units) * k * (LOOK + FEATURE * centers.shape[1])
        left, still = min(self._deadline.left, 1e9), np.zeros(k)
        self._slack.fill(UNKNOWN)
        state = (self._label, self._runner, self._margin, self._slack)
        try:
            native.sweep(
                points, centers, prices, *state, None, still, still, False, self._threads, left
            )
        except native.Stopped:
            raise TimeUp from None
        bounds = (self._lower, self._upper)
        settled = native.settle(
            points,
            centers,
            prices,
            *state[::3],
            *bounds,
            len(cells.units),
            left,
            self._threads,
            self._exact_prices,
        )
        if settled.stopped:
            raise TimeUp
        self.work += settled.rounds * (PATHS + PATHS_PAIR * k * k)
        totals = native.totals(points, self._label, centers, None, self._threads)
        sums, mass, cost = np.array(totals.sums), np.array(totals.mass), totals.cost
        cell, parts = settled.split_point, settled.split_units * self._each[settled.split_point]
        if cell.size:  # parts of cells are elsewhere than their labels say
            clusters = np.concatenate([self._label[cell], settled.split_cluster])
            weight = np.concatenate([-parts, parts])
            moved = np.concatenate([cells.points[cell]] * 2)
            cost += float(weight @ np.square(moved - centers[clusters]).sum(axis=1))
            np.add.at(sums, clusters, weight[:, None] * moved)
            np.add.at(mass, clusters, weight)
        held = mass > 0
        means = centers.copy()
        means[held] = sums[held] / mass[held, None]
        cost -= float(mass @ np.square(means - centers).sum(axis=1))
        return Clustering(means, settled.prices, self._label.astype(np.int64), cost + cells.scatter)
