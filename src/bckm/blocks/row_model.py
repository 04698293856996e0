"""`RowModel`: rows that stand for all, and prices at which they obey the bounds.

A sample of all rows is one such model, which the coordinator keeps; the rows that a look returns
are another, dense near the borders. Neither has quite its share in each cluster: what it has above
that is its *lesson*. Asked for exactly that, it leads to prices near the right ones.
"""

from __future__ import annotations

import numpy as np

from bckm._core.arrays import squared_distances
from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.soft_newton import approach
from bckm.assign.transport_state import SizeBounds, TransportState, newton
from bckm.blocks.borders import Borders, newton_direction
from bckm.blocks.listed_rows import ListedRows
from bckm.blocks.look import see
from bckm.kernels import missing, native

ENOUGH = 0.25  # samples per cluster that may be in the wrong one
LEFT = 0.02  # or this share of those that were
LISTED = 0.08  # the same of lists, which are no better than the rows they are of
STRAYING = 8  # one of so many points tells whether lists suffice
SLOW = 0.25  # share of wrong samples that lists may leave
MANY = 0.15  # more than this share is too many: shortest paths
FEW_WRONG = 8.0  # so few, per cluster, are brought where they belong by shortest paths, too
ROUNDS = 16  # of shortest paths, for each cluster and sample that is wrong
FEW = 2**13  # points that tell how far clusters reach
BYTES = 2**27  # at most this much for the exact costs of points


