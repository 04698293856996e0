"""Who is measured: this engine and its peers, one start each from the same centers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Task:
    """What a method is asked to do."""

    X: np.ndarray
    start: np.ndarray
    low: int
    high: int
    max_iter: int
    tol: float
    threads: int
    on_step: Callable[[], None] = lambda: None

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(self.start)


@dataclass(frozen=True)
class Fit:
    """What a method answered.

    Attributes
    ----------
    labels : array (n,)
        Cluster of each sample.
    iterations : int
        As the method counts them.
    steps : int
        Assignment steps: peers that stop before nothing changes assign once more at the end.
        Times are divided by this, so the extra step is not held against them.
    proofs : tuple of (float, float)
        Cost and proven lower bound of each step; empty for peers, which prove nothing.
    claimed : float, optional
        Inertia as this library says it is, to be compared with what the judge finds.
    """

    labels: np.ndarray
    iterations: int
    steps: int
    proofs: tuple[tuple[float, float], ...] = ()
    claimed: float | None = None


def ours(task: Task) -> Fit:
    """Fit with this library."""
    import bckm

    result = bckm.kmeans(
        task.X,
        task.k,
        bckm.Constraints(size_min=task.low, size_max=task.high),
        init=task.start,
        n_init=1,
        search="none",  # steps are what is measured here
        max_iter=task.max_iter,
        tol=task.tol,
        n_jobs=task.threads,
        on_step=lambda _: task.on_step(),
    )
    proofs = tuple((step.assigned, step.lower_bound) for step in result.history)
    return Fit(result.labels, result.n_iter, result.n_iter, proofs, result.inertia)


def constrained(task: Task) -> Fit:
    """k-means-constrained; its steps are counted, so that a run that is stopped still tells."""
    import k_means_constrained.k_means_constrained_ as package

    inner, steps = package._labels_constrained, 0

    def counted(*args, **kwargs):
        nonlocal steps
        found = inner(*args, **kwargs)
        steps += 1
        task.on_step()
        return found

    package._labels_constrained = counted
    try:
        model = package.KMeansConstrained(
            task.k,
            size_min=task.low,
            size_max=task.high,
            init=task.start,
            n_init=1,
            max_iter=task.max_iter,
            tol=task.tol,
            n_jobs=1,  # it runs starts in parallel, nothing else: one start would only be copied
            random_state=0,
        ).fit(task.X)
    finally:
        package._labels_constrained = inner
    return Fit(model.labels_, model.n_iter_, steps)


def constrained_step(task: Task) -> Fit:
    """One assignment step of k-means-constrained; `fit` with max_iter=1 would assign twice."""
    from k_means_constrained import KMeansConstrained

    model = KMeansConstrained(task.k, size_min=task.low, size_max=task.high)
    model.cluster_centers_ = task.start
    return Fit(model.predict(task.X), 1, 1)


def lloyd(task: Task) -> Fit:
    """scikit-learn without bounds: the floor."""
    from sklearn.cluster import KMeans

    model = KMeans(
        task.k,
        init=task.start,
        n_init=1,
        max_iter=task.max_iter,
        tol=task.tol,
        algorithm="lloyd",
    ).fit(task.X)
    still = task.tol == 0 and model.n_iter_ < task.max_iter  # then it stopped as nothing changed
    return Fit(model.labels_, model.n_iter_, model.n_iter_ + (not still))


def faiss(task: Task) -> Fit:
    """Faiss without bounds; it has no stopping rule and always makes max_iter iterations."""
    import faiss as package

    package.omp_set_num_threads(task.threads)
    n, d = task.X.shape
    model = package.Kmeans(
        d,
        task.k,
        niter=task.max_iter,
        max_points_per_centroid=n,  # otherwise it would train on a subsample
        min_points_per_centroid=1,
        seed=1,
    )
    X = np.ascontiguousarray(task.X, dtype=np.float32)
    model.train(X, init_centroids=task.start.astype(np.float32))
    labels = model.index.search(X, 1)[1][:, 0]
    return Fit(labels, task.max_iter, task.max_iter + 1)


@dataclass(frozen=True)
class Method:
    """A name for the tables, the module it needs, whether it obeys bounds, and how to call it."""

    title: str
    module: str
    bounded: bool
    fit: Callable[[Task], Fit]

    @property
    def installed(self) -> bool:
        """Whether it can be measured here."""
        return importlib.util.find_spec(self.module) is not None


METHODS = {
    "ours": Method("bckm", "bckm", True, ours),
    "constrained": Method("k-means-constrained", "k_means_constrained", True, constrained),
    "constrained step": Method(
        "k-means-constrained", "k_means_constrained", True, constrained_step
    ),
    "lloyd": Method("scikit-learn, no bounds", "sklearn", False, lloyd),
    "faiss": Method("faiss, no bounds", "faiss", False, faiss),
}


def warm_up(method: Method, task: Task) -> None:
    """Fit a few samples: imports, thread pools and first calls are not what is measured."""
    X = np.random.default_rng(0).random((64, task.X.shape[1])).astype(task.X.dtype)
    method.fit(Task(X, X[:4].copy(), 16, 16, 2, task.tol, task.threads))
