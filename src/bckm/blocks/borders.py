"""How many samples lie how near to the borders of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray, IntArray
from bckm.assign.transport_state import SizeBounds
from bckm.kernels import missing, native

Labels = NDArray[np.integer[Any]]

TIED = 1e-9  # of the largest gap: smaller ones are none
BINS, SHIFT, LOWEST = 256, 21, (127 - 52) << 2  # of gaps: bits of a float32, from 2^-52 on
RIDGE = 1e-4  # of the degree, for clusters without any border
DRAWS = 16  # of errors
LEAST, PER_WRONG = 16.0, 2.0  # samples from which a density is measured


def bin_ends() -> FloatArray:
    """Where bins of gaps begin, (BINS + 1,), and where the last one ends."""
    ends = ((np.arange(BINS + 1) + LOWEST) << SHIFT).astype(np.int32).view(np.float32)
    found: FloatArray = ends.astype(np.float64)
    found[0] = 0.0
    return found


class Borders:
    """Samples by the gap between their best two clusters.

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
        self, best: Labels, second: Labels, gap: FloatArray, number: FloatArray, k: int
    ) -> None:
        # samples at a border are asked for in any case
        apart = gap > TIED * float(gap.max(initial=0.0))
        self.best, self.second = best[apart].astype(np.int64), second[apart].astype(np.int64)
        self.gap, self.number, self.k = gap[apart].astype(np.float64), number[apart], k
        bits = self.gap.astype(np.float32).view(np.int32) >> SHIFT
        place = np.clip(bits.astype(np.int64) - LOWEST, 0, BINS - 1)
        held = sum(
            np.bincount(which * BINS + place, self.number, k * BINS)
            for which in (self.best, self.second)
        )
        self.held: FloatArray = np.cumsum(np.reshape(held, (k, BINS)), axis=1)
        self.edge = bin_ends()

    def reach(self, goal: FloatArray) -> FloatArray:
        """The gap below which so many samples of each cluster lie, as best or second, (k,).

        All of them, where there are less; zero where there are none.
        """
        held, each = self.held, np.arange(self.k)
        goal = np.minimum(goal, held[:, -1])
        place = np.minimum((held < goal[:, None]).sum(axis=1), BINS - 1)
        before = np.where(place > 0, held[each, place - 1], 0.0)
        share = (goal - before) / np.maximum(held[each, place] - before, 1e-300)
        begin, end = self.edge[place], self.edge[place + 1]
        return np.where(held[:, -1] > 0, begin + np.clip(share, 0.0, 1.0) * (end - begin), 0.0)

    def edges(self, wrong: FloatArray) -> Edges:
        """How many samples clusters win from each other per unit of price, around the borders.

        Measured as deep as those are that so many wrong ones, and a few more, lie.
        """
        depth = self._depth(wrong)
        deep = np.maximum(depth[self.best], depth[self.second])
        inside = np.flatnonzero(self.gap <= deep)
        weight = self.number[inside] / (2 * deep[inside])
        return Edges(self.best[inside], self.second[inside], weight, self.k)

    def moves(self, wrong: FloatArray, threads: int = 1) -> FloatArray:
        """How prices may be wrong, `DRAWS` times (k, draws), with so many wrong samples.

        Where numbers of wrong samples are standard deviations of errors.
        """
        errors = np.random.default_rng(0).standard_normal((self.k, DRAWS)) * wrong[:, None]
        errors -= errors.mean(axis=0)
        moves = self.edges(wrong).solved(errors, np.ones(self.k, bool), threads)
        return np.zeros_like(errors) if moves is None else moves

    def _depth(self, wrong: FloatArray) -> FloatArray:
        return self.reach(np.maximum(LEAST, PER_WRONG * wrong))


@dataclass(frozen=True, eq=False)
class Edges:
    """How many samples pairs of clusters exchange per unit of price; a pair may occur many times.

    Attributes
    ----------
    best, second : arrays (m,)
        Clusters.
    weight : array (m,)
        Samples per unit of price.
    k : int
        Number of clusters.
    """

    best: IntArray
    second: IntArray
    weight: FloatArray
    k: int

    def laplacian(self) -> FloatArray | None:
        """The same as a matrix, (k, k); None without an edge."""
        k = self.k
        weight = np.bincount(self.best * k + self.second, self.weight, k * k).reshape(k, k)
        weight = weight + weight.T
        degree = weight.sum(axis=1)
        mean = float(degree.mean())
        if not mean > 0:
            return None
        return np.diag(np.where(degree > 0, degree * (1 + RIDGE), RIDGE * mean)) - weight

    def solved(
        self, lacking: FloatArray, active: NDArray[np.bool_], threads: int = 1
    ) -> FloatArray | None:
        """How prices of active clusters have to move that each wins what it lacks, (k, draws).

        None without an edge.
        """
        moves = np.zeros_like(lacking)
        if not missing:
            edges = (self.best, self.second, self.weight)
            found = native.border_moves(*edges, RIDGE, active, lacking, moves, threads)
            return moves if found else None
        matrix, at = self.laplacian(), np.flatnonzero(active)
        if matrix is None:
            return None
        moves[at] = np.linalg.solve(matrix[np.ix_(at, at)], lacking[at])
        return moves


def newton_direction(
    edges: Edges, bounds: SizeBounds, prices: FloatArray, gradient: FloatArray
) -> FloatArray | None:
    """Newton step of the dual; None where no sample is near a border."""
    active = (gradient != 0) | (prices != 0) | (bounds.lower == bounds.upper)
    step = edges.solved(gradient[:, None], active)
    return None if step is None else step[:, 0]
