"""A fit of data in memory: compile, find labels that obey, search, verify."""

from __future__ import annotations

from functools import partial
from typing import Any

from bckm._core.validation import read_data
from bckm.assign import Engine, choose
from bckm.constraints import Constraints
from bckm.feasibility import feasible_start
from bckm.fit.checkpoint import Checkpoint, digest, identity
from bckm.fit.learned import learned_metric
from bckm.fit.lloyd import Limits
from bckm.fit.outcome import fitted
from bckm.fit.result import Result
from bckm.fit.search.explore import explore
from bckm.fit.search.local import require_moves
from bckm.fit.search.shared import Search
from bckm.fit.search.state import State
from bckm.fit.seeding import starts_of
from bckm.fit.settings import Settings
from bckm.metric.embedding import Metric
from bckm.metric.named import LEARNED, is_learned, read_metric
from bckm.problem.problem import Problem


def kmeans_in_memory(
    X: Any,  # noqa: N803
    n_clusters: int,
    constraints: Constraints,
    settings: Settings,
    *,
    solver: str | Engine = "auto",
    metric: str | Metric = "euclidean",
    sample_weight: Any = None,
    kept: Checkpoint | None = None,
) -> Result:
    """Fit data in memory.

    Parameters
    ----------
    X, n_clusters, solver, metric, sample_weight :
        As in `bckm.kmeans`.
    constraints : Constraints
        Rules about positions.
    settings : Settings
        All other parameters.
    kept : Checkpoint, optional
        The file of an interrupted fit.
    """
    init, search, deadline = settings.init, settings.search, settings.deadline
    learns = is_learned(metric)
    if learns:
        settings.listener.phase("metric")
        known = None if kept is None else kept.metric(read_data(X).shape[1])
        space = known or learned_metric(
            X, n_clusters, constraints, sample_weight, deadline, settings.n_jobs
        )
        if kept is not None:
            kept.keep(space)
    else:
        space = read_metric(metric)
    points = space.embedded(X)
    problem = Problem.build(points, n_clusters, constraints, sample_weight, n_jobs=settings.n_jobs)
    require_moves(search, problem)
    seed = settings.random_state if kept is None else kept.seed(settings.random_state)
    tied = settings.label_bounds == "given"
    seeding = partial(init, read_data(X)) if callable(init) else init
    starts = starts_of(problem, space, seeding, settings.n_init, search, seed, deadline, tied=tied)
    engine = choose(solver, problem)
    free = not (tied or problem.structure.interchangeable)
    limits = Limits(settings.max_iter, settings.tol, deadline)
    named = not isinstance(solver, str) or solver != "auto"
    told = (settings.listener, settings.began)
    plan = Search(problem, engine, limits, search, starts, free, *told, named)
    state = None
    if kept is not None:
        # what is learned follows from data and rules; what was learned before is part of them
        named_metric = LEARNED if learns else space.name
        if space.arrays and not learns:
            named_metric = f"{named_metric} {digest(space.arrays)}"
        words = {"metric": named_metric, "label_bounds": settings.label_bounds}
        data = X if learns else points
        same = identity(plan, data, sample_weight, init, settings.random_state, **words)
        state = kept.resume(same, partial(State.from_tree, problem=problem))
    if state is None:
        settings.listener.phase("rules")
        start = feasible_start(problem.structure, problem.rules, deadline)
        state = State.first(problem, start)
    state = explore(plan, state, None if kept is None else kept.note)
    if kept is not None:
        kept.write()
    return fitted(plan, state, constraints, space, X, points, sample_weight)
