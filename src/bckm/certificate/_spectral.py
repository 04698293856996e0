"""Symmetric matrices: their packed form, and the set of all Y with fixed eigenvector and trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.types import FloatArray, IntArray

FEW = 6  # eigenvalues are few below one in so many: then they come faster than all of them


@dataclass(frozen=True, eq=False)
class Packing:
    """Upper triangles as vectors, scaled so that dot products are those of the matrices."""

    size: int
    row: IntArray
    column: IntArray
    stretch: FloatArray  # 1 on the diagonal, sqrt(2) elsewhere

    @classmethod
    def of(cls, size: int) -> Packing:
        """Pack matrices of this size."""
        row, column = np.triu_indices(size)
        return cls(size, row, column, np.where(row == column, 1.0, np.sqrt(2.0)))

    @property
    def diagonal(self) -> IntArray:
        """Places of the diagonal."""
        return np.flatnonzero(self.row == self.column)

    def place(self, a: IntArray, b: IntArray) -> IntArray:
        """Places of the entries (a, b) or (b, a)."""
        low, high = np.minimum(a, b), np.maximum(a, b)
        return np.asarray(low * self.size - low * (low - 1) // 2 + high - low)

    def pack(self, matrix: FloatArray) -> FloatArray:
        """Vector of a symmetric matrix."""
        return matrix[self.row, self.column] * self.stretch

    def unpack(self, vector: FloatArray) -> FloatArray:
        """Symmetric matrix of a vector."""
        matrix = np.empty((self.size, self.size))
        matrix[self.row, self.column] = matrix[self.column, self.row] = vector / self.stretch
        return matrix


@dataclass(frozen=True, eq=False)
class Spectral:
    """All Y = u u' + Y' with Y' u = 0, eigenvalues of Y' in [0, 1] and their sum in a range.

    Attributes
    ----------
    u : array (m,)
        Unit vector.
    mirror : array (m,)
        Unit vector v: I - 2 v v' takes u to the first axis, so that the others span what is left.
    least, most : int
        Range of the trace of Y'.
    """

    u: FloatArray
    mirror: FloatArray
    least: int
    most: int

    @classmethod
    def of(cls, root: FloatArray, least: int, most: int) -> Spectral:
        """Fix the direction of `root`, which is positive, and the range of the whole trace."""
        u = root / np.linalg.norm(root)
        mirror = u.copy()
        mirror[0] += 1.0
        return cls(u, mirror / np.linalg.norm(mirror), least - 1, most - 1)

    def minimum(self, matrix: FloatArray) -> float:
        """Least <matrix, Y> over the set."""
        value = float(self.u @ matrix @ self.u)
        if self.most == 0:
            return value
        eigenvalues = np.linalg.eigvalsh(self._complement(matrix))
        value += float(eigenvalues[: self.least].sum())
        return value + float(np.minimum(eigenvalues[self.least : self.most], 0.0).sum())

    def nearest(self, matrix: FloatArray, guess: int | None = None) -> Near:
        """The nearest Y of the set; a guess of the rank saves time where it is low and near."""
        near = np.outer(self.u, self.u)
        if self.most == 0:
            return Near(near, 0)
        complement = self._complement(matrix)
        top = len(complement) if guess is None else guess + 5
        while True:
            top = top if FEW * top < len(complement) else len(complement)
            known = _eigen(complement, top)
            shares = _clipped(known.values, self.least, self.most)
            if shares[0] == 0 or top == len(complement):  # smaller eigenvalues have no share either
                break
            top *= 2
        held = shares > 0
        basis = np.zeros((self.u.size, int(held.sum())))
        basis[1:] = known.vectors[:, held]
        basis -= 2 * np.outer(self.mirror, self.mirror @ basis)
        near += (basis * shares[held]) @ basis.T
        return Near(near, basis.shape[1])

    def _complement(self, matrix: FloatArray) -> FloatArray:
        """The matrix on the complement of u, (m - 1, m - 1)."""
        v = self.mirror
        image = matrix @ v
        image -= (v @ image) * v
        cross = np.outer(2 * v, image)
        return (matrix - cross - cross.T)[1:, 1:]


@dataclass(frozen=True, eq=False)
class Near:
    """A matrix, and the rank of the part of it that was chosen."""

    matrix: FloatArray
    rank: int


@dataclass(frozen=True, eq=False)
class _Eigen:
    values: FloatArray  # ascending
    vectors: FloatArray


def _eigen(matrix: FloatArray, top: int) -> _Eigen:
    """The largest eigenvalues and their vectors."""
    m = len(matrix)
    if top == m:
        return _Eigen(*np.linalg.eigh(matrix))
    from scipy.linalg import eigh  # slow to import, not needed by `import bckm`

    return _Eigen(*eigh(matrix, subset_by_index=[m - top, m - 1], driver="evr"))


def _clipped(values: FloatArray, least: float, most: float) -> FloatArray:
    """The nearest point with entries in [0, 1] and a sum in [least, most]; values ascend."""
    clipped = np.clip(values, 0.0, 1.0)
    total = float(clipped.sum())
    if least <= total <= most:
        return clipped
    # all entries move by one shift; their sum is linear in it between the breaks
    breaks = np.sort(np.concatenate([values, values - 1.0]))[::-1]
    sums = _above(values, breaks) - _above(values, breaks + 1.0)
    shift = np.interp(most if total > most else least, sums, breaks)
    return np.asarray(np.clip(values - shift, 0.0, 1.0))


def _above(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Sum of max(values - level, 0) for each level; values ascend."""
    tail = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    at = np.searchsorted(values, levels, side="right")
    return np.asarray(tail[at] - (values.size - at) * levels)
