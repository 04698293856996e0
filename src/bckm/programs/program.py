"""The 0/1 program of an assignment step; the only module that knows its rows.

Its columns are those of `Columns`: "item j in cluster i". The m equations "each item once" come
first and stay implicit; the *coupling rows* follow: sizes, conflicts (one row per clique and
cluster), linear rows. A row may be *elastic*, at a penalty per unit: soft rules. As each item is
assigned exactly once, any prices of the coupling rows give a lower bound that needs no solver to be
trusted (`Program.bound`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from bckm._core.types import BoolArray, FloatArray, IntArray, Sparse
from bckm.problem.columns import Columns
from bckm.problem.soft import Soft
from bckm.problem.structure import Structure
from bckm.programs.highs import SMALL

EPS = float(np.finfo(float).eps)
SMALLEST_SCALE = 2.0**-20


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
    penalty : array (r,)
        Cost of each unit beyond a bound; infinite for hard rows. Soft ones have one bound.
    """

    n_items: int
    n_clusters: int
    coupling: Sparse
    lower: FloatArray
    upper: FloatArray
    penalty: FloatArray

    @classmethod
    def of(cls, s: Structure, soft: Soft | None = None) -> Program:
        """Write the program of a structure, and of what labels should obey."""
        m, k = s.n_items, s.n_clusters
        parts, lower, upper = [s.rows], [s.row_lower], [s.row_upper]
        if (s.lower > 0).any() or (s.upper < s.item.size).any():
            columns = np.arange(m * k)
            parts.append(
                sp.csr_array(
                    (np.repeat(s.count, k).astype(float), (s.columns.cluster(columns), columns))
                )
            )
            lower.append(np.where(s.lower > 0, s.lower, -np.inf))
            upper.append(np.where(s.upper < s.item.size, s.upper, np.inf))
        if s.cliques:
            which = np.repeat(np.arange(len(s.cliques)), s.cliques.sizes)
            at, columns = s.columns.all_of(which), s.columns.all_of(s.cliques.member)
            shape = (len(s.cliques) * k, m * k)
            parts.append(sp.csr_array((np.ones(at.size), (at, columns)), shape))
            lower.append(np.full(shape[0], -np.inf))
            upper.append(np.ones(shape[0]))
        hard = sum(part.size for part in lower)
        penalty = np.empty(0)
        if soft is not None and soft.couples:
            matrix, low, up, penalty = _soft_rows(soft, m, k)
            parts.append(matrix)
            lower.append(low)
            upper.append(up)
        return cls(
            n_items=m,
            n_clusters=k,
            coupling=sp.vstack(parts, format="csc"),
            lower=np.concatenate(lower).astype(float),
            upper=np.concatenate(upper).astype(float),
            penalty=np.concatenate([np.full(hard, np.inf), penalty]),
        )

    @cached_property
    def _magnitudes(self) -> Sparse:
        """Coefficients without their signs."""
        return abs(self.coupling)

    def priced(self, cost: FloatArray, prices: FloatArray) -> FloatArray:
        """Cost minus what the prices refund, (m, k)."""
        return np.asarray(cost - (self.coupling.T @ prices).reshape(cost.shape))

    def bound(self, cost: FloatArray, priced: FloatArray, prices: FloatArray) -> float:
        """Lower bound on the cost of any labels: weak duality, true for any prices.

        ``prices`` must be zero towards infinite bounds (`clipped`). What rounding may have added
        is subtracted, so the bound holds for the numbers as they are, not only in theory: also
        where what prices pay and charge for an item cancels.
        """
        paid = (self._magnitudes.T @ np.abs(prices)).reshape(cost.shape)
        terms = int(np.diff(self.coupling.indptr).max(initial=0)) + 2
        # each entry rounds by so much; and then the sums, which NumPy adds up in pairs
        least = (priced - EPS * terms * (np.abs(cost) + paid)).min(axis=1)
        up, down = prices > 0, prices < 0
        sides = np.concatenate([prices[up] * self.lower[up], prices[down] * self.upper[down]])
        rounding = EPS * (32 + np.log2(least.size + sides.size))
        rounding *= np.abs(least).sum() + np.abs(sides).sum()
        return float(least.sum() + sides.sum() - rounding)

    def clipped(self, prices: FloatArray) -> FloatArray:
        """Drop price signs that no finite bound backs: round-off of a solver.

        No price of a row is above its penalty, so what is beyond a soft bound costs nothing in a
        lower bound.
        """
        prices = np.clip(prices, -self.penalty, self.penalty)
        prices = np.where((prices > 0) & np.isinf(self.lower), 0.0, prices)
        return np.where((prices < 0) & np.isinf(self.upper), 0.0, prices)

    def restrict(self, active: BoolArray, limit: float = np.inf) -> Restriction:
        """Keep the columns of a mask (m, k); drop rows that can no longer bind.

        No better labels cost more than `limit`: elastic columns of dear rows are scaled down, so
        that a solver, whose tolerances are relative to the dearest column, sees none beyond it.
        """
        columns = np.flatnonzero(active.ravel())
        part = self.coupling[:, columns].tocsr()
        largest = np.asarray(part.maximum(0).sum(axis=1)).ravel()
        smallest = np.asarray(part.minimum(0).sum(axis=1)).ravel()
        rows = np.flatnonzero((largest > self.upper) | (smallest < self.lower))
        item = Columns(self.n_clusters).item(columns)
        once = sp.csr_array(
            (np.ones(columns.size), (item, np.arange(columns.size))), (self.n_items, columns.size)
        )
        matrix = sp.vstack([once, part[rows]], format="csc")
        elastic = np.flatnonzero(np.isfinite(self.penalty[rows]))
        elastic_scale, elastic_upper = np.ones(elastic.size), np.full(elastic.size, np.inf)
        if elastic.size:
            soft = rows[elastic]
            if limit > 0:  # powers of two: what is scaled stays exact
                elastic_scale = 2.0 ** np.minimum(np.floor(np.log2(limit / self.penalty[soft])), 0)
                # a solver that takes such units for zero has to know how little they can do
                reach = (1 + 1e-6) * limit / (self.penalty[soft] * elastic_scale)
                elastic_upper = np.where(elastic_scale <= SMALL, reach, np.inf)
            sign = np.where(np.isfinite(self.upper[soft]), -elastic_scale, elastic_scale)
            at = (self.n_items + elastic, np.arange(elastic.size))
            beyond = sp.csc_array((sign, at), (matrix.shape[0], elastic.size))
            matrix = sp.hstack([matrix, beyond], format="csc")
        return Restriction(
            program=self,
            columns=columns,
            rows=rows,
            elastic=rows[elastic],
            elastic_scale=elastic_scale,
            elastic_upper=elastic_upper,
            matrix=matrix,
            lower=np.concatenate([np.ones(self.n_items), self.lower[rows]]),
            upper=np.concatenate([np.ones(self.n_items), self.upper[rows]]),
        )


