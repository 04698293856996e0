"""Mending: labels that break few rules are brought within all of them, where that costs least.

At fixed centers, moves of one to three items lower what labels cost and what they break; each
broken bound weighs its price at first, and twice as much as before wherever it stays broken.
Compiled (`kernels/moves/mend`); without the kernels, and for thousands of clusters, `_mend_numpy`
does less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.arrays import squared_distances
from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign._dual_lp import Prices, Resources
from bckm.assign._mend_numpy import mend as mend_with_costs
from bckm.kernels import missing, native
from bckm.problem.compiled import as_arrays
from bckm.problem.problem import Problem

EFFORT = 1e8  # work of mending beyond a look at all items
ROUNDS = 3  # times that labels obey and weights fall again
CLOSED = 1e6  # price of a forbidden cluster: dear enough
MOST = 3000  # clusters, of whose pairs there are lists


@dataclass(frozen=True, eq=False)
class Mended:
    """Labels that obey every rule, and what they cost at the centers, with all penalties."""

    labels: IntArray
    cost: float


class Mender:
    """Mends labels of one problem.

    Attributes
    ----------
    work : float
        What all calls took; see `Assigner.work`.
    """

    def __init__(self, problem: Problem, resources: Resources) -> None:
        self.problem, self.resources, self.work = problem, resources, 0.0
        self.compiled = not (missing or problem.structure.n_clusters > MOST)
        if self.compiled:
            points = None if problem.sparse else problem.points
            self._arrays = as_arrays(problem.structure, problem.soft, points, problem.cost_weight)

    def __call__(
        self,
        labels: IntArray,
        centers: FloatArray,
        prices: Prices,
        unit: float,
        deadline: Deadline,
        items: IntArray | None = None,
    ) -> Mended | None:
        """Labels that obey, near given ones; None if that fails.

        Parameters
        ----------
        labels : array (m,)
            Labels that break few rules; those that break none may still become cheaper.
        centers : array (k, d)
            What costs depend on.
        prices : Prices
            At which the labels are nearly best.
        unit : float
            Costs are divided by it where prices are meant.
        deadline : Deadline
            When to give up.
        items : array of int, optional
            Items that prices leave nearly undecided: only these move, and those in conflict.
        """
        problem = self.problem
        if deadline.passed:
            return None
        if self.compiled:
            mended, costs = labels.astype(np.int32), None
            at = np.ascontiguousarray(centers)
            if problem.sparse:
                costs = squared_distances(problem.points, centers) * problem.cost_weight[:, None]
                at = np.zeros((len(centers), 1))
            outcome = native.mend(
                *self._arrays,
                mended,
                at,
                *self._paid(prices),
                unit,
                items,
                costs,
                ROUNDS,
                EFFORT,
                min(deadline.left, 1e9),
                problem.threads,
            )
            self.work += outcome.work
            found = mended.astype(np.int64) if outcome.obeys else None
        else:
            priced = problem.cost(centers) / unit - self.resources.refunds(prices)
            if problem.structure.forbidden.size:
                priced.ravel()[problem.structure.forbidden] = np.inf
            found = mend_with_costs(problem.structure, self.resources, priced, labels, deadline)
            self.work += 20.0 * priced.size
        if found is None or not problem.structure.feasible(found):
            return None
        return Mended(found, problem.within(found, centers))

    def _paid(self, prices: Prices) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Prices of hard sums with sizes, of soft sums, and of rows with forbidden clusters."""
        s, each = self.problem.structure, prices.resources
        hard, soft = s.loads.number, s.loads.number + self.problem.soft.loads.number
        sizes = each[:, soft:] if each.shape[1] > soft else np.zeros((len(each), 1))
        rows = np.append(prices.rows, -CLOSED) if s.forbidden.size else prices.rows
        return (
            np.ascontiguousarray(np.hstack([each[:, :hard], sizes])),
            np.ascontiguousarray(each[:, hard:soft]),
            rows,
        )
