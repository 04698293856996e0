"""Sums as coordinates: what items choose at prices of any resources is a look at distances.

An item of weight w at x that brings amounts a to its cluster is charged w |x - c|^2 - a P in a
cluster with center c and prices P. With b = a / w,

    |(x, b) - (c, P / 2)|^2 = |x - c|^2 - b P + |b|^2 + |P|^2 / 4

so items are points with one more feature for each resource, and clusters are centers that their
prices move. |b|^2 is the same in all clusters, |P|^2 / 4 goes into a price of each sample. A
resource of which all items have the same share (samples, where none has a weight) needs no feature.
"""

from __future__ import annotations

import numpy as np

from bckm._core.arrays import power_of_two
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.kernels import native
from bckm.problem.problem import Problem

ALIKE = 1e-13  # shares that differ by less are the same
FAR = 1e3  # times the mean distance of shares from their mean: few items are that far


class Coordinates:
    """Items of a problem with sums as features.

    Attributes
    ----------
    unit : float
        What costs and prices are divided by,
    ratio : float
        and what it is in units of the coordinates, which are a power of four: rounding of features
        would spoil bounds.
    odd : array (m,) of bool
        Items that have no place here: they weigh nothing, or next to nothing.
    squares : float
        Sum of w |b|^2, b without its mean: part of all costs here.
    """

    def __init__(self, problem: Problem, amount: FloatArray, unit: float) -> None:
        s, mass = problem.structure, problem.mass
        m, count = len(amount), s.count.astype(np.float64)
        self.unit, self._length = unit, power_of_two(np.sqrt(unit))
        self.ratio = unit / self._length**2
        weightless = mass == 0
        share = amount / np.where(weightless, 1.0, mass)[:, None]
        total = mass.sum()
        self.mean: FloatArray = amount[~weightless].sum(axis=0) / total
        away = np.abs(amount - mass[:, None] * self.mean)[~weightless].sum(axis=0) / total
        size = np.abs(share[~weightless]).max(axis=0, initial=0.0)
        self._columns: IntArray = np.flatnonzero(away > ALIKE * size)
        self._gamma = np.array([1.0 / power_of_two(away[c]) for c in self._columns])
        features = (share - self.mean)[:, self._columns] * self._gamma
        self.odd: BoolArray = weightless | (np.abs(features) > FAR).any(axis=1)
        features[self.odd] = 0.0
        self.weight: FloatArray = np.where(weightless, 1.0, mass / count)
        self.even = bool((self.weight[~self.odd] == 1.0).all())
        d = problem.points.shape[1]
        self._spare = 0 if self.even else 1  # a feature of zeros that lifts some centers
        self.data = np.zeros((m, d + self._columns.size + self._spare))
        np.divide(problem.points, self._length, out=self.data[:, :d])
        self.data[:, d : d + self._columns.size] = features
        self._supply = None if (s.count == 1).all() else s.count
        self._moment = mass * np.square(features).sum(axis=1)

    @property
    def extremes(self) -> tuple[float, float]:
        """Smallest and largest weight of a sample."""
        weight = self.weight[~self.odd]
        return float(weight.min()), float(weight.max())

    def points(self, items: IntArray) -> native.Points:
        """Some of the items for the compiled code."""
        supply = None if self._supply is None else self._supply[items]
        return native.Points(self.data, items, None if self.even else self.weight, supply, 1)

    def supply(self, items: IntArray) -> IntArray | None:
        """Samples of each of some items; None where each has one."""
        return None if self._supply is None else self._supply[items]

    def squares(self, items: IntArray) -> float:
        """Sum of w |b|^2 over some items."""
        return float(self._moment[items].sum())

    def centers(
        self, centers: FloatArray, prices: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Centers (k, d) with prices (k, r) here: places, prices of samples, and a level.

        The cost of a cluster's items here is `ratio` times that in units, less what prices pay,
        plus their `squares`, less their mass times the level of the cluster.
        """
        prices = self.ratio * prices
        part = prices[:, self._columns] / (2 * self._gamma)
        places = np.hstack([centers / self._length, part, np.zeros((len(centers), self._spare))])
        level = -np.square(part).sum(axis=1) - prices @ self.mean
        if self.even:
            return places, -level, level
        low = float(level.min())
        places[:, -1] = np.sqrt(level - low)
        return places, np.zeros(len(centers)), np.full(len(centers), low)

    def sums(self, totals: FloatArray, mass: FloatArray) -> FloatArray:
        """What clusters hold of each resource, (k, r), from sums of coordinates."""
        held = np.outer(mass, self.mean)
        d = totals.shape[1] - self._columns.size - self._spare
        held[:, self._columns] += totals[:, d : d + self._columns.size] / self._gamma
        return held
