"""Passes over many rows, block by block: no temporary array is as large as the data.

Each function takes and returns plain arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bckm._types import FloatArray, IntArray
from bckm.kernels import missing, native

BLOCK = 2**22  # numbers in a block of distances
CACHED = 2**15  # numbers in a block that stays in the cache while it is worked on


def blocks(n_rows: int, n_columns: int, numbers: int = CACHED) -> Iterator[slice]:
    """Cut rows into slices of about so many numbers each."""
    step = max(1, numbers // n_columns)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def squared_distances(points: FloatArray, centres: FloatArray) -> FloatArray:
    """Entry (p, i) is |point_p - centre_i|^2.

    Differences pair by pair, not |x|^2 - 2xc + |c|^2: cancellation would decide ties between far
    centres, and the numbers of a point do not depend on the other points.
    """
    from scipy.spatial.distance import cdist  # slow to import, not needed by `import bckm`

    return np.asarray(cdist(points, centres, "sqeuclidean"))


def nearest(
    points: FloatArray, centres: FloatArray, prices: FloatArray | None = None, threads: int = 1
) -> tuple[IntArray, FloatArray]:
    """Find i with the least |point - centre_i|^2 - price_i for each point, and that number.

    Of equal ones the first; what is found for a point does not depend on the others.
    """
    labels, least = np.empty(len(points), np.int64), np.empty(len(points))
    prices = np.zeros(len(centres)) if prices is None else prices
    # the kernel keeps no distances
    width = len(centres) if missing else points.shape[1]
    for rows in blocks(len(points), width, BLOCK):
        if missing:
            value = squared_distances(points[rows], centres) - prices
            labels[rows] = value.argmin(axis=1)
            least[rows] = np.take_along_axis(value, labels[rows, None], axis=1)[:, 0]
        else:
            part = np.ascontiguousarray(points[rows], np.float64)
            labels[rows] = _native_nearest(part, centres, prices, threads)
            difference = part - centres[labels[rows]]
            least[rows] = np.einsum("ij,ij->i", difference, difference) - prices[labels[rows]]
    return labels, least


def _native_nearest(
    points: FloatArray, centres: FloatArray, prices: FloatArray, threads: int
) -> NDArray[np.int32]:
    n, still = len(points), np.zeros(len(centres))
    label, runner, detour = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.float32)
    unknown = np.full(n, -1.0, np.float32)
    native.sweep(
        native.Points(points),
        np.ascontiguousarray(centres),
        prices,
        label,
        runner,
        detour,
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
    """Sums over the points of each cluster, and what labels cost at given centres."""

    sums: FloatArray  # (k, d), weighted
    mass: FloatArray  # (k,)
    cost: float


def totals(
    points: FloatArray,
    weight: FloatArray,
    labels: IntArray,
    centres: FloatArray,
    threads: int = 1,
) -> Totals:
    """Sum up the weighted points of each cluster and their squared distances to its centre."""
    k = len(centres)
    if not missing:
        cloud, centres = native.Points(points, pull=weight), np.ascontiguousarray(centres)
        return Totals(*native.totals(cloud, labels.astype(np.int32), centres, None, threads)[:3])
    shape, starts = (k, labels.size), np.arange(labels.size + 1)
    sums = np.asarray(sp.csc_array((weight, labels, starts), shape) @ points)
    cost = 0.0
    for rows in blocks(*points.shape):
        difference = points[rows] - centres[labels[rows]]
        cost += float(weight[rows] @ np.einsum("ij,ij->i", difference, difference))
    return Totals(sums, np.bincount(labels, weight, k).astype(np.float64), cost)
