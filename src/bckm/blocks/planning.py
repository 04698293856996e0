"""What to ask for in the next look: so many rows that it can be the last, and no more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.arrays import blocks, squared_distances
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.blocks.answer import Table
from bckm.blocks.borders import Borders
from bckm.blocks.frame import Frame
from bckm.blocks.look import Seen, scan, see
from bckm.blocks.question import Question
from bckm.blocks.sample_prices import SamplePrices
from bckm.blocks.settling import least_gaps
from bckm.blocks.step import Memory

WIDE = 0.3  # share of the samples of each cluster that the table counts
AHEAD, LEAST = 24.0, 64.0  # samples in the table for each wrong one, and at least, by cluster
ROWS, FEWEST = 10.0, 24.0  # rows asked for, for each sample that will be wrong, and at least
SAMPLING = 0.35  # times sqrt(k / sample): share of the samples that are wrong at first
SCANNED = 0.05  # share of the samples whose gaps are told pair by pair
NUMBERS, EACH = 2**21, 16  # gaps, and points per cluster, that are computed for `pairs`
OUTER = 1.2  # the farthest row of a cluster, in squares of the farthest of the sample, about
TINY = 1e-12  # the least limit: samples exactly at a border


@dataclass(frozen=True, eq=False)
class Plan:
    """What a look is asked for; see `Question`."""

    near: FloatArray
    limit: FloatArray
    wide: FloatArray

    @property
    def all(self) -> bool:
        """Whether all rows are asked for."""
        return bool((self.wide == np.inf).all())


class Planner:
    """Plans for the looks of a step."""

    def __init__(
        self, sample: SamplePrices, centers: FloatArray, most: int, n: int, threads: int
    ) -> None:
        self.sample, self.centers, self.most, self.n = sample, centers, most, n
        self.threads, self.k = threads, len(centers)
        self.overflow = False  # whether more rows were asked for than can be returned

    def first(self, p: FloatArray, memory: Memory | None) -> Plan:
        """The plan for the first look of a step."""
        k, sample = self.k, self.sample
        if memory is None:
            share = SAMPLING * np.sqrt(k / max(1, sample.size)) if sample.share < 1 else 0.0
            wrong = np.full(k, share * self.n / k)
            return self.plan(p, self.by_sample(p), wrong, np.zeros(k), 1.0)
        wrong = np.maximum(memory.wrong, memory.wrong.mean() / 4)
        return self.plan(p, self.by_sample(p), wrong, memory.drift, 1.0)

    def plan(
        self, p: FloatArray, borders: Borders, wrong: FloatArray, way: FloatArray, grow: float
    ) -> Plan:
        """A plan for prices where so many samples will be in the wrong cluster.

        `way` is about as far as prices may have to go, one against the other; `grow` makes the plan
        larger.
        """
        k, n, most = self.k, self.n, self.most
        near = borders.reach(np.maximum(np.maximum(AHEAD * wrong, LEAST), WIDE * n / k))
        goal = grow * (ROWS * wrong + FEWEST)
        rows = float(self.sample.stands_for.sum())
        if rows < n / 2:  # equal rows are returned once, whatever their number
            borders = self.by_sample(p, self.sample.stands_for)
        if goal.sum() > rows / 2 and rows <= most and not self.overflow:
            return Plan(near, np.full((k, k), np.inf), np.full(k, np.inf))
        if goal.sum() > most / 2:
            goal = np.maximum(goal * (most / 2 / goal.sum()) / 4, FEWEST / 4)
        beside = np.maximum(borders.reach(goal), TINY)
        limit = least = beside + beside[:, None]
        if way.any():
            # no row is expected between clusters that are far apart
            seen = self.seen(p)
            farthest, points = np.zeros(k), self.sample.points
            for part in blocks(*points.shape):
                apart = np.square(points[part] - self.centers[seen.label[part]]).sum(axis=1)
                np.maximum.at(farthest, seen.label[part], OUTER * apart)
            gone = np.abs(way - way[:, None])
            gone[least_gaps(self.centers, p, farthest) > 2 * gone] = 0.0
            pairs = gone
            if self.predicted(p, np.maximum(least, pairs)) > max(most / 16, 2 * goal.sum()):
                pairs = np.minimum(gone, self.pairs(p, goal))
            limit = np.maximum(least, pairs)
            while self.predicted(p, limit) > most / 4 and (limit > least).any():
                pairs /= 2
                limit = np.maximum(least, pairs)
        scanned = 2 * borders.reach(np.full(k, grow * SCANNED * n / k))
        return Plan(near, limit, np.maximum(scanned, limit.max(axis=1)))

    def seen(self, p: FloatArray) -> Seen:
        """The points of the sample at prices."""
        return see(self.sample.points, self.centers, p, self.threads)

    def by_sample(self, p: FloatArray, number: FloatArray | None = None) -> Borders:
        """Samples near borders at prices, or so many for each point, as the sample tells."""
        seen = self.seen(p)
        number = self.sample.supply / self.sample.share if number is None else number
        best, second = seen.label.astype(np.int64), seen.runner_up.astype(np.int64)
        return Borders(best, second, seen.gap, number, self.k)

    def by_table(self, table: Table, change: FloatArray) -> Borders:
        """Samples near borders after a change of prices, as the table of a look tells."""
        best, second, begin, end = table.cells(self.k)
        moved = change[second] - change[best]
        gap = np.maximum(np.abs((begin + end) / 2 - moved), (end - begin) / 2)
        return Borders(best, second, gap, table.number.astype(np.float64), self.k)

    def pairs(self, p: FloatArray, goal: FloatArray) -> FloatArray:
        """The gap below which so many samples of a cluster lie, to each other one, (k, k).

        Borders know the second best cluster of a sample only. Where clusters lie in groups, many
        samples that would go to another group have their second best in the own one.
        """
        k, sample = self.k, self.sample
        step = max(1, len(sample.points) // max(NUMBERS // k, EACH * k))
        points, labels = sample.points[::step], self.seen(p).label[::step]
        each = float(sample.stands_for.sum()) / max(1, len(points))
        reach = np.zeros((k, k))
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(k + 1))
        for a in range(k):
            mine = points[order[ends[a] : ends[a + 1]]]
            if len(mine) == 0:
                continue
            value = squared_distances(mine, self.centers) - p
            gap = np.maximum(value - value[:, [a]], 0.0)
            rank = min(goal[a] / each, len(mine) - 1.0)
            at = int(rank)
            gap = np.partition(gap, sorted({max(at - 1, 0), at}), axis=0)
            before = gap[at - 1] if at else np.zeros(k)
            reach[a] = before + (rank - at) * (gap[at] - before)
        return reach

    def returned(self, p: FloatArray, limit: FloatArray, wide: FloatArray) -> BoolArray:
        """Which points of the sample a look would return."""
        points, seen = self.sample.points, self.seen(p)
        at = np.flatnonzero(seen.slack <= wide[seen.label])
        question = Question(Frame.none(points.shape[1]), self.centers, p, None, limit, wide)
        minima = np.full((self.k, self.k), np.inf)
        returned = np.zeros(len(points), bool)
        returned[at] = scan(points[at], seen.label[at], question, minima, self.threads)
        return returned

    def counts_at(self, p: FloatArray, counts: IntArray, after: FloatArray) -> FloatArray:
        """About how many samples each cluster would have after a change of prices from p.

        The sample tells how many move: it sees all clusters, where the table sees two.
        """
        moved = np.zeros(self.k)
        for sign, prices in ((1, after), (-1, p)):
            moved += sign * np.bincount(self.seen(prices).label, self.sample.supply, self.k)
        return counts + moved / self.sample.share

    def predicted(self, p: FloatArray, limit: FloatArray) -> float:
        """About how many rows a look would return, by the sample."""
        returned = self.returned(p, limit, limit.max(axis=1))
        return float(self.sample.stands_for[returned].sum())
