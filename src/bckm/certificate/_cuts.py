"""Inequalities that every clustering obeys and a relaxed one breaks: stars.

For an item c and a set T of others, with Z_jl = 1 / W_i where j and l share cluster i, else 0:

    sum_{t in T} Z_ct  <=  Z_cc + sum_{t, t' in T} Z_tt'   (each pair once)

If p members of T share the cluster of c, this says p <= 1 + p (p - 1) / 2, divided by its mass. One
member is Z_ct <= Z_cc, two are the triangle inequality; larger sets are the 2-partition
inequalities of the clique partitioning polytope (Grötschel and Wakabayashi,
doi:10.1007/BF01580863), here for Z.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.certificate._spectral import Packing

MEMBERS = 10  # of a star at most
TRIANGLES = 50  # for each center and round
SEEDS = 20  # triangles of each center that are grown
NEW = 10  # stars of each kind and round, per item
BROKEN = 1e-3  # share of the mean Z_jj by which a star must be broken


@dataclass(frozen=True, eq=False)
class Stars:
    """Stars: a row each, the center first, its members ascending, then -1."""

    table: IntArray  # (c, 1 + MEMBERS)

    @classmethod
    def none(cls) -> Stars:
        """No stars."""
        return cls(np.empty((0, 1 + MEMBERS), np.int64))

    @classmethod
    def broken(cls, z: FloatArray) -> Stars:
        """Find stars that a matrix Z breaks: triangles and pairs, and larger ones grown from them.

        Growth is greedy, one member at a time, while the violation rises.
        """
        limit, small, large = BROKEN * float(np.trace(z)) / len(z), [], []
        for center in range(len(z)):
            # a triangle needs both members near, unless a pair is broken too
            near = np.flatnonzero(z[center] > limit)
            near = near[near != center]
            row, among = z[center, near], z[np.ix_(near, near)]
            excess = row - z[center, center]
            alone = np.flatnonzero(excess > limit)
            small.append(_Candidates.of(center, near[alone, None], excess[alone]))
            sums = excess[:, None] + row - among
            a, b = np.triu_indices(near.size, 1)
            sums = sums[a, b]
            best = _largest(sums, TRIANGLES)
            best = best[sums[best] > limit]
            small.append(_Candidates.of(center, near[np.stack([a[best], b[best]], 1)], sums[best]))
            best = _largest(sums, SEEDS)
            large.append(_grown(center, near, row, among, np.stack([a, b], 1)[best], sums[best]))
        kept = []
        for candidates in (_Candidates.joined(small), _Candidates.joined(large)):
            best = _largest(candidates.excess, NEW * len(z))
            kept.append(candidates.table[best[candidates.excess[best] > limit]])
        return cls(np.unique(np.concatenate(kept), axis=0))

    def rows(self, root: FloatArray, packing: Packing) -> Sparse:
        """The stars as rows @ y <= 0 over packed Y, each of norm 1."""
        at, where, values = [], [], []
        for first, second in [(0, 0), *combinations(range(1 + MEMBERS), 2)]:
            held = np.flatnonzero(self.table[:, second] >= 0)
            a, b = self.table[held, first], self.table[held, second]
            sign = 1.0 if first == 0 < second else -1.0
            place = packing.place(a, b)
            at.append(held)
            where.append(place)
            values.append(sign / (root[a] * root[b] * packing.stretch[place]))
        shape = (len(self.table), packing.row.size)
        index = (np.concatenate(at), np.concatenate(where))
        rows = sp.csr_array((np.concatenate(values), index), shape)
        norms = np.sqrt(rows.power(2).sum(axis=1))
        rows.data /= np.repeat(norms, np.diff(rows.indptr))
        return rows


@dataclass(frozen=True, eq=False)
class _Candidates:
    table: IntArray
    excess: FloatArray

    @classmethod
    def of(cls, center: int, members: IntArray, excess: FloatArray) -> _Candidates:
        table = np.full((len(members), 1 + MEMBERS), -1)
        table[:, 0] = center
        table[:, 1 : 1 + members.shape[1]] = members
        return cls(table, excess)

    @classmethod
    def joined(cls, parts: list[_Candidates]) -> _Candidates:
        return cls(
            np.concatenate([part.table for part in parts]),
            np.concatenate([part.excess for part in parts]),
        )


def _grown(
    center: int,
    near: IntArray,
    row: FloatArray,
    among: FloatArray,
    members: IntArray,
    excess: FloatArray,
) -> _Candidates:
    """Grow pairs of members; `members` count within `near`, and so do `row` and `among`."""
    gain = row - among[members[:, 0]] - among[members[:, 1]]
    each = np.arange(len(members))
    np.put_along_axis(gain, members, -np.inf, axis=1)
    table = np.full((len(members), MEMBERS), near.size)
    table[:, :2] = members
    for column in range(2, MEMBERS):
        if gain.size == 0:
            break
        best = gain.argmax(axis=1)
        more = gain[each, best]
        rising = np.flatnonzero(more > 0)
        if rising.size == 0:
            break
        best = best[rising]
        table[rising, column] = best
        excess = excess.copy()
        excess[rising] += more[rising]
        gain[rising] -= among[best]
        gain[rising, best] = -np.inf
        gain[more <= 0] = -np.inf  # a star that stopped stays as it is
    larger = table[:, 2] < near.size
    table = np.sort(table[larger], axis=1)
    return _Candidates.of(center, np.append(near, -1)[table], excess[larger])


def _largest(values: FloatArray, number: int) -> IntArray:
    """Places of the largest values, in no order."""
    if values.size <= number:
        return np.arange(values.size)
    return np.argpartition(values, -number)[-number:]
