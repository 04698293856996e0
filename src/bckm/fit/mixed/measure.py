"""`Mixed`: how alike clusters are, and how alike they can be at best."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.problem.structure import Structure

VALUES = 10_000  # steps of a column from its least to its largest value, at most
WHOLE = 1e-5  # share of a step by which values may be off, as of single precision
PROVEN = 1e-9  # relative difference that counts as none
NOTHING = 1e-20  # share of the whole sum of squares that is rounding
ROUNDED = 1 - 1e-12  # what rounding leaves of a bound


@dataclass(frozen=True, eq=False)
class Mixed:
    """How alike the clusters of a fit with ``objective="mixed"`` are.

    Attributes
    ----------
    between : float
        Sum of squares between clusters: the squared difference of the mean of each cluster from
        that of all samples, times the weight of the cluster. This is what is minimized; with
        ``objective="mixed_variances"`` the squares of the features count besides.
    total : float
        What it would be if each sample were a cluster of its own.
    variances : bool
        Whether the variances of the features count, too.
    spread : array (d,)
        Difference between the largest and the least mean of each feature.
    least_spread : array (d,)
        No clusters of these sizes have a smaller spread of that feature; 0 where that is not known.
        It is known where the sizes are given and values are whole numbers of steps, as of counts,
        marks and columns of 0 and 1.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> mixed = bckm.kmeans(X[:4], 2, objective="mixed", random_state=0).mixed
    >>> mixed.between, mixed.total, mixed.spread.tolist(), mixed.least_spread.tolist()
    (0.0, 5.0, [0.0], [0.0])
    >>> bckm.kmeans(X, 2, objective="mixed", random_state=0).mixed.least_spread.tolist()
    [0.0]
    """

    between: float
    total: float
    variances: bool
    spread: FloatArray
    least_spread: FloatArray

    @property
    def share(self) -> float:
        """What is between clusters, as a share of all sums of squares."""
        return self.between / self.total if self.total > 0 else 0.0

    @property
    def proven(self) -> BoolArray:
        """For which features no clusters of these sizes have a smaller spread, (d,)."""
        tolerance = PROVEN * self.spread + np.sqrt(NOTHING * self.total)
        return np.asarray(self.spread <= self.least_spread + tolerance)


def given_sizes(s: Structure) -> IntArray | None:
    """The sizes that clusters have in any order; None where rules leave a choice."""
    if (s.lower == s.upper).all():
        return s.lower.astype(np.int64)
    low, high = int(s.lower[0]), int(s.upper[0])
    if (s.lower != low).any() or (s.upper != high).any() or high - low != 1:
        return None
    more = s.item.size - s.n_clusters * low
    return np.where(np.arange(s.n_clusters) < more, high, low) if more >= 0 else None


def least_differences(column: FloatArray, sizes: IntArray) -> tuple[float, float]:
    """What no clusters of these sizes get below, by the values of one feature alone.

    The sum of squares between clusters, and the spread of their means; 0 where nothing is known.
    Values are an origin plus whole steps, so the sum of a cluster is one of whole numbers.
    """
    steps = _steps(column)
    if steps is None:
        return 0.0, 0.0
    step, whole, off = steps
    total, n = int(whole.sum()), int(sizes.sum())
    mean = total / n
    sums, between = _nearest_sums(total, sizes)
    ratios = sums / sizes
    spread = _least_spread(total, sizes, mean - float(np.ptp(ratios)) * (1 + PROVEN))
    root = np.sqrt(between) * step - np.sqrt(n) * off
    return max(root, 0.0) ** 2 * ROUNDED, max(spread * step - 2 * off, 0.0) * ROUNDED


def _steps(column: FloatArray) -> tuple[float, IntArray, float] | None:
    """The step that all values are whole multiples of, these, and what they are off."""
    values = np.unique(column)
    if values.size < 2 or values.size > VALUES:
        return None
    step, width = 0.0, float(values[-1] - values[0])
    for gap in np.unique(np.diff(values)).tolist():
        while gap > WHOLE * width:  # Euclid's algorithm
            step, gap = gap, step % gap if step else 0.0
            if gap > 0 and step - gap <= WHOLE * width:
                gap = 0.0
        if step < width / VALUES:
            return None
    whole = np.rint((column - values[0]) / step)
    off = float(np.abs(column - values[0] - whole * step).max())
    return (step, whole.astype(np.int64), off) if off <= WHOLE * step else None


def _nearest_sums(total: int, sizes: IntArray) -> tuple[IntArray, float]:
    """Whole sums of clusters that are nearest to what their sizes ask for, and how near.

    Their sum is given; each unit goes where it costs least, which is best for convex costs.
    """
    wanted = total * sizes / sizes.sum()
    sums = np.floor(wanted).astype(np.int64) - 2 - sizes // sizes.min()

    def cost(i: int) -> float:
        return float((2 * (sums[i] - wanted[i]) + 1) / sizes[i])

    heap = [(cost(i), i) for i in range(sizes.size)]
    heapq.heapify(heap)
    for _ in range(total - int(sums.sum())):
        i = heap[0][1]
        sums[i] += 1
        heapq.heapreplace(heap, (cost(i), i))
    return sums, float((np.square(sums - wanted) / sizes).sum())


def _least_spread(total: int, sizes: IntArray, lowest: float) -> float:
    """The least spread of whole sums over sizes; the least ratio is no lower than `lowest`."""
    mean = total / sizes.sum()
    each = np.unique(sizes)
    tried = {
        number / size
        for size in each.tolist()
        for number in range(int(np.floor(lowest * size)), int(np.floor(mean * size + 1e-9)) + 1)
    }
    best = np.inf
    for least in tried:
        sums = np.ceil(least * sizes - 1e-9).astype(np.int64)
        left = total - int(sums.sum())
        if left < 0:
            continue
        heap = [((sums[i] + 1) / sizes[i], i) for i in range(sizes.size)]
        heapq.heapify(heap)
        most = float((sums / sizes).max())
        for _ in range(left):
            ratio, i = heap[0]
            most = max(most, ratio)
            sums[i] += 1
            heapq.heapreplace(heap, ((sums[i] + 1) / sizes[i], i))
        best = min(best, most - least)
    return max(float(best), 0.0) if np.isfinite(best) else 0.0
