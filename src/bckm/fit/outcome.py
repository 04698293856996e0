"""What a fit found becomes a `Result`: labels of samples, the units of X, verified."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from bckm._core.deadline import TimeUp
from bckm._core.types import IntArray
from bckm._core.validation import read_weight
from bckm.assign import Assignment
from bckm.assign.base import optimality_tolerance
from bckm.constraints import Constraints
from bckm.fit.result import Result, SoftViolation
from bckm.fit.search.shared import Search
from bckm.fit.search.state import State
from bckm.fit.violations import Moves, soft_violations
from bckm.metric.embedding import Metric, Sample
from bckm.problem.problem import Problem
from bckm.verification import verify

SMALL = 20_000  # costs (items x clusters) up to which any engine is asked for a bound
AGREE = 1e-12  # share of the cost by which sums of squares may differ if added up in another way


def fitted(
    search: Search,
    state: State,
    constraints: Constraints,
    space: Metric,
    data: Any,
    points: Any,
    sample_weight: Any,
) -> Result:
    """The result of a search that is over.

    `points` and `sample_weight` are those of the problem; `space` leads from `data` there and back.
    """
    problem, engine, deadline = search.problem, search.engine, search.limits.deadline
    s, best, counters = problem.structure, state.best, state.counters
    worth = best.priced or engine.cheap_bound or s.n_items * s.n_clusters <= SMALL
    means, lost = problem.centers_out(best.centers), 0.0
    centers = problem.centers_in(means)  # far from zero there is not a number for every mean
    tolerance, unknown = optimality_tolerance(problem), best.bound is None
    if best.bound is not None:
        lost = problem.lost_between(best.centers, centers, best.bound)
        before = Assignment(best.labels, best.cost, best.bound, tolerance=tolerance)
        unknown = before.status != replace(before, bound=best.bound - lost).status
    if worth and unknown and not best.status.stopped:
        # the last centers are means that nothing was assigned to, or so far from zero that optimal
        # labels might be no more: what is it worth there? That is not to depend on what an engine
        # did before, which a checkpoint does not keep
        with suppress(TimeUp):
            assigner = engine.prepare(problem)
            last = assigner(centers, best.labels, deadline)
            counters = counters + assigner.counters
            if best.bound is None or last.bound >= best.bound - lost:
                best, lost = replace(best, bound=last.bound, prices=last.prices), 0.0
    cost, bound = problem.within(best.labels, centers), best.bound
    if abs(cost - best.cost) <= AGREE * cost:  # as the last step tells it
        cost = best.cost
    prices = None if bound is None else best.prices
    if bound is not None:
        bound -= lost
    else:  # no assignment to the last centers was made: what nearest labels would cost
        bound = problem.safe_bound(0.0, cost)  # where time is up, there is none for a look at items
        if not (best.status.stopped or deadline.passed):
            nearest = float(problem.nearest(centers)[1].sum())
            bound = problem.safe_bound(nearest, cost, centers)
    of = Sample(data, points, s.item, read_weight(sample_weight, s.item.size))
    return result_of(
        problem,
        constraints,
        Assignment(best.labels, cost, min(bound, cost), prices, tolerance=tolerance),
        points,
        sample_weight,
        centers=space.centers(means, s.expand(best.labels), of),
        embedded=means,
        metric=space,
        status=best.status,
        history=best.history,
        seconds=time.perf_counter() - search.began,
        solver=engine.name,
        counters=dict(counters),
    )


def result_of(
    problem: Problem,
    constraints: Constraints,
    assignment: Assignment,
    data: Any,
    sample_weight: Any,
    *,
    still: bool = False,
    **rest: Any,
) -> Result:
    """Bring an assignment to samples and to the units of X; only labels that obey leave here.

    `data` and `sample_weight` are those of the problem, where `embedded` centers are at home.
    Centers that are `still` were given, and follow no labels.
    """
    embedded = rest["embedded"]
    labels = verified(problem, constraints, assignment.labels)
    moves = Moves(problem, assignment.labels, problem.centers_in(embedded), still=still)
    objective = problem.objective(assignment.cost)
    penalty, violated = charged(moves, constraints, objective)
    inertia = problem.inertia(assignment.labels, embedded, data, sample_weight, assignment.cost)
    return Result(
        labels=labels,
        inertia=inertia,
        penalty=penalty,
        violated=violated,
        lower_bound=min(problem.bound_out(assignment.bound), inertia + penalty),
        assignment_status=assignment.status,
        sizes=np.bincount(labels, minlength=problem.structure.n_clusters),
        prices=None if assignment.prices is None else problem.prices_out(assignment.prices),
        **rest,
    )


def verified(problem: Problem, constraints: Constraints, labels: IntArray) -> IntArray:
    """Labels of samples, which the independent checker has seen; only such labels leave here."""
    expanded = problem.structure.expand(labels)
    broken = verify(expanded, problem.structure.n_clusters, constraints)
    if broken:  # cannot happen; if it does, no labels leave the library
        raise RuntimeError(
            f"bug in bckm: its labels violate a rule ({broken[0]}). Please report it."
        )
    return expanded


def charged(
    moves: Moves, constraints: Constraints, objective: float
) -> tuple[float, tuple[SoftViolation, ...]]:
    """What violated soft rules cost, and these, as the independent checker sees them."""
    problem = moves.problem
    violated, penalty = soft_violations(moves, constraints), problem.penalty_out(moves.labels)
    paid = sum(violation.penalty for violation in violated)
    dust = float(problem.prices_out(np.array(problem.soft.rounding_penalty)))
    if abs(paid - penalty) > 1e-6 * objective + dust:
        raise RuntimeError(
            f"bug in bckm: soft rules cost {paid:g}, not {penalty:g}. Please report it."
        )
    return penalty, violated
