"""BKM: k-means with clusters of equal size, by the Hungarian method."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from bckm._core.types import FloatArray, IntArray
from bckm.methods._base import Clustering, Method, Task, alternate, seeds


class BKM(Method):
    """Balanced k-means: sizes differ by at most one, and every assignment step is optimal.

    Solves, over labels y and centers c::

        min  sum_p |x_p - c_{y_p}|^2
        s.t. #{p : y_p = i} = floor(N / k) + [i < N mod k]   for every cluster i,

    by alternating assignments and means, a local optimum. A step is an assignment problem on an
    N x N matrix: each center appears once for each of its slots, and the Hungarian method gives
    each sample one slot. The original guarantees exactly these sizes. It does not support links:
    `fit` accepts and ignores them.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    init, n_init :
        Initial centers, see `bckm.methods`.
    max_iter : int, default=100
        Maximum number of assignment steps; stops when labels no longer change.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial centers.

    Notes
    -----
    Memory grows with N^2: 8 N^2 bytes. The original draws random samples as first centers; where N
    is no multiple of k it leaves open which clusters are larger: here the first N mod k, always.

    References
    ----------
    Malinen, Fränti: Balanced K-means for clustering (S+SSPR 2014).

    Examples
    --------
    >>> import numpy as np
    >>> from bckm.methods import BKM
    >>> model = BKM(2, random_state=0).fit([[0.0], [1.0], [2.0], [3.0], [50.0]])
    >>> np.bincount(model.labels_).tolist()
    [3, 2]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _cluster(self, task: Task) -> Clustering:
        problem = task.plain

        def assign(centers: FloatArray) -> IntArray:
            return assign_to_slots(problem.cost(centers))

        return alternate(problem, seeds(task, self.init, self.n_init), assign, self.max_iter)


def assign_to_slots(cost: FloatArray) -> IntArray:
    """Labels of least cost among those with balanced sizes."""
    n, k = cost.shape
    slots = np.repeat(np.arange(k), n // k + (np.arange(k) < n % k))  # (n,)
    # every sample is assigned once, so a row shift changes no argmin; it keeps digits
    shifted = cost - cost.min(axis=1, keepdims=True)
    _, slot = linear_sum_assignment(shifted[:, slots])
    return np.asarray(slots[slot], dtype=np.int64)
