"""`certify`: a proof of how far a clustering can be from the best one there is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from enum import StrEnum
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import IntArray
from bckm._core.validation import read_data, read_not_negative, read_time_limit
from bckm.certificate._relaxation import Multipliers, SDPRelaxation
from bckm.certificate._solve import Solver
from bckm.constraints import Constraints, as_constraints
from bckm.constraints.sample_id import located
from bckm.fit.result import Result, result_on_host
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem
from bckm.verification import verify

MOST_ITEMS = 2_000
AGREE = 1e-6  # share of the inertia by which it may differ if computed again

ROUNDS = 50  # of new stars
ITERATIONS = 40  # in each round
LOOK = 20  # iterations between two bounds
STILL = 8  # rounds within which ...
PROGRESS = 0.01  # ... this share of the gap must close


class Ending(StrEnum):
    """How a search for a bound ended; `message` is a sentence.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> bckm.certify(bckm.kmeans(X, 2, random_state=0), X).status.message
    'the gap is within tol'
    """

    CLOSED = "closed"
    EXHAUSTED = "exhausted"
    ITERATION_LIMIT = "iteration_limit"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"

    @property
    def message(self) -> str:
        """One sentence."""
        return _MESSAGES[self]


_MESSAGES = {
    Ending.CLOSED: "the gap is within tol",
    Ending.EXHAUSTED: "the bound stopped rising: the relaxation is exhausted",
    Ending.ITERATION_LIMIT: "stopped at the iteration limit: the bound might still rise",
    Ending.TIME_LIMIT: "stopped at the time limit: the bound might still rise",
    Ending.INTERRUPTED: "stopped by the user: the bound might still rise",
}


@dataclass(frozen=True)
class BoundStep:
    """The bound during the search.

    Attributes
    ----------
    iteration : int
        Number of iterations; at 0 only the eigenvalues of the data are known.
    lower_bound, gap : float
        Best values so far, see `Certificate`.
    cuts : int
        Number of inequalities in use.
    seconds : float
        Seconds since the search began.

    Examples
    --------
    >>> import bckm
    >>> X, steps = [[0.0], [1.0], [8.0], [9.0]], []
    >>> result = bckm.kmeans(X, 2, random_state=0)
    >>> certificate = bckm.certify(result, X, on_step=steps.append)
    >>> steps[-1].lower_bound == certificate.lower_bound
    True
    """

    iteration: int
    lower_bound: float
    gap: float
    cuts: int
    seconds: float


@dataclass(frozen=True)
class Certificate:
    """A lower bound on the inertia of every clustering that obeys the rules.

    Attributes
    ----------
    objective : float
        Inertia plus penalty of the given clustering.
    lower_bound : float
        No clustering that obeys the rules has a smaller inertia, wherever its centers are. In the
        units of X, and safe against rounding.
    gap : float
        (objective - lower_bound) / objective; 0 if the objective is 0.
    status : Ending
        CLOSED, EXHAUSTED, ITERATION_LIMIT, TIME_LIMIT or INTERRUPTED.
    seconds : float
        Time of the search.
    iterations : int
        Number of iterations.
    rules : tuple of str
        Kinds of rules that the bound uses.
    left_out : tuple of str
        Kinds of rules that it ignores: it is valid without them, but may be weak.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> print(bckm.certify(bckm.kmeans(X, 2, random_state=0), X))
    within ... % of the optimum: no clustering that obeys the rules has an inertia below 0.9999...
    """

    objective: float
    lower_bound: float
    gap: float
    status: Ending
    seconds: float
    iterations: int
    rules: tuple[str, ...]
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        text = (
            f"within {_rounded(100 * self.gap, 2, ROUND_CEILING)} % of the optimum: no clustering "
            "that obeys the rules has an inertia below "
            f"{_rounded(self.lower_bound, 7, ROUND_FLOOR)} (this one: {self.objective:.7g})"
        )
        if self.left_out:
            text += f"; {' and '.join(self.left_out)} were ignored"
        if self.status is not Ending.CLOSED:
            text += f"; {self.status.message}"
        return text


def certify(
    result: Result,
    X: Any,  # noqa: N803
    constraints: Constraints | None = None,
    *,
    sample_weight: Any = None,
    sample_id: Any = None,
    tol: float = 1e-4,
    time_limit: float | None = None,
    on_step: Callable[[BoundStep], None] | None = None,
) -> Certificate:
    """Prove how far a clustering can be from the best one under the same rules.

    The bound is that of a semidefinite relaxation of the whole problem (labels and centers),
    tightened by inequalities that its solution violates. Regardless of convergence, the returned
    number follows from weak duality, with an allowance for rounding. It uses must-links,
    cannot-links and, for sizes, the smallest and largest bounds; capacities, quotas and linear
    rules are ignored. It takes seconds for 200 items (samples, with must-linked ones counted once),
    and the time grows with the cube of their number.

    Parameters
    ----------
    result : Result
        From `bckm.kmeans`, `bckm.load` or `result_` of an estimator.
    X : array or sparse array of shape (n_samples, n_features)
        The data of the fit, with at most 2,000 items.
    constraints : Constraints, optional
        The rules of the fit.
    sample_weight, sample_id :
        As in the fit, see `bckm.kmeans`; the metric is that of the result, and the bound of a
        learned one is one of the learned space.
    tol : float
        Stop at this gap.
    time_limit : float, optional
        Time limit in seconds; the best bound found by then is returned.
    on_step : callable, optional
        Called with each `BoundStep`. Ctrl-C (or KeyboardInterrupt raised here) ends the
        search with the best bound so far.

    Returns
    -------
    Certificate
        The bound, the gap and how the search ended.

    Raises
    ------
    ValueError
        If the result does not match X and the rules: a different number of samples or features,
        labels that violate a rule, a different inertia; if its centers are not the means of its
        clusters; if there are more than 2,000 items.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]]
    >>> rules = bckm.Constraints(cannot_link=[(0, 1)], size_min=2, size_max=2)
    >>> certificate = bckm.certify(bckm.kmeans(X, 3, rules, random_state=0), X, rules)
    >>> certificate.gap <= 1e-4, certificate.rules
    (True, ('size bounds', 'cannot-links'))
    """
    began = time.perf_counter()
    tol, deadline = read_not_negative(tol, "tol"), Deadline.after(read_time_limit(time_limit))
    if on_step is not None and not callable(on_step):
        raise TypeError(f"on_step must be callable; got {on_step!r}.")
    if not isinstance(result, Result):
        raise TypeError(f"certify needs the Result of bckm.kmeans; got {result!r:.60}.")
    constraints = located(as_constraints(constraints), X, sample_id)
    result = result_on_host(result)
    points = result.metric.embedded(X)
    problem = _compiled(result, points, constraints, sample_weight)
    labels = _item_labels(problem, result, points, sample_weight)
    search = _Search(problem, result.objective, tol, deadline, on_step, began)
    try:
        status = search.run(labels)
    except KeyboardInterrupt:
        status = Ending.INTERRUPTED
    rules = _rules(problem)
    return Certificate(
        objective=result.objective,
        lower_bound=search.lower_bound,
        gap=search.gap,
        status=status,
        seconds=time.perf_counter() - began,
        iterations=search.iterations,
        rules=rules.used,
        left_out=rules.left_out,
    )


class _Search:
    """Rounds of iterations and new stars, and the best bound so far."""

    def __init__(
        self,
        problem: Problem,
        inertia: float,
        tol: float,
        deadline: Deadline,
        on_step: Callable[[BoundStep], None] | None,
        began: float,
    ) -> None:
        self.problem, self.inertia, self.tol = problem, inertia, tol
        self.deadline, self.on_step, self.began = deadline, on_step, began
        self.lower_bound = 0.0
        self.iterations = 0

    @property
    def gap(self) -> float:
        """Share of the inertia that is not proven."""
        if self.inertia <= self.problem.zero_tolerance * self.problem.scale:
            return 0.0
        return 1 - self.lower_bound / self.inertia

    def run(self, labels: IntArray) -> Ending:
        """Raise the bound until an end is reached; labels are those of items."""
        relaxation = SDPRelaxation.of(self.problem)
        self._look(relaxation, relaxation.at_zero)
        solver = Solver(relaxation, labels[relaxation.items])
        gaps = [self.gap]
        while self.gap > self.tol:
            if self.deadline.passed:
                return Ending.TIME_LIMIT
            if self.iterations == ROUNDS * ITERATIONS:
                return Ending.ITERATION_LIMIT
            for _ in range(LOOK):
                solver.iterate()
                self.iterations += 1
                if self.deadline.passed:
                    break
            self._look(relaxation, solver.multipliers)
            solver.adjust()
            if self.iterations % ITERATIONS == 0:
                gaps.append(self.gap)
                if len(gaps) > STILL and gaps[-1] > (1 - PROGRESS) * gaps[-1 - STILL]:
                    return Ending.EXHAUSTED
                solver.cut()
        return Ending.CLOSED

    def _look(self, relaxation: SDPRelaxation, multipliers: Multipliers) -> None:
        cost = max(0.0, relaxation.bound(multipliers)) * relaxation.scale
        known = (self.inertia - self.problem.objective(0.0)) / self.problem.scale
        bound = min(self.problem.bound_out(self.problem.safe_bound(cost, known)), self.inertia)
        self.lower_bound = max(self.lower_bound, bound)
        if self.on_step is not None:
            seconds = time.perf_counter() - self.began
            cuts = multipliers.weights.size
            self.on_step(BoundStep(self.iterations, self.lower_bound, self.gap, cuts, seconds))


def _compiled(result: Result, points: Any, constraints: Constraints, sample_weight: Any) -> Problem:
    """The problem that a result answers; refuses data and rules of another fit."""
    data = read_data(points)
    shape, known = data.shape, (result.labels.size, result.embedded.shape[1])
    for what, expected, other in zip(("samples", "features"), known, shape, strict=True):
        if expected != other:
            raise ValueError(f"the result has {expected:,} {what}, but X has {other:,}{_OTHER}")
    n_clusters = len(result.centers)
    broken = verify(result.labels, n_clusters, constraints)
    if broken:
        raise ValueError(f"the labels of the result violate a rule: {str(broken[0])[:-1]}{_OTHER}")
    problem = Problem.build(data, n_clusters, constraints, sample_weight, few=True)
    if problem.structure.n_items > MOST_ITEMS:
        raise ValueError(
            f"certify accepts at most {MOST_ITEMS:,} items (samples, with must-linked ones counted "
            f"once); X has {problem.structure.n_items:,}: certify a fit of fewer samples."
        )
    return problem


def _item_labels(problem: Problem, result: Result, points: Any, sample_weight: Any) -> IntArray:
    """Labels of items; refuses a result whose inertia is another one, or not one around means."""
    labels = np.empty(problem.structure.n_items, np.int64)
    labels[problem.structure.item] = result.labels
    centers = problem.centers_in(result.embedded)
    zero = problem.zero_tolerance * problem.scale
    cost = problem.within(labels, centers)
    inertia = problem.inertia(labels, result.embedded, points, sample_weight, cost)
    for what, stated, actual in (
        ("inertia", result.inertia, inertia),
        ("penalty of soft rules", result.penalty, problem.penalty_out(labels)),
    ):
        if abs(stated - actual) > AGREE * max(result.objective, actual) + zero:
            raise ValueError(
                f"the {what} of the result is {stated:.7g}, but here it is {actual:.7g}{_OTHER}"
            )
    around_means = problem.objective(problem.recentered(labels, centers)[1])
    if result.objective > around_means * (1 + AGREE) + zero:
        raise ValueError(
            f"the centers of this result are not the means of its clusters: its inertia is "
            f"{result.objective:.7g}, but {around_means:.7g} around the means. Results of "
            "bckm.assign_to cannot be certified; to start from centers, use bckm.kmeans(init=...)."
        )
    return labels


_OTHER = "; pass the X, constraints and sample_weight of the fit."


@dataclass(frozen=True)
class _Rules:
    used: tuple[str, ...]
    left_out: tuple[str, ...]


def _rules(problem: Problem) -> _Rules:
    """Kinds of rules of a problem, with and without an effect on the bound."""
    used = [f.words for f in (Feature.SIZES, Feature.CONFLICTS) if f in problem.features]
    if (problem.structure.count > 1).any():
        used.insert(0, "must-links")
    others = (Feature.ROWS, Feature.FIXED, Feature.SOFT_LINKS, Feature.SOFT_SUMS)
    left_out = tuple(
        "capacities, quotas or linear rules" if feature is Feature.ROWS else feature.words
        for feature in others
        if feature in problem.features
    )
    return _Rules(tuple(used), left_out)


def _rounded(value: float, digits: int, way: str) -> str:
    """A number with so many digits, never rounded the other way."""
    return f"{float(Context(digits, way).create_decimal_from_float(value)):.{digits}g}"
