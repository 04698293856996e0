"""`ListedRows`: rows whose best clusters are listed once, so that other prices cost little."""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.transport_state import SizeBounds, TransportState
from bckm.kernels import native

NEAR = 0.25  # share of the wrong samples that are nearer to a border than the temperature
SPREAD = 0.1  # of its gap: temperature of a point that stands for others
TINY = 1e-7  # of the largest gap: the least temperature
STEPS = 12


class ListedRows(TransportState):
    """Points, each with its best clusters at some prices and what they cost.

    Prices far from these are beyond what the lists know: a model, not a proof.
    """

    def __init__(
        self,
        points: FloatArray,
        supply: IntArray,
        bounds: SizeBounds,
        centers: FloatArray,
        prices: FloatArray,
        threads: int,
    ) -> None:
        number = None if (supply == 1).all() else supply
        super().__init__(
            native.Points(points, None, None, number), number, bounds, (1.0, 1.0), threads
        )
        self.contenders = None
        self.lists = native.RowLists(self.points, centers, prices, threads)
        self.evaluate(centers, prices, Deadline())

    def evaluate(
        self, centers: FloatArray, prices: FloatArray, deadline: Deadline, *, keep: bool = False
    ) -> float:
        """The best two clusters of each point; centers are those of the lists."""
        assert not keep
        deadline.check()
        self.cost, units = self.lists.look(
            prices, self.label, self.runner, self.margin, self.threads
        )
        self.units = units.astype(np.float64)
        self.centers, self.prices = centers, prices
        return 0.0

    def climb(self, centers: FloatArray, target: float, deadline: Deadline) -> FloatArray:
        """Raise the dual until about `target` samples are in the wrong cluster, or it gets slow.

        Minima are softened: a point that stands for others stands for some nearer to the border
        and some farther, so its temperature is a part of its gap, and at least so much that a
        part of the wrong samples are nearer. Returns the gradient then: what clusters lack.
        """
        wrong, gap = self.infeasibility, self.gaps
        if wrong <= target or gap.size == 0:
            return self.gradient
        number = np.ones(gap.size) if self.supply is None else self.supply.astype(np.float64)
        order = np.argsort(gap)
        place = int(np.searchsorted(np.cumsum(number[order]), NEAR * wrong))
        least = float(gap[order[min(place, order.size - 1)]])
        heat = np.full(gap.size, max(least, TINY * float(gap.max()), 1e-30))
        if self.supply is not None:
            heat = np.maximum(heat, np.where(self.supply > 1, SPREAD * gap, 0.0))
        after, left = self.lists.climb(
            heat.astype(np.float32),
            self.bounds.lower,
            self.bounds.upper,
            self.units,
            self.prices,
            target,
            STEPS,
            self.threads,
        )
        self.evaluate(centers, after, deadline)
        return np.asarray(left)

    @property
    def gaps(self) -> FloatArray:
        """What the second best cluster of each point costs more, prices included."""
        gap = self.margin + (self.prices[self.label] - self.prices[self.runner])
        return np.maximum(gap, 0.0)
