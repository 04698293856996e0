"""Which data are read in blocks, what can be asked of them, and the two answers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline, TimeUp
from bckm._core.status import Status
from bckm._core.types import FloatArray
from bckm._core.validation import read_centers, read_cluster_count, read_jobs, read_n_clusters
from bckm.blocks.holder import Holder
from bckm.blocks.holders import holder_of
from bckm.blocks.sources import fits_memory
from bckm.constraints import Constraints
from bckm.constraints.sample_id import located
from bckm.exceptions import UndecidedError, UnsupportedError
from bckm.feasibility import require_sizes
from bckm.fit.checkpoint import Checkpoint, identity_in_blocks
from bckm.fit.in_blocks._loop import SOLVER, TOO_SHORT, Ended, State, alternate, result_of
from bckm.fit.in_blocks._surveyed import Sizes, Surveyed
from bckm.fit.in_memory import kmeans_in_memory
from bckm.fit.listener import Listener
from bckm.fit.result import Result
from bckm.fit.settings import Settings

SHARE = 0.3  # of the time that is left, for the fit of the sample


def asked_in_blocks(
    X: Any,  # noqa: N803
    n_clusters: int,
    constraints: Constraints,
    *,
    solver: Any,
    metric: Any,
    sample_weight: Any,
    sample_id: Any,
    n_jobs: Any,
    objective: str = "compact",
    few: bool = False,
) -> tuple[Holder, Sizes] | None:
    """Who holds the data and what is asked, if they are to be read in blocks; None: in memory.

    If more is asked than sizes, an array in memory stays there, and one on disk that is not large
    is loaded; of other data that is refused.

    Raises
    ------
    UnsupportedError
        With the way out.
    InfeasibleError
        If sizes cannot be met.
    """
    holder = holder_of(X, read_jobs(n_jobs))
    if holder is None:
        return None
    in_memory = fits_memory(X)
    beyond = _beyond(constraints, solver, metric, sample_weight, None if in_memory else sample_id)
    if objective != "compact":
        beyond = f"objective={objective!r} works"
    if beyond:
        if in_memory:
            return None
        raise UnsupportedError(f"{beyond} only {holder.elsewhere}")
    n = holder.n_rows
    k = read_cluster_count(n_clusters) if few else read_n_clusters(n_clusters, n)
    rules = located(constraints, None, None, n).rules(n, k)
    return holder, Sizes(*require_sizes(rules, n, k))


def _beyond(
    constraints: Constraints, solver: Any, metric: Any, sample_weight: Any, sample_id: Any
) -> str:
    """What is asked beyond sizes: the beginning of a sentence."""
    if not isinstance(solver, str) or solver not in ("auto", SOLVER):
        return f"solver={solver!r:.40} works"
    if metric != "euclidean":
        return f"metric={metric!r:.40} works"
    if sample_weight is not None:
        return "sample_weight works"
    if sample_id is not None:
        return "sample_id has a use"
    linked = (constraints.must_link, constraints.cannot_link, constraints.fixed_and_forbidden)
    if any(linked) or constraints.statements or constraints.stay or constraints.softened:
        return "rules other than size_min and size_max work"
    return ""


def kmeans_in_blocks(
    holder: Holder, sizes: Sizes, settings: Settings, kept: Checkpoint | None = None
) -> Result:
    """Fit data in blocks.

    Parameters
    ----------
    holder : Holder
        The data.
    sizes : Sizes
        Bounds that can be met.
    settings : Settings
        Parameters.
    kept : Checkpoint, optional
        The file of an interrupted fit.
    """
    deadline = settings.deadline
    try:
        data = Surveyed.of(holder, sizes, deadline)
        deadline.check()
        state = None
        seed = settings.random_state if kept is None else kept.seed(settings.random_state)
        if kept is not None:
            words = ("n_init", "search", "label_bounds", "max_iter", "tol")
            same = identity_in_blocks(
                data.survey,
                (sizes.lower, sizes.upper),
                settings.init,
                settings.random_state,
                **{word: getattr(settings, word) for word in words},
            )
            k, d = sizes.lower.size, holder.n_features
            state = kept.resume(same, partial(State.from_tree, n_clusters=k, n_features=d))
        if state is None:
            settings.listener.phase("seeding")
            state = _start(data, settings, seed)
    except TimeUp:
        raise UndecidedError(TOO_SHORT) from None
    coordinator = data.coordinator(read_jobs(settings.n_jobs))
    if not state.history:
        settings.listener.phase("assignment")
    ended = alternate(data, coordinator, state, settings, kept)
    return result_of(data, coordinator, ended, settings.began)


def _start(data: Surveyed, settings: Settings, seed: Any) -> State:
    """First centers, from a fit of the sample in memory unless they are given."""
    k, d = data.sizes.lower.size, data.holder.n_features
    tied, given = settings.label_bounds == "given", None
    if not isinstance(settings.init, str) and not callable(settings.init):
        given = read_centers(settings.init, "init", shape=(k, d))
    if tied and given is None:
        raise ValueError("label_bounds='given' ties label i to center i: pass an array as init.")
    if given is not None and (tied or data.sizes.interchangeable):
        return State(data.frame.inside(given), np.zeros(k))
    rows, deadline = data.survey.rows, settings.deadline
    if not np.isinf(deadline.at):
        deadline = deadline.share(SHARE)
    bounds = data.sizes.of_sample(data.survey.n, len(rows))
    own = replace(settings, random_state=seed, deadline=deadline, listener=Listener())
    result = kmeans_in_memory(rows, k, bounds, own)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    prices = np.zeros(k) if result.prices is None else result.prices / data.scale
    return State(data.frame.inside(result.centers), prices)


def assign_in_blocks(
    holder: Holder, sizes: Sizes, centers: FloatArray, deadline: Deadline, n_jobs: Any, began: float
) -> Result:
    """Assign data in blocks to centers that stay where they are."""
    if centers.shape[1] != holder.n_features:
        raise ValueError(
            f"centers have {centers.shape[1]} features, but X has {holder.n_features}."
        )
    try:
        data = Surveyed.of(holder, sizes, deadline)
        state = State(data.frame.inside(centers), np.zeros(len(centers)))
        coordinator = data.coordinator(read_jobs(n_jobs))
        found = coordinator.step(state.centers, state.prices, None, deadline)
    except TimeUp:
        raise UndecidedError(TOO_SHORT) from None
    ended = Ended(found, state, (), data.status(found))
    return result_of(data, coordinator, ended, began, centers)
