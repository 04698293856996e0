"""Sparse data on their way to a `Problem`: divided, gathered and replaced row by row.

Columns far from zero, which are dense anyway, are centered; sparse ones stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.arrays import fixed_direction, power_of_two
from bckm._core.memory import require
from bckm._core.types import FloatArray, IntArray, PointArray, Sparse

FAR = 16.0  # columns whose squared mean is so many times their variance are moved to their mean


@dataclass(frozen=True, eq=False)
class SparseNormal:
    """Sparse data seen through origin and scale.

    The origin is zero, any other would make them dense, but for columns that lie far from zero
    (`FAR`). Of these at least 94 % of the entries are stored, whatever the numbers, since a zero is
    as far from the mean as the mean is large: they are dense anyway, and centered like dense data.
    Of all other columns no entry is much larger than it would be around the mean, on average.
    """

    data: Sparse  # csr, (n, d), less the origin
    origin: FloatArray
    x_scale: float

    @classmethod
    def of(cls, data: Sparse) -> SparseNormal:
        """Choose origin and scale."""
        origin = _origin(data)
        if origin.any():
            data = _moved(data, origin)
        reach = float(np.abs(data.data).max(initial=0.0))
        return cls(data, origin, power_of_two(reach))

    def rows(self, which: IntArray) -> Sparse:
        """Scaled rows, in an array of their own."""
        rows = self.data[which]
        rows.data *= 1 / self.x_scale  # a power of two: as exact as a division
        return rows

    def gathered(self, which: IntArray, threads: int) -> Sparse:
        """The same, for all rows."""
        return self.rows(which)

    @property
    def direction(self) -> FloatArray:
        """See `fixed_direction`."""
        return fixed_direction(self.data.shape[1])

    def key(self, weight: FloatArray) -> Key:
        """See `Key`."""
        n, d = self.data.shape
        key = (self.data @ self.direction) / self.x_scale
        means = np.asarray(self.data.sum(axis=0)).ravel() / self.x_scale / n
        squares = np.square(self.data.data / self.x_scale)
        variance = max(0.0, float(squares.sum()) / n - float(means @ means)) / d
        moment = float((np.repeat(weight, np.diff(self.data.indptr)) * squares).sum())
        return Key(key, variance, moment)


@dataclass(frozen=True, eq=False)
class Key:
    """What is read off all scaled data.

    Attributes
    ----------
    place : array (n,)
        Place of each sample along a fixed direction.
    variance : float
        Mean variance of the features.
    moment : float
        Weighted sum of |x|^2.
    """

    place: FloatArray
    variance: float
    moment: float


def _origin(data: Sparse) -> FloatArray:
    """Mean of each column that is far from zero, else zero."""
    n, d = data.shape
    x_scale = power_of_two(float(np.abs(data.data).max(initial=0.0)))
    held = np.bincount(data.indices, minlength=d)
    near_full = held * (1 + 1 / FAR) >= n  # no other column can be far: see `SparseNormal`
    if not near_full.any():
        return np.zeros(d)
    here = near_full[data.indices]
    column, values = data.indices[here], data.data[here] / x_scale
    means = np.bincount(column, values, d) / n
    # the rounding of a mean of large numbers is large: once more, around it
    means += np.bincount(column, values - means[column], d) / n - (1 - held / n) * means
    squares = np.bincount(column, np.square(values - means[column]), d)
    squares += (n - held) * np.square(means)
    return np.where(near_full & (n * np.square(means) > FAR * squares), means * x_scale, 0.0)


def _moved(data: Sparse, origin: FloatArray) -> Sparse:
    """Data less an origin; where it is not zero, entries that were not stored now are."""
    n, d = data.shape
    moved = sp.csr_array((data.data - origin[data.indices], data.indices, data.indptr), (n, d))
    columns = np.flatnonzero(origin)
    place = np.full(d, -1)
    place[columns] = np.arange(columns.size)
    absent = np.ones((n, columns.size), bool)
    at = place[data.indices]
    absent[np.repeat(np.arange(n), np.diff(data.indptr))[at >= 0], at[at >= 0]] = False
    row, which = np.nonzero(absent)
    if row.size == 0:
        return moved
    zeros = sp.csr_array((-origin[columns[which]], (row, columns[which])), (n, d))
    return (moved + zeros).tocsr()


def replaced(points: Sparse, which: IntArray, rows: Sparse) -> Sparse:
    """Points with other rows in some places."""
    if which.size == 0:
        return points
    m = points.shape[0]
    take = np.arange(m)
    take[which] = m + np.arange(which.size)
    return sp.vstack([points, rows], format="csr")[take]


def dense_of(points: PointArray) -> FloatArray:
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
