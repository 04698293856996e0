"""`kmeans`: data and rules in, a verified `Result` out."""

from __future__ import annotations

import numbers
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline, TimeUp
from bckm._core.types import FloatArray
from bckm._core.validation import read_centers, read_not_negative, read_time_limit, read_whole
from bckm.assign import Assignment, choose
from bckm.assign.base import optimality_tolerance
from bckm.constraints import Constraints, as_constraints
from bckm.constraints.sample_id import located
from bckm.exceptions import UnsupportedError
from bckm.feasibility import feasible_start
from bckm.fit.checkpoint import Checkpoint, alone_with_checkpoint, identity
from bckm.fit.lloyd import Limits
from bckm.fit.result import Result, Step
from bckm.fit.search.explore import SEARCHES, Seed, Task, explore
from bckm.fit.seeding import Seeds, scatter, spread
from bckm.fit.violations import soft_violations
from bckm.kernels import missing
from bckm.problem.metric import Metric, read_metric
from bckm.problem.problem import Problem
from bckm.verification import verify

_SEEDINGS = {"k-means++": spread, "random": scatter}
LABEL_BOUNDS = ("matched", "given")
RANDOM_STARTS, MOST_STARTS = 10, 20  # of n_init="auto": as people know it, and at most
SMALL = 20_000  # items x clusters of all starts together, if one alone is not more
AGREE = 1e-12  # share of the cost by which sums of squares may differ if added up in another way
SLOWER = 8  # a step where sums are bounded takes so many times as long


