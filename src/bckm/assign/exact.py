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

CORE, PICKED = 1.8e6, 20.0  # work of writing a core, and of a column that may be in it
SEARCHED = 1e6  # work of a tree search for each column beyond one per item, about
FIRST, PER_FRACTIONAL = 200, 5  # columns beyond one per item in the first core
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
        before = self._relaxation.work
        relaxed = self._relaxation.solve(
            shifted, start, deadline, penalty=self.problem.soft.coupled(start)
        )
        self.work += self._relaxation.work - before
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
        end = np.inf if self._effort is None else self.work + self._effort
        number, last = _first_number(relaxed), -1.0
        while not best.proven and not deadline.passed:
            most = (end - self.work) / SEARCHED
            gap, before = best.cost - relaxed.bound, best.cost
            width = min(_width(relaxed, min(number, most)), gap)
            # a column dearer than the best labels is no part of better ones
            core = (relaxed.reduced <= width) & (cost <= before)
            if number > most and last >= 0 and (width <= last < gap or _beyond(core) > 2 * most):
                return  # what has been searched is what the effort is for
            number *= WIDEN
            if width <= last < gap:  # the same core
                continue
            outcome = self._search_core(best, cost, core, end, deadline)
            # labels outside the core cost at least bound + width
            best.bound = max(best.bound, min(outcome.bound, relaxed.bound + width, best.cost))
            # after better labels were found the same core is searched once more, with costs on a
            # finer scale
            if not outcome.finished or (width >= gap and best.cost >= before):
                return
            last = width

    def _search_core(
        self,
        best: _Best,
        cost: FloatArray,
        core: BoolArray,
        end: float,
        deadline: Deadline,
    ) -> _Outcome:
        core[np.arange(best.labels.size), best.labels] = True
        self.work += CORE + PICKED * core.size
        self.counters["cores"] += 1
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
            solution = model.solve(costs, deadline, start=start, max_work=end - self.work)
            self.counters["searches"] += 1
            self.work += solution.work
            accepted = solution.values is not None and self._offer(
                best, cost, restriction.values(solution.values)
            )
            # `best` lies in the core, so "infeasible" is a wrong claim; an optimum that does not
            # obey the rules to the last digit proves nothing either
            finished &= solution.finished and accepted
            bound = min(bound, -np.inf if solution.infeasible else solution.bound)
            if not finished and np.isfinite(end):
                # labels are better or not; a bound would take a second search
                return _Outcome(bound if len(tolerances) == 1 else -np.inf, finished)
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


def _first_number(relaxed: LPSolution) -> float:
    """Columns beyond one per item with which to begin: room for what is fractional to settle."""
    items = len(relaxed.values)
    fractional = int((relaxed.values.max(axis=1) < 1 - INTEGRAL).sum())
    scale = float(relaxed.reduced.max(initial=0.0, where=np.isfinite(relaxed.reduced)))
    ties = int((relaxed.reduced <= TOLERANCE * scale).sum()) - items
    return FIRST + PER_FRACTIONAL * fractional + ties


def _beyond(core: BoolArray) -> int:
    """Columns beyond one per item."""
    return int(core.sum()) - len(core)


def _width(relaxed: LPSolution, number: float) -> float:
    """The reduced cost up to which there are so many columns beyond one per item."""
    reduced = relaxed.reduced[np.isfinite(relaxed.reduced)]
    room = int(min(reduced.size - 1, len(relaxed.values) + number))
    return float(np.partition(reduced, room)[room]) if room < reduced.size - 1 else np.inf


class Exact(Engine):
    """Proven optimal assignment under any rules.

    Parameters
    ----------
    effort : float or None
        None searches until the optimum is proven. A number limits the work of the tree searches of
        a call, in the units of `Assigner.work`: cores that are too large for it are not searched,
        and a search that takes longer than its size promises is cut off. Work, unlike seconds,
        makes the result independent of the speed of the machine.
    """

    name = "exact"
    handles = ~Feature.NONE

    def __init__(self, effort: float | None = None) -> None:
        self._effort = effort

    def prepare(self, problem: Problem) -> ExactAssigner:
        """Write the program; it is solved again for each cost."""
        return ExactAssigner(problem, self._effort)
