"""Numbers of all pairs of clusters, (k, k): how far apart they are, and what follows for prices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import squared_distances
from bckm._core.types import FloatArray, IntArray
from bckm.kernels import missing, native


class Pairs:
    """Pairs of clusters at given centers; rows a of what is returned are those of their rows.

    For a row at a distance r from its center, at most the root of `farthest`, the cost of another
    cluster differs by |c_b - c_a|^2 - 2 (x - c_a) (c_b - c_a), at least by
    |c_b - c_a| (|c_b - c_a| - 2 r): where that is much, no row is near the border.
    """

    def __init__(self, centers: FloatArray, threads: int = 1) -> None:
        self.k, self.threads = len(centers), threads
        if missing:
            self.apart: FloatArray = np.sqrt(squared_distances(centers, centers))
        else:
            self.apart = np.empty((self.k, self.k))
            native.pair_distances(centers, self.apart, threads)

    def least_gaps(self, prices: FloatArray, farthest: FloatArray) -> FloatArray:
        """Lower bounds on the gaps of all rows of a cluster to another."""
        far = 2 * np.sqrt(farthest)[:, None] * (1 + 1e-9)
        return np.asarray(self.apart * (self.apart - far) - (prices - prices[:, None]))

    def reach(
        self,
        prices: FloatArray,
        farthest: FloatArray,
        told: tuple[NDArray[np.float32], FloatArray],
        rest: IntArray,
        rounding: float,
    ) -> FloatArray:
        """By how much one price may rise against another before a row of the rest moves.

        `told` are the least gaps of these rows, and up to which gap they were looked at.
        """
        minima, wide = told
        if missing:
            reach = np.minimum(minima.astype(np.float64), wide[:, None])
            reach = np.maximum(reach, self.least_gaps(prices, farthest)) - rounding
            reach[rest == 0] = np.inf
            np.fill_diagonal(reach, np.inf)
            return reach
        reach = np.empty((self.k, self.k))
        native.pair_reach(
            self.apart, prices, farthest, minima, wide, rest, rounding, reach, self.threads
        )
        return reach

    def beyond(self, went: FloatArray, reach: FloatArray) -> float:
        """How far prices that went so far are beyond their reach, as a share of it; 0: nowhere."""
        if not missing:
            return native.beyond_reach(went, reach, self.threads)
        apart = went - went[:, None]
        beyond = np.flatnonzero(apart > reach)
        if beyond.size == 0:
            return 0.0
        permitted = np.maximum(reach.ravel()[beyond], 1e-300)
        return float((apart.ravel()[beyond] / permitted - 1.0).max())

    def limits(
        self,
        prices: FloatArray,
        farthest: FloatArray,
        moves: FloatArray,
        sure: float,
        beside: FloatArray,
        least: float,
    ) -> FloatArray:
        """So many standard deviations of prices, which may move so, one against the other.

        At least `beside` of both clusters, and no more where no row is expected between them.
        """
        if not missing:
            limit = np.empty((self.k, self.k))
            native.pair_limits(
                self.apart, prices, farthest, moves, sure, beside, least, limit, self.threads
            )
            return limit
        unsure = np.sqrt(squared_distances(moves, moves) / moves.shape[1])
        near = beside + beside[:, None]
        limit = np.maximum(sure * unsure, near)
        limit = np.where(self.least_gaps(prices, farthest) > 2 * limit, near, limit)
        return np.maximum(limit, least)

    def ways(self, prices: FloatArray, farthest: FloatArray, ways: FloatArray) -> FloatArray:
        """How far prices go, one against the other, in the longest of some ways (g, k)."""
        if not missing:
            gone = np.empty((self.k, self.k))
            native.pair_ways(self.apart, prices, farthest, ways, gone, self.threads)
            return gone
        gone = np.abs(ways[:, None, :] - ways[:, :, None]).max(axis=0, initial=0.0)
        return np.where(self.least_gaps(prices, farthest) > 2 * gone, 0.0, gone)
