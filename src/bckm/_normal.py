"""Data on their way to a `Problem`: centred and divided, must-linked rows at their mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bckm import _arrays
from bckm._sparse import SparseNormal
from bckm._types import FloatArray, IntArray, Rows
from bckm.kernels import missing, native


@dataclass(frozen=True, eq=False)
class Normal:
    """Data seen through origin and unit, some rows at a time: neither changed nor copied."""

    data: NDArray[Any]
    origin: FloatArray
    rest: FloatArray  # what rounding left in the first mean
    unit: float

    @classmethod
    def of(cls, data: NDArray[Any]) -> Normal:
        """Find the mean and the unit."""
        n, d = data.shape
        # of one layout and type, so that sums are the same for every array of the same values
        plain = (np.ascontiguousarray(data[part], np.float64) for part in _arrays.blocks(n, d))
        origin = sum(part.sum(axis=0) for part in plain) / n
        first = cls(data, origin, np.zeros(d), 1.0)
        rest = sum(first.rows(part).sum(axis=0) for part in first.parts()) / n
        second = cls(data, origin, rest, 1.0)
        reach = max(float(np.abs(second.rows(part)).max()) for part in second.parts())
        return cls(data, origin, rest, _arrays.power_of_two(reach))

    def parts(self) -> Iterator[slice]:
        """Slices of rows, all rows in turn."""
        return _arrays.blocks(*self.data.shape)

    def rows(self, which: slice | IntArray) -> FloatArray:
        """Normalised rows, in an array of their own."""
        part = self.data[which] if isinstance(which, slice) else self.data.take(which, axis=0)
        found: FloatArray = np.subtract(part, self.origin, dtype=np.float64, order="C")
        found -= self.rest
        if self.unit != 1:
            found *= 1 / self.unit  # a power of two: as exact as a division
        return found

    def gathered(self, which: IntArray, threads: int) -> FloatArray:
        """Normalised rows, all of them."""
        out = np.empty((which.size, self.data.shape[1]))
        if missing or self.data.dtype not in (np.float32, np.float64):
            for part in _arrays.blocks(*out.shape):
                out[part] = self.rows(which[part])
        else:
            scale = 1 / self.unit
            native.gather(self.data, which, self.origin, self.rest, scale, out, threads)
        return out

    @property
    def direction(self) -> FloatArray:
        """See `_arrays.fixed_direction`."""
        return _arrays.fixed_direction(self.origin.size)

    def key(self) -> tuple[FloatArray, float]:
        """Place of each sample along `direction`, and the mean variance of the features."""
        key, direction, squares = np.empty(len(self.data)), self.direction, 0.0
        for part in self.parts():
            rows = self.rows(part)
            key[part] = rows @ direction
            squares += float(np.einsum("ij,ij->", rows, rows))
        return key, squares / self.data.size


@dataclass(frozen=True, eq=False)
class Groups:
    """Items of several samples: which they are, where, and their inner inertia."""

    items: IntArray
    means: Rows
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
            means = _arrays.group_sums(rows, share, member, items.size)
            inner = weight @ _arrays.row_squares(rows - means[member])
            return cls(items, means, float(inner))
        nowhere = np.zeros((items.size, rows.shape[1]))
        means = _arrays.totals(rows, share, member, nowhere).sums
        return cls(items, means, _arrays.totals(rows, weight, member, means).cost)
