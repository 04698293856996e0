"""The 0/1 program of an assignment step; the only module that knows its columns and rows.

Column ``j * k + i`` is "item j in cluster i". The m equations "each item once" come first and stay
implicit; the *coupling rows* follow: sizes, conflicts (one row per clique and cluster), linear
rows. Because each item is assigned exactly once, any prices of the coupling rows give a lower
bound that needs no solver to be trusted (`Program.bound`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._types import BoolArray, FloatArray, IntArray, Sparse
from bckm.structure import Structure


@dataclass(frozen=True, eq=False)
class Program:
    """Coupling rows over all columns.

    Attributes
    ----------
    n_items, n_clusters : int
        m and k.
    coupling : sparse (r, m * k), by column
        Coefficients.
    lower, upper : arrays (r,)
        Bounds.
    """

    n_items: int
    n_clusters: int
    coupling: Sparse
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, s: Structure) -> Program:
        """Write the program of a structure."""
        m, k = s.n_items, s.n_clusters
        parts, lower, upper = [s.rows], [s.row_lower], [s.row_upper]
        if (s.lower > 0).any() or (s.upper < s.item.size).any():
            columns = np.arange(m * k)
            parts.append(
                sp.csr_array((np.repeat(s.count, k).astype(float), (columns % k, columns)))
            )
            lower.append(np.where(s.lower > 0, s.lower, -np.inf))
            upper.append(np.where(s.upper < s.item.size, s.upper, np.inf))
        if s.cliques:
            length = np.array([clique.size for clique in s.cliques])
            which = np.repeat(np.arange(length.size), length)
            member = np.concatenate(s.cliques)
            at = (which[:, None] * k + np.arange(k)).ravel()
            columns = (member[:, None] * k + np.arange(k)).ravel()
            shape = (length.size * k, m * k)
            parts.append(sp.csr_array((np.ones(at.size), (at, columns)), shape))
            lower.append(np.full(shape[0], -np.inf))
            upper.append(np.ones(shape[0]))
        return cls(
            n_items=m,
            n_clusters=k,
            coupling=sp.vstack(parts, format="csc"),
            lower=np.concatenate(lower).astype(float),
            upper=np.concatenate(upper).astype(float),
        )

    def priced(self, cost: FloatArray, prices: FloatArray) -> FloatArray:
        """Cost minus what the prices refund, (m, k)."""
        return np.asarray(cost - (self.coupling.T @ prices).reshape(cost.shape))

    def bound(self, cost: FloatArray, priced: FloatArray, prices: FloatArray) -> float:
        """Lower bound on the cost of any labels: weak duality, true for any prices.

        ``prices`` must be zero towards infinite bounds (see `sane`). What rounding may have added
        is subtracted, so the bound holds for the numbers as they are, not only in theory.
        """
        items = np.arange(priced.shape[0])
        cheapest = priced.argmin(axis=1)
        least = priced[items, cheapest]
        up, down = prices > 0, prices < 0
        sides = np.concatenate([prices[up] * self.lower[up], prices[down] * self.upper[down]])
        rounding = np.abs(least).sum() + np.abs(cost[items, cheapest]).sum() + np.abs(sides).sum()
        return float(least.sum() + sides.sum() - 8 * np.finfo(float).eps * rounding)

    def sane(self, prices: FloatArray) -> FloatArray:
        """Drop price signs that no finite bound backs: round-off of a solver."""
        prices = np.where((prices > 0) & np.isinf(self.lower), 0.0, prices)
        return np.where((prices < 0) & np.isinf(self.upper), 0.0, prices)

    def restrict(self, active: BoolArray) -> Restriction:
        """Keep the columns of a mask (m, k); drop rows that can no longer bind."""
        columns = np.flatnonzero(active.ravel())
        part = self.coupling[:, columns].tocsr()
        largest = np.asarray(part.maximum(0).sum(axis=1)).ravel()
        smallest = np.asarray(part.minimum(0).sum(axis=1)).ravel()
        rows = np.flatnonzero((largest > self.upper) | (smallest < self.lower))
        item = columns // self.n_clusters
        once = sp.csr_array(
            (np.ones(columns.size), (item, np.arange(columns.size))), (self.n_items, columns.size)
        )
        return Restriction(
            program=self,
            columns=columns,
            rows=rows,
            matrix=sp.vstack([once, part[rows]], format="csc"),
            lower=np.concatenate([np.ones(self.n_items), self.lower[rows]]),
            upper=np.concatenate([np.ones(self.n_items), self.upper[rows]]),
        )


@dataclass(frozen=True, eq=False)
class Restriction:
    """The program on some columns, with the equations written out: what a solver sees."""

    program: Program
    columns: IntArray
    rows: IntArray
    matrix: Sparse
    lower: FloatArray
    upper: FloatArray

    def prices(self, duals: FloatArray) -> FloatArray:
        """Prices of all coupling rows from the duals of a solver."""
        prices = np.zeros(self.program.lower.size)
        prices[self.rows] = duals[self.program.n_items :]
        return self.program.sane(prices)

    def values(self, x: FloatArray) -> FloatArray:
        """Values of all columns, (m, k)."""
        full = np.zeros(self.program.n_items * self.program.n_clusters)
        full[self.columns] = x
        return full.reshape(self.program.n_items, self.program.n_clusters)

    def indicator(self, labels: IntArray) -> FloatArray:
        """Values of the columns for labels, all of whose columns are active."""
        item, cluster = np.divmod(self.columns, self.program.n_clusters)
        return np.asarray(labels[item] == cluster, dtype=np.float64)
