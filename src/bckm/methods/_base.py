"""What all methods share: reading of the input, seeds, one loop, and the attributes of a fit."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import read_data, read_n_clusters, read_whole, refuse_masked
from bckm.constraints import Constraints
from bckm.exceptions import BckmError
from bckm.fit.seeding import spread
from bckm.problem.problem import Problem
from bckm.verification import Violation, verify

SEED_ITERATIONS = 100  # of the k-means that gives first centers; as in the paper


class MethodFailure(BckmError, RuntimeError):  # noqa: N818 - no error: a result
    """A method ended without labels; the message says where.

    Examples
    --------
    >>> from bckm.methods import COPFailure, MethodFailure
    >>> issubclass(COPFailure, MethodFailure)
    True
    """


@dataclass(frozen=True, eq=False)
class Task:
    """One fit: the data, the number of clusters, the rules and the source of chance."""

    X: FloatArray
    n_clusters: int
    constraints: Constraints
    random: np.random.RandomState

    @cached_property
    def plain(self) -> Problem:
        """The data without any rule: items are samples, in an order of the data alone."""
        return Problem.build(self.X, self.n_clusters, Constraints(size_min=0))

    @cached_property
    def problem(self) -> Problem:
        """The data under the rules: items are must-link components."""
        return Problem.build(self.X, self.n_clusters, self.constraints)

    @cached_property
    def points(self) -> FloatArray:
        """X centered and divided by a power of two, so that no scale is too small or too large."""
        return np.asarray(self.plain.points[self.plain.structure.item])


@dataclass(frozen=True, eq=False)
class Clustering:
    """What a method found.

    Attributes
    ----------
    labels : array (n,)
        Cluster of each sample.
    n_iter : int or None
        Iterations; None for a method that does not iterate.
    centers : array (k, d) or None
        Centers that empty clusters keep, in the units of X.
    """

    labels: IntArray
    n_iter: int | None = None
    centers: FloatArray | None = None


class Method(ClusterMixin, BaseEstimator):
    """A comparison method as a scikit-learn estimator; subclasses write `_cluster`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters. An empty cluster keeps its last center, or is NaN if the
        method has no centers.
    inertia_ : float
        Sum of squared distances of samples to the mean of their cluster, whatever the method itself
        minimizes, so that methods can be compared.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Number of samples in each cluster.
    n_iter_ : int
        Number of iterations; only if the method iterates.
    violations_ : list of Violation
        Violated rules; only if the method supports links (`knows_links`).
    """

    knows_links: ClassVar[bool] = False

    n_clusters: int
    random_state: Any
    labels_: NDArray[np.int32]
    cluster_centers_: FloatArray
    inertia_: float
    cluster_sizes_: IntArray
    n_iter_: int
    violations_: list[Violation]

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : None
            Ignored, by scikit-learn's convention.
        must_link, cannot_link : array-like of shape (p, 2), or iterable of pairs or sets, \
                default=None
            Sample indices, as in `bckm.Constraints`. Methods whose `knows_links` is False accept
            and ignore them, so that all methods can be called in the same way.

        Returns
        -------
        self : Method
            The fitted estimator.

        Raises
        ------
        MethodFailure
            If the method ends without labels.
        """
        refuse_masked(X, "X")
        X = read_data(validate_data(self, X, dtype=np.float64))  # noqa: N806
        k = read_n_clusters(self.n_clusters, len(X))
        rules = Constraints(size_min=0)
        if self.knows_links:
            rules = self._constraints(must_link, cannot_link)
            rules.rules(len(X), k)  # refuses links and sizes that do not fit the data
        task = Task(X, k, rules, _random(self.random_state))
        clustering = self._cluster(task)
        self._describe(task, clustering)
        return self

    @abstractmethod
    def _cluster(self, task: Task) -> Clustering:
        """Read the parameters and cluster."""

    def _constraints(self, must_link: Any, cannot_link: Any) -> Constraints:
        """What a method that knows rules reads; empty clusters break none."""
        return Constraints(must_link, cannot_link, size_min=0)

    def _describe(self, task: Task, clustering: Clustering) -> None:
        plain = task.plain
        item_labels = np.empty_like(clustering.labels)
        item_labels[plain.structure.item] = clustering.labels
        fallback = np.full((task.n_clusters, task.X.shape[1]), np.nan)
        if clustering.centers is not None:
            fallback = plain.centers_in(clustering.centers)
        means = plain.centers_out(plain.means(item_labels, fallback))
        self.labels_ = clustering.labels.astype(np.int32)
        self.cluster_centers_ = means
        self.inertia_ = plain.objective(plain.within(item_labels, plain.centers_in(means)))
        self.cluster_sizes_ = np.bincount(clustering.labels, minlength=task.n_clusters)
        if clustering.n_iter is not None:
            self.n_iter_ = clustering.n_iter
        if self.knows_links:
            self.violations_ = verify(clustering.labels, task.n_clusters, task.constraints)


def seeds(task: Task, init: Any, n_init: Any) -> FloatArray:
    """First centers (k, d), in the units of the points of `task`.

    `init` as in `bckm.methods`; `n_init` starts of the plain k-means, of which the best is kept.
    """
    number = read_whole(n_init, "n_init")
    if isinstance(init, str):
        if init == "k-means":
            return np.asarray(plain_kmeans(task, number).cluster_centers_)
        if init == "k-means++":
            rng = np.random.default_rng(task.random.randint(2**31))
            return spread(task.plain, rng, Deadline()).centers
        raise ValueError(f"init must be 'k-means', 'k-means++' or an array; got {init!r}.")
    refuse_masked(init, "init")
    centers = check_array(init, dtype=np.float64, input_name="init")
    shape = (task.n_clusters, task.X.shape[1])
    if centers.shape != shape:
        raise ValueError(f"init has shape {centers.shape}; expected {shape}.")
    return task.plain.centers_in(centers)


def plain_kmeans(task: Task, n_init: int) -> Any:
    """Run scikit-learn's `KMeans` on the points of a task, as a start for something else."""
    model = KMeans(
        task.n_clusters, n_init=n_init, max_iter=SEED_ITERATIONS, random_state=task.random
    )
    with warnings.catch_warnings():
        # fewer distinct samples than clusters: no reason to warn about a mere start
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(task.points)


def alternate(
    problem: Problem,
    centers: FloatArray,
    assign: Callable[[FloatArray], IntArray],
    max_iter: Any,
) -> Clustering:
    """Assign and update until the labels stand still or come back.

    Unlike `bckm.fit.lloyd.alternate` this loop takes any labels: nothing is checked, the inertia
    may rise, and an assignment that is no function of the costs alone may run in circles. Labels
    that were seen before end it, since all that follows would repeat.

    `assign` gives labels of items from centers, at most `max_iter` times.
    """
    seen: set[bytes] = set()
    labels = np.zeros(problem.structure.n_items, np.int64)
    n_iter, limit = 0, read_whole(max_iter, "max_iter")
    while n_iter < limit:
        n_iter += 1
        labels = assign(centers)
        if (key := labels.tobytes()) in seen:
            break
        seen.add(key)
        centers = problem.means(labels, centers)
    return Clustering(problem.structure.expand(labels), n_iter, problem.centers_out(centers))


def _random(random_state: Any) -> np.random.RandomState:
    """scikit-learn's custom, and NumPy's generators besides."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(int(random_state.integers(2**31)))
    random: np.random.RandomState = check_random_state(random_state)
    return random
