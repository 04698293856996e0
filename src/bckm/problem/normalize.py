"""Data on their way to a `Problem`: centered and divided, must-linked rows at their mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bckm._core import arrays
from bckm._core.sparse_distances import to_own
from bckm._core.types import FloatArray, IntArray, PointArray
from bckm.kernels import missing, native
from bckm.problem.sparse import Key, SparseNormal


@dataclass(frozen=True, eq=False)
class Normal:
    """Data seen through origin and scale, some rows at a time: neither changed nor copied."""

    data: NDArray[Any]
    origin: FloatArray
    x_scale: float

    @classmethod
    def of(cls, data: NDArray[Any]) -> Normal:
        """Find the mean and the scale."""
        n, d = data.shape
        # of one layout and type, so that sums are the same for every array of the same values
        plain = (np.ascontiguousarray(data[part], np.float64) for part in arrays.blocks(n, d))
        origin = sum(part.sum(axis=0) for part in plain) / n
        first = cls(data, origin, 1.0)  # a sum of many large numbers rounds: once more, around it
        origin = origin + sum(first.rows(part).sum(axis=0) for part in first.parts()) / n
        second = cls(data, origin, 1.0)
        reach = max(float(np.abs(second.rows(part)).max()) for part in second.parts())
        return cls(data, origin, arrays.power_of_two(reach))

    def parts(self) -> Iterator[slice]:
        """Slices of rows, all rows in turn."""
        return arrays.blocks(*self.data.shape)

    def rows(self, which: slice | IntArray) -> FloatArray:
        """Normalized rows, in an array of their own."""
        part = self.data[which] if isinstance(which, slice) else self.data.take(which, axis=0)
        rows: FloatArray = np.subtract(part, self.origin, dtype=np.float64, order="C")
        if self.x_scale != 1:
            rows *= 1 / self.x_scale  # a power of two: as exact as a division
        return rows

    def gathered(self, which: IntArray, threads: int) -> FloatArray:
        """Normalized rows, all of them."""
        out = np.empty((which.size, self.data.shape[1]))
        if missing or self.data.dtype not in (np.float32, np.float64):
            for part in arrays.blocks(*out.shape):
                out[part] = self.rows(which[part])
        else:
            scale = 1 / self.x_scale
            native.gather(self.data, which, self.origin, scale, out, threads)
        return out

    @property
    def direction(self) -> FloatArray:
        """See `arrays.fixed_direction`."""
        return arrays.fixed_direction(self.origin.size)

    def key(self, weight: FloatArray) -> Key:
        """See `Key`."""
        place, direction, squares, moment = np.empty(len(self.data)), self.direction, 0.0, 0.0
        for part in self.parts():
            rows = self.rows(part)
            place[part] = rows @ direction
            square = np.einsum("ij,ij->i", rows, rows)
            squares += float(square.sum())
            moment += float((weight[part] * square).sum())
        return Key(place, squares / self.data.size, moment)


def inertia_from_data(
    data: PointArray, weight: FloatArray, labels: IntArray, centers: FloatArray, x_scale: float
) -> float:
    """Weighted squared distances of samples to their centers, in units of x_scale^2.

    All in the terms of the data, so that nothing is rounded before differences are taken.
    """
    if sp.issparse(data):
        scaled = sp.csr_array((data.data / x_scale, data.indices, data.indptr), data.shape)
        return float((weight * to_own(scaled, centers / x_scale, labels)).sum())
    total = 0.0
    for part in arrays.blocks(*data.shape):
        apart = np.subtract(data[part], centers[labels[part]], dtype=np.float64) / x_scale
        total += float((weight[part] * np.einsum("ij,ij->i", apart, apart)).sum())
    return total


@dataclass(frozen=True, eq=False)
class Groups:
    """Items of several samples: which they are, where, and their inner inertia."""

    items: IntArray
    means: PointArray
    scatter: float

    @classmethod
    def of(
        cls,
        normal: Normal | SparseNormal,
        weight: FloatArray,
        item: IntArray,
        count: IntArray,
    ) -> Groups:
        """Find the items of several samples; means of sparse rows are sparse."""
        samples = np.flatnonzero(count[item] > 1) if count.size < item.size else item[:0]
        items, member = np.unique(item[samples], return_inverse=True)
        rows, weight = normal.rows(samples), weight[samples]
        # an item of weightless samples is placed at their plain mean
        share = np.where(np.bincount(member, weight)[member] > 0, weight, 1.0)
        share = share / np.bincount(member, share)[member]
        if sp.issparse(rows):
            means = arrays.group_sums(rows, share, member, items.size)
            apart = rows - means[member]
            inner = np.repeat(weight, np.diff(apart.indptr)) * np.square(apart.data)
            return cls(items, means, float(inner.sum()))
        nowhere = np.zeros((items.size, rows.shape[1]))
        means = arrays.totals(rows, share, member, nowhere).sums
        return cls(items, means, arrays.totals(rows, weight, member, means).cost)


def mean_cost(points: FloatArray, mass: FloatArray, scatter: float, n_samples: int) -> float:
    """What an average sample costs at the center of all data: the unit of a confidence."""
    together, nowhere = np.zeros(mass.size, np.int64), np.zeros((1, points.shape[1]))
    around = arrays.totals(points, mass, together, nowhere)
    center = around.sums / around.mass[0]
    cost = arrays.totals(points, mass, together, center).cost + scatter
    alike = cost <= 1e-28 * float(around.mass[0])  # points reach to 1: the rest is round-off
    return 0.0 if alike else float(cost / n_samples)


def first_members(item: IntArray, n_items: int) -> IntArray:
    """The first sample of each item."""
    first = np.empty(n_items, np.int64)
    first[item[::-1]] = np.arange(item.size)[::-1]  # the last one written stays
    return first


def canonical_order(key: FloatArray, mass: FloatArray, count: IntArray) -> IntArray:
    """Order items by their values, so that the order of rows decides nothing but exact ties.

    The key is rounded, so that round-off in the means decides nothing either.
    """
    rounded = np.round(key / (float(np.abs(key).max()) or 1.0), 12)
    if mass.min() == mass.max() and count.min() == count.max():
        return np.argsort(rounded, kind="stable")
    return np.lexsort((count, mass, rounded)).astype(np.int64)


def cost_weights(points: PointArray, mass: FloatArray) -> FloatArray:
    """Weights of items in the cost, see `bckm.problem.problem.Problem`.

    In sum, all weightless items cost about 1e-14 of the inertia around the weighted
    mean, however far from it they lie.
    """
    weightless = np.flatnonzero(mass == 0)
    if weightless.size == 0:
        return mass
    together = np.zeros(mass.size, np.int64)
    around = arrays.totals(points, mass, together, np.zeros((1, points.shape[1])))
    total = float(around.mass[0])
    center = around.sums / total
    spread = arrays.totals(points, mass, together, center).cost / total or 1.0
    away = arrays.nearest(points[weightless], center)[1]
    cost_weight = mass.copy()
    cost_weight[weightless] = 1e-14 * (total / mass.size) * spread / (spread + away)
    return cost_weight
