"""The one loop: assign, update, repeat.

Its promises hold for every engine. Labels are feasible at any time; the inertia never rises; the
centres are the means of the labels; the nearest assignment is tried first, because if it is
feasible it is optimal; a heuristic's worse answer is refused; a deadline or Ctrl-C ends it with the
best labels so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from bckm._types import FloatArray, IntArray
from bckm.assign.base import Assigner, Assignment, Deadline
from bckm.problem import Problem
from bckm.result import Status, Step

EXCHANGES = 60  # exchanged bounds that are tried when the loop stands still


@dataclass(frozen=True)
class Limits:
    """When the loop ends: iterations, movement of the centres, time."""

    max_iter: int
    tol: float
    deadline: Deadline


@dataclass(eq=False)
class Run:
    """State and outcome of one start.

    `cost` is that of the labels at the centres; `bound` bounds it from below where an assignment
    to these very centres was made, that is when the loop ended because nothing changed.
    """

    labels: IntArray
    centres: FloatArray
    cost: float
    bound: float | None = None
    status: Status = Status.ITERATION_LIMIT
    history: list[Step] = field(default_factory=list)


def alternate(
    problem: Problem,
    assigner: Assigner,
    centres: FloatArray,
    start: IntArray,
    limits: Limits,
    *,
    exchange: bool = False,
    on_step: Callable[[Step], None] | None = None,
    number: int = 0,
    began: float | None = None,
) -> Run:
    """Alternate from given centres until nothing changes.

    Parameters
    ----------
    problem : Problem
        What to solve.
    assigner : Assigner
        Engine prepared for the problem.
    centres : array (k, d)
        First centres.
    start : array (m,)
        Feasible labels.
    limits : Limits
        When to end.
    exchange : bool
        Whether the loop may exchange which centre has which bounds.
    on_step : callable, optional
        Called with each `Step`.
    number : int
        Number of this start, for the steps.
    began : float, optional
        When the fit began.
    """
    began = time.perf_counter() if began is None else began
    deadline = limits.deadline
    still = limits.tol * problem.variance
    run = run_from(problem, start, centres)
    try:
        for iteration in range(1, limits.max_iter + 1):
            if deadline.passed:
                run.status = Status.TIME_LIMIT
                return run
            cost = problem.cost(centres)
            found = _assign(problem, assigner, cost, run.labels, deadline)
            # the labels before the first step are any feasible ones: nothing to compare with
            if iteration > 1 and not _better(found, run):
                run.bound = found.bound
                swap = _exchange(problem, assigner, cost, run, deadline) if exchange else None
                if swap is None:
                    run.status = Status.TIME_LIMIT if deadline.passed else Status.CONVERGED
                    return run
                found, centres = swap.assignment, centres[swap.order]
            after = run_from(problem, found.labels, centres)
            if iteration > 1 and after.cost >= run.cost:  # round-off, no progress
                run.status = Status.CONVERGED
                return run
            step = Step(
                start=number,
                iteration=iteration,
                inertia=problem.inertia(after.cost),
                assigned=problem.inertia(found.cost),
                lower_bound=problem.inertia(found.bound),
                status=found.status,
                moved=int(problem.structure.count[found.labels != run.labels].sum()),
                seconds=time.perf_counter() - began,
            )
            after.history = [*run.history, step]
            run = after
            if on_step is not None:
                on_step(step)
            shift = float(np.square(run.centres - centres).sum())
            centres = run.centres
            if limits.tol > 0 and shift <= still:
                run.status = Status.CONVERGED
                return run
    except KeyboardInterrupt:
        run.status = Status.INTERRUPTED
    return run


def run_from(problem: Problem, labels: IntArray, centres: FloatArray) -> Run:
    """Labels with their means as centres; an empty cluster keeps its given one."""
    means = problem.means(labels, centres)
    return Run(labels, means, problem.within(labels, means))


def _better(found: Assignment, run: Run) -> bool:
    return found.cost < run.cost and not np.array_equal(found.labels, run.labels)


def _assign(
    problem: Problem, assigner: Assigner, cost: FloatArray, labels: IntArray, deadline: Deadline
) -> Assignment:
    nearest = cost.argmin(axis=1)
    if problem.structure.feasible(nearest):
        total = float(cost[np.arange(nearest.size), nearest].sum())
        return Assignment(nearest, total, total)
    return assigner(cost, labels, deadline)


@dataclass(frozen=True, eq=False)
class _Swap:
    assignment: Assignment
    order: IntArray


def _exchange(
    problem: Problem, assigner: Assigner, cost: FloatArray, run: Run, deadline: Deadline
) -> _Swap | None:
    """Try two centres with each other's bounds; return the best exchange that lowers the cost."""
    s = problem.structure
    rank = s.cluster_order
    pairs = [
        (rank[a], rank[b])
        for a, b in sorted(combinations(range(rank.size), 2), key=lambda p: p[1] - p[0])
        if s.cluster_class[rank[a]] != s.cluster_class[rank[b]]
    ]
    best: _Swap | None = None
    least = run.cost * (1 - 1e-12)
    for pair in pairs[:EXCHANGES]:
        if deadline.passed:
            break
        order = np.arange(rank.size)
        order[list(pair)] = order[list(pair)[::-1]]
        found = _assign(problem, assigner, cost[:, order], run.labels, deadline)
        if found.cost < least:
            best, least = _Swap(found, order), found.cost
    return best
