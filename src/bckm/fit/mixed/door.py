"""A fit with ``objective="mixed"``: compile, find labels that obey, search, verify."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from bckm._core.rounding import rounded_down
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import read_data, read_n_clusters, read_weight
from bckm.constraints import Constraints
from bckm.exceptions import UnsupportedError
from bckm.feasibility import feasible_start
from bckm.fit.checkpoint import Checkpoint, identity_of
from bckm.fit.mixed.measure import NOTHING, PROVEN, Mixed, given_sizes, least_differences
from bckm.fit.mixed.points import Points, with_squares
from bckm.fit.mixed.search import MixedSearch, MixedState, explore
from bckm.fit.mixed.sizes import equally_sized, states_sizes
from bckm.fit.outcome import charged, verified
from bckm.fit.parameters import read_setting
from bckm.fit.result import Result
from bckm.fit.settings import Settings
from bckm.fit.violations import Moves
from bckm.metric.named import LEARNED, is_learned, read_metric
from bckm.problem.problem import Problem


def kmeans_mixed(
    X: Any,  # noqa: N803
    n_clusters: int,
    constraints: Constraints,
    settings: Settings,
    *,
    variances: bool,
    solver: Any = "auto",
    metric: Any = "euclidean",
    sample_weight: Any = None,
    kept: Checkpoint | None = None,
) -> Result:
    """Make mixed groups of data in memory.

    Parameters
    ----------
    X, n_clusters, solver, metric, sample_weight :
        As in `bckm.kmeans`.
    constraints : Constraints
        Rules about positions.
    settings : Settings
        All other parameters.
    variances : bool
        Whether variances are to be alike, too.
    kept : Checkpoint, optional
        The file of an interrupted fit.
    """
    _refuse_centers(solver, metric, settings)
    read = read_data(X)
    if hasattr(read, "tocsr"):
        raise UnsupportedError(
            "objective='mixed' needs dense data, but X is sparse; reduce the features (for example "
            "with sklearn's TruncatedSVD) to dense data."
        )
    data = np.asarray(read, np.float64)
    weight = read_weight(sample_weight, len(data))
    k = read_n_clusters(n_clusters, len(data))
    points = with_squares(data, weight) if variances else data
    deadline = settings.deadline
    settings.listener.phase("rules")
    start = None
    if states_sizes(constraints, len(data), k):
        problem = Problem.build(points, k, constraints, sample_weight, n_jobs=settings.n_jobs)
    else:
        problem, constraints, start = equally_sized(
            points, k, constraints, sample_weight, settings.n_jobs, deadline
        )
    least, least_spread = _least(problem, points, weight)
    n_init = read_setting("n_init", settings.n_init)
    seed = settings.random_state if kept is None else kept.seed(settings.random_state)
    search = MixedSearch(
        problem,
        Points(problem),
        settings.search,
        n_init,
        _entropy(seed),
        least / problem.scale,
        deadline,
        settings.listener,
        settings.began,
    )
    state = None
    if kept is not None:
        first = {"objective": "mixed_variances" if variances else "mixed"}
        then = {"starts": search.n_first, "search": search.kind}
        same = identity_of(problem, data, sample_weight, settings.random_state, first, then)
        state = kept.resume(same, partial(MixedState.from_tree, search=search))
    if state is None:
        if start is None:
            start = feasible_start(problem.structure, problem.rules, deadline)
        state = MixedState(start, search.run(start))
    state = explore(search, state, None if kept is None else kept.note)
    if kept is not None:
        kept.write()
    d = data.shape[1]
    return _result(search, state, constraints, data, weight, variances, least, least_spread[:d])


def _refuse_centers(solver: Any, metric: Any, settings: Settings) -> None:
    """Refuse what is about centers that attract samples: there are none here."""
    name = LEARNED if is_learned(metric) else read_metric(metric).name
    if name != "euclidean":
        raise UnsupportedError(
            f"objective='mixed' compares means of features, not metric={name!r}: leave the metric "
            "out, and pass places as coordinates in a plane."
        )
    if not isinstance(solver, str) or read_setting("solver", solver) != "auto":
        raise UnsupportedError(
            "objective='mixed' assigns samples to no centers, so no solver is of use; leave it out."
        )
    if not isinstance(settings.init, str):
        raise UnsupportedError(
            "objective='mixed' begins with no centers; leave init out. To keep to earlier groups, "
            "use Constraints(stay=...) or fixed=..."
        )
    read_setting("init", settings.init)
    if settings.label_bounds != "matched":
        raise UnsupportedError("objective='mixed' has no initial centers that bounds belong to.")


def _entropy(random_state: Any) -> int:
    """One number that all runs are seeded by."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    seed = read_setting("random_state", random_state)
    return int(np.random.SeedSequence(seed).entropy)  # type: ignore[arg-type]


def _least(problem: Problem, points: FloatArray, weight: FloatArray) -> tuple[float, FloatArray]:
    """What no labels get below between clusters, and the spread of each feature."""
    sizes = given_sizes(problem.structure)
    if sizes is None or (sizes == 0).any() or np.ptp(weight) > 0:
        return 0.0, np.zeros(points.shape[1])
    found = [least_differences(column, sizes) for column in points.T]
    between = float(weight[0]) * sum(one[0] for one in found)
    return max(rounded_down(between), 0.0), np.array([one[1] for one in found])


def _result(
    search: MixedSearch,
    state: MixedState,
    constraints: Constraints,
    data: FloatArray,
    weight: FloatArray,
    variances: bool,
    least: float,
    least_spread: FloatArray,
) -> Result:
    """The result of a search that is over; only labels that obey leave here."""
    problem, best, d = search.problem, state.best, data.shape[1]
    k = problem.structure.n_clusters
    labels = verified(problem, constraints, best.labels)
    moves = Moves(problem, best.labels, best.centers, mixed=True)
    total = float(weight @ np.square(data - np.average(data, axis=0, weights=weight)).sum(axis=1))
    penalty, violated = charged(moves, constraints, problem.objective(best.cost) + total)
    centers = problem.centers_out(best.centers)[:, :d]
    between = search.points.between(best.labels) * problem.scale
    whole = float((search.points.unit * problem.mass.sum() + problem.scatter) * problem.scale)
    unavoidable = problem.soft.constant * problem.scale
    held = np.bincount(labels, weight, k) > 0
    mixed = Mixed(
        between=between,
        total=whole,
        variances=variances,
        spread=np.ptp(centers[held], axis=0),
        least_spread=least_spread,
    )
    bound = min(max(rounded_down(least + unavoidable), 0.0), between + penalty)
    proven = between + penalty - bound <= PROVEN * (between + penalty) + NOTHING * whole
    return Result(
        labels=labels,
        centers=centers,
        inertia=_within(data, weight, labels, centers),
        penalty=penalty,
        violated=violated,
        lower_bound=bound,
        status=best.status,
        assignment_status=Status.OPTIMAL if proven else Status.FEASIBLE,
        history=best.history,
        sizes=np.bincount(labels, minlength=k),
        counters=dict(state.counters),
        seconds=time.perf_counter() - search.began,
        solver="mixed",
        embedded=centers,
        mixed=mixed,
    )


def _within(data: FloatArray, weight: FloatArray, labels: IntArray, centers: FloatArray) -> float:
    """The inertia: what is inside clusters."""
    return float(weight @ np.square(data - centers[labels]).sum(axis=1))
