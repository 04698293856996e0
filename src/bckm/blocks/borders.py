"""How many samples lie how near to the borders of each cluster."""

from __future__ import annotations

import numpy as np

from bckm._core.types import FloatArray, IntArray

TIED = 1e-9  # of the largest gap: smaller ones are none


class Borders:
    """Samples by the gap between their best two clusters, for each of both clusters.

    Parameters
    ----------
    best, second : arrays (m,)
        Clusters.
    gap, number : arrays (m,)
        The gap between them, and how many samples have it.
    k : int
        Number of clusters.
    """

    def __init__(
        self, best: IntArray, second: IntArray, gap: FloatArray, number: FloatArray, k: int
    ) -> None:
        # samples at a border are asked for in any case
        apart = gap > TIED * float(gap.max(initial=0.0))
        best, second, gap, number = best[apart], second[apart], gap[apart], number[apart]
        cluster = np.concatenate([best, second])
        gap, number = np.concatenate([gap, gap]), np.concatenate([number, number])
        order = np.lexsort((gap, cluster))
        self.gap = gap[order]
        self.end = np.searchsorted(cluster[order], np.arange(1, k + 1))
        self.begin = np.concatenate([[0], self.end[:-1]])
        self.sum = np.concatenate([[0.0], np.cumsum(number[order])])

    def reach(self, goal: FloatArray) -> FloatArray:
        """Half of the gap below which so many samples of each cluster lie, (k,).

        All of them, where there are less; zero where there are none.
        """
        target = self.sum[self.begin] + goal
        place = np.searchsorted(self.sum, target, side="left") - 1
        place = np.clip(place, self.begin, np.maximum(self.end - 1, self.begin))
        gap = np.append(self.gap, 0.0)[place]
        return np.where(self.end > self.begin, gap / 2, 0.0)

    def within(self, half: FloatArray) -> FloatArray:
        """How many samples of each cluster have a gap of up to twice this, (k,)."""
        spread = np.empty(half.size)
        for i, (begin, end) in enumerate(zip(self.begin, self.end, strict=True)):
            at = begin + np.searchsorted(self.gap[begin:end], 2 * half[i], side="right")
            spread[i] = self.sum[at] - self.sum[begin]
        return spread
