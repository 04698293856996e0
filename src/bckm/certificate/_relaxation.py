"""The semidefinite relaxation of a problem, and the safe value of any multipliers.

A clustering of items with masses s_j into clusters of masses W_i is the matrix Y with the entries
sqrt(s_j s_l) / W_i where j and l share cluster i, else 0: a projection whose rank is the number of
clusters, with Y sqrt(s) = sqrt(s) and Y >= 0. Its inertia is linear in Y: with
G_jl = sqrt(s_j s_l) x_j.x_l it is trace(G) - <G, Y> (Peng and Wei, "Approximating K-means-type
Clustering via Semidefinite Programming", doi:10.1137/050641983).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.certificate._spectral import Packing, Spectral
from bckm.problem.problem import Problem
from bckm.problem.sparse import dense_of
from bckm.problem.structure import Structure

NO_MASS = 1e-12  # items below this share of the largest mass are left out: inertia only falls
OUTWARD = 1e-12  # bounds of entries are computed in floating point: widened by this share
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers of a relaxation; any are valid.

    Attributes
    ----------
    entries : array (m (m + 1) / 2,)
        Of the bounds of packed entries: of the lower one where positive, else of the upper one.
    rows : sparse array (r, m (m + 1) / 2)
        Inequalities rows @ y <= 0 that hold for every clustering.
    weights : array (r,), not negative
        Of these rows.
    """

    entries: FloatArray
    rows: Sparse
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class SDPRelaxation:
    """min <cost, y> over y in `spectral` with lower <= y <= upper; y is packed.

    Attributes
    ----------
    items : array (m,)
        Items of the problem that have mass.
    root : array (m,)
        sqrt(mass) of these items.
    packing, spectral :
        The form of y, and what its eigenvalues obey.
    cost, lower, upper : arrays (m (m + 1) / 2,)
        The objective, and bounds of the entries that hold for every clustering.
    scale : float
        Inertia of all items around their mean. The inertia of y is scale * (1 + <cost, y>), plus
        the scatter of the problem.
    rounding : float
        What floating point may have cost in `cost`, as a share of `scale`.
    """

    items: IntArray
    root: FloatArray
    packing: Packing
    spectral: Spectral
    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    scale: float
    rounding: float

    @classmethod
    def of(cls, problem: Problem) -> SDPRelaxation:
        """Relax a problem."""
        s = problem.structure
        held = problem.mass > NO_MASS * problem.mass.max()
        mass, points = problem.mass[held], dense_of(problem.points[held])
        points = points - (mass @ points) / mass.sum()
        root = np.sqrt(mass)
        vectors = points * root[:, None]
        gram = vectors @ vectors.T
        scale = float(np.trace(gram))
        packing = Packing.of(mass.size)
        sizes = _Sizes.of(s)
        reach = _masses(s, np.where(held, problem.mass, 0.0), sizes)
        lower = np.zeros_like(packing.stretch)
        lower[packing.diagonal] = mass / reach.most[held] * (1 - OUTWARD)
        a, b = packing.row, packing.column
        least = reach.least[held]
        together = np.where(a == b, mass[a], mass[a] + mass[b])
        together = np.maximum(together, np.maximum(least[a], least[b]))
        upper = root[a] * root[b] / together * (1 + OUTWARD) * packing.stretch
        place = np.cumsum(held) - 1
        edges = s.edges[held[s.edges].all(axis=1)]
        upper[packing.place(*place[edges].T)] = 0.0
        # a cluster surely has mass if the samples without mass cannot fill it
        sure = int((sizes.lower > s.count[~held].sum()).sum())
        return cls(
            items=np.flatnonzero(held),
            root=root,
            packing=packing,
            spectral=Spectral.of(root, max(1, sure), min(sizes.upper.size, mass.size)),
            cost=packing.pack(gram) / -(scale or 1.0),
            lower=lower,
            upper=upper,
            scale=scale,
            rounding=EPS * s.n_clusters * (points.shape[1] + mass.size + 10),
        )

    @property
    def at_zero(self) -> Multipliers:
        """No multipliers at all: their bound is that of the eigenvalues of the data."""
        return Multipliers(np.zeros_like(self.cost), None, np.empty(0))

    def bound(self, multipliers: Multipliers) -> float:
        """A number that <cost, y> + 1 of no clustering is below, in exact arithmetic too.

        Weak duality: <cost, y> >= <cost + rows' weights - entries, y> + <entries, y> for every
        clustering y; the first term is at least its minimum over `spectral`, found from eigenvalues
        alone, the second at least that over the bounds of the entries. What rounding may have added
        is taken off: the sums, and the backward error of the eigenvalues, m eps |M| for each.
        """
        entries, weights = multipliers.entries, multipliers.weights
        slope, size = self.cost - entries, np.abs(self.cost) + np.abs(entries)
        if weights.size:
            slope = slope + multipliers.rows.T @ weights
            size = size + abs(multipliers.rows).T @ weights
        value = 1.0 + self.spectral.minimum(self.packing.unpack(slope))
        parts = np.minimum(entries * self.lower, entries * self.upper)
        m, k = self.root.size, self.spectral.most + 1
        rows = int(np.bincount(multipliers.rows.indices).max(initial=0)) if weights.size else 0
        eigen = (10 * m + rows + 10) * (k + 1) * float(np.linalg.norm(size))
        lost = EPS * (eigen + 64 * float(np.abs(parts).sum()) + m)
        return value + float(parts.sum()) - lost - self.rounding


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Bounds on the sizes of clusters that may hold samples, tightened by what the others need."""

    lower: IntArray
    upper: IntArray

    @classmethod
    def of(cls, s: Structure) -> _Sizes:
        n = s.item.size
        upper = np.minimum(s.upper, n - (s.lower.sum() - s.lower))
        lower = np.maximum(s.lower, n - (upper.sum() - upper))
        return cls(lower[upper > 0], upper[upper > 0])


@dataclass(frozen=True, eq=False)
class _Reach:
    """Least and most mass of a cluster that holds the item, (m,)."""

    least: FloatArray
    most: FloatArray


def _masses(s: Structure, mass: FloatArray, sizes: _Sizes) -> _Reach:
    """Masses of clusters from bounds on counts: what may join an item, lightest or heaviest first.

    The last one to join does so in part (the relaxed knapsack), so that no cluster is left out.
    """
    lower, upper = int(sizes.lower.min()), int(sizes.upper.max())
    least, most = mass.copy(), np.full(mass.size, mass.sum())
    light = np.argsort(mass / s.count, kind="stable")
    neighbors = s.neighbors
    for j in range(mass.size):
        allowed = np.ones(mass.size, bool)
        allowed[j] = False
        allowed[neighbors.indices[neighbors.indptr[j] : neighbors.indptr[j + 1]]] = False
        others = light[allowed[light]]
        least[j] += _filled(mass, s.count, others, lower - int(s.count[j]))
        most[j] = mass[j] + _filled(mass, s.count, others[::-1], upper - int(s.count[j]))
    return _Reach(least, most)


def _filled(mass: FloatArray, count: IntArray, order: IntArray, room: int) -> float:
    """Mass of the first items that fill so much room, the last one in part."""
    if room <= 0 or order.size == 0:
        return 0.0
    filled = np.cumsum(count[order])
    return float(np.interp(room, np.append(0, filled), np.append(0.0, np.cumsum(mass[order]))))
