"""KM: plain k-means."""

from __future__ import annotations

from typing import Any

from sklearn.cluster import KMeans

from bckm._core.validation import read_not_negative, read_whole
from bckm.methods._base import Clustering, Method, Task


class KM(Method):
    """Plain k-means: scikit-learn's `KMeans` with the settings of the paper.

    Solves, over labels y and centers c::

        min  sum_p |x_p - c_{y_p}|^2,

    by alternating nearest assignments and means, a local optimum, and keeps the best of `n_init`
    starts. It supports neither sizes nor links: `fit` accepts links and ignores them.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    n_init : int, default=10
        Number of starts.
    max_iter : int, default=100
        Maximum number of iterations per start.
    tol : float, default=1e-4
        As in `KMeans`.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    Notes
    -----
    Labels are those of `KMeans`. Centers and inertia are those of the labels, as for every method
    here; `KMeans`, where it stops by `tol`, keeps the centers of the step before.

    References
    ----------
    MacQueen: Some methods for classification and analysis of multivariate observations (Berkeley
    Symposium 1967). Lloyd: Least squares quantization in PCM (IEEE Trans. Inf. Theory 1982).

    Examples
    --------
    >>> from bckm.methods import KM
    >>> model = KM(2, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2]), model.inertia_
    (True, 0.5)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _cluster(self, task: Task) -> Clustering:
        model = KMeans(
            task.n_clusters,
            n_init=read_whole(self.n_init, "n_init"),
            max_iter=read_whole(self.max_iter, "max_iter"),
            tol=read_not_negative(self.tol, "tol"),
            random_state=task.random,
        ).fit(task.X)
        return Clustering(model.labels_, int(model.n_iter_), model.cluster_centers_)
