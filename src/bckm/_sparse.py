"""Sparse data on their way to a `Problem`: divided, gathered and replaced row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._arrays import fixed_direction, power_of_two
from bckm._memory import require
from bckm._types import FloatArray, IntArray, Rows, Sparse


@dataclass(frozen=True, eq=False)
class SparseNormal:
    """Sparse data seen through a unit. Their origin is zero: any other would make them dense."""

    data: Sparse  # csr, (n, d)
    unit: float

    @classmethod
    def of(cls, data: Sparse) -> SparseNormal:
        """Choose the unit."""
        return cls(data, power_of_two(float(np.abs(data.data).max(initial=0.0))))

    @property
    def origin(self) -> FloatArray:
        """Zero."""
        return np.zeros(self.data.shape[1])

    rest = 0.0  # rounding leaves nothing where nothing is subtracted

    def rows(self, which: IntArray) -> Sparse:
        """Rows in the unit, in an array of their own."""
        found = self.data[which]
        found.data *= 1 / self.unit  # a power of two: as exact as a division
        return found

    def gathered(self, which: IntArray, threads: int) -> Sparse:
        """The same, for all rows."""
        return self.rows(which)

    @property
    def direction(self) -> FloatArray:
        """See `fixed_direction`."""
        return fixed_direction(self.data.shape[1])

    def key(self) -> tuple[FloatArray, float]:
        """Place of each sample along `direction`, and the mean variance of the features."""
        n, d = self.data.shape
        key = (self.data @ self.direction) / self.unit
        means = np.asarray(self.data.sum(axis=0)).ravel() / self.unit / n
        values = self.data.data / self.unit
        return key, max(0.0, float(values @ values) / n - float(means @ means)) / d


def replaced(points: Sparse, which: IntArray, rows: Sparse) -> Sparse:
    """Points with other rows in some places."""
    if which.size == 0:
        return points
    m = points.shape[0]
    take = np.arange(m)
    take[which] = m + np.arange(which.size)
    return sp.vstack([points, rows], format="csr")[take]


def dense_of(points: Rows) -> FloatArray:
    """Dense points of the same distances: features that are zero everywhere are left out."""
    if not sp.issparse(points):
        return np.asarray(points)
    used = np.flatnonzero(np.bincount(points.indices, minlength=1))
    require(
        24 * points.shape[0] * used.size,
        f"a dense copy of {points.shape[0]:,} items with {used.size:,} features",
        "Reduce the features, for example with sklearn's TruncatedSVD, and pass dense data.",
    )
    return points[:, used].toarray() if used.size else np.zeros((points.shape[0], 1))
