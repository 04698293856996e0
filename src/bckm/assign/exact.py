"""The core method: a proven optimal assignment under any rules.

LP over near columns -> prices and bound -> integer program over the columns whose reduced cost is
below the distance of bound and best answer. A column outside this core cannot occur in better
labels, so an optimum of the core is an optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.assign.base import OPTIMALITY, Assignment, Engine, MatrixAssigner
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem
from bckm.problem.structure import Structure
from bckm.programs.highs import INTEGRAL, TOLERANCE, Model
from bckm.programs.program import Program
from bckm.programs.relaxation import LPRelaxation, LPSolution

COLUMN, SEARCH = 8e2, 2e6  # work of a column in an LP, and of a tree search
LOOSE = 1e-8  # the other tolerance for rows with real coefficients,
USUAL = 1e-6  # and where not all columns are integral: HiGHS's own
WIDEN = 4.0  # growth of a core whose best labels are not yet proven optimal


class ExactAssigner(MatrixAssigner):
    """See the module.

    Parameters
    ----------
    problem : Problem
        What to obey.
    effort : float or None
        Work limit of each tree search, see `Exact`.
    """

    def __init__(self, problem: Problem, effort: float | None = None) -> None:
        super().__init__(problem)
        self._program = Program.of(problem.structure, problem.soft)
        self._relaxation = LPRelaxation(self._program)
        self._effort = effort
        self._real = _real_sums(problem.structure)

    def from_cost(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the module."""
        least = cost.min(axis=1)
        # every item is assigned once, so a row shift changes no argmin
        shifted = cost - least[:, None]
        offset = float(least.sum())
        solved = self._relaxation.columns
        relaxed = self._relaxation.solve(
            shifted, start, deadline, penalty=self.problem.soft.coupled(start)
        )
        self.work += COLUMN * (self._relaxation.columns - solved)
        best = _Best(start, self._total(shifted, start), 0.0, round_off=1e-12 * offset)
        if relaxed is not None:
            self._improve(best, shifted, relaxed, deadline)
        total = best.cost + offset
        return Assignment(best.labels, total, min(best.bound + offset, total))

    def _total(self, cost: FloatArray, labels: IntArray) -> float:
        return float(cost[np.arange(labels.size), labels].sum()) + self.problem.soft.coupled(labels)

    def _improve(
        self, best: _Best, cost: FloatArray, relaxed: LPSolution, deadline: Deadline
    ) -> None:
        best.bound = max(best.bound, relaxed.bound)
        self._offer(best, cost, relaxed.values)
        fractional = int((relaxed.values.max(axis=1) < 1 - INTEGRAL).sum())
        nodes = None if self._effort is None else max(1, int(self._effort / (1 + fractional**2)))
        width = _first_width(relaxed, fractional)
        while not best.proven and not deadline.passed:
            width = min(width, best.cost - relaxed.bound)
            before = best.cost
            # a column dearer than the best labels is no part of better ones
            core = (relaxed.reduced <= width) & (cost <= before)
            outcome = self._search_core(best, cost, core, nodes, deadline)
            # labels outside the core cost at least bound + width
            best.bound = max(best.bound, min(outcome.bound, relaxed.bound + width, best.cost))
            whole = width >= best.cost - relaxed.bound
            if not outcome.finished or (whole and best.cost >= before):
                return
            # a core of width 0 would stay empty however often it is widened; and after better
            # labels were found the same core is searched once more, with costs on a finer scale
            width = max(WIDEN * width, (best.cost - relaxed.bound) / WIDEN**3)

    def _search_core(
        self,
        best: _Best,
        cost: FloatArray,
        core: BoolArray,
        max_nodes: int | None,
        deadline: Deadline,
    ) -> _Outcome:
        core[np.arange(best.labels.size), best.labels] = True
        restriction = self._program.restrict(core, best.cost)
        costs = restriction.costs(cost)
        bound, finished = np.inf, True
        # HiGHS decides sums of real numbers by its tolerance, and a small one makes its cuts
        # unsafe, above all where some columns are integral and some are not: such programs are
        # searched with two tolerances, and both must agree
        tolerances = [TOLERANCE]
        if not restriction.integral.all():
            tolerances.append(USUAL)
        elif self._real:
            tolerances.append(LOOSE)
        for tolerance in tolerances:
            model = Model(
                restriction.matrix,
                restriction.lower,
                restriction.upper,
                integer=restriction.integral,
                column_upper=restriction.upper_columns,
                tolerance=tolerance,
            )
            start = restriction.indicator(best.labels)
            solution = model.solve(costs, deadline, start=start, max_nodes=max_nodes)
            self.counters["searches"] += 1
            self.work += SEARCH + COLUMN * costs.size
            accepted = solution.values is not None and self._offer(
                best, cost, restriction.values(solution.values)
            )
            # `best` lies in the core, so "infeasible" is a wrong claim; an optimum that does not
            # obey the rules to the last digit proves nothing either
            finished &= solution.finished and accepted
            bound = min(bound, -np.inf if solution.infeasible else solution.bound)
        if finished:
            # the solver overlooks what is better by less than its tolerance; where rows give way,
            # it may also think better of labels than they are
            known = min(bound, best.cost) if restriction.elastic.size else best.cost
            bound = known - TOLERANCE * float(costs.max())
        return _Outcome(bound, finished)

    def _offer(self, best: _Best, cost: FloatArray, values: FloatArray) -> bool:
        """Whether a point is integral and its labels feasible; better ones are taken."""
        labels = values.argmax(axis=1)
        if (values.max(axis=1) < 1 - INTEGRAL).any() or not self.structure.feasible(labels):
            return False
        total = self._total(cost, labels)
        if total < best.cost:
            best.labels, best.cost = labels, total
        return True


class _Best:
    """Best labels so far and the best bound: both only improve."""

    def __init__(self, labels: IntArray, cost: float, bound: float, round_off: float) -> None:
        self.labels, self.cost, self.bound, self._round_off = labels, cost, bound, round_off

    @property
    def proven(self) -> bool:
        return self.cost - self.bound <= OPTIMALITY * self.cost + self._round_off


@dataclass(frozen=True)
class _Outcome:
    """What a search of a core proved: a bound for its labels, and whether it is their optimum."""

    bound: float
    finished: bool


def _real_sums(structure: Structure) -> bool:
    """Whether some row holds numbers that are not multiples of a common power of two."""
    scaled = np.abs(structure.rows.data) * 2.0**30
    return bool((scaled != np.floor(scaled)).any())


def _first_width(relaxed: LPSolution, fractional: int) -> float:
    """Guess how far the optimum lies above the bound: room for what is fractional to settle."""
    reduced = relaxed.reduced[np.isfinite(relaxed.reduced)]
    room = min(reduced.size - 1, relaxed.values.shape[0] + 1000 + 50 * fractional)
    return float(np.partition(reduced, room)[room])


class Exact(Engine):
    """Proven optimal assignment under any rules.

    Parameters
    ----------
    effort : float or None
        None searches until the optimum is proven. A number limits each tree search to
        effort / (1 + f^2) nodes, where f items are split by the relaxation: searches that are
        likely to end soon may go on, hopeless ones end early. Nodes, unlike seconds, make the
        result independent of the speed of the machine.
    """

    name = "exact"
    handles = ~Feature.NONE

    def __init__(self, effort: float | None = None) -> None:
        self._effort = effort

    def prepare(self, problem: Problem) -> ExactAssigner:
        """Write the program; it is solved again for each cost."""
        return ExactAssigner(problem, self._effort)
