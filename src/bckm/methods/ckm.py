"""CKM: k-means with least sizes by linear programming; links only as far as the LP holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.constraints import Constraints
from bckm.methods._base import Clustering, Method, MethodFailure, Task, alternate, seeds
from bckm.problem.problem import Problem
from bckm.problem.structure import Structure
from bckm.programs.highs import INTEGRAL, Model


class CKMFailure(MethodFailure):
    """The linear program of an assignment step has no solution, so no labels obey the rules.

    Examples
    --------
    >>> from bckm.methods import CKM, CKMFailure
    >>> try:
    ...     CKM(2, size_min=2).fit([[0.0], [1.0], [2.0]])
    ... except CKMFailure as failure:
    ...     print(failure)
    CKM fails: size_min requires 4 samples, but there are 3.
    """


class CKM(Method):
    """Constrained k-means of Bradley, Bennett and Demiriz: minimum sizes by linear programming.

    Solves, over shares S of items j (must-link components of count_j samples) and centers c::

        min  sum_ij S_ij count_j |x_j - c_i|^2
        s.t. sum_i S_ij = 1                              for every item j,
             size_min_i <= sum_j count_j S_ij <= size_max_i   for every cluster i,
             S_ip + S_iq <= 1                            for every cluster i, items p, q apart,
             S >= 0,

    by alternating linear programs and means; a sample's label is the cluster of its largest share.

    Without links the program is a flow: S is integral, the sizes hold and each step is optimal,
    as the original guarantees. The paper adds links. With them S may be fractional,
    and the labels derived from it may violate links and sizes: see `n_fractional_`, `violations_`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    size_min : int or array-like of shape (n_clusters,), default=1
        Minimum number of samples in each cluster.
    size_max : int or array-like of shape (n_clusters,), default=None
        Maximum number of samples; an addition to the original.
    init, n_init :
        Initial centers, see `bckm.methods`.
    max_iter : int, default=100
        Maximum number of assignment steps; stops when labels no longer change or repeat.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial centers.

    Attributes
    ----------
    n_fractional_ : int
        Number of items that the last linear program splits between clusters.

    Notes
    -----
    Left open by the paper: how shares become labels (argmax, the first of equal ones), and whether
    centers are means of shares or of labels (of labels here). Bounds that differ between clusters
    belong to the rows of the first centers, in their order; the original does not match them.
    Cannot-link sets become pairs, as in the paper: rows for whole sets would be tighter.

    References
    ----------
    Bradley, Bennett, Demiriz: Constrained k-means clustering (Microsoft Research, MSR-TR-2000-65).

    Examples
    --------
    >>> import numpy as np
    >>> from bckm.methods import CKM
    >>> model = CKM(2, size_min=2, random_state=0).fit([[0.0], [1.0], [2.0], [50.0]])
    >>> np.bincount(model.labels_).tolist(), model.n_fractional_, model.violations_
    ([2, 2], 0, [])
    """

    knows_links = True

    n_fractional_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        size_min: Any = 1,
        size_max: Any = None,
        init: Any = "k-means",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.size_min = size_min
        self.size_max = size_max
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _constraints(self, must_link: Any, cannot_link: Any) -> Constraints:
        return Constraints(must_link, cannot_link, size_min=self.size_min, size_max=self.size_max)

    def _cluster(self, task: Task) -> Clustering:
        step = _LinearStep(task.problem)
        centers = seeds(task, self.init, self.n_init)
        clustering = alternate(task.problem, centers, step, self.max_iter)
        self.n_fractional_ = step.n_fractional
        return clustering


class _LinearStep:
    """The assignment step: one linear program, solved again for new centers."""

    def __init__(self, problem: Problem) -> None:
        s = problem.structure
        _refuse_impossible_sizes(s)
        self._problem = problem
        self._model = _model(s)
        self.n_fractional = 0

    def __call__(self, centers: FloatArray) -> IntArray:
        cost = self._problem.cost(centers)
        # every item is assigned once, so a row shift changes no argmin
        shifted = cost - cost.min(axis=1, keepdims=True)
        solution = self._model.solve(shifted.ravel(), Deadline())
        if solution.values is None:
            reason = "has no solution" if solution.infeasible else "was not solved"
            raise CKMFailure(f"CKM fails: the linear program of its assignment step {reason}.")
        shares = solution.values.reshape(cost.shape)
        self.n_fractional = int((shares.max(axis=1) < 1 - INTEGRAL).sum())
        # equal shares differ by round-off, which must not choose between them
        return np.asarray(np.round(shares, 6).argmax(axis=1), dtype=np.int64)


def _model(s: Structure) -> Model:
    """Write the program; a column is the share of an item in a cluster."""
    m, k = s.n_items, s.n_clusters
    columns = np.arange(m * k)
    once = sp.csr_array((np.ones(m * k), (s.columns.item(columns), columns)))
    sizes = sp.csr_array(
        (np.repeat(s.count, k).astype(float), (s.columns.cluster(columns), columns))
    )
    apart = _pairwise_rows(s)
    return Model(
        sp.vstack([once, sizes, apart], format="csc"),
        np.concatenate([np.ones(m), s.lower.astype(float), np.full(apart.shape[0], -np.inf)]),
        np.concatenate([np.ones(m), s.upper.astype(float), np.ones(apart.shape[0])]),
    )


def _pairwise_rows(s: Structure) -> Sparse:
    """Rows S_ip + S_iq <= 1; a pair inside one item asks 2 S_ip <= 1."""
    k = s.n_clusters
    inside = [
        [j, j]
        for link in s.contradictions
        for j in np.flatnonzero(np.bincount(s.item[list(link.samples)]) > 1).tolist()
    ]
    pairs = np.concatenate([s.edges, np.array(inside, np.int64).reshape(-1, 2)])
    row = np.arange(len(pairs) * k)
    at = np.concatenate([row, row])
    columns = s.columns.all_of(pairs.T)
    return sp.csr_array((np.ones(at.size), (at, columns)), (len(pairs) * k, s.n_items * k))


def _refuse_impossible_sizes(s: Structure) -> None:
    n = s.item.size
    if (least := int(s.lower.sum())) > n:
        raise CKMFailure(f"CKM fails: size_min requires {least} samples, but there are {n}.")
    if (most := int(s.upper.sum())) < n:
        raise CKMFailure(f"CKM fails: size_max allows {most} samples, but there are {n}.")
