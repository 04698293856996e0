"""The only module that talks to HiGHS: scaling, options, status map, hot start, interrupts.

HiGHS works with absolute tolerances. Costs enter here already relative to what each item pays at
least; they are divided by their largest value, and every objective that leaves is in the caller's
units again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray, FloatArray, IntArray, Sparse

TOLERANCE = 1e-10  # the smallest that HiGHS takes; costs are scaled to at most 1
MIXED = 1e-9  # where some columns are integral and some are not
SMALL = 1e-9  # HiGHS takes smaller coefficients for zero
AT_LOWER, BASIC = 0, 1  # HiGHS's numbers
LARGE = 20_000  # columns of an LP that may take long
# Work (see `Assigner.work`), fitted to the steps of the engine "exact" on drawn instances, so that
# the least and the most CPU time of a unit differ as little as possible
# (`benchmarks.mixed.accounting`). Of an LP: of a run, of a number in the matrix (to read, presolve
# and factorize); of an iteration, and of it for each number beyond two in a column and for each
# row.
LP_WORK = 2e5, 300.0, 8e3, 1.2, 2.5
# From a basis of another LP there is no presolve, and all columns are priced in each iteration. Of
# a number in the matrix; of an iteration, and of it for each number beyond two in a column, for
# each that is not one (such bases are far from triangular) and for each row.
WARM_WORK = 540.0, 1.2e4, 0.36, 1.35, 3.0
# Of a tree search: of a number in the matrix (to read and presolve); of a question whether to go
# on, by size and by how many came before (`Model._questions`: they stand for rounds of cuts,
# probing and dives); of an iteration, and of it for each number in the cuts. HiGHS tells iterations
# only at the end, so a limit goes by what is done between two questions at most, about: each, and
# for each of the numbers
MIP_WORK = 670.0, 1430.0, 1.85e5, 18.0
CHECK_WORK = 1.5e6, 3e3
FIRST, GATHER = 2, 20  # questions before anything is done, and those over which cuts gather
PER_ROW = 8  # numbers in columns beyond one per item that are as dear as a row that couples items
INTEGRAL = 1e-6  # a value this close to 0 or 1 counts as such
# Presolve looks for dependent equations for up to 1 % of the time limit, so without one for ever:
# 150 s where 20 sizes of 10,000 items are equations. There are none worth finding.
DEPENDENT = 1 << 10 | 1 << 11  # bits of the option presolve_rule_off


@dataclass(frozen=True, eq=False)
class Solution:
    """What HiGHS found: values of columns, duals of rows, and a bound on the objective.

    `values` is None when nothing feasible was found; `infeasible` repeats the solver's claim, which
    is not a proof; `work` is what it took, counted as in `Assigner.work`.
    """

    values: FloatArray | None
    duals: FloatArray | None
    bound: float
    finished: bool
    infeasible: bool
    work: float


@dataclass(frozen=True, eq=False)
class Basis:
    """State of each column and row at a vertex: `AT_LOWER`, `BASIC`, or another of HiGHS."""

    columns: IntArray
    rows: IntArray


class Model:
    """min cost·x subject to row_lower <= A x <= row_upper, 0 <= x <= column_upper.

    Parameters
    ----------
    matrix : sparse (rows, columns)
        A.
    row_lower, row_upper : arrays
        Bounds of the rows.
    integer : bool or array of bool
        Whether x is integral, or which part of it.
    column_upper : array, optional
        Upper bounds of x; ones when None.
    tolerance : float
        Of rows, reduced costs and integrality; improvements of an integer program by less than
        this (after scaling) are overlooked.
    presolve : bool
        Whether HiGHS looks for a smaller program first.
    """

    def __init__(
        self,
        matrix: Sparse,
        row_lower: FloatArray,
        row_upper: FloatArray,
        *,
        integer: bool | BoolArray = False,
        column_upper: FloatArray | None = None,
        tolerance: float = TOLERANCE,
        presolve: bool = True,
    ) -> None:
        import highspy

        rows, columns = matrix.shape
        if column_upper is None:
            column_upper = np.ones(columns)
        matrix, row_lower, row_upper = _visible(matrix.tocsc(), row_lower, row_upper, column_upper)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, rows
        program.col_cost_ = np.zeros(columns)
        program.col_lower_ = np.zeros(columns)
        program.col_upper_ = column_upper
        program.row_lower_, program.row_upper_ = row_lower, row_upper
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = matrix.indptr
        program.a_matrix_.index_ = matrix.indices
        program.a_matrix_.value_ = matrix.data
        self._size, self._rows, self._columns = int(matrix.nnz), int(rows), int(columns)
        # numbers that are not one
        self._others = int((np.abs(np.abs(matrix.data) - 1) > SMALL).sum())
        once = int(((row_lower == 1) & (row_upper == 1)).sum())  # rows of single items
        self._coupling, self._open = self._rows - once, max(0, self._columns - once)
        self._warm = False
        self._integer = bool(np.any(integer))
        self._asked, self._cuts, self._left = 0, 0, self._columns
        self._lasts = self._integer or columns > LARGE
        if self._integer:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            integral = np.broadcast_to(integer, columns)
            program.integrality_ = [kinds[int(is_integer)] for is_integer in integral]
        self._solver = highspy.Highs()
        self._set(
            output_flag=False,
            threads=1,
            random_seed=0,
            primal_feasibility_tolerance=tolerance,
            dual_feasibility_tolerance=tolerance,
            mip_feasibility_tolerance=tolerance,
            mip_rel_gap=0.0,
            mip_abs_gap=0.0,
            presolve_rule_off=DEPENDENT,
        )
        # with columns of both kinds the presolve of 1.14.0 cuts off optima (HiGHS issues 3043,
        # 3073, 3094); brute force saw it in one of a thousand small soft problems. So does its tree
        # search at a tolerance of 1e-10, in one of ten thousand (seeds 8119 and 13433)
        mixed = self._integer and not np.all(integer)
        if mixed:
            self._set(mip_feasibility_tolerance=max(tolerance, MIXED))
        if not presolve or mixed:
            self._set(presolve="off")
        self._solver.passModel(program)

    def _set(self, **options: Any) -> None:
        for name, value in options.items():
            self._solver.setOptionValue(name, value)

    def solve(
        self,
        cost: FloatArray,
        deadline: Deadline,
        *,
        start: FloatArray | None = None,
        max_work: float = np.inf,
    ) -> Solution:
        """Minimize; a model that was solved before starts from its last basis.

        Parameters
        ----------
        cost : array (columns,)
            Objective.
        deadline : Deadline
            When to stop.
        start : array (columns,), optional
            A feasible point, for integer models.
        max_work : float
            Work limit of an integer program, about. HiGHS asks whether to go on in each round of
            cuts, each dive and each node, and may do so as often as that much work stands for: a
            limit on nodes would not end a root node that takes minutes, and one on time would not
            be repeatable.
        """
        scale = float(np.abs(cost).max(initial=0.0)) or 1.0
        columns = cost.size
        self._solver.changeColsCost(columns, np.arange(columns, dtype=np.int32), cost / scale)
        # HiGHS counts its time from the creation of the model
        limit = min(self._solver.getRunTime() + deadline.left, 1e30)
        self._set(time_limit=limit)
        if start is not None:
            self._offer(start)
        with self._limited(max_work):
            self._run()
        solution = self._read(scale)
        self._warm = True
        return solution

    def basis(self) -> Basis:
        """The basis of the last solution: where a similar model may start."""
        basis = self._solver.getBasis()
        return Basis(
            np.fromiter(map(int, basis.col_status), np.int64),
            np.fromiter(map(int, basis.row_status), np.int64),
        )

    def start_from(self, basis: Basis) -> None:
        """Start the next solve from a basis; HiGHS completes one that does not quite fit."""
        import highspy

        start = highspy.HighsBasis()
        status = [highspy.HighsBasisStatus(value) for value in range(5)]
        start.col_status = [status[value] for value in basis.columns]
        start.row_status = [status[value] for value in basis.rows]
        start.valid = start.alien = True
        self._solver.setBasis(start)
        self._warm = True

    @contextmanager
    def _limited(self, max_work: float) -> Iterator[None]:
        """Count the questions of what runs inside; interrupt it after as many as work allows.

        At the end of a root node, of which a search that begins anew has several, HiGHS shows its
        cuts, and so how many numbers are in them and how many columns are left.
        """
        self._asked, self._cuts, self._left = 0, 0, self._columns
        if not self._integer:
            yield
            return
        each, by_size = CHECK_WORK
        most = max(1.0, max_work / (each + by_size * self._size))  # inf // x would be NaN

        def answer(event: Any) -> None:
            self._asked += 1
            if self._asked > most:
                event.interrupt()

        def looked(event: Any) -> None:
            pool = event.data_out
            self._cuts, self._left = len(pool.cutpool_index), int(pool.cutpool_num_col)

        self._solver.cbMipInterrupt.subscribe(answer)
        self._solver.cbMipGetCutPool.subscribe(looked)
        try:
            yield
        finally:
            self._solver.cbMipInterrupt.unsubscribe(answer)
            self._solver.cbMipGetCutPool.unsubscribe(looked)

    def _offer(self, start: FloatArray) -> None:
        import highspy

        point = highspy.HighsSolution()
        point.col_value = start.tolist()
        point.value_valid = True
        self._solver.setSolution(point)

    def _run(self) -> None:
        if not self._lasts:
            self._solver.run()
            return
        # this may last: run it in a thread, so that Ctrl-C reaches Python
        self._solver.HandleUserInterrupt = True
        done = Event()

        def work() -> None:
            try:
                self._solver.run()
                self._solver.resetGlobalScheduler(False)  # it belongs to this thread
            finally:
                done.set()

        thread = Thread(target=work)
        try:
            thread.start()
        except RuntimeError as error:  # so Python says it
            raise MemoryError(
                f"a tree search needs its own thread, which the system refuses ({error}); "
                "free memory, or raise the limits of this process."
            ) from None
        try:
            # not join(): interrupted, it would take the thread for ended (CPython before 3.13)
            while not done.wait(0.05):
                pass
        except KeyboardInterrupt:
            self._solver.cancelSolve()
            done.wait()
            raise
        finally:
            thread.join()

    def _work(self, iterations: int) -> float:
        """What a run took."""
        if self._integer:
            number, question, each, by_cut = MIP_WORK
            iterated = iterations * (each + by_cut * self._cuts)
            return number * self._size + question * self._questions() + iterated
        beyond, iterations = max(0, self._size - 2 * self._columns), max(iterations, 1)
        if not self._warm:
            run, number, each, by_number, by_row = LP_WORK
            iteration = each + by_number * beyond + by_row * self._rows
            return run + number * self._size + iterations * iteration
        number, each, by_number, by_other, by_row = WARM_WORK
        iteration = each + by_number * beyond + by_other * self._others + by_row * self._rows
        return number * self._size + iterations * iteration

    def _questions(self) -> float:
        """Questions, each counted by those before it, as cuts gather, and by the size.

        Cuts are separated from rows that tie items to each other, and in columns beyond one per
        item: rows of single items and all else fall to presolve. A search that begins anew asks
        about half of its questions of what is left by then.
        """
        asked = max(0, self._asked - FIRST)
        gathered = min(asked, GATHER)
        aged = gathered * (gathered + 1) / 2 + GATHER * (asked - gathered)
        numbers = self._open * self._size / max(1, self._columns)
        left = min(1.0, self._left / max(1, self._open))
        return aged * (self._coupling + numbers / PER_ROW) * (1 + left) / 2

    def _read(self, scale: float) -> Solution:
        import highspy

        status = self._solver.getModelStatus()
        optimal = status == highspy.HighsModelStatus.kOptimal
        infeasible = status == highspy.HighsModelStatus.kInfeasible
        info = self._solver.getInfo()
        has_values = optimal or (
            self._integer
            and info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        )
        solution = self._solver.getSolution()
        bound = info.mip_dual_bound if self._integer else info.objective_function_value
        return Solution(
            values=np.asarray(solution.col_value) if has_values else None,
            duals=np.asarray(solution.row_dual) * scale
            if has_values and not self._integer
            else None,
            bound=float(bound) * scale,
            finished=optimal or infeasible,
            infeasible=infeasible,
            work=self._work(info.simplex_iteration_count),
        )


def _visible(
    matrix: Sparse, lower: FloatArray, upper: FloatArray, reach: FloatArray
) -> tuple[Sparse, FloatArray, FloatArray]:
    """Leave out coefficients that HiGHS takes for zero; bounds give way by what they could add."""
    tiny = np.flatnonzero((np.abs(matrix.data) <= SMALL) & (matrix.data != 0))
    if not tiny.size:
        return matrix, lower, upper
    column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))[tiny]
    most = matrix.data[tiny] * reach[column]
    row, rows = matrix.indices[tiny], lower.size
    lower = lower - np.bincount(row, np.maximum(most, 0), rows)
    upper = upper - np.bincount(row, np.minimum(most, 0), rows)
    matrix = matrix.copy()
    matrix.data[tiny] = 0.0
    matrix.eliminate_zeros()
    return matrix, lower, upper
