"""What mixed groups are made of: points around their mean, and what is between clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from bckm._core.types import FloatArray, IntArray
from bckm.problem.problem import Problem

DIGITS = 20  # binary digits of a feature, from its root mean square on, that a search sees


def with_squares(data: FloatArray, weight: FloatArray) -> FloatArray:
    """Features and their squares: clusters with equal means of both have equal variances, too.

    Squares are those of the distance from the mean of all samples, divided by the standard
    deviation, so that they have the unit of the feature and weigh as much.
    """
    centered = data - np.average(data, axis=0, weights=weight)
    deviation = np.sqrt(np.average(np.square(centered), axis=0, weights=weight))
    squares = np.square(centered) / np.where(deviation > 0, deviation, 1.0)
    return np.hstack([data, squares])


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a problem around their mean, which all that is between clusters refers to."""

    problem: Problem

    @cached_property
    def centered(self) -> FloatArray:
        """Points less their weighted mean, (m, d)."""
        points = self.problem.points
        middle = self.problem.mass @ points / self.problem.mass.sum()
        return np.asarray(points - middle)

    @cached_property
    def unit(self) -> float:
        """Weighted mean of the squared distances from the mean: costs of `seen` points are so."""
        squares = np.square(self.centered).sum(axis=1)
        return float(self.problem.mass @ squares / self.problem.mass.sum()) or 1.0

    @cached_property
    def seen(self) -> FloatArray:
        """The points that a search sees: without a scale, and with few enough digits.

        How it goes hangs on the last digit, which data in another unit do not share.
        """
        points = self.centered / np.sqrt(self.unit)
        mean_square = self.problem.mass @ np.square(points) / self.problem.mass.sum()
        root = np.sqrt(np.where(mean_square > 0, mean_square, 1.0))
        last = np.exp2(np.floor(np.log2(root)) - DIGITS)
        return np.ascontiguousarray(np.rint(points / last) * last)

    def between(self, labels: IntArray) -> float:
        """Sum of squares between clusters, in units of cost."""
        m, k = labels.size, self.problem.structure.n_clusters
        of = sp.csr_array((self.problem.mass, (labels, np.arange(m))), shape=(k, m))
        mass = np.bincount(labels, self.problem.mass, k)
        squares = np.square(of @ self.centered).sum(axis=1)
        return float((squares[mass > 0] / mass[mass > 0]).sum())
