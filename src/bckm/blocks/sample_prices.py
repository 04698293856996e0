"""Prices from a sample of the rows, which the coordinator keeps: where looks begin.

With the right prices the sample has a little more or less than its share in each cluster. This is
its *lesson*: asked for exactly that, the sample leads to the right prices at these centers, and to
nearly the right ones when centers have moved a little.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import fixed_direction
from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.transport_state import SizeBounds, TransportState, newton
from bckm.blocks.answer import groups_of
from bckm.blocks.look import see
from bckm.kernels import missing, native

COARSER, SMALLEST = 8, 8  # each level is an eighth of the one before, of 8 points per cluster
ENOUGH = 0.25  # samples per cluster that may be in the wrong one
MANY = 2.0  # so many are too many: shortest paths
BYTES = 2**27  # at most this much for the exact costs of points


class SamplePrices:
    """A sample of the rows, in the units of the frame; nothing is kept from call to call."""

    def __init__(self, rows: FloatArray, bounds: SizeBounds, n_rows: int, threads: int) -> None:
        group = groups_of(rows)
        _, first, supply = np.unique(group, return_index=True, return_counts=True)
        order = np.argsort((rows @ fixed_direction(rows.shape[1]))[first], kind="stable")
        self.points = np.ascontiguousarray(rows[first[order]])
        self.supply: IntArray = supply[order].astype(np.int64)
        self.size, self.bounds, self.threads = len(rows), bounds, threads
        self.share = max(1, len(rows)) / n_rows
        # about how many different rows each point stands for: one that was drawn twice is alone
        self.stands_for = np.where(self.supply == 1, 1 / self.share, 1.0)

    def prices(
        self, centers: FloatArray, prices: FloatArray, lesson: FloatArray, deadline: Deadline
    ) -> FloatArray:
        """Prices under which few rows of the sample are in the wrong cluster."""
        k = prices.size
        if missing or len(self.points) < 2 * k:
            return prices
        steps = [1]
        while len(self.points) // (steps[-1] * COARSER) >= SMALLEST * k:
            steps.append(steps[-1] * COARSER)
        for step in reversed(steps):
            state = self._state(step, lesson)
            if step == steps[-1] and prices.any():
                none = np.zeros(k)
                state.evaluate(centers, none, deadline)
                without = state.infeasibility
                state.evaluate(centers, prices, deadline)
                if without <= state.infeasibility:  # after large moves, last prices are worse
                    state.evaluate(centers, none, deadline)
            else:
                state.evaluate(centers, prices, deadline)
            newton(state, centers, ENOUGH * k, deadline)
            if state.infeasibility > MANY * k:
                self._settle(state, centers, deadline)
            prices = state.prices
        return prices

    def prices_with(
        self,
        centers: FloatArray,
        prices: FloatArray,
        rows: FloatArray,
        number: IntArray,
        rest: IntArray,
        others: IntArray,
        deadline: Deadline,
    ) -> FloatArray:
        """Prices where `rows`, so many of each, are all there are near borders.

        The rest of each cluster at `prices`, so many, is stood in for by the points `others`.
        """
        k = prices.size
        labels = see(self.points[others], centers, prices, self.threads).label
        weight = np.bincount(labels, self.supply[others], k)
        each = (rest / np.maximum(weight, 1))[labels] * self.supply[others]
        # whole numbers whose sums are those of the clusters, but for clusters without a point
        order = np.argsort(labels, kind="stable")
        so_far = np.rint(np.cumsum(each[order])).astype(np.int64)
        stand = np.diff(so_far, prepend=0)
        kept = stand > 0
        points = np.concatenate([rows, self.points[others[order[kept]]]])
        supply = np.concatenate([number, stand[kept]])
        if missing or len(points) < 2 * k:
            return prices
        bounds = self.bounds.scaled(float(supply.sum()) * self.share / self.size)
        state = TransportState(
            native.Points(points, None, None, supply), supply, bounds, (1.0, 1.0), self.threads
        )
        state.evaluate(centers, prices, deadline)
        newton(state, centers, ENOUGH * k, deadline)
        if state.infeasibility > MANY * k:
            self._settle(state, centers, deadline)
        return state.prices

    def _state(self, step: int, lesson: FloatArray) -> TransportState:
        supply = self.supply[::step]
        single = bool((self.supply == 1).all())
        points = native.Points(self.points, None, None, None if single else self.supply, step)
        part = float(supply.sum()) / self.size
        bounds = self.bounds.scaled(self.share * part).moved(lesson * part)
        return TransportState(points, None if single else supply, bounds, (1.0, 1.0), self.threads)

    def _settle(self, state: TransportState, centers: FloatArray, deadline: Deadline) -> None:
        """Exact prices of a level."""
        units = round(float(state.units.sum()))
        lower, upper = state.bounds.whole(units)
        k = state.k
        budget = min(units, max(2 * k, BYTES // (16 * k)))
        label = state.label.copy()
        settled = native.settle(
            state.points,
            centers,
            state.prices,
            label,
            state.slack,
            lower,
            upper,
            budget,
            min(deadline.left, 1e9),
            state.threads,
        )
        deadline.check()
        state.evaluate(centers, settled.prices, deadline)

    def lesson(self, labels: NDArray[np.int32], counts: IntArray) -> FloatArray:
        """What the sample has above its share, where all rows have `counts`."""
        here = np.bincount(labels, self.supply, counts.size)
        return here - counts * self.share
