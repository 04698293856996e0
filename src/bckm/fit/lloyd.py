"""The one loop: assign, update, repeat.

Its promises hold for every engine. Labels are feasible at any time; the inertia never rises; the
centers are the means of the labels; a heuristic's worse answer is refused; a deadline or Ctrl-C
ends it with the best labels so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bckm._core.arrays import Totals
from bckm._core.deadline import Deadline, TimeUp
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm.assign.base import Assigner, Assignment
from bckm.fit.result import Step
from bckm.problem.problem import Problem
from bckm.problem.structure import Structure

EXCHANGES = 60  # exchanged bounds that are tried when the loop stands still,
FEWEST = 4  # fewer where a step looks at many costs, but so many
COSTS = 2e7


@dataclass(frozen=True)
class Limits:
    """When the loop ends: iterations, movement of the centers, time."""

    max_iter: int
    tol: float
    deadline: Deadline


@dataclass(frozen=True, eq=False)
class Run:
    """A clustering, how it came about and how that ended.

    `cost` is that of the labels at the centers; `bound` bounds it from below where an assignment
    to these very centers was made, that is when the loop ended because nothing changed; `prices`
    are those of the last assignment, of this one if there is a bound, and `priced` says whether the
    engine has any.
    """

    labels: IntArray
    centers: FloatArray
    cost: float
    bound: float | None = None
    prices: FloatArray | None = None
    priced: bool = False
    status: Status = Status.ITERATION_LIMIT
    history: tuple[Step, ...] = ()


def alternate(
    problem: Problem,
    assigner: Assigner,
    centers: FloatArray,
    start: IntArray,
    limits: Limits,
    *,
    exchange: bool = False,
    until: Callable[[float, float], bool] | None = None,
    history: Sequence[Step] | None = None,
    report: Callable[[Run], None] | None = None,
    number: int = 0,
    began: float | None = None,
) -> Run:
    """Alternate from given centers until nothing changes.

    Parameters
    ----------
    problem : Problem
        What to solve.
    assigner : Assigner
        Engine prepared for the problem.
    centers : array (k, d)
        First centers.
    start : array (m,)
        Feasible labels.
    limits : Limits
        When to end.
    exchange : bool
        Whether the loop may exchange which center has which bounds.
    until : callable, optional
        Called with the costs before and after each step but the first; ends the loop if true.
    history : sequence of Step, optional
        Steps that led to `start`, if the centers are its means: worse labels are then refused from
        the first step on. Without them `start` is but any feasible labels.
    report : callable, optional
        Called with the run after each step.
    number : int
        Number of this start, for the steps.
    began : float, optional
        When the fit began.
    """
    began = time.perf_counter() if began is None else began
    deadline = limits.deadline
    still = limits.tol * problem.variance
    run = replace(run_from(problem, start, centers), history=tuple(history or ()))
    known, done = history is not None, len(run.history)
    try:
        for iteration in range(1, limits.max_iter + 1):
            if deadline.passed:
                return replace(run, status=Status.TIME_LIMIT)
            found = assigner(centers, run.labels, deadline)
            if known and not _better(found, run):
                run = replace(run, bound=found.bound, prices=found.prices)
                swap = _exchange(assigner, centers, run, found, deadline) if exchange else None
                if swap is None:
                    status = Status.TIME_LIMIT if deadline.passed else Status.CONVERGED
                    return replace(run, status=status)
                found, centers = swap.assignment, centers[swap.order]
            if not known and deadline.passed and np.array_equal(found.labels, run.labels):
                return replace(run, status=Status.TIME_LIMIT)  # there was no time for a step
            after = run_from(problem, found.labels, centers, found.totals)
            if known and after.cost >= run.cost:  # round-off, no progress
                return replace(run, status=Status.CONVERGED)
            step = Step(
                start=number,
                iteration=done + iteration,
                objective=problem.objective(after.cost),
                assigned=problem.objective(found.cost),
                lower_bound=problem.bound_out(found.bound),
                status=found.status,
                moved=problem.structure.samples(found.labels != run.labels),
                seconds=time.perf_counter() - began,
            )
            before, known, priced = run.cost, True, found.prices is not None
            run = replace(after, prices=found.prices, priced=priced, history=(*run.history, step))
            if report is not None:
                report(run)
            shift = float(np.square(run.centers - centers).sum())
            centers = run.centers
            if limits.tol > 0 and shift <= still:
                return replace(run, status=Status.CONVERGED)
            if until is not None and iteration > 1 and until(before, run.cost):
                return run
    except KeyboardInterrupt:
        return replace(run, status=Status.INTERRUPTED)
    except TimeUp:
        return replace(run, status=Status.TIME_LIMIT)
    return run


def run_from(
    problem: Problem, labels: IntArray, centers: FloatArray, known: Totals | None = None
) -> Run:
    """Labels with their means as centers; an empty cluster keeps its given one."""
    return Run(labels, *problem.recentered(labels, centers, known))


def _better(found: Assignment, run: Run) -> bool:
    return found.cost < run.cost and not np.array_equal(found.labels, run.labels)


@dataclass(frozen=True, eq=False)
class _Swap:
    assignment: Assignment
    order: IntArray


def _exchange(
    assigner: Assigner, centers: FloatArray, run: Run, last: Assignment, deadline: Deadline
) -> _Swap | None:
    """Try two centers with each other's bounds; return the best exchange that lowers the cost."""
    pairs, bounds = _exchanges(assigner.structure, last)
    best: _Swap | None = None
    least = run.cost * (1 - 1e-12)
    costs = assigner.structure.n_items * assigner.structure.n_clusters
    most = min(EXCHANGES, max(FEWEST, int(COSTS / costs)))
    for pair, bound in zip(pairs[:most], bounds[:most], strict=True):
        if deadline.passed or bound >= least:  # the bounds of those that follow are no lower
            break
        order = np.arange(len(centers))
        order[pair] = pair[::-1]
        found = assigner(centers[order], run.labels, deadline)
        if found.cost < least:
            best, least = _Swap(found, order), found.cost
    return best


def _exchanges(s: Structure, last: Assignment) -> tuple[IntArray, FloatArray]:
    """Pairs of clusters with different bounds, (p, 2), and what no exchange gets below, (p,).

    Prices of the last assignment stay with the centers. Then every item finds the same clusters at
    the same costs less prices as before, and in the dual value (see `Assignment`) only the terms of
    the two clusters change, which now stand at other bounds: weak duality. Most promising first.
    Without prices nothing is known, and clusters whose bounds are similar come first.
    """
    near, far = np.triu_indices(s.n_clusters, 1)  # ranks
    first = np.argsort(far - near, kind="stable")
    pairs = s.cluster_order[np.stack([near[first], far[first]], axis=1)]
    pairs = pairs[s.cluster_class[pairs[:, 0]] != s.cluster_class[pairs[:, 1]]]
    if last.prices is None:
        return pairs, np.full(len(pairs), -np.inf)
    # what the price of center a adds to the dual value under the bounds of cluster i, (a, i)
    up, down = np.maximum(last.prices, 0), np.maximum(-last.prices, 0)
    term = np.outer(up, s.lower) - np.outer(down, s.upper)
    a, b = pairs.T
    bounds = last.bound + (term[a, b] + term[b, a] - term[a, a] - term[b, b])
    first = np.argsort(bounds, kind="stable")
    return pairs[first], bounds[first]
