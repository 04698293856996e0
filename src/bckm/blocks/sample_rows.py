"""A sample of the rows, which the coordinator keeps: where looks begin."""

from __future__ import annotations

import numpy as np

from bckm._core.arrays import fixed_direction
from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.transport_state import SizeBounds
from bckm.blocks.equal_rows import groups_of
from bckm.blocks.row_model import ENOUGH, RowModel
from bckm.kernels import missing

COARSER, SMALLEST = 8, 8  # each level is an eighth of the one before, of 8 points per cluster
WARM, EACH = 2**15, 64  # points of later steps, and at least for each cluster
ALONE = 0.9  # share of different rows, from which equal ones are few
PLAIN = 2**12  # points without kernels
FEW = 2**12  # points that tell how many rows lie where
FAR, WRONG = 0.1, 0.03  # shares of wrong samples that are beyond what lists know; that these leave


class SampleRows:
    """A sample of the rows, in the units of the frame; nothing is kept from call to call."""

    def __init__(self, rows: FloatArray, bounds: SizeBounds, n_rows: int, threads: int) -> None:
        group = groups_of(rows, threads)
        first = np.flatnonzero(np.diff(np.maximum.accumulate(group), prepend=-1))
        supply = np.bincount(group)
        order = np.argsort((rows @ fixed_direction(rows.shape[1]))[first], kind="stable")
        self.points = np.ascontiguousarray(rows[first[order]])
        self.supply: IntArray = supply[order].astype(np.int64)
        self.bounds, self.threads, self.n = bounds, threads, n_rows
        self.size = len(rows)
        self.share = max(1, len(rows)) / n_rows
        # about how many different rows each point stands for: one that was drawn twice is alone
        self.stands_for = np.where(self.supply == 1, 1 / self.share, 1.0)
        self.alike = len(self.points) < ALONE * len(rows)  # whether many rows are equal
        most = PLAIN if missing else max(WARM, EACH * bounds.lower.size)
        self.stride = max(1, len(self.points) // most)  # of the points of later steps
        step = max(1, len(self.points) // FEW)
        # some points, which tell how many rows lie where: every so many
        self.few = np.ascontiguousarray(self.points[::step]), step

    @property
    def different(self) -> float:
        """About how many different rows there are."""
        return float(self.stands_for.sum())

    def part(self, stride: int) -> RowModel:
        """Every so many points."""
        supply = self.supply[::stride]
        share = float(supply.sum()) / self.n
        points = np.ascontiguousarray(self.points[::stride])
        return RowModel(points, supply, self.bounds.scaled(share), self.threads)

    def listed(self, centers: FloatArray, prices: FloatArray) -> RowModel:
        """The points of later steps, with their best clusters at prices."""
        supply = self.supply[:: self.stride]
        share = float(supply.sum()) / self.n
        points = np.ascontiguousarray(self.points[:: self.stride])
        bounds = self.bounds.scaled(share)
        return RowModel.listed(points, supply, bounds, centers, prices, self.threads)

    def model(
        self,
        centers: FloatArray,
        prices: FloatArray,
        lesson: FloatArray | None,
        deadline: Deadline,
    ) -> RowModel:
        """Rows of the sample at prices under which few are in the wrong cluster.

        `lesson` is what the points of later steps have above their share; None in a first step.
        """
        k, steps, known = prices.size, [1], prices.any()
        if lesson is not None and not missing:
            model, found = self._listed_model(centers, prices, lesson, deadline)
            if found:
                return model
        if lesson is not None or missing:
            steps = [self.stride]
        while not missing and len(self.points) // (steps[-1] * COARSER) >= SMALLEST * k:
            steps.append(steps[-1] * COARSER)
        for step in reversed(steps):
            if lesson is not None and step == steps[0] and len(steps) > 1:
                model, found = self._listed_model(centers, prices, lesson, deadline)
                if found:
                    return model
            model = self.part(step)
            state = model.state
            if lesson is not None and step == steps[0]:
                state.bounds = state.bounds.moved(lesson)
            model.go(centers, prices, deadline)
            if len(model.supply) < 2 * k:
                continue
            if step == steps[-1] and known:
                wrong = state.infeasibility
                model.go(centers, np.zeros(k), deadline)
                if wrong < state.infeasibility:  # after large moves, last prices are worse
                    model.go(centers, prices, deadline)
            model.solve(centers, deadline, exact=lesson is not None and step == steps[0])
            prices = state.prices
        return model

    def _listed_model(
        self, centers: FloatArray, prices: FloatArray, lesson: FloatArray, deadline: Deadline
    ) -> tuple[RowModel, bool]:
        """The points of later steps, at prices that are right as far as lists tell, if they do."""
        model = self.listed(centers, prices)
        state = model.state
        state.bounds = state.bounds.moved(lesson)
        total = float(state.units.sum())
        if state.infeasibility > FAR * total or model.approach(centers, deadline) is None:
            return model, False
        # what lists led to is seen with new ones
        model = self.listed(centers, state.prices)
        model.state.bounds = state.bounds
        wrong = model.state.infeasibility
        if wrong > max(float(state.k), WRONG * total):
            return model, False
        # few that are wrong cost much where they belong to groups far from each other: the next
        # look would find as many for each point as it stands for
        if wrong > ENOUGH * state.k:
            model = model.finished(centers, deadline)
        return model, True

    def lesson(
        self,
        model: RowModel | None,
        centers: FloatArray,
        prices: FloatArray,
        counts: IntArray,
        deadline: Deadline,
    ) -> FloatArray:
        """What the points of later steps have above their share, where all rows have `counts`.

        `model` is one of them at near prices, if there is one.
        """
        if model is not None and model.is_listed:
            model.go(centers, prices, deadline)
        elif missing:
            model = self.part(self.stride)
            model.go(centers, prices, deadline)
        else:
            model = self.listed(centers, prices)
        units = model.state.units
        return np.asarray(units - counts * (units.sum() / self.n))
