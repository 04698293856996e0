"""COP: k-means that obeys links sample by sample, and fails where it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.methods._base import Clustering, Method, MethodFailure, Task, alternate, seeds


class COPFailure(MethodFailure):
    """No cluster is left for a sample; the message names it.

    Parameters
    ----------
    message : str
        What happened.
    sample : int
        The sample without a cluster.

    Examples
    --------
    >>> from bckm.methods import COP, COPFailure
    >>> try:
    ...     COP(2).fit([[0.0], [1.0], [2.0]], cannot_link=[{0, 1, 2}])
    ... except COPFailure as failure:
    ...     print(failure)
    COP fails at sample 2: each of the 2 clusters has a sample that it must be apart from.
    """

    def __init__(self, message: str, sample: int) -> None:
        super().__init__(message)
        self.sample = sample

    def __reduce__(self) -> tuple[type[COPFailure], tuple[str, int]]:
        return type(self), (str(self), self.sample)


class COP(Method):
    """COP-k-means: samples in order, each to the nearest center that violates no link.

    Seeks labels y and centers c of small::

        sum_p |x_p - c_{y_p}|^2
        s.t.  y_p = y_q    for must-linked samples p, q,
              y_p != y_q   for cannot-linked samples p, q,

    by alternating assignments and means. In an assignment the samples come in order; each takes
    the nearest center that violates no link with the samples already placed, links being closed
    under what they entail. If no center is left, the method fails: it neither looks ahead nor
    backtracks, so it may fail although labels exist. If it succeeds, all links hold. No step is
    optimal, the inertia may increase, and the result depends on the order. It does not support
    sizes; clusters may be empty.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    order : {"given", "random"}, default="given"
        Order of the samples: that of the rows of X, or random, drawn once per fit.
    init, n_init :
        Initial centers, see `bckm.methods`.
    max_iter : int, default=100
        Maximum number of assignment steps; stops when labels no longer change or repeat.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial centers and of the random order.

    Notes
    -----
    The original returns an empty partition on failure; here `COPFailure` is raised, at whichever
    step it happens. The first sample of a must-link component decides for the whole component, by
    its own distances: the others can only follow.

    References
    ----------
    Wagstaff, Cardie, Rogers, Schroedl: Constrained k-means clustering with background knowledge
    (ICML 2001).

    Examples
    --------
    >>> from bckm.methods import COP
    >>> model = COP(2, random_state=0).fit([[0.0], [1.0], [9.0]], cannot_link=[(0, 1)])
    >>> bool(model.labels_[0] != model.labels_[1]), model.violations_
    (True, [])
    """

    knows_links = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        order: str = "given",
        init: Any = "k-means",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.order = order
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _cluster(self, task: Task) -> Clustering:
        if self.order not in ("given", "random"):
            raise ValueError(f"order must be 'given' or 'random'; got {self.order!r}.")
        centers = seeds(task, self.init, self.n_init)
        order = np.arange(len(task.X))
        if self.order == "random":
            order = task.random.permutation(order)
        return alternate(task.problem, centers, _Placement(task, order), self.max_iter)


class _Placement:
    """The assignment step; items stand for their samples, in the order of their first ones."""

    def __init__(self, task: Task, order: IntArray) -> None:
        s = task.problem.structure
        rank = np.argsort(order)
        self._refuse_contradiction(task, rank)
        # lead[j] is the sample of item j that comes first
        comes = np.full(s.n_items, order.size)
        np.minimum.at(comes, s.item, rank)
        self._lead: IntArray = order[comes]
        self._points = task.points[self._lead]  # (m, d)
        linked = np.flatnonzero(np.diff(s.neighbors.indptr) > 0)
        # items without a conflict neither block nor are blocked: their turn does not matter
        self._linked: list[int] = linked[np.argsort(comes[linked])].tolist()
        self._indptr, self._indices = s.neighbors.indptr, s.neighbors.indices

    def __call__(self, centers: FloatArray) -> IntArray:
        cost = cdist(self._points, centers, "sqeuclidean")
        labels: IntArray = cost.argmin(axis=1).astype(np.int64)
        blocked: BoolArray = np.zeros(cost.shape, bool)
        for j in self._linked:
            if blocked[j].all():
                sample, k = int(self._lead[j]), len(centers)
                raise COPFailure(
                    f"COP fails at sample {sample}: each of the {k} clusters has a sample that "
                    "it must be apart from.",
                    sample,
                )
            labels[j] = i = np.where(blocked[j], np.inf, cost[j]).argmin()
            blocked[self._indices[self._indptr[j] : self._indptr[j + 1]], i] = True
        return labels

    @staticmethod
    def _refuse_contradiction(task: Task, rank: IntArray) -> None:
        s = task.problem.structure
        # in a contradictory item the sample fails whose partner was placed before it
        failing = []
        for link in s.contradictions:
            for j in {int(s.item[p]) for p in link.samples}:
                here = sorted((int(rank[p]), p) for p in link.samples if s.item[p] == j)
                failing += here[1:2]
        if failing:
            sample = min(failing)[1]
            raise COPFailure(
                f"COP fails at sample {sample}: must-links join it with a sample that it must be "
                "apart from.",
                sample,
            )
