"""The LP relaxation of an assignment step by column generation.

Few clusters matter to an item. The LP starts with the near columns of each item and the columns of
known labels (so it is feasible), prices all others, adds those that pay, and repeats. Any coupling
row has a dual, so this works with any rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.programs.highs import AT_LOWER, BASIC, Basis, Model
from bckm.programs.program import Program, Restriction

PRICING = 1e-9  # columns that pay less, relative to the dearest one, stay out
NEAR = 6  # columns per item to begin with: fewer need more rounds, more a larger LP
# work of a round beyond its LP: of it, of pricing a column, and of writing one into the LP
ROUND, PRICED, WRITTEN = 3.5e5, 20.0, 300.0
GROWTH = 3  # columns kept from earlier costs, as a multiple of the near ones, before a fresh start


@dataclass(frozen=True, eq=False)
class LPSolution:
    """Solution of the relaxation.

    Attributes
    ----------
    values : array (m, k)
        Shares of each item in each cluster.
    reduced : array (m, k)
        What a column costs beyond the bound: labels that use it cost at least bound + reduced.
    bound : float
        Lower bound on the cost of any labels, from weak duality, not from the solver.
    """

    values: FloatArray
    reduced: FloatArray
    bound: float


class LPRelaxation:
    """The LP of a program, kept between calls so that it can start from its last basis."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._prices: FloatArray = np.zeros(program.lower.size)
        self._active: BoolArray | None = None
        self._model: Model | None = None
        self._restriction: Restriction | None = None
        self.work = 0.0  # of all rounds so far

    def solve(
        self,
        cost: FloatArray,
        start: IntArray,
        deadline: Deadline,
        *,
        prune: bool = True,
        penalty: float = 0.0,
    ) -> LPSolution | None:
        """Minimize the cost over shares; None when the deadline passed before the first answer.

        Parameters
        ----------
        cost : array (m, k)
            Costs, at least zero, with a zero in each row.
        start : array (m,)
            Feasible labels.
        deadline : Deadline
            When to stop.
        prune : bool
            Leave out columns that only labels worse than `start` use. The bound stays true for
            better labels, but shares may differ from those of the whole LP.
        penalty : float
            What `start` costs beyond its columns.
        """
        program = self._program
        items = np.arange(program.n_items)
        limit = (cost[items, start].sum() + penalty) * (1 + PRICING) if prune else np.inf
        allowed = cost <= limit  # labels that use a dearer column are worse than `start`
        allowed[items, start] = True
        priced = program.priced(cost, self._prices)
        near = min(NEAR, program.n_clusters)
        wanted = np.zeros(cost.shape, bool)
        nearest = np.argpartition(np.where(allowed, priced, np.inf), near - 1, axis=1)[:, :near]
        np.put_along_axis(wanted, nearest, True, axis=1)
        wanted &= allowed
        wanted[items, start] = True
        if self._active is not None and self._active.sum() <= GROWTH * wanted.sum():
            wanted |= self._active

        best: LPSolution | None = None
        while True:
            solution = self._solve_active(wanted, cost, deadline)
            if solution is None:
                return best
            values, self._prices = solution
            priced = np.where(allowed, program.priced(cost, self._prices), np.inf)
            bound = program.bound(cost, priced, self._prices)
            cheapest = priced.min(axis=1)
            if best is None or bound > best.bound:
                best = LPSolution(values, priced - cheapest[:, None], bound)
            else:
                best = LPSolution(values, best.reduced, best.bound)
            paying = np.where(wanted, priced, np.inf).min(axis=1) - cheapest
            scale = cost[wanted].max(initial=0.0)
            if not (paying > PRICING * scale).any():
                return best
            dearest = cheapest + 0.5 * paying  # the most negative half: fewer, better columns
            wanted |= (priced <= dearest[:, None]) & (paying > PRICING * scale)[:, None]

    def _solve_active(
        self, active: BoolArray, cost: FloatArray, deadline: Deadline
    ) -> tuple[FloatArray, FloatArray] | None:
        if self._active is None or not np.array_equal(active, self._active):
            self._rebuild(active)
        assert self._model is not None
        assert self._restriction is not None
        solution = self._model.solve(self._restriction.costs(cost), deadline)
        written = WRITTEN * self._restriction.matrix.shape[1]
        self.work += solution.work + ROUND + PRICED * cost.size + written
        if solution.values is None or solution.duals is None:
            self._active = None  # do not trust the basis again
            return None
        return (
            self._restriction.values(solution.values),
            self._restriction.prices(solution.duals),
        )

    def _rebuild(self, active: BoolArray) -> None:
        """Write the LP of other columns; it starts from the basis of the last one."""
        before, model = self._restriction, self._model
        self._active = active.copy()
        now = self._restriction = self._program.restrict(active)
        self._model = Model(now.matrix, now.lower, now.upper, column_upper=now.upper_columns)
        if before is not None and model is not None:
            self._model.start_from(_carry_over(model.basis(), before, now))


def _carry_over(basis: Basis, before: Restriction, now: Restriction) -> Basis:
    """The basis for other columns and rows: new columns at zero, new rows slack."""
    m = now.program.n_items
    columns = np.full(m * now.program.n_clusters, AT_LOWER)
    rows = np.full(now.program.lower.size, BASIC)
    beyond = np.full(rows.size, AT_LOWER)
    columns[before.columns] = basis.columns[: before.columns.size]
    beyond[before.elastic] = basis.columns[before.columns.size :]
    rows[before.rows] = basis.rows[m:]
    return Basis(
        np.concatenate([columns[now.columns], beyond[now.elastic]]),
        np.concatenate([basis.rows[:m], rows[now.rows]]),
    )
