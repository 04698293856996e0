"""`kmeans`: data and rules in, a verified `Result` out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from bckm._core.deadline import Deadline
from bckm.assign import Engine
from bckm.constraints import Constraints, as_constraints
from bckm.constraints.sample_id import located
from bckm.fit.checkpoint import Checkpoint, alone_with_checkpoint
from bckm.fit.in_blocks import asked_in_blocks, kmeans_in_blocks
from bckm.fit.in_memory import kmeans_in_memory
from bckm.fit.listener import Best, Listener
from bckm.fit.mixed.door import kmeans_mixed
from bckm.fit.parameters import documented, read_setting
from bckm.fit.result import Result, Step
from bckm.fit.settings import Settings
from bckm.metric.embedding import Metric


@alone_with_checkpoint
@documented
def kmeans(
    X: Any,  # noqa: N803
    n_clusters: int,
    constraints: Constraints | None = None,
    *,
    objective: str = "compact",
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
    on_best: Callable[[Best], None] | None = None,
    on_phase: Callable[[str], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Result:
    """Cluster samples under rules, or prove that the rules cannot be met.

    Minimizes the sum of squared distances of samples to the center of their cluster over all labels
    that obey the constraints, by alternating optimal assignments and means, followed by a search
    (a local optimum; `bckm.certify` bounds how far it is from the best). With
    ``objective="mixed"`` it makes clusters that are alike instead, by moves alone.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        Data: NumPy array, nested list, pandas or polars frame, or any SciPy sparse array or matrix,
        which is never made dense (but the centers are). Under no rules but sizes also data larger
        than memory, which are read in blocks: the path of a Parquet file or folder (or
        `bckm.ParquetRows`, for some columns), a Zarr array, a dask array, and an array or memory
        map of more than 2**27 numbers (of any size as `bckm.ArrayRows`); and an array that lives on
        a GPU (CuPy, PyTorch, JAX), which stays there. The first centers then come from a fit of a
        sample, and the last assignment is one to the centers returned.
    n_clusters : int
        Number of clusters, k.
    constraints : Constraints, optional
        The rules. No cluster is empty unless ``size_min=0``.
    {parameters}
    on_step : callable, optional
        Called with each `Step`. Ctrl-C (or KeyboardInterrupt raised here) ends the fit with the
        best labels so far; if no feasible labels are known yet, it propagates.
    on_best : callable, optional
        Called with a `Best` whenever labels are found that are better than all before, over all
        starts and the search: its `labels` are made when they are asked for. Where data are read in
        blocks, that takes a pass over them.
    on_phase : callable, optional
        Called with a word when something else begins, also where no step is made for long:
        "metric" (it is learned), "rules" (can they be met?), "seeding" (the first centers of a
        start), "assignment" (the first one), "search" (what follows the starts).
    checkpoint : path, optional
        File in which a long fit saves its state. If the process is killed, the machine loses power,
        or a time limit or Ctrl-C ends the fit, the same call resumes it and returns exactly the
        result of an uninterrupted fit (except `seconds`, which count this call only). The state is
        saved between runs, that is after each start and each child of the search, at most every
        five seconds: an unfinished run is repeated, and a fit with one start and no search saves
        nothing before its end. `time_limit`, `n_jobs` and callables may change; everything else
        must stay the same: the file of another fit is rejected, and so is a damaged one. The file
        remains after the end, and the same call then returns the result without a new search.
        `random_state` must be a whole number or None, which draws a seed and saves it in the file.
        A second fit with the same file is rejected while this one runs. Where data are read in
        blocks, the state is saved between steps, and data count as the same if their number, their
        range and the rows of the sample are.

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
    UnsupportedError
        If data that are not in memory, or on a GPU, are to obey more than sizes.
    ImportError
        If X lives on a GPU and CuPy is not installed.
    DamagedFileError
        If `checkpoint` is a file that this function did not write.
    FileInUseError
        If another fit is running with the same `checkpoint`.

    Examples
    --------
    >>> import bckm, numpy as np
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
    >>> bckm.kmeans(X, 2, objective="mixed", random_state=0).centers.round(2).tolist()
    [[3.37], [3.1]]
    >>> rows = bckm.ArrayRows(np.arange(8.0)[:, None])  # as if they were on disk
    >>> bckm.kmeans(rows, 2, bckm.Constraints(size_max=4), random_state=0).sizes.tolist()
    [4, 4]
    """
    began = time.perf_counter()
    max_iter, tol = read_setting("max_iter", max_iter), read_setting("tol", tol)
    search, objective = read_setting("search", search), read_setting("objective", objective)
    label_bounds = read_setting("label_bounds", label_bounds)
    deadline = Deadline.after(read_setting("time_limit", time_limit))
    listener = Listener(on_step, on_best, on_phase)
    kept = None if checkpoint is None else Checkpoint(checkpoint)
    constraints = as_constraints(constraints)
    beyond = {"solver": solver, "metric": metric, "sample_weight": sample_weight}
    in_blocks = asked_in_blocks(
        X,
        n_clusters,
        constraints,
        **beyond,
        objective=objective,
        sample_id=sample_id,
        n_jobs=n_jobs,
    )
    how = (init, n_init, search, label_bounds, max_iter, tol, random_state, n_jobs)
    settings = Settings(*how, deadline, listener, began)
    if in_blocks is not None:
        return kmeans_in_blocks(*in_blocks, settings, kept)
    constraints = located(constraints, X, sample_id)
    if objective != "compact":
        variances = objective == "mixed_variances"
        return kmeans_mixed(
            X, n_clusters, constraints, settings, variances=variances, **beyond, kept=kept
        )
    return kmeans_in_memory(X, n_clusters, constraints, settings, **beyond, kept=kept)
