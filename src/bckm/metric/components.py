"""Principal components of data, dense or sparse, weighted, centered without being copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.arrays import blocks, power_of_two
from bckm._core.types import FloatArray, IntArray, PointArray

MOST, FEW = 256, 64  # components; where samples and features are many
SMALL = 2000  # samples or features up to which all products of two of them are made
FLAT = 1e-12  # share of the largest variance below which there is none


@dataclass(frozen=True, eq=False)
class Centered:
    """Data seen through their mean and a scale, some rows at a time.

    Attributes
    ----------
    data : array (n, d)
        Dense, or a csr_array.
    weight : array (n,)
        Weight of each sample, 1 in the mean.
    origin : array (d,)
        The mean of the data.
    scale : float
        A power of two that divides them.
    variance : array (d,)
        Of each feature, after division by the scale.
    """

    data: PointArray
    weight: FloatArray
    origin: FloatArray
    scale: float
    variance: FloatArray

    @classmethod
    def of(cls, data: PointArray, weight: FloatArray) -> Centered:
        """Find mean, scale and variances."""
        n, d = data.shape
        weight = weight * (n / weight.sum())
        if sp.issparse(data):
            origin = np.asarray(data.T @ weight) / n
            reach = float(np.abs(data.data).max(initial=0.0))
            scale = power_of_two(reach)
            squares = sp.csr_array(
                (np.square(data.data / scale), data.indices, data.indptr), data.shape
            )
            # a column without zeros but far from zero loses digits; of sparse ones there are few
            variance = np.asarray(squares.T @ weight) / n - np.square(origin / scale)
            return cls(data, weight, origin, scale, np.maximum(variance, 0.0))
        first = cls(data, weight, np.zeros(d), 1.0, np.zeros(d))
        origin = np.zeros(d)
        for _ in range(2):  # a sum of many large numbers rounds: once more, around it
            first = cls(data, weight, origin, 1.0, origin)
            sums = sum(weight[part] @ first.rows(part) for part in first.parts())
            origin = origin + sums / n
        centered = cls(data, weight, origin, 1.0, origin)
        reach = max(float(np.abs(centered.rows(part)).max()) for part in centered.parts())
        centered = cls(data, weight, origin, power_of_two(reach), origin)
        squares = sum(weight[p] @ np.square(centered.rows(p)) for p in centered.parts())
        return cls(data, weight, origin, centered.scale, squares / n)

    def parts(self) -> Iterator[slice]:
        """Slices of rows, all rows in turn."""
        n, d = self.data.shape
        return blocks(n, d, 2**20)

    def rows(self, which: slice | IntArray) -> FloatArray:
        """Some rows, dense, centered and divided."""
        part = self.data[which]
        dense = part.toarray() if sp.issparse(part) else part
        rows: FloatArray = np.subtract(dense, self.origin, dtype=np.float64) / self.scale
        return rows

    def times(self, matrix: FloatArray, which: slice | IntArray = slice(None)) -> FloatArray:
        """Some rows, centered and divided, times a matrix (d, p)."""
        if sp.issparse(self.data):
            shift = (self.origin / self.scale) @ matrix
            return np.asarray(self.data[which] @ (matrix / self.scale)) - shift
        chosen = np.arange(self.data.shape[0])[which]
        found = np.empty((chosen.size, matrix.shape[1]))
        for part in blocks(chosen.size, self.data.shape[1], 2**20):
            found[part] = self.rows(chosen[part]) @ matrix
        return found

    @property
    def spread(self) -> FloatArray:
        """Standard deviation of each feature; 1 where it is constant."""
        flat = self.variance <= FLAT * float(self.variance.max(initial=0.0))
        return np.sqrt(np.where(flat, 1.0, self.variance))

    def covariance(self) -> FloatArray:
        """Of the features, (d, d)."""
        n, d = self.data.shape
        if sp.issparse(self.data):
            scaled = self.data * (1 / self.scale)
            weighted = scaled.multiply(self.weight[:, None] / n).tocsr()
            mean = self.origin / self.scale
            return np.asarray((scaled.T @ weighted).toarray()) - np.outer(mean, mean)
        total = np.zeros((d, d))
        for part in self.parts():
            rows = self.rows(part) * np.sqrt(self.weight[part, None] / n)
            total += rows.T @ rows
        return total


@dataclass(frozen=True, eq=False)
class Axes:
    """Directions of the most variance, the most first.

    Attributes
    ----------
    matrix : array (d, r)
        `Centered` rows times this are coordinates.
    variance : array (r,)
        Of each coordinate.
    """

    matrix: FloatArray
    variance: FloatArray


def principal_axes(data: Centered, factors: list[FloatArray]) -> list[Axes]:
    """Find the axes after features are multiplied by factors, for each of these."""
    n, d = data.data.shape
    if d <= min(n, SMALL):
        whole = data.covariance()
        return [_of_covariance(whole, factor) for factor in factors]
    if n <= SMALL:
        return [_of_products(data, factor) for factor in factors]
    return [_by_lanczos(data, factor) for factor in factors]


def _of_covariance(covariance: FloatArray, factor: FloatArray) -> Axes:
    from scipy.linalg import eigh  # slow to import

    d = factor.size
    scaled = covariance * np.outer(factor, factor)
    first = max(0, d - MOST)
    values, vectors = eigh(scaled, subset_by_index=(first, d - 1))
    return _ordered(values, vectors, factor)


def _of_products(data: Centered, factor: FloatArray) -> Axes:
    """Through the products of samples: there are fewer of them than features."""
    from scipy.linalg import eigh

    n = data.data.shape[0]
    root = np.sqrt(data.weight / n)
    rows = data.rows(slice(None)) * factor * root[:, None]
    first = max(0, n - MOST)
    values, vectors = eigh(rows @ rows.T, subset_by_index=(first, n - 1))
    axes = rows.T @ vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))
    return _ordered(values, axes, factor)


def _by_lanczos(data: Centered, factor: FloatArray) -> Axes:
    from scipy.sparse.linalg import LinearOperator, svds

    n, d = data.data.shape
    root = np.sqrt(data.weight / n)
    matrix, shift = data.data, data.origin / data.scale
    scale = factor / data.scale

    def forward(x: FloatArray) -> FloatArray:
        x = x.reshape(d)
        return np.asarray(root * (matrix @ (scale * x) - shift @ (factor * x)))

    def backward(y: FloatArray) -> FloatArray:
        y = root * y.reshape(n)
        return np.asarray(scale * (matrix.T @ y) - factor * shift * y.sum())

    operator = LinearOperator((n, d), matvec=forward, rmatvec=backward, dtype=np.float64)
    number = min(FEW, n - 1, d - 1)
    start = np.ones(min(n, d))
    _, values, vectors = svds(operator, number, v0=start, return_singular_vectors="vh")
    return _ordered(np.square(values), vectors.T, factor)


def _ordered(values: FloatArray, axes: FloatArray, factor: FloatArray) -> Axes:
    """Axes of some variance, the most first, their largest entry positive."""
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > FLAT * float(values.max(initial=0.0))]
    values, axes = values[order], axes[:, order]
    largest = np.round(np.abs(axes), 9).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(order.size)])
    return Axes(axes * factor[:, None], values)
