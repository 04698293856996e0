"""Greedy k-means++: centers one after the other, each the best of a few draws.

References
----------
Arthur, Vassilvitskii: k-means++, the advantages of careful seeding (SODA 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.arrays import rows_of, squared_distances
from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray, PointArray
from bckm.kernels import missing, native

SAME = 1e-13  # of all that is left: gains that differ less are equal


@dataclass(frozen=True, eq=False)
class Seeds:
    """First centers; `complete` unless a deadline left no time to choose them with care."""

    centers: FloatArray
    complete: bool = True


def greedy(
    points: PointArray,
    mass: FloatArray,
    known: FloatArray,
    k: int,
    rng: np.random.Generator,
    soon: Deadline,
    part: IntArray | None = None,
    threads: int = 1,
) -> Seeds:
    """Choose centers among points by greedy k-means++, after those that are known.

    Each new center is a point drawn with probability proportional to mass times squared distance
    to the nearest center so far; of a few draws the one that lowers the total most is kept.

    Where only a `part` of the rows counts, `mass` is theirs.
    """

    def rows(drawn: IntArray) -> FloatArray:
        return rows_of(points, drawn if part is None else part[drawn])

    trials = 2 + int(np.log(k))
    centers = np.empty((k, points.shape[1]))
    if len(known) == 0:
        known = rows(_draw(mass, 1, rng))
    centers[: len(known)] = known
    near: native.SeedDistances | SeedDistances
    if missing or sp.issparse(points):
        near = SeedDistances(points if part is None else points[part], mass)
    else:
        near = native.SeedDistances(native.Points(points, part), mass, threads)
    near.add(known)
    for c in range(len(known), k):
        weight = mass * near.distance
        if soon.passed:
            centers[c:] = rows(_draw(weight, k - c, rng))
            return Seeds(centers, complete=False)
        candidates = rows(_draw(weight, trials, rng))
        gain = near.gains(candidates)
        # the first of equal ones, however sums are rounded
        best = int(np.argmax(gain >= gain.max() - SAME * float(weight.sum())))
        near.take(best)
        centers[c] = candidates[best]
    return Seeds(centers)


class SeedDistances:
    """How far points are from the centers so far: as `kernels/distance/seeding`, in NumPy."""

    def __init__(self, points: PointArray, mass: FloatArray) -> None:
        self.points, self.mass = points, mass
        self.distance: FloatArray = np.full(mass.size, np.inf)
        self._after: FloatArray = np.empty((0, mass.size))

    def add(self, centers: FloatArray) -> None:
        """Take these centers."""
        self.distance = np.minimum(
            self.distance, squared_distances(centers, self.points).min(axis=0)
        )

    def gains(self, candidates: FloatArray) -> FloatArray:
        """By how much each candidate would lower the sum of mass times distance."""
        self._after = np.minimum(self.distance, squared_distances(candidates, self.points))
        return np.asarray((self.distance - self._after) @ self.mass)

    def take(self, candidate: int) -> None:
        """Take one of the last candidates."""
        self.distance = self._after[candidate]


def _draw(weight: FloatArray, number: int, rng: np.random.Generator) -> IntArray:
    total = np.cumsum(weight)
    if total[-1] <= 0:  # every item coincides with a center
        return np.asarray(rng.integers(weight.size, size=number))
    drawn: IntArray = np.searchsorted(total, rng.random(number) * total[-1], side="right")
    return np.minimum(drawn, weight.size - 1)
