"""Alternating directions: between what eigenvalues obey and what entries and stars obey.

Y lies in the spectral set, W within the bounds of entries and the stars, and a price U pulls them
together. Both are projections: of the eigenvalues in closed form, of the entries by some steps of
an accelerated gradient method on the weights of the stars, from where the last ones ended. These
weights and what the bounds of entries push are multipliers of the relaxation at any time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.certificate._cuts import Stars
from bckm.certificate._relaxation import Multipliers, SDPRelaxation

PENALTY = 0.5  # the first one, where cost has norm about 1
RELAXED = 1.6  # over-relaxation
INNER = 15  # steps on the weights of the stars in each iteration
BALANCE = 1.2  # residuals further apart than this change the penalty ...
CHANGE = 1.3  # ... by this factor
LEAP, FARTHEST = 20, 10_000  # steps at once where steps repeat; twice as many each time, at most
ALIKE = 0.02  # relative difference of steps that repeat


class Solver:
    """The state of the method; `iterate` goes on from it, `multipliers` leads to a bound."""

    def __init__(self, relaxation: SDPRelaxation, labels: IntArray) -> None:
        """Start at a clustering: labels of the items that have mass."""
        self.relaxation = relaxation
        pack = relaxation.packing
        shared = labels[pack.row] == labels[pack.column]
        mass = np.bincount(labels, relaxation.root**2)
        start = relaxation.root[pack.row] * relaxation.root[pack.column] / mass[labels[pack.row]]
        self.w = np.where(shared, start, 0.0) * pack.stretch
        self.u = np.zeros_like(self.w)
        self.pushed = np.zeros_like(self.w)
        self.penalty = PENALTY
        self.stars = Stars.none()
        self.polyhedron = _Polyhedron.of(relaxation, self.stars)
        self.weights = np.empty(0)
        self._change = self._previous = _Change.none()
        self._leap = LEAP
        self._rank = 3 * relaxation.spectral.most

    def iterate(self) -> None:
        """One step of each projection and of the price."""
        r = self.relaxation
        target = r.packing.unpack(self.w - self.u - r.cost / self.penalty)
        near = r.spectral.nearest(target, self._rank)
        self._rank = near.rank
        y = r.packing.pack(near.matrix)
        target = RELAXED * y + (1 - RELAXED) * self.w + self.u
        weights = self.polyhedron.weights(target, self.weights)
        free = self.polyhedron.pulled(target, weights)
        w = np.clip(free, r.lower, r.upper)
        self._previous = self._change
        self._change = _Change(w - self.w, target - w - self.u, weights - self.weights)
        self.w, self.u, self.weights, self.pushed = w, target - w, weights, w - free
        self._apart = float(np.linalg.norm(y - w))

    def adjust(self) -> None:
        """Leap ahead where steps repeat, else balance the residuals by the penalty.

        Along a face of the polyhedron the method takes the same step hundreds of times. Wherever a
        leap ends, the method goes on from there.
        """
        if self._change.like(self._previous):
            self.w = self.w + self._leap * self._change.w
            self.u = self.u + self._leap * self._change.u
            self.weights = np.maximum(0.0, self.weights + self._leap * self._change.weights)
            self._leap = min(2 * self._leap, FARTHEST)
            self._change = _Change.none()
            return
        self._leap = LEAP
        r = self.relaxation
        apart = self._apart / np.sqrt(r.spectral.most + 1)
        moved = self.penalty * float(np.linalg.norm(self._change.w) / np.linalg.norm(r.cost))
        change = CHANGE if apart > BALANCE * moved else 1 / CHANGE if moved > BALANCE * apart else 1
        self.penalty *= change
        self.u = self.u / change
        self.weights = self.weights / change
        self._change = _Change.none()

    @property
    def multipliers(self) -> Multipliers:
        """Those of the last iteration; ask before `adjust` or `cut`."""
        return Multipliers(
            self.penalty * self.pushed, self.polyhedron.rows, self.penalty * self.weights
        )

    def cut(self) -> None:
        """Add stars that W breaks, drop those without weight."""
        r = self.relaxation
        broken = Stars.broken(r.packing.unpack(self.w) / np.outer(r.root, r.root))
        active = self.weights > 0
        table = np.concatenate([self.stars.table[active], broken.table])
        weights = np.concatenate([self.weights[active], np.zeros(len(broken.table))])
        # the first of equal rows is the one with the weight
        table, first = np.unique(table, axis=0, return_index=True)
        self.stars, self.weights = Stars(table), weights[first]
        self.polyhedron = _Polyhedron.of(r, self.stars)
        self._change = _Change.none()


@dataclass(frozen=True, eq=False)
class _Change:
    """What an iteration changed."""

    w: FloatArray
    u: FloatArray
    weights: FloatArray

    @classmethod
    def none(cls) -> _Change:
        return cls(np.empty(0), np.empty(0), np.empty(0))

    def like(self, other: _Change) -> bool:
        """Whether two steps are nearly the same."""
        if self.w.size != other.w.size or self.weights.size != other.weights.size:
            return False
        apart = np.square(self.w - other.w).sum() + np.square(self.u - other.u).sum()
        size = np.square(self.w).sum() + np.square(self.u).sum()
        return bool(apart < ALIKE**2 * size)


@dataclass(frozen=True, eq=False)
class _Polyhedron:
    """Bounds of entries and stars; `touched` are the entries that occur in stars."""

    rows: Sparse
    touched: IntArray
    part: Sparse  # rows, only the columns touched
    across: Sparse  # its transpose
    steps: FloatArray
    lower: FloatArray  # of the entries touched
    upper: FloatArray

    @classmethod
    def of(cls, relaxation: SDPRelaxation, stars: Stars) -> _Polyhedron:
        rows = stars.rows(relaxation.root, relaxation.packing)
        touched = np.unique(rows.indices)
        part = sp.csr_array(rows.tocsc()[:, touched])
        size = abs(part)
        # a step for each star that is safe for all at once (Pock and Chambolle)
        steps = 1 / (size @ (size.T @ np.ones(len(stars.table))))
        bounds = relaxation.lower[touched], relaxation.upper[touched]
        return cls(rows, touched, part, sp.csr_array(part.T), steps, *bounds)

    def pulled(self, target: FloatArray, weights: FloatArray) -> FloatArray:
        """Target after the pull of the stars."""
        if weights.size == 0:
            return target
        after = target.copy()
        after[self.touched] -= self.across @ weights
        return after

    def weights(self, target: FloatArray, weights: FloatArray) -> FloatArray:
        """Weights nearer to those of the projection of target."""
        if weights.size == 0:
            return weights
        target, ahead, momentum = target[self.touched], weights, 1.0
        for _ in range(INNER):
            y = np.clip(target - self.across @ ahead, self.lower, self.upper)
            new = np.maximum(0.0, ahead + self.steps * (self.part @ y))
            change = new - weights
            if (ahead - new) @ (change / self.steps) > 0:  # it goes back: without momentum
                momentum = 1.0
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / following * change
            weights, momentum = new, following
        return weights
