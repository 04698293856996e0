"""`Learned`: a linear map that was learned from links."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bckm._core.arrays import blocks, group_sums
from bckm._core.memory import require
from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import read_data
from bckm.metric.embedding import Metric, Sample
from bckm.metric.judging import Judgment


class Learned(Metric):
    """Points are ``(X - origin) @ matrix``; distances between them count.

    Parameters
    ----------
    origin : array (d,)
        The mean of the data it was learned from.
    matrix : array (d, p)
        The map. In total, these data vary after it as much as before.
    variance : array (d,)
        Of each feature of these data.
    judgment : Judgment
        How it was learned, and what it is worth.
    """

    name = "learned"
    judgment: Judgment

    def __init__(
        self, origin: FloatArray, matrix: FloatArray, variance: FloatArray, judgment: Judgment
    ) -> None:
        self.origin, self.matrix = origin, matrix
        self.variance, self.judgment = variance, judgment

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        """Origin and matrix."""
        return self.origin, self.matrix

    def embedded(self, X: Any, what: str = "X") -> FloatArray:  # noqa: N803
        """Points in the learned space, dense also for sparse X."""
        data = read_data(X)
        (n, d), (features, p) = data.shape, self.matrix.shape
        if d != features:
            raise ValueError(
                f"{what} has {d} features, but the metric was learned from {features}."
            )
        require(
            8 * n * p,
            f"the {n:,} × {p:,} points in the learned space",
            "Pass fewer samples; `bckm.assign_to` labels further samples in parts.",
        )
        if sp.issparse(data):
            return np.asarray(data @ self.matrix) - self.origin @ self.matrix
        found = np.empty((n, p))
        for part in blocks(n, d, 2**20):
            found[part] = np.subtract(data[part], self.origin, dtype=np.float64) @ self.matrix
        return found

    def n_features(self, embedded: int) -> int:
        """Those it was learned from."""
        return len(self.matrix)

    def inverse(self, points: FloatArray) -> FloatArray:
        """Data of the least distance from the origin that have these points."""
        found: FloatArray = self.origin + points @ np.linalg.pinv(self.matrix)
        return found

    def centers(self, means: FloatArray, labels: IntArray, of: Sample) -> FloatArray:
        """Means of the data themselves: the map is linear, so their points are the means."""
        data, k = read_data(of.data), len(means)
        mass = np.bincount(labels, of.weight, k)
        share = of.weight / np.where(mass > 0, mass, 1.0)[labels]
        if sp.issparse(data):
            found = np.asarray(group_sums(data, share, labels, k).toarray())
        else:
            found = np.zeros((k, data.shape[1]))
            for part in blocks(len(labels), data.shape[1], 2**20):
                rows = np.subtract(data[part], self.origin, dtype=np.float64)
                own = sp.csc_array(
                    (share[part], labels[part], np.arange(len(rows) + 1)), (k, len(rows))
                )
                found += own @ rows
            found += self.origin
        empty = mass == 0  # or of weightless samples alone
        found[empty] = self.inverse(means[empty])
        return found

    @property
    def feature_weights(self) -> FloatArray:
        """How much the variance of each feature counts, against 1 in the plain metric.

        The squared length of its row of the matrix. Features of small and large weights are those
        whose differences links call unimportant and important.
        """
        found: FloatArray = np.einsum("ij,ij->i", self.matrix, self.matrix)
        return found

    def __repr__(self) -> str:
        d, p = self.matrix.shape
        return f"<metric 'learned': {d} features, {p} components>"