@alone_with_checkpoint
def kmeans(
    X: Any,  # noqa: N803
    n_clusters: int,
    constraints: Constraints | None = None,
    *,
    solver: str = "auto",
    init: Any = "k-means++",
    n_init: int | str = "auto",
    search: str = "auto",
    metric: str = "euclidean",
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
    """Cluster samples under rules, or prove that the rules cannot be obeyed.

    Minimizes the sum of squared distances of samples to the center of their cluster over all labels
    that obey the constraints, by alternating optimal assignments and means, and by search from
    there (a local optimum; `bckm.certify` can tell how far from the best it may be).

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        Data: NumPy array, nested list, pandas or polars frame, or any SciPy sparse array or matrix,
        which is never made dense (the centers are).
    n_clusters : int
        Number of clusters, k.
    constraints : Constraints, optional
        What labels must obey. No cluster is empty unless ``size_min=0`` is asked for.
    solver : {"auto", "nearest", "transport", "exact", "lagrangian", "pump", "greedy"}
        Engine of the assignment steps. "auto" is "transport" where nothing but sizes are
        asked; else "exact" with a work limit for each step where proofs are quick; else, above all
        for capacities and quotas, "lagrangian": labels with a bound, close to the optimum.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features)
        First centers. Where links join samples into groups that must be pairwise apart, the first
        start of "k-means++" begins with these groups. Given centers are the only start, and no
        others are bred from them unless ``search="global"`` is asked for.
    n_init : int or "auto"
        Number of starts; the best is returned. "auto" is 10 for "random"; for "k-means++" it is 1,
        but up to 20 for small problems, where a start costs next to nothing.
    search : {"auto", "none", "local", "global"}
        What is done to find better clusterings than the alternation finds. "none": nothing.
        "local": each start goes on with moves of few samples whose change of the inertia is
        computed exactly, until none helps. "auto": some of that, and a few further starts bred from
        those at hand; in all at most about three times as long as "none". "global": these go on
        until 200 in a row bring nothing better; with a `time_limit`, again from new starts until
        it is over or the same best clustering was found three times. Sparse data, or an
        installation without the compiled kernels: "auto" does nothing, "local" and "global" are
        refused.
    metric : {"euclidean", "cosine", "latlon", "haversine"}
        What distances are. "cosine": only the direction of a sample counts; k-means of the rows
        divided by their length, where ``|x - y|^2 = 2 (1 - cos)``. "latlon": X has two
        columns, latitude and longitude in degrees; k-means of points on a sphere of radius
        6371.0088 km, so that the inertia is in km^2. "haversine": the same in radians, as in
        scikit-learn, on a sphere of radius 1. Distances are chords, which are shorter than arcs by
        0.1 % at 1,000 km. `init`, if an array, and the
        centers of the result are in the terms of X.
    label_bounds : {"matched", "given"}
        Label i always obeys bound i. "matched" chooses which of the found clusters becomes label i;
        "given" ties label i to row i of `init`, which must then be an array.
    max_iter : int
        Iterations per start.
    tol : float
        Stop when the squared movement of the centers falls below this share of the mean variance
        of the features; 0 iterates until nothing changes.
    time_limit : float, optional
        Seconds for the whole call; the best labels found by then are returned.
    sample_weight : array of shape (n_samples,), optional
        Weights in the objective; sizes count samples, capacities their amounts.
    sample_id : sequence of length n_samples, optional
        Id of each sample, for rules with ``by="sample_id"``; by default the index of a pandas
        frame. Rules about positions do not look at it.
    n_jobs : int, optional
        Threads that compiled code may use: None and -1 take all cores that this process may use,
        -2 all but one. No result depends on it.
    random_state : int, Generator, RandomState or None
        Seed. Each start draws from its own generator.
    on_step : callable, optional
        Called with each `Step`. Ctrl-C (or KeyboardInterrupt raised here) ends the fit with the
        best labels so far; before feasible labels are known it is passed on.
    checkpoint : path, optional
        File in which a long fit keeps its state. If the process is killed, the machine loses power,
        or a time limit or Ctrl-C ended the fit, the same call goes on where it was, and ends with
        exactly the result of a fit that was never interrupted (but for `seconds`, which are of this
        call). The state is kept between runs, that is after each start and each child of search, at
        most every five seconds: a run that was under way is made again, and a fit of one start
        without search keeps nothing before its end. `time_limit`, `n_jobs` and `on_step` may
        change, everything else must be as before: the file of another fit is refused, as is a
        damaged one. The file stays after the end, and the same call then returns the result without
        a new search. `random_state` must be a whole number or None, which draws a seed and keeps it
        in the file. A second fit with the same file is refused while this one runs.

    Returns
    -------
    Result
        Labels that passed `verify`, with centers, inertia, bound, status and history.

    Raises
    ------
    InfeasibleError
        If no labels obey the constraints; it names a minimal conflict.
    UndecidedError
        If `time_limit` passed before feasible labels or a proof were found.
    DamagedFileError
        If `checkpoint` is a file, but not what this function wrote.
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
    max_iter = read_whole(max_iter, "max_iter")
    tol = read_not_negative(tol, "tol")
    deadline = Deadline.after(read_time_limit(time_limit))
    if on_step is not None and not callable(on_step):
        raise TypeError(f"on_step must be callable; got {on_step!r}.")
    if not isinstance(search, str) or search not in SEARCHES:
        names = ", ".join(map(repr, SEARCHES))
        raise ValueError(f"search must be one of {names}; got {search!r}.")
    if label_bounds not in LABEL_BOUNDS:
        raise ValueError(f"label_bounds must be 'matched' or 'given'; got {label_bounds!r}.")
    kept = None if checkpoint is None else Checkpoint(checkpoint)
    constraints = located(as_constraints(constraints), X, sample_id)
    space = read_metric(metric)
    points = space.embedded(X)
    problem = Problem.build(points, n_clusters, constraints, sample_weight, n_jobs=n_jobs)
    if problem.sparse and search in ("local", "global"):
        raise UnsupportedError(
            f"search={search!r} needs dense data, X is sparse; use search='auto', or reduce the "
            "features (for example with sklearn's TruncatedSVD) and pass the dense result."
        )
    if missing and search in ("local", "global"):
        raise UnsupportedError(
            f"search={search!r} needs the compiled kernels; {missing} Or use search='auto', which "
            "goes without moves here."
        )
    given = _given_centers(init, problem, space)
    if label_bounds == "given" and given is None:
        raise ValueError("label_bounds='given' ties label i to center i: pass centers as init.")
    number = _starts(n_init, init, problem, search)
    seed = random_state if kept is None else kept.seed(random_state)
    *generators, rng = _generators(seed, number + 1)
    engine = choose(solver, problem)
    before = None
    if kept is not None:
        settings = {
            "starts": number,
            "search": search,
            "metric": space.name,
            "label_bounds": label_bounds,
            "max_iter": max_iter,
            "tol": tol,
            "random_state": None if random_state is None else int(random_state),
        }
        asked = identity(problem, engine, points, sample_weight, init, settings)
        before = kept.resume(problem, asked)
    start = None if kept is None else kept.start
    if start is None:
        start = feasible_start(problem.structure, problem.rules, deadline)
    free = label_bounds == "matched" and not problem.structure.interchangeable
    task = Task(problem, engine, start, Limits(max_iter, tol, deadline), free, on_step, began)
    seeding = spread if given is not None else _SEEDINGS[init]
    seeds: Sequence[Seed]
    if given is not None:
        seeds = [lambda: Seeds(given)]  # the same centers lead to the same result
    else:
        seeds = [
            partial(_drawn, seeding, problem, own, deadline, n == 0)
            for n, own in enumerate(generators)
        ]
    # given centers are where to begin, unless a search among all is asked for; and where labels are
    # tied to them, others would be other labels
    stay = label_bounds == "given" or (given is not None and search == "auto")
    fresh = None if stay else partial(seeding, problem, deadline=deadline)
    if kept is None:
        found = explore(task, search, seeds, fresh, rng)
    else:
        kept.start = start
        found = explore(task, search, seeds, fresh, rng, before=before, note=kept.note)
        kept.write()
    best = found.run
    costs = problem.structure.n_items * problem.structure.n_clusters
    worth = best.priced or engine.cheap_bound or costs <= SMALL
    if worth and best.bound is None and not best.status.stopped:
        # the last centers are means that nothing was assigned to: what is it worth there? That is
        # not to depend on what an engine did before, which a checkpoint does not keep
        with suppress(TimeUp):
            assigner = engine.prepare(problem)
            last = assigner(best.centers, best.labels, deadline)
            found.counters += assigner.counters
            best.bound, best.prices = last.bound, last.prices
    cost, bound = problem.within(best.labels, best.centers), best.bound
    if abs(cost - best.cost) <= AGREE * cost:  # as the last step tells it
        cost = best.cost
    if bound is None:  # no assignment to the last centers was made: what nearest labels would cost
        bound = problem.safe_bound(0.0, cost)  # where time is up, there is none for a look at items
        if not (best.status.stopped or deadline.passed):
            nearest = float(problem.nearest(best.centers)[1].sum())
            bound = problem.safe_bound(nearest, cost, best.centers)
    s, means = problem.structure, problem.centers_out(best.centers)
    return result_of(
        problem,
        constraints,
        Assignment(
            best.labels,
            cost,
            min(bound, cost),
            best.prices,
            tolerance=optimality_tolerance(problem),
        ),
        points,
        sample_weight,
        centers=space.centers(means, points, s.expand(best.labels), s.item),
        embedded=means,
        status=best.status,
        history=tuple(best.history),
        seconds=time.perf_counter() - began,
        solver=engine.name,
        counters=dict(found.counters),
    )


def result_of(
    problem: Problem,
    constraints: Constraints,
    found: Assignment,
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
    labels = problem.structure.expand(found.labels)
    broken = verify(labels, problem.structure.n_clusters, constraints)
    if broken:  # cannot happen; if it does, no labels leave the library
        raise RuntimeError(
            f"bckm has a bug: its labels break a rule ({broken[0]}). Please report it."
        )
    centers = problem.centers_in(rest["embedded"])
    violated = soft_violations(problem, constraints, found.labels, centers, still)
    objective, penalty = problem.objective(found.cost), problem.penalty_out(found.labels)
    embedded = rest["embedded"]
    inertia = problem.inertia(found.labels, embedded, data, sample_weight, found.cost)
    paid = sum(one.penalty for one in violated)
    dust = float(problem.prices_out(np.array(problem.soft.rounding_penalty)))
    if abs(paid - penalty) > 1e-6 * objective + dust:
        raise RuntimeError(
            f"bckm has a bug: soft rules cost {paid:g}, it counted {penalty:g}. Please report it."
        )
    return Result(
        labels=labels,
        inertia=inertia,
        penalty=penalty,
        violated=violated,
        lower_bound=min(problem.bound_out(found.bound), inertia + penalty),
        assignment_status=found.status,
        sizes=np.bincount(labels, minlength=problem.structure.n_clusters),
        prices=None if found.prices is None else problem.prices_out(found.prices),
        **rest,
    )


def _given_centers(init: Any, problem: Problem, space: Metric) -> FloatArray | None:
    """Centers from `init` in the units of the problem; None when they are to be chosen."""
    if isinstance(init, str):
        if init not in _SEEDINGS:
            raise ValueError(f"init must be 'k-means++', 'random' or an array; got {init!r}.")
        return None
    shape = (problem.structure.n_clusters, space.n_features(problem.points.shape[1]))
    choices = "'k-means++', 'random' or an array"
    given = read_centers(init, "init", choices, shape)
    return problem.given_centers(space.embedded(given, "init"), "init")


def _starts(n_init: Any, init: Any, problem: Problem, search: str) -> int:
    if not (isinstance(n_init, str) and n_init == "auto"):
        return read_whole(n_init, "n_init")
    if search == "global" or (isinstance(init, str) and init == "random"):
        return RANDOM_STARTS
    if missing or problem.sparse:  # no start is cheap
        return 1
    # a sample of weight two counts like two samples: once
    heavy = problem.mass > 0
    if np.count_nonzero(heavy) > SMALL:
        return 1
    points = problem.points[heavy]
    distinct = 1 + int((points[1:] != points[:-1]).any(axis=1).sum())  # equal ones are neighbors
    # steps with sums take longer
    most = SMALL // SLOWER if problem.structure.loads.number else SMALL
    return int(np.clip(most // (distinct * problem.structure.n_clusters), 1, MOST_STARTS))


def _drawn(
    seeding: Callable[[Problem, np.random.Generator, Deadline, bool], Seeds],
    problem: Problem,
    own: np.random.Generator,
    deadline: Deadline,
    first: bool,
) -> Seeds:
    """First centers; the same ones each time, so the generator stays as it is."""
    return seeding(problem, deepcopy(own), deadline, first)


def _generators(random_state: Any, number: int) -> list[np.random.Generator]:
    """One generator per start, so that a start does not depend on those before it."""
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(number)
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    if random_state is not None:
        whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
        if not whole or random_state < 0:
            raise ValueError(
                "random_state must be a whole number, at least 0, a generator or None; "
                f"got {random_state!r}."
            )
    seeds = np.random.SeedSequence(random_state).spawn(number)
    return [np.random.default_rng(seed) for seed in seeds]
