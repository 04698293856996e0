"""Newton steps for prices of several resources: as `kernels/transport/newton_step`, for any sums.

The curvature of the dual is measured at the borders of clusters: an item that lies between a and b
moves all it brings from one to the other when their prices change by what it has to lose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from bckm._core.types import BoolArray, FloatArray, IntArray

LEAST = 8.0  # items near the border of a cluster from which a curvature is measured,
PER_EXCESS = 2.0  # and more for each one too many or too few
LONGEST = 3.0  # depths of a cluster that its prices move at most
RIDGE = 1e-4  # of the mean curvature


@dataclass(frozen=True, eq=False)
class Border:
    """Items that might change their cluster.

    Attributes
    ----------
    label, runner : arrays (n,)
        Best and second-best cluster.
    loss : array (n,)
        What the second costs more.
    amount : array (n, r)
        What each item brings, in units of the mean.
    """

    label: IntArray
    runner: IntArray
    loss: FloatArray
    amount: FloatArray

    @property
    def size(self) -> FloatArray:
        """The largest amount of each item."""
        return np.asarray(np.abs(self.amount).max(axis=1, initial=0.0))


def newton_step(border: Border, gradient: FloatArray, active: BoolArray) -> FloatArray | None:
    """Step of prices (k, r), in cost per mean amount; None where no item is near any border.

    Parameters
    ----------
    border : Border
        Items near borders, nearest first by loss per amount.
    gradient : array (k, r)
        What is missing in each cluster, in mean amounts.
    active : array (k, r) of bool
        Prices that move.
    """
    size = border.size
    good = (size > 0) & (border.label != border.runner) & np.isfinite(border.loss)
    border = Border(border.label[good], border.runner[good], border.loss[good], border.amount[good])
    size = size[good]
    if size.size == 0:
        return None
    ratio = np.maximum(border.loss, 0.0) / size
    goal = np.maximum(LEAST, PER_EXCESS * np.abs(gradient).max(axis=1))
    depth = _depths(border, ratio, size, goal)
    deep = np.maximum(depth[border.label], depth[border.runner])
    near = (ratio <= deep) & (deep > 0)
    if not near.any():
        return None
    weight = 1.0 / (2.0 * deep[near] * size[near])
    step = _solve(
        border.label[near], border.runner[near], border.amount[near], weight, gradient, active
    )
    limit = LONGEST * depth[:, None]
    return np.clip(step, -limit, limit)


def _depths(border: Border, ratio: FloatArray, size: FloatArray, goal: FloatArray) -> FloatArray:
    """How far from its borders each cluster finds as much as `goal`, (k,)."""
    cluster = np.concatenate([border.label, border.runner])
    ratio, size = np.tile(ratio, 2), np.tile(size, 2)
    order = np.lexsort((ratio, cluster))
    cluster, ratio, held = cluster[order], ratio[order], np.cumsum(size[order])
    first = np.searchsorted(cluster, np.arange(goal.size))
    last = np.searchsorted(cluster, np.arange(goal.size), side="right") - 1
    before = np.where(first > 0, held[first - 1], 0.0)
    at = np.minimum(np.searchsorted(held, before + goal), last)
    return np.where(first <= last, ratio[np.minimum(at, ratio.size - 1)], 0.0)


def _solve(
    a: IntArray,
    b: IntArray,
    amount: FloatArray,
    weight: FloatArray,
    gradient: FloatArray,
    active: BoolArray,
) -> FloatArray:
    k, r = gradient.shape
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    pair, place = np.unique(low * k + high, return_inverse=True)
    product = np.empty((pair.size, r, r))
    for s in range(r):
        for t in range(s, r):
            each = np.bincount(place, weight * amount[:, s] * amount[:, t], pair.size)
            product[:, s, t] = product[:, t, s] = each
    low, high = pair // k, pair % k
    curvature = np.zeros((k, k, r, r))  # of clusters, then of resources
    np.add.at(curvature, (low, low), product)
    np.add.at(curvature, (high, high), product)
    curvature[low, high] -= product
    curvature[high, low] -= product
    matrix = curvature.transpose(0, 2, 1, 3).reshape(k * r, k * r)
    # where all prices of a resource may rise alike no item changes its mind: that is no step
    gradient = gradient - np.where(active.all(axis=0), gradient.mean(axis=0), 0.0)
    chosen = np.flatnonzero(active.ravel())
    part = matrix[np.ix_(chosen, chosen)]
    diagonal = part.diagonal()
    ridge = np.where(diagonal > 0, RIDGE * diagonal, RIDGE * float(diagonal.mean() or 1.0))
    part[np.diag_indices(chosen.size)] += ridge + 1e-300
    right, step = gradient.ravel()[chosen], np.zeros(k * r)
    if chosen.size:  # a dense solution would wake the threads of BLAS
        factors = splu(sp.csc_array(part), options={"SymmetricMode": True}, diag_pivot_thresh=0.0)
        step[chosen] = factors.solve(right)
    return step.reshape(k, r)
