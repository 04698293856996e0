"""`assign_to`: labels of a whole batch for centers that stay where they are."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline, TimeUp
from bckm._core.status import Status
from bckm._core.validation import read_centers, read_time_limit
from bckm.assign import Assignment, Engine, choose
from bckm.assign.base import optimality_tolerance
from bckm.constraints import Constraints, as_constraints
from bckm.constraints.sample_id import located
from bckm.feasibility import feasible_start
from bckm.fit.in_blocks import asked_in_blocks, assign_in_blocks
from bckm.fit.outcome import result_of
from bckm.fit.parameters import documented
from bckm.fit.result import Result
from bckm.fit.search.reserve import reserved
from bckm.metric.embedding import Metric
from bckm.metric.named import read_metric
from bckm.problem.problem import Problem


@documented
def assign_to(
    X: Any,  # noqa: N803
    centers: Any,
    constraints: Constraints | None = None,
    *,
    solver: str | Engine = "auto",
    metric: str | Metric = "euclidean",
    sample_weight: Any = None,
    sample_id: Any = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
) -> Result:
    """Assign samples to given centers under rules, or prove that the rules cannot be met.

    Minimizes the sum of squared distances of samples to the center of their cluster over all labels
    that obey the constraints. The centers do not move: label i is row i of `centers` and obeys
    bound i. All samples are assigned together, so the label of one depends on the others.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        Data, as in `bckm.kmeans`.
    centers : array of shape (n_clusters, n_features)
        Center of each cluster.
    constraints : Constraints, optional
        The rules. No cluster is empty unless ``size_min=0``, which fewer samples than clusters
        require.
    solver : str, default="auto"
        Engine, as in `bckm.kmeans`. "auto" tries to prove optimality within a work limit, "exact"
        without one; "lagrangian" gives labels close to the optimum, with a bound.
    {parameters}

    Returns
    -------
    Result
        Labels that passed `verify`. `centers` are the given ones and `status` is OPTIMAL, FEASIBLE
        (no proof), TIME_LIMIT, INTERRUPTED or NOT_STARTED (labels obey the rules, no more).

    Raises
    ------
    InfeasibleError
        If no labels obey the rules; the message names a minimal conflict.
    UndecidedError
        If `time_limit` passed before feasible labels or a proof was found.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [1.0], [2.0], [9.0]]
    >>> result = bckm.assign_to(X, [[0.0], [10.0]], bckm.Constraints(size_max=2))
    >>> result.labels.tolist(), result.inertia, result.status.value
    ([0, 0, 1, 1], 66.0, 'optimal')
    """
    began = time.perf_counter()
    deadline = Deadline.after(read_time_limit(time_limit))
    given = read_centers(centers, "centers")
    constraints = as_constraints(constraints)
    beyond = {"solver": solver, "metric": metric, "sample_weight": sample_weight}
    in_blocks = asked_in_blocks(
        X, len(given), constraints, **beyond, sample_id=sample_id, n_jobs=n_jobs, few=True
    )
    if in_blocks is not None:
        return assign_in_blocks(*in_blocks, given, deadline, n_jobs, began)
    constraints = located(constraints, X, sample_id)
    space = read_metric(metric)
    points = space.embedded(X)
    problem = Problem.build(points, len(given), constraints, sample_weight, n_jobs=n_jobs, few=True)
    features = space.n_features(problem.points.shape[1])
    if given.shape[1] != features:
        raise ValueError(f"centers have {given.shape[1]} features, but X has {features}.")
    embedded = space.embedded(given, "centers")
    engine = choose(solver, problem, once=True)
    start = feasible_start(problem.structure, problem.rules, deadline)
    at = problem.given_centers(embedded, "centers")
    status, counters, quick = Status.INTERRUPTED, {}, None
    assignment = Assignment(start, np.inf, problem.safe_bound(0.0, problem.within(start, at)))
    try:
        quick = reserved(problem, engine, start, at, deadline, still=True)
        assigner = engine.prepare(problem)
        assignment = assigner(at, start, deadline)
        counters = dict(assigner.counters)
        status = Status.FEASIBLE
    except KeyboardInterrupt:
        pass
    except TimeUp:
        status = Status.TIME_LIMIT
    # what labels cost without the touch that leads weightless samples
    cost = problem.within(assignment.labels, at)
    tolerance = optimality_tolerance(problem)
    assignment = replace(
        assignment, cost=cost, bound=min(assignment.bound, cost), totals=None, tolerance=tolerance
    )
    if status is Status.FEASIBLE:
        late = assignment.status is not Status.OPTIMAL and deadline.passed
        status = Status.TIME_LIMIT if late else assignment.status
    if status.stopped and quick is not None and (less := problem.within(quick, at)) < cost:
        assignment = replace(
            assignment, labels=quick, cost=less, bound=min(assignment.bound, less), prices=None
        )
    if status.stopped and np.array_equal(assignment.labels, start):
        status = Status.NOT_STARTED
    return result_of(
        problem,
        constraints,
        assignment,
        points,
        sample_weight,
        still=True,
        centers=given,
        embedded=embedded,
        metric=space,
        status=status,
        history=(),
        seconds=time.perf_counter() - began,
        solver=engine.name,
        counters=counters,
    )
