"""Passes over many rows, block by block: no temporary array is as large as the data.

Each function takes and returns plain arrays; points may also be a sparse array (csr), which is
never made dense.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bckm._core.sparse_distances import to_all, to_own
from bckm._core.types import FloatArray, IntArray, PointArray, Sparse
from bckm.kernels import missing, native

BLOCK = 2**22  # numbers in a block of distances
CACHED = 2**15  # numbers in a block that stays in the cache while it is worked on


def blocks(n_rows: int, n_columns: int, numbers: int = CACHED) -> Iterator[slice]:
    """Cut rows into slices of about so many numbers each."""
    step = max(1, numbers // n_columns)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def power_of_two(value: float) -> float:
    """The power of two below a value: dividing by it is exact."""
    return float(np.ldexp(1.0, int(np.frexp(value)[1]) - 1)) if value > 0 else 1.0


def fixed_direction(n_features: int) -> FloatArray:
    """A random direction: it tells any two points apart, whichever features differ."""
    return np.random.default_rng(0).normal(size=n_features)


def squared_distances(points: PointArray, centers: PointArray) -> FloatArray:
    """Entry (p, i) is |point_p - center_i|^2.

    Differences pair by pair, not |x|^2 - 2xc + |c|^2: cancellation would decide ties between far
    centers, and the numbers of a point do not depend on the other points.

    The same holds where one side is sparse: see `_sparse_distances`.
    """
    if sp.issparse(centers):
        return squared_distances(centers, points).T
    if sp.issparse(points):
        return to_all(points, centers)
    from scipy.spatial.distance import cdist  # slow to import, not needed by `import bckm`

    return np.asarray(cdist(points, centers, "sqeuclidean"))


def rows_of(points: PointArray, which: IntArray) -> FloatArray:
    """A few rows, as a dense array of their own."""
    rows = points[which]
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows)


def group_sums(points: Sparse, weight: FloatArray, group: IntArray, n_groups: int) -> Sparse:
    """Sum up the weighted rows of each group; the sums are sparse too."""
    shape, starts = (n_groups, group.size), np.arange(group.size + 1)
    # by rows: a product of arrays by column would turn the points around
    return sp.csc_array((weight, group, starts), shape).tocsr() @ points


def nearest(
    points: PointArray,
    centers: FloatArray,
    prices: FloatArray | None = None,
    threads: int = 1,
) -> tuple[IntArray, FloatArray]:
    """Find i with the least |point - center_i|^2 - price_i for each point, and that number.

    Of equal ones the first; what is found for a point does not depend on the others.
    """
    n = points.shape[0]
    labels, least = np.empty(n, np.int64), np.empty(n)
    prices = np.zeros(len(centers)) if prices is None else prices
    plain = bool(missing) or sp.issparse(points)
    # the kernel keeps no distances
    width = len(centers) if plain else points.shape[1]
    for rows in blocks(n, width, BLOCK):
        if plain:
            value = squared_distances(points[rows], centers) - prices
            labels[rows] = value.argmin(axis=1)
            least[rows] = np.take_along_axis(value, labels[rows, None], axis=1)[:, 0]
        else:
            part = np.ascontiguousarray(points[rows], np.float64)
            labels[rows] = _native_nearest(part, centers, prices, threads)
            difference = part - centers[labels[rows]]
            least[rows] = np.einsum("ij,ij->i", difference, difference) - prices[labels[rows]]
    return labels, least


def _native_nearest(
    points: FloatArray, centers: FloatArray, prices: FloatArray, threads: int
) -> NDArray[np.int32]:
    n, still = len(points), np.zeros(len(centers))
    label, runner, margin = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.float32)
    unknown = np.full(n, -1.0, np.float32)
    native.sweep(
        native.Points(points),
        np.ascontiguousarray(centers),
        prices,
        label,
        runner,
        margin,
        unknown,
        None,
        still,
        still,
        False,
        threads,
    )
    return label


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over the points of each cluster, and what labels cost at given centers."""

    sums: FloatArray  # (k, d), weighted
    mass: FloatArray  # (k,)
    cost: float


def totals(
    points: PointArray,
    weight: FloatArray,
    labels: IntArray,
    centers: FloatArray,
    threads: int = 1,
) -> Totals:
    """Sum up the weighted points of each cluster and their squared distances to its center."""
    k = len(centers)
    if sp.issparse(points):
        sums = group_sums(points, weight, labels, k).toarray()  # as large as the centers
        cost = float((weight * to_own(points, centers, labels)).sum())
        return Totals(sums, np.bincount(labels, weight, k).astype(np.float64), cost)
    if not missing:
        weighted, centers = native.Points(points, cost_weight=weight), np.ascontiguousarray(centers)
        found = native.totals(weighted, labels.astype(np.int32), centers, None, threads)
        return Totals(found.sums, found.mass, found.cost)
    shape, starts = (k, labels.size), np.arange(labels.size + 1)
    sums = np.asarray(sp.csc_array((weight, labels, starts), shape) @ points)
    cost = 0.0
    for rows in blocks(*points.shape):
        difference = points[rows] - centers[labels[rows]]
        cost += float((weight[rows] * np.einsum("ij,ij->i", difference, difference)).sum())
    return Totals(sums, np.bincount(labels, weight, k).astype(np.float64), cost)
