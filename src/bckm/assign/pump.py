"""The paper's algorithm 2: a penalty feasibility pump, in an exact simplified form, completed.

The pump alternates between shares S (an LP with costs tilted towards V) and a binary V (elementwise
rounding of S), while the penalties grow. V is binary and S lies in [0, 1], so the l1 penalty is
linear in S and every S-step is the same polytope with new costs::

    cost'[j, i] = Y[j, i] + count_j rho-[j, i]   where V[j, i] = 0
    cost'[j, i] = Y[j, i] - count_j rho+[j, i]   where V[j, i] = 1

Penalties belong to samples. The samples of an item start alike and are updated alike, so one
penalty per item, counted once per sample, is the same algorithm.

The published pump stops when S and V stand still, binary or not. Here it never returns shares: when
it stalls, the exact engine finishes the step, and `counters` tell how often.

References
----------
Le, Eriksson, Do, Milford: A Binary Optimization Approach for Constrained K-Means Clustering (2018).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.base import Assignment, Engine, MatrixAssigner
from bckm.assign.exact import ExactAssigner
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem
from bckm.programs.highs import INTEGRAL
from bckm.programs.program import Program
from bckm.programs.relaxation import LPRelaxation

# The paper's rho_0 = 0.5 is absolute; on its data (512 features) a sample costs about 500.
FIRST_PENALTY = 1e-3  # of the mean cost of a sample over all clusters
GROWTH = 1.1  # the paper's kappa
CAP = 1e3  # penalties beyond this multiple of the mean cost only hurt the LP
MAX_ROUNDS = 100
STALLED = 10  # rounds in which fractional shares stand still before the pump is given up
TIE = 1e-6  # shares this close to the rounding threshold count as equal to it: V = 0


class PumpAssigner(MatrixAssigner):
    """See the module."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._relaxation = LPRelaxation(Program.of(problem.structure))
        self._exact = ExactAssigner(problem)

    def from_cost(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the module."""
        pumped = self.pump(cost, start, deadline)
        if not pumped.feasible:
            self.counters["completed"] += 1
            return self._exact.from_cost(cost, start, deadline)
        self.counters["alone"] += 1
        total = float(cost[np.arange(start.size), pumped.labels].sum())
        return Assignment(pumped.labels, total, float(cost.min(axis=1).sum()))

    def pump(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Pumped:
        """Run the pump alone until its shares are binary, stand still, or the rounds are over."""
        count = self.structure.count[:, None]
        mean = float(cost.mean() * cost.shape[0] / count.sum()) or 1.0
        above = np.full(cost.shape, FIRST_PENALTY * mean)  # rho-: price of S above V = 0
        below = above.copy()  # rho+: price of S below V = 1
        binary = np.zeros(cost.shape, bool)
        binary[np.arange(start.size), start] = True
        labels, shares, still = start, binary.astype(float), 0
        for _ in range(MAX_ROUNDS):
            tilted = cost + count * np.where(binary, -below, above)
            relaxed = self._relaxation.solve(
                tilted - tilted.min(axis=1, keepdims=True), start, deadline, prune=False
            )
            if relaxed is None:
                break
            moved = np.square(relaxed.values - shares).sum()
            shares = relaxed.values
            labels = shares.argmax(axis=1)
            if (shares.max(axis=1) >= 1 - INTEGRAL).all() and self.structure.feasible(labels):
                return Pumped(labels, feasible=True)
            still = still + 1 if moved <= INTEGRAL else 0
            if still >= STALLED:
                break
            binary = above * shares > below * (1 - shares) * (1 + TIE) + TIE * below
            above = np.minimum(np.where(binary, above, GROWTH * above), CAP * mean)
            below = np.minimum(np.where(binary, GROWTH * below, below), CAP * mean)
        return Pumped(labels, feasible=False)


@dataclass(frozen=True, eq=False)
class Pumped:
    """Where the pump ended: the largest shares as labels, `feasible` if the shares were binary."""

    labels: IntArray
    feasible: bool


class Pump(Engine):
    """The paper's method, completed so that it always obeys the rules."""

    name = "pump"
    handles = ~(Feature.SOFT_LINKS | Feature.SOFT_SUMS)

    def prepare(self, problem: Problem) -> PumpAssigner:
        """Write the program once; every step changes only its costs."""
        return PumpAssigner(problem)