class RowModel:
    """Points in the units of the frame, each with the number of samples it stands for."""

    def __init__(
        self, points: FloatArray, supply: IntArray, bounds: SizeBounds, threads: int
    ) -> None:
        self.points, self.supply = points, supply
        self.state = _state(points, supply, bounds, threads)

    @classmethod
    def listed(
        cls,
        points: FloatArray,
        supply: IntArray,
        bounds: SizeBounds,
        centers: FloatArray,
        prices: FloatArray,
        threads: int,
    ) -> RowModel:
        """A model at given prices that knows the best clusters of its points and no others."""
        model = cls.__new__(cls)
        model.points, model.supply = points, supply
        model.state = ListedRows(points, supply, bounds, centers, prices, threads)
        return model

    @property
    def is_listed(self) -> bool:
        """Whether only the best clusters of its points are known."""
        return isinstance(self.state, ListedRows)

    @property
    def prices(self) -> FloatArray:
        """Where the model is."""
        return self.state.prices

    @property
    def gaps(self) -> FloatArray:
        """What the second best cluster of each point costs more, prices included; about."""
        state = self.state
        gap = state.margin + (state.prices[state.label] - state.prices[state.runner])
        return np.maximum(gap, 0.0)

    def borders(self, number: FloatArray) -> Borders:
        """Points near borders, so many for each."""
        return Borders(self.state.label, self.state.runner, self.gaps, number, self.state.k)

    def farthest(self) -> FloatArray:
        """The largest squared distance of a point of each cluster, (k,), by some of the points."""
        some = slice(None, None, max(1, len(self.points) // FEW))
        label, points = self.state.label[some], self.points[some]
        assert self.state.centers is not None
        farthest = np.zeros(self.state.k)
        np.maximum.at(farthest, label, np.square(points - self.state.centers[label]).sum(axis=1))
        return farthest

    def go(self, centers: FloatArray, prices: FloatArray, deadline: Deadline) -> None:
        """Go to prices."""
        self.state.evaluate(centers, prices, deadline)

    def teach(self, bounds: SizeBounds, counts: IntArray) -> None:
        """Ask for what the model has above `counts` where it is; of all rows, so many there are."""
        share = float(self.state.units.sum()) / max(1, int(counts.sum()))
        self.state.bounds = bounds.scaled(share).moved(self.state.units - share * counts)

    def approach(self, centers: FloatArray, deadline: Deadline) -> FloatArray | None:
        """Go to prices where few samples are in the wrong cluster, as far as lists tell.

        Returns how many each cluster has too many or too few of, (k,); None if they are more than
        a part of those that were.
        """
        state, wrong, before = self.state, self.state.infeasibility, self.state.gradient
        assert isinstance(state, ListedRows)
        target, enough = max(ENOUGH * state.k, LISTED * wrong), max(ENOUGH * state.k, SLOW * wrong)
        newton(state, centers, target, deadline)
        left = np.abs(state.gradient)
        if float(left.sum()) / 2 > enough:
            left = np.abs(state.climb(centers, target, deadline))
            if float(left.sum()) / 2 > enough:
                return None
        return np.maximum(left, LISTED * np.abs(before))

    def relisted(self, centers: FloatArray) -> RowModel:
        """The same points where it is, with their best clusters there."""
        state = self.state
        return RowModel.listed(
            self.points, self.supply, state.bounds, centers, state.prices, state.threads
        )

    def finished(self, centers: FloatArray, deadline: Deadline) -> RowModel:
        """The same points, which know all clusters, brought where they belong by shortest paths."""
        state = self.state
        model = RowModel(self.points, self.supply, state.bounds, state.threads)
        model.go(centers, state.prices, deadline)
        model._settle(centers, deadline)
        return model

    def strays(self, centers: FloatArray) -> float:
        """About how many samples have a better cluster than those that are listed."""
        some = slice(None, None, STRAYING)
        points, number = np.ascontiguousarray(self.points[some]), self.supply[some]
        best = see(points, centers, self.prices, self.state.threads).label
        return STRAYING * float(number[best != self.state.label[some]].sum())

    def solve(self, centers: FloatArray, deadline: Deadline, *, exact: bool = False) -> None:
        """Go to prices where few samples are in the wrong cluster; `exact`: few become none."""
        state, k = self.state, self.state.k
        wrong = state.infeasibility
        approach(state, centers, max(ENOUGH * k, LEFT * wrong), deadline)
        left = state.infeasibility
        many = left > (ENOUGH * k if exact else max(2.0 * k, MANY * wrong))
        if (many or (exact and left > 0)) and not missing:
            self._settle(centers, deadline)

    def _settle(self, centers: FloatArray, deadline: Deadline) -> None:
        """The same by shortest paths."""
        state = self.state
        units, k = round(float(state.units.sum())), state.k
        lower, upper = state.bounds.whole(units)
        while (over := int(lower.sum()) - units) > 0:  # what is asked of some is below zero
            lower -= np.minimum(lower, -(-over // k))
        upper = np.maximum(lower, upper)
        settled = native.settle(
            state.points,
            centers,
            state.prices,
            state.label.copy(),
            state.slack,
            lower,
            upper,
            min(state.points.n, max(2 * k, BYTES // (16 * k))),
            min(deadline.left, 1e9),
            state.threads,
            most_rounds=ROUNDS * int(k + state.infeasibility),
        )
        deadline.check()
        before, dual = state.prices, state.dual
        state.evaluate(centers, settled.prices, deadline)
        if settled.stopped and state.dual < dual:
            state.evaluate(centers, before, deadline)


def _state(
    points: FloatArray, supply: IntArray, bounds: SizeBounds, threads: int
) -> TransportState:
    if missing:
        return PlainState(points, supply, bounds)
    number = None if (supply == 1).all() else supply
    view = native.Points(points, None, None, number)
    return TransportState(view, number, bounds, (1.0, 1.0), threads)


class PlainState(TransportState):
    """The same in NumPy, where there are no kernels."""

    def __init__(self, points: FloatArray, supply: IntArray, bounds: SizeBounds) -> None:
        self.contenders = None
        self.rows, self.number, self.bounds, self.k = points, supply, bounds, bounds.lower.size
        self.supply = supply
        self.prices, self.units, self.cost = np.zeros(self.k), np.zeros(self.k), 0.0
        self.label = self.runner = np.zeros(len(points), np.int32)
        self.margin = np.zeros(len(points), np.float32)

    def evaluate(
        self, centers: FloatArray, prices: FloatArray, deadline: Deadline, *, keep: bool = False
    ) -> float:
        """The best two clusters of each point."""
        assert not keep
        deadline.check()
        costs = squared_distances(self.rows, centers)
        value, each = costs - prices, np.arange(len(costs))
        self.label = value.argmin(axis=1).astype(np.int32)
        self.cost = float(self.number @ costs[each, self.label])
        if self.k > 1:
            value[each, self.label] = np.inf
            self.runner = value.argmin(axis=1).astype(np.int32)
        margin = costs[each, self.runner] - costs[each, self.label]
        self.margin = margin.astype(np.float32)
        self.units = np.bincount(self.label, self.number, self.k).astype(np.float64)
        self.prices, self.centers = prices, centers
        return 0.0

    def direction(self) -> FloatArray | None:
        """Newton step; None where no sample is near a border."""
        prices = self.prices
        gap = np.maximum(self.margin + (prices[self.label] - prices[self.runner]), 0.0)
        borders = Borders(self.label, self.runner, gap, self.number.astype(np.float64), self.k)
        edges = borders.edges(np.abs(self.gradient))
        return newton_direction(edges, self.bounds, prices, self.gradient)
