"""HKC: agglomerative clustering."""

from __future__ import annotations

from typing import Any

from sklearn.cluster import AgglomerativeClustering

from bckm.methods._base import Clustering, Method, Task

LINKAGES = ("ward", "complete", "average", "single")


class HKC(Method):
    """Agglomerative clustering: scikit-learn's `AgglomerativeClustering`.

    Begins with every sample as a cluster and joins, n - k times, the two clusters u, v that are
    closest. With linkage "ward" the distance is what the join adds to the inertia::

        |u| |v| / (|u| + |v|) |mean_u - mean_v|^2,

    so each join, though not their sequence, is optimal for the objective of k-means. It supports
    neither sizes nor links: `fit` accepts links and ignores them.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    linkage : {"ward", "complete", "average", "single"}, default="ward"
        Distance of clusters.
    random_state : None
        Ignored: the method is deterministic, but all methods have this parameter.

    Notes
    -----
    The paper says "hierarchical k-means" (HKM, HKC), cites Johnson and uses scikit-learn. Johnson's
    linkages are "single" and "complete"; scikit-learn's default, taken here, is Ward's.

    References
    ----------
    Johnson: Hierarchical clustering schemes (Psychometrika 1967). Ward: Hierarchical grouping to
    optimize an objective function (J. Am. Stat. Assoc. 1963).

    Examples
    --------
    >>> from bckm.methods import HKC
    >>> model = HKC(2).fit([[0.0], [1.0], [9.0]])
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2]), model.inertia_
    (True, 0.5)
    """

    def __init__(
        self, n_clusters: int = 8, *, linkage: str = "ward", random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.random_state = random_state

    def _cluster(self, task: Task) -> Clustering:
        if self.linkage not in LINKAGES:
            raise ValueError(f"linkage must be one of {LINKAGES}; got {self.linkage!r}.")
        model = AgglomerativeClustering(task.n_clusters, linkage=self.linkage)
        return Clustering(model.fit(task.X).labels_)
