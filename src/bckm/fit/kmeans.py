"""`kmeans`: data and rules in, a verified `Result` out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bckm._core.deadline import Deadline
from bckm._core.validation import read_data
from bckm.assign import Engine, choose
from bckm.constraints import Constraints, as_constraints
from bckm.constraints.sample_id import located
from bckm.feasibility import feasible_start
from bckm.fit.checkpoint import Checkpoint, alone_with_checkpoint, digest, identity
from bckm.fit.learned import learned_metric
from bckm.fit.lloyd import Limits
from bckm.fit.outcome import fitted
from bckm.fit.parameters import documented, read_setting
from bckm.fit.result import Result, Step
from bckm.fit.search.explore import explore
from bckm.fit.search.local import require_moves
from bckm.fit.search.shared import Search
from bckm.fit.search.state import State
from bckm.fit.seeding import starts_of
from bckm.metric.embedding import Metric
from bckm.metric.named import LEARNED, is_learned, read_metric
from bckm.problem.problem import Problem


@alone_with_checkpoint
@documented
def kmeans(
    X: Any,  # noqa: N803
    n_clusters: int,
    constraints: Constraints | None = None,
    *,
    solver: str | Engine = "auto",
    init: Any = "k-means++",
    n_init: int | str = "auto",
    search: str = "auto",
    metric: str | Metric = "euclidean",
    label_bounds: str = "matched",
    max_iter: int = 300,
    tol: float = 1e-4,
    time_limit: float | None = None,
    sample_weight: Any = None,
    sample_id: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    on_step: Callable[[Step], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Result:
    """Cluster samples under rules, or prove that the rules cannot be met.

    Minimizes the sum of squared distances of samples to the center of their cluster over all labels
    that obey the constraints, by alternating optimal assignments and means, followed by a search
    (a local optimum; `bckm.certify` bounds how far it is from the best).

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        Data: NumPy array, nested list, pandas or polars frame, or any SciPy sparse array or matrix,
        which is never made dense (but the centers are).
    n_clusters : int
        Number of clusters, k.
    constraints : Constraints, optional
        The rules. No cluster is empty unless ``size_min=0``.
    {parameters}
    on_step : callable, optional
        Called with each `Step`. Ctrl-C (or KeyboardInterrupt raised here) ends the fit with the
        best labels so far; if no feasible labels are known yet, it propagates.
    checkpoint : path, optional
        File in which a long fit saves its state. If the process is killed, the machine loses power,
        or a time limit or Ctrl-C ends the fit, the same call resumes it and returns exactly the
        result of an uninterrupted fit (except `seconds`, which count this call only). The state is
        saved between runs, that is after each start and each child of the search, at most every
        five seconds: an unfinished run is repeated, and a fit with one start and no search saves
        nothing before its end. `time_limit`, `n_jobs` and `on_step` may change; everything else
        must stay the same: the file of another fit is rejected, and so is a damaged one. The file
        remains after the end, and the same call then returns the result without a new search.
        `random_state` must be a whole number or None, which draws a seed and saves it in the file.
        A second fit with the same file is rejected while this one runs.

    Returns
    -------
    Result
        Labels that passed `verify`, with centers, inertia, bound, status and history.

    Raises
    ------
    InfeasibleError
        If no labels obey the rules; the message names a minimal conflict.
    UndecidedError
        If `time_limit` passed before feasible labels or a proof was found.
    DamagedFileError
        If `checkpoint` is a file that this function did not write.
    FileInUseError
        If another fit is running with the same `checkpoint`.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]]
    >>> rules = bckm.Constraints(cannot_link=[(0, 1)], size_min=2, size_max=2)
    >>> result = bckm.kmeans(X, 3, rules, random_state=0)
    >>> result.sizes.tolist(), bool(result.labels[0] != result.labels[1])
    ([2, 2, 2], True)
    >>> bckm.verify(result.labels, 3, rules)
    []
    >>> places = [[-17.0, 179.9], [-16.0, -179.9], [60.0, 25.0]]  # latitude, longitude
    >>> labels = bckm.kmeans(places, 2, metric="latlon", random_state=0).labels
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """
    began = time.perf_counter()
    max_iter, tol = read_setting("max_iter", max_iter), read_setting("tol", tol)
    search = read_setting("search", search)
    label_bounds = read_setting("label_bounds", label_bounds)
    deadline = Deadline.after(read_setting("time_limit", time_limit))
    if on_step is not None and not callable(on_step):
        raise TypeError(f"on_step must be callable; got {on_step!r}.")
    kept = None if checkpoint is None else Checkpoint(checkpoint)
    constraints = located(as_constraints(constraints), X, sample_id)
    learns = is_learned(metric)
    if learns:
        known = None if kept is None else kept.metric(read_data(X).shape[1])
        space = known or learned_metric(X, n_clusters, constraints, sample_weight, deadline, n_jobs)
        if kept is not None:
            kept.keep(space)
    else:
        space = read_metric(metric)
    points = space.embedded(X)
    problem = Problem.build(points, n_clusters, constraints, sample_weight, n_jobs=n_jobs)
    require_moves(search, problem)
    seed = random_state if kept is None else kept.seed(random_state)
    tied = label_bounds == "given"
    seeding = partial(init, read_data(X)) if callable(init) else init
    starts = starts_of(problem, space, seeding, n_init, search, seed, deadline, tied=tied)
    engine = choose(solver, problem)
    free = not (tied or problem.structure.interchangeable)
    limits = Limits(max_iter, tol, deadline)
    named = not isinstance(solver, str) or solver != "auto"
    plan = Search(problem, engine, limits, search, starts, free, on_step, began, named)
    state = None
    if kept is not None:
        # what is learned follows from data and rules; what was learned before is part of them
        told = LEARNED if learns else space.name
        if space.arrays and not learns:
            told = f"{told} {digest(space.arrays)}"
        words = {"metric": told, "label_bounds": label_bounds}
        data = X if learns else points
        same = identity(plan, data, sample_weight, init, random_state, **words)
        state = kept.resume(same, partial(State.from_tree, problem=problem))
    if state is None:
        start = feasible_start(problem.structure, problem.rules, deadline)
        state = State.first(problem, start)
    state = explore(plan, state, None if kept is None else kept.note)
    if kept is not None:
        kept.write()
    return fitted(plan, state, constraints, space, X, points, sample_weight)