@dataclass(frozen=True, eq=False)
class Restriction:
    """The program on some columns, with the equations written out: what a solver sees.

    After the `columns` comes one for each `elastic` row: by how much it is beyond its bound, in
    units of `elastic_scale`, and at most `elastic_upper` of them.
    """

    program: Program
    columns: IntArray
    rows: IntArray
    elastic: IntArray
    elastic_scale: FloatArray
    elastic_upper: FloatArray
    matrix: Sparse
    lower: FloatArray
    upper: FloatArray

    def prices(self, duals: FloatArray) -> FloatArray:
        """Prices of all coupling rows from the duals of a solver."""
        prices = np.zeros(self.program.lower.size)
        prices[self.rows] = duals[self.program.n_items :]
        return self.program.clipped(prices)

    def values(self, x: FloatArray) -> FloatArray:
        """Values of all columns, (m, k)."""
        full = np.zeros(self.program.n_items * self.program.n_clusters)
        full[self.columns] = x[: self.columns.size]
        return full.reshape(self.program.n_items, self.program.n_clusters)

    def indicator(self, labels: IntArray) -> FloatArray:
        """Values of the columns for labels, all of whose columns are active."""
        item, cluster = Columns(self.program.n_clusters).split(self.columns)
        held = np.asarray(labels[item] == cluster, dtype=np.float64)
        part = self.program.coupling[:, self.columns[held > 0]].tocsr()[self.elastic]
        sums = np.asarray(part.sum(axis=1)).ravel()
        low, up = self.program.lower[self.elastic], self.program.upper[self.elastic]
        beyond = np.maximum(np.maximum(low - sums, sums - up), 0.0)
        return np.concatenate([held, beyond / self.elastic_scale])

    def costs(self, cost: FloatArray) -> FloatArray:
        """Costs of all columns, from those of items in clusters (m, k)."""
        penalty = self.program.penalty[self.elastic] * self.elastic_scale
        return np.concatenate([cost.ravel()[self.columns], penalty])

    @property
    def upper_columns(self) -> FloatArray:
        """Upper bounds of the columns."""
        return np.concatenate([np.ones(self.columns.size), self.elastic_upper])

    @cached_property
    def integral(self) -> BoolArray:
        """Which columns are integral: also how far rows of whole numbers are beyond their bounds.

        Labels make them so anyway; but a solver is on safer ground where all columns are integral.
        """
        part, program = self.program.coupling[self.elastic].tocsr(), self.program
        real = np.zeros(self.elastic.size, bool)
        row = np.repeat(np.arange(self.elastic.size), np.diff(part.indptr))
        real[row[part.data != np.floor(part.data)]] = True
        for bound in (program.lower[self.elastic], program.upper[self.elastic]):
            real |= np.isfinite(bound) & (bound != np.floor(bound))
        real |= self.elastic_scale < SMALLEST_SCALE  # whose multiples are too large to tell apart
        return np.concatenate([np.ones(self.columns.size, bool), ~real])


