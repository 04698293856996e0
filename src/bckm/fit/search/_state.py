"""Labels of items with all that follows from them, and what a move does to it.

A move is a few items, each with the cluster it goes to, made together; no item twice. Many moves of
one length h are judged at once: arrays `items` and `to`, both (n, h).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bckm._core import arrays
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.fit.search._penalty import Penalty
from bckm.fit.search._sums import SUM_ROUNDING, Sums, Twofold, entries, signs, touched
from bckm.problem.problem import Problem

# A cluster that keeps less than this share of its mass: the difference is round-off.
MASS_ROUNDING = 1e-15
# And one that keeps less than this is summed up anew.
MASS_LOST = 1e-6


class State:
    """The objective is the sum of mass_j |point_j - center_label(j)|^2, and all penalties.

    Centers are the means of the labels and follow every move; or, if `fixed`, they stay and a
    change is that of an assignment.

    Attributes
    ----------
    labels : array (m,)
        Cluster of each item.
    centers : array (k, d)
        Means; a cluster without mass keeps the last one, or the given one.
    weight : array (k,)
        Mass of each cluster.
    heavy : array (k,)
        Items with mass in each cluster; tells an empty cluster from round-off.
    size : array (k,)
        Samples in each cluster.
    activity : Twofold (r,)
        Value of each row.
    loads : Sums
        Those with hard bounds.
    penalty : Penalty
        What soft rules cost.
    cost : float
        The objective when `refresh` was called last.
    """

    labels: IntArray
    centers: FloatArray
    weight: FloatArray
    heavy: IntArray
    size: IntArray
    activity: Twofold
    cost: float

    def __init__(
        self, problem: Problem, labels: IntArray, centers: FloatArray, *, fixed: bool = False
    ) -> None:
        s = problem.structure
        self.problem, self.structure, self.fixed = problem, s, fixed
        self.points, self.mass, self.count = problem.points, problem.mass, s.count
        self.centers = np.array(centers, np.float64)
        self.loads, self.penalty = Sums(s.loads), Penalty(problem.soft)
        self.restart(labels)

    def restart(self, labels: IntArray) -> None:
        """Take other labels."""
        self.labels = np.array(labels, np.int64)
        self.refresh()

    def refresh(self) -> None:
        """Sum up everything anew: without what rounding added move by move."""
        s = self.structure
        if not self.fixed:
            sums = self._totals()
            held = sums.mass > 0
            self.centers[held] = sums.sums[held] / sums.mass[held, None]
        sums = self._totals()
        self.weight, self.cost = sums.mass, sums.cost + self.problem.penalty(self.labels)
        self.heavy = np.bincount(self.labels[self.mass > 0], minlength=s.n_clusters)
        self.size = s.sizes(self.labels)
        self.loads.refresh(self.labels)
        self.penalty.sums.refresh(self.labels)
        column = np.arange(s.n_items) * s.n_clusters + self.labels
        self.activity = Twofold(*s.apart_from_loads.twofold(column))

    def _totals(self) -> arrays.Totals:
        threads = self.problem.threads
        return arrays.totals(self.points, self.mass, self.labels, self.centers, threads)

    def admits(self, items: IntArray, to: IntArray) -> BoolArray:
        """Whether all rules hold after each move, (n,), given that they hold before."""
        good = self._sizes_hold(items, to)
        if self.structure.conflict_sets:
            good[good] = self._apart(items[good], to[good])
        if self.structure.loads.number:
            start = self.labels[items[good]]
            good[good] = self.loads.hold_after(items[good], start, to[good])
        if self.structure.apart_from_loads.number:
            good[good] = self._rows_hold(items[good], to[good])
        return good

    def free(self, items: IntArray, to: IntArray | int) -> BoolArray:
        """Whether each item (n,) is in conflict with none in the cluster it would go to."""
        good = np.ones(items.size, np.bool_)
        if self.structure.conflict_sets:
            graph = self.structure.neighbors
            at, whose = entries(graph.indptr, items)
            there = np.broadcast_to(to, items.shape)[whose]
            good[whose[self.labels[graph.indices[at]] == there]] = False
        return good

    def _sizes_hold(self, items: IntArray, to: IntArray) -> BoolArray:
        s, start = self.structure, self.labels[items]
        good = np.ones(len(items), np.bool_)
        for cluster in touched(start, to):
            after = self.size[cluster] + (signs(start, to, cluster) * self.count[items]).sum(1)
            # a move touches no cluster -1: its size is not asked for
            good &= (cluster < 0) | (after >= s.lower[cluster]) & (after <= s.upper[cluster])
        return good

    def _apart(self, items: IntArray, to: IntArray) -> BoolArray:
        n, h = items.shape
        graph = self.structure.neighbors
        at, hop = entries(graph.indptr, items.ravel())
        other, move = graph.indices[at], hop // h
        where = self.labels[other]
        for g in range(h):  # it may be on the move itself
            where = np.where(other == items[move, g], to[move, g], where)
        good = np.ones(n, np.bool_)
        good[move[where == to.ravel()[hop]]] = False
        return good

    def _rows_hold(self, items: IntArray, to: IntArray) -> BoolArray:
        rows, (n, h) = self.structure.apart_from_loads, items.shape
        first = items * self.structure.n_clusters
        column = np.concatenate([(first + self.labels[items]).ravel(), (first + to).ravel()])
        at, hop = entries(rows.columns.indptr, column)
        move, sign = hop % (n * h) // h, np.where(hop < n * h, -1.0, 1.0)
        # the rows that each move touches, one number for each
        number, place = np.unique(
            move * rows.number + rows.columns.indices[at], return_inverse=True
        )
        move, row = np.divmod(number, rows.number)
        both = Twofold(self.activity.high[row], self.activity.low[row])
        for more in _in_turn(place, sign * rows.columns.data[at], number.size):
            both.add(more)
        after = both.split()[0]
        rounding = SUM_ROUNDING * np.abs(after)
        kept = (after >= rows.lower[row] + rounding) & (after <= rows.upper[row] - rounding)
        good = np.ones(n, np.bool_)
        good[move[~kept]] = False
        return good

    def change(self, items: IntArray, to: IntArray) -> FloatArray:
        """By how much each move changes the objective, (n,).

        Around the old center c of a cluster, what comes adds w |x - c|^2 and what goes takes it
        away. The new mean lies off c by u / W', where u sums w (x - c) of what comes less what
        goes, and W' is the new mass; around it everything costs |u|^2 / W' less.
        """
        total = np.zeros(len(items))
        start, points, mass = self.labels[items], self.points[items], self.mass[items]
        for cluster in touched(start, to):
            sign = signs(start, to, cluster)
            w = sign * mass  # (n, h)
            away = points - self.centers[cluster][:, None, :]  # (n, h, d)
            total += (w * np.square(away).sum(axis=2)).sum(axis=1)
            if self.fixed:
                continue
            u = (w[:, :, None] * away).sum(axis=1)
            held = self.heavy[cluster] + (sign * (mass > 0)).sum(axis=1)
            least = MASS_ROUNDING * self.weight[cluster]
            after = np.maximum(self.weight[cluster] + w.sum(axis=1), least)
            felt = held > 0  # an empty cluster costs nothing
            total -= np.divide(np.square(u).sum(axis=1), after, np.zeros(len(items)), where=felt)
        if self.penalty.asks:
            total += self.penalty.change(self.labels, items, to)
        return total

    def apply(self, items: IntArray, to: IntArray) -> None:
        """Make one move; `items` and `to` are (h,)."""
        start, mass, lost = self.labels[items], self.mass[items], False
        for i in np.unique(np.concatenate([start, to])):
            sign = (to == i).astype(np.int64) - (start == i)
            before = self.weight[i]
            self.weight[i] += sign @ mass
            self.heavy[i] += sign @ (mass > 0)
            self.size[i] += sign @ self.count[items]
            if self.heavy[i] == 0:
                self.weight[i] = 0.0
            elif self.weight[i] <= MASS_LOST * before:
                lost = True
            elif not self.fixed:
                away = self.points[items] - self.centers[i]
                self.centers[i] += (sign * mass) @ away / self.weight[i]
        if self.structure.apart_from_loads.number:
            k, columns = self.structure.n_clusters, self.structure.apart_from_loads.columns
            for clusters, sign in ((start, -1.0), (to, 1.0)):
                for more in columns[:, items * k + clusters].T.toarray():
                    self.activity.add(sign * more)
        self.loads.apply(items, start, to)
        self.penalty.sums.apply(items, start, to)
        self.labels[items] = to
        if lost:
            self.refresh()


def _in_turn(place: IntArray, values: FloatArray, number: int) -> Iterator[FloatArray]:
    """Values for so many places, as arrays (number,) of at most one value for each place."""
    order = np.argsort(place, kind="stable")
    place, values = place[order], values[order]
    first = np.searchsorted(place, place)
    turn = np.arange(place.size) - first
    for at in range(int(turn.max(initial=-1)) + 1):
        found = np.zeros(number)
        found[place[turn == at]] = values[turn == at]
        yield found
