"""Squared distances of sparse points to dense centers, without cancellation.

|x - c|^2 is the sum of (x_t - c_t)^2 over the entries of x and of c_t^2 over all other features.
The latter is |c|^2 less the sum of c_t^2 over the entries: two sums of the same rounded squares,
each carried in two numbers, so that their difference has all its digits.
`kernels/distance/sparse_distances.hpp` does it for all centers at a time; without the kernels it is
done here, one center after the other.
"""

from __future__ import annotations

import numpy as np

from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.kernels import missing, native

NOTHING = 2.0**-98  # share of |c|^2 that rounding may leave of none of it; as in the kernel


def to_all(points: Sparse, centers: FloatArray) -> FloatArray:
    """Squared distance of each point to each center, (n, k)."""
    if not missing:
        return _native(points, centers)
    rows = _rows(points)
    columns = [_to_one(points, rows, center) for center in np.asarray(centers, np.float64)]
    return np.stack(columns, axis=1)


def _native(points: Sparse, centers: FloatArray, labels: IntArray | None = None) -> FloatArray:
    centers = np.ascontiguousarray(centers, np.float64)
    found: FloatArray = native.sparse_distances(
        points.indptr, points.indices, points.data, centers, labels
    )
    return found


def to_own(points: Sparse, centers: FloatArray, labels: IntArray) -> FloatArray:
    """Squared distance of each point to the center of its cluster, (n,)."""
    if not missing:
        return _native(points, centers, labels.astype(np.int64))
    squares = np.empty(labels.size)
    for cluster in np.unique(labels):
        members = np.flatnonzero(labels == cluster)
        part = points[members]
        squares[members] = _to_one(part, _rows(part), np.asarray(centers[cluster], np.float64))
    return squares


def _rows(points: Sparse) -> IntArray:
    """Row of each entry."""
    return np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))


def _to_one(points: Sparse, rows: IntArray, center: FloatArray) -> FloatArray:
    n, squares = points.shape[0], np.square(center)
    near = np.bincount(rows, np.square(points.data - center[points.indices]), n)
    # multiples of a number so large that their sums, which are at most |c|^2, are exact
    grain = np.ldexp(1.0, int(np.frexp(squares.sum())[1]) - 50)
    high = np.round(squares / grain) * grain
    low = squares - high
    gone = [np.bincount(rows, part[points.indices], n) for part in (high, low)]
    left = high.sum() - gone[0] + (low.sum() - gone[1])
    return np.asarray(near + np.where(left > NOTHING * squares.sum(), left, 0.0))
