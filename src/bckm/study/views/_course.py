"""`convergence`, `profile`, `silhouette`: how a fit went, and what its clusters are like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.status import Status
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.fit.result import Result
from bckm.study import Study
from bckm.study.views._links import shown
from bckm.study.views._plane import unwrapped


@dataclass(frozen=True, eq=False)
class Convergence:
    """Steps of the best start.

    Attributes
    ----------
    iteration : array of int
        Number of the step, from 1.
    objective : array
        Inertia plus penalty after the step; it never increases.
    assigned : array
        Objective of the labels at the centers they were assigned to, before these moved.
    bound : array
        Lower bound for any labels at these centers: compare it with `assigned`, not with
        `objective`. NaN if the step has no bound.
    optimal : array of bool
        Whether the assignment of the step is proven to be the best at its centers.
    kind : tuple of {"assign", "moves"}
        Kind of the step.
    seconds : array
        Seconds since the fit began.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> course = views.convergence(bckm.kmeans([[0.0], [1.0], [8.0], [9.0]], 2, random_state=0))
    >>> float(course.objective[-1]), course.kind[0]
    (1.0, 'assign')
    """

    iteration: IntArray
    objective: FloatArray
    assigned: FloatArray
    bound: FloatArray
    optimal: BoolArray
    kind: tuple[str, ...]
    seconds: FloatArray


def convergence(result: Result) -> Convergence:
    """Return the steps of a fit; a result of `bckm.assign_to` has none.

    Parameters
    ----------
    result : Result
        From `bckm.kmeans`.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> views.convergence(bckm.assign_to([[0.0], [3.0]], [[1.0], [2.0]])).objective.size
    0
    """
    steps = result.history
    proven = [step.kind == "assign" and np.isfinite(step.lower_bound) for step in steps]
    return Convergence(
        iteration=np.arange(1, len(steps) + 1),
        objective=np.array([step.objective for step in steps], float),
        assigned=np.array([step.assigned for step in steps], float),
        bound=np.array(
            [
                step.lower_bound if good else np.nan
                for step, good in zip(steps, proven, strict=True)
            ],
            float,
        ),
        optimal=np.array(
            [good and s.status == Status.OPTIMAL for s, good in zip(steps, proven, strict=True)],
            bool,
        ),
        kind=tuple(step.kind for step in steps),
        seconds=np.array([step.seconds for step in steps], float),
    )


@dataclass(frozen=True, eq=False)
class Profile:
    """Feature means of each cluster, in the original units.

    Attributes
    ----------
    mean : array (k, d)
        Weighted mean of the samples of each cluster; NaN in an empty one.
    overall : array (d,)
        Weighted mean of all samples.
    spread : array (d,)
        Standard deviation of all samples.
    z : array (k, d)
        Difference from the overall mean in standard deviations; 0 where there is no spread,
        NaN in an empty cluster.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[0.0, 5.0], [2.0, 5.0], [8.0, 5.0], [10.0, 5.0]]
    >>> result = bckm.kmeans(X, 2, init=[[0.0, 5.0], [9.0, 5.0]])
    >>> found = views.profile(bckm.Study.of(result, X))
    >>> found.mean.tolist(), found.z.round(2).tolist()
    ([[1.0, 5.0], [9.0, 5.0]], [[-0.97, 0.0], [0.97, 0.0]])
    """

    mean: FloatArray
    overall: FloatArray
    spread: FloatArray
    z: FloatArray


def profile(study: Study) -> Profile:
    """Return the feature means of each cluster, and how they differ from those of all samples.

    These are means of the samples, even if the centers are directions or were given. Longitudes of
    ``metric="latlon"`` and "haversine" are averaged on the map of `plane`.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[-17.0, 179.0], [-17.0, -179.0], [60.0, 25.0]]
    >>> result = bckm.kmeans(X, 2, metric="latlon", random_state=0)
    >>> mean = views.profile(bckm.Study.of(result, X)).mean
    >>> sorted(mean.round(6).tolist())
    [[-17.0, -180.0], [60.0, 25.0]]
    """
    X, k = study.X, study.n_clusters  # noqa: N806
    n, d = X.shape
    turn = study.result.metric.turn
    if turn is not None:
        X = np.stack([X[:, 0], unwrapped(X[:, 1], turn)], axis=1)  # noqa: N806
    weight = np.ones(n) if study.sample_weight is None else study.sample_weight
    whole = float(weight.sum())
    if whole <= 0:
        weight, whole = np.ones(n), float(n)
    labels = study.result.labels
    first = X[0].copy()  # differences from it keep their digits, wherever the data lie
    rows = X - first
    sums = sp.csc_array((weight, labels, np.arange(n + 1)), (k, n)) @ rows
    mass = np.bincount(labels, weight, k)
    shift = sums.sum(axis=0) / whole
    spread = np.sqrt(weight @ (rows - shift) ** 2 / whole)
    spread[spread <= 1e-15 * np.abs(X).max(axis=0)] = 0.0  # rounding of equal values is no spread
    held = mass > 0
    step = np.full((k, d), np.nan)
    step[held] = sums[held] / mass[held, None]
    z = (step - shift) / np.where(spread > 0, spread, 1.0)
    z[:, spread == 0] *= 0.0
    mean, overall = first + step, first + shift
    if turn is not None:
        mean[:, 1], overall[1] = (
            np.mod(v + turn / 2, turn) - turn / 2 for v in (mean[:, 1], overall[1])
        )
    return Profile(mean, overall, spread, z)


@dataclass(frozen=True, eq=False)
class Silhouette:
    """Silhouettes: how much closer each sample is to its own cluster than to the next one.

    Attributes
    ----------
    values : array (m,)
        (b - a) / max(a, b), with mean distances a to the other samples of its own cluster and b to
        those of the nearest other cluster; from -1 to 1, and 0 for a sample on its own.
    samples : array of int (m,)
        Positions of the samples.
    labels : array of int (m,)
        Their clusters.
    sampled : bool
        Whether only a selection of the samples was used.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X)
    >>> views.silhouette(study).values.round(3).tolist()
    [0.895, 0.882, 0.882, 0.895]
    """

    values: FloatArray
    samples: IntArray
    labels: IntArray
    sampled: bool


def silhouette(study: Study, most: int = 10_000) -> Silhouette:
    """Return the silhouette of each sample, with the distances used for clustering.

    Distances are between scaled data; for other metrics, chords between the embedded points. With
    more samples than `most`, the selection of `shown` is used, and ``sampled`` is true.

    Parameters
    ----------
    study : Study
        What to show.
    most : int
        Maximum number of samples; the time grows with its square.

    References
    ----------
    Rousseeuw, Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis, 1987, doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[0.0], [1.0], [9.0]]
    >>> study = bckm.Study.of(bckm.kmeans(X, 1, random_state=0), X)
    >>> views.silhouette(study).values.tolist()
    [0.0, 0.0, 0.0]
    """
    samples = shown(study, most)
    scaled = study.scaling.apply(study.X[samples])
    points = np.asarray(study.result.metric.embedded(scaled), float)
    points = points - points.mean(axis=0)  # far from the origin digits would be lost
    labels, values = study.result.labels[samples], np.zeros(samples.size)
    if 1 < np.unique(labels).size < samples.size:
        from sklearn.metrics import silhouette_samples  # slow to import

        values = silhouette_samples(points / max(float(np.abs(points).max()), 1e-300), labels)
    return Silhouette(values, samples, labels, samples.size < study.n_samples)
