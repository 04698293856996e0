"""Feasibility by HiGHS: labels from an integer program, or a proof from the dual of an LP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.deadline import Deadline
from bckm._core.types import IntArray
from bckm.feasibility._reduced import Reduced
from bckm.programs.highs import Model
from bckm.programs.program import Program

MOST_WORK = 3e10  # of an integer program that nothing else ends; without costs it takes less
SAFETY = 1e-10  # share of the sum of all terms by which a dual proof must clear zero


@dataclass(frozen=True, eq=False)
class SolverOutcome:
    """`labels` of items, or `infeasible`: the solver's claim, not a proof."""

    labels: IntArray | None
    infeasible: bool


class FeasibilityProgram:
    """The program of a reduced structure: how many items of each type go into each cluster."""

    def __init__(self, reduced: Reduced) -> None:
        self._reduced = reduced
        self._program = Program.of(reduced.structure)
        t, k = reduced.structure.n_items, reduced.structure.n_clusters
        self._shape = (t, k)
        columns = np.arange(t * k)
        once = sp.csr_array(
            (np.ones(t * k), (reduced.structure.columns.item(columns), columns)), (t, t * k)
        )
        self._matrix = sp.vstack([once, self._program.coupling], format="csc")
        weight = reduced.weight.astype(float)
        self._lower = np.concatenate([weight, self._program.lower])
        self._upper = np.concatenate([weight, self._program.upper])

    def proven_infeasible(self, deadline: Deadline) -> bool:
        """Whether prices of the coupling rows prove infeasibility.

        The LP minimizes how much the rows are violated. If that is positive, its prices say so for
        all shares; the claim is recomputed here, with a margin for round-off.
        """
        rows = self._program.lower.size
        equations = sp.csr_array((self._shape[0], 2 * rows))
        give = sp.hstack([sp.eye_array(rows), -sp.eye_array(rows)])
        matrix = sp.hstack([self._matrix, sp.vstack([equations, give])], format="csc")
        free = np.full(matrix.shape[1], np.inf)
        cost = np.concatenate([np.zeros(self._matrix.shape[1]), np.ones(2 * rows)])
        model = Model(matrix, self._lower, self._upper, column_upper=free)
        solution = model.solve(cost, deadline)
        if solution.duals is None:
            return False
        prices = self._program.clipped(solution.duals[self._shape[0] :])
        # prices are at most 1 here: smaller ones are noise
        prices = np.where(np.abs(prices) > 1e-9, prices, 0.0)
        refund = (self._program.coupling.T @ prices).reshape(self._shape)
        # what is paid and charged for one item may cancel: rounding is relative to either
        paid = (abs(self._program.coupling).T @ np.abs(prices)).reshape(self._shape)
        up, down = prices > 0, prices < 0
        terms = np.concatenate(
            [
                -refund.max(axis=1) * self._reduced.weight,
                prices[up] * self._program.lower[up],
                prices[down] * self._program.upper[down],
            ]
        )
        lost = paid.max(axis=1) @ self._reduced.weight
        return bool(terms.sum() > SAFETY * (np.abs(terms).sum() + lost))

    def solve(self, deadline: Deadline) -> SolverOutcome:
        """Ask HiGHS for labels; without a deadline its work has a limit."""
        t, k = self._shape
        limit = np.repeat(self._reduced.weight.astype(float), k).reshape(t, k)
        s = self._reduced.structure
        if s.interchangeable and s.cliques:
            # clusters are exchangeable: give those of one clique their numbers
            clique = s.cliques.heaviest()[:k]
            limit[clique] = 0.0
            limit[clique, np.arange(clique.size)] = 1.0
        model = Model(
            self._matrix, self._lower, self._upper, integer=True, column_upper=limit.ravel()
        )
        work = np.inf if np.isfinite(deadline.at) else MOST_WORK
        solution = model.solve(np.zeros(t * k), deadline, max_work=work)
        if solution.values is None:
            return SolverOutcome(None, solution.infeasible)
        amounts = np.rint(solution.values).astype(np.int64).reshape(t, k)
        labels = self._reduced.expand(amounts)
        feasible = labels is not None and self._reduced.full.feasible(labels)
        return SolverOutcome(labels if feasible else None, infeasible=False)
