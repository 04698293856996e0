"""Metrics on a sphere: data become points on it, and k-means runs in space.

A mean of points on a sphere lies inside it. It is what distances are measured to; its direction is
what a person gets as the center, in the terms of the data.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from bckm._core.arrays import blocks, rows_of
from bckm._core.memory import require
from bckm._core.types import FloatArray, IntArray, PointArray
from bckm._core.validation import read_data
from bckm.metric.embedding import Metric, Sample

EARTH = 6371.0088  # km, the mean radius
NOWHERE = 1e-12  # a mean within this share of the radius from the middle has no direction


class _Sphere(Metric):
    radius: ClassVar[float]

    def centers(self, means: FloatArray, labels: IntArray, of: Sample) -> FloatArray:
        """Directions of the means."""
        length = np.linalg.norm(means, axis=1)
        directions = means.copy()
        for i in np.flatnonzero(length <= NOWHERE * self.radius):
            members = np.flatnonzero(labels == i)
            if members.size:
                first = members[of.order[members].argmin()]
                directions[i] = rows_of(of.points, np.array([first]))[0]
            else:
                directions[i] = np.eye(1, means.shape[1])[0]
        return self.returned(directions / np.linalg.norm(directions, axis=1, keepdims=True))

    @abstractmethod
    def returned(self, directions: FloatArray) -> FloatArray:
        """Unit vectors in the terms of the data."""


class Cosine(_Sphere):
    """Rows count by their direction: |x - y|^2 = 2 (1 - cos) of rows of length 1."""

    name = "cosine"
    radius = 1.0

    def embedded(self, X: Any, what: str = "X") -> PointArray:  # noqa: N803
        """Rows divided by their length."""
        data = read_data(X)
        n, d = data.shape
        if sp.issparse(data):
            rows = data.copy()
            row = np.repeat(np.arange(n), np.diff(rows.indptr))
            # first by the largest entry, so that no square overflows or vanishes
            largest = np.zeros(n)
            np.maximum.at(largest, row, np.abs(rows.data))
            _check_length(largest, what)
            rows.data /= largest[row]
            rows.data /= np.sqrt(np.bincount(row, rows.data**2, n))[row]
            return rows
        require(
            8 * n * d,
            f"the directions of {n:,} × {d:,} data",
            "Pass fewer samples or features; `bckm.assign_to` labels further samples in parts.",
        )
        found = np.empty((n, d))
        for part in blocks(n, d):
            values = data[part].astype(np.float64)
            largest = np.abs(values).max(axis=1)
            _check_length(largest, what, part.start)
            values /= largest[:, None]
            found[part] = values / np.linalg.norm(values, axis=1, keepdims=True)
        return found

    def returned(self, directions: FloatArray) -> FloatArray:
        """Themselves."""
        return directions


def _check_length(largest: FloatArray, what: str, start: int = 0) -> None:
    nothing = np.flatnonzero(largest == 0)
    if nothing.size:
        raise ValueError(
            f"row {start + nothing[0]} of {what} is all zeros, so it has no direction for "
            "metric='cosine'; drop such rows, or use metric='euclidean'."
        )


class _Places(_Sphere):
    """Latitude and longitude, in this order, as points in space."""

    turn: ClassVar[float]
    unit: ClassVar[str]
    other: ClassVar[str]  # what takes another unit
    slack: ClassVar[float] = 0.0  # share by which numbers of single precision may be beyond

    def embedded(self, X: Any, what: str = "X") -> FloatArray:  # noqa: N803
        """Points (n, 3) on the sphere."""
        asked = (
            f"metric={self.name!r} expects latitude and longitude, in this order, in {self.unit}"
        )
        if sp.issparse(X):
            raise ValueError(f"{what} is sparse; {asked}: pass {what}.toarray().")
        data = read_data(X)
        if data.shape[1] != 2:
            raise ValueError(f"{what} has {data.shape[1]} features; {asked}: two columns.")
        for column, name, most in ((0, "latitude", self.turn / 4), (1, "longitude", self.turn)):
            beyond = np.flatnonzero(np.abs(data[:, column]) > most * (1 + self.slack))
            if beyond.size:
                raise ValueError(
                    f"row {beyond[0]} of {what} has {name} {data[beyond[0], column]:g}, outside "
                    f"±{most:.5g}; {asked}. Swap the columns if longitude comes first; "
                    f"{self.other}."
                )
        latitude, longitude = (data.astype(np.float64) * (2 * np.pi / self.turn)).T
        ring = np.cos(latitude)
        x, y, z = ring * np.cos(longitude), ring * np.sin(longitude), np.sin(latitude)
        return self.radius * np.stack([x, y, z], axis=1)

    def n_features(self, embedded: int) -> int:
        """Two."""
        return 2

    def returned(self, directions: FloatArray) -> FloatArray:
        """Latitude and longitude, the latter within half a turn of zero."""
        x, y, z = directions.T
        found: FloatArray = np.stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)], axis=1)
        return found * (self.turn / (2 * np.pi))


class LatLon(_Places):
    """In degrees, on a sphere of the radius of the earth, in km."""

    name, radius, turn, unit = "latlon", EARTH, 360.0, "degrees"
    other = "metric='haversine' takes radians"


class Haversine(_Places):
    """In radians, on a sphere of radius 1, as in scikit-learn."""

    name, radius, turn, unit = "haversine", 1.0, 2 * np.pi, "radians"
    other = "metric='latlon' takes degrees"
    slack = 1e-7