def _soft_rows(soft: Soft, m: int, k: int) -> tuple[Sparse, FloatArray, FloatArray, FloatArray]:
    """Rows, bounds and penalties of ties and soft loads.

    A pair that is to be together pays in every cluster that holds only its first item, x_ji - x_li
    <= 0; one that is to be apart in every cluster that holds both, x_ji + x_li <= 1.
    """
    tie = sp.triu(soft.ties, 1).tocoo()
    (a, b), pairs = tie.coords, tie.data.size
    row = np.arange(pairs * k)
    first, second = Columns(k).all_of(a), Columns(k).all_of(b)
    sign = np.repeat(np.where(tie.data > 0, -1.0, 1.0), k)
    matrix = sp.csr_array(
        (
            np.concatenate([np.ones(row.size), sign]),
            (np.concatenate([row, row]), np.concatenate([first, second])),
        ),
        (pairs * k, m * k),
    )
    parts, low, up = [matrix], [np.full(row.size, -np.inf)], [np.where(sign > 0, 1.0, 0.0)]
    penalties = [np.repeat(np.abs(tie.data), k)]
    loads, free = soft.loads, np.full_like(soft.lower_penalty, np.inf)
    sides_of_loads = (
        (soft.lower_penalty, loads.lower, False),
        (soft.upper_penalty, loads.upper, True),
    )
    for each, bounds, upper in sides_of_loads:
        priced = each > 0
        if not priced.any():
            continue
        bounds = np.where(priced, bounds, np.inf if upper else -np.inf)
        sides = (-free, bounds) if upper else (bounds, free)
        rows, low_rows, up_rows = replace(loads, lower=sides[0], upper=sides[1]).rows()
        parts.append(rows)
        low.append(low_rows)
        up.append(up_rows)
        penalties.append(each[priced])
    return sp.vstack(parts, format="csr"), *(np.concatenate(x) for x in (low, up, penalties))
