"""CKSC: a spectral kernel learned from links, then k-means in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

from bckm._core.types import FloatArray, IntArray, Sparse
from bckm._core.validation import read_whole
from bckm.constraints.links import Links
from bckm.methods._base import Clustering, Method, Task

DENSE = 500  # samples up to which a dense eigendecomposition is faster than a sparse one
RESTARTS = 300  # of the sparse one, before it is helped by a factorisation
WEAKEST = 1e-10  # weight of an edge, at least: no sample may lose all its edges to underflow
BLOCK = 4096  # pairs whose products are held at once
STEPS = 1000  # of the projected gradient
STILL = 1e-6  # relative movement at which it ends


class CKSC(Method):
    """Constrained clustering by spectral kernel learning.

    Let F (N x m, rows f_p of unit length) hold the m smoothest eigenvectors of the normalized
    Laplacian of a nearest-neighbor graph. The kernel K = F A F' is learned from the links::

        min over A >= 0 (positive semidefinite)
            sum_p (f_p' A f_p - 1)^2 + sum_{p,q must-linked} (f_p' A f_q - 1)^2
                                     + sum_{p,q cannot-linked} (f_p' A f_q)^2,

    a convex problem, and kernel k-means on K, that is k-means on the rows of F A^(1/2), gives the
    labels. Links are fitted, not enforced: the original guarantees none of them, and `violations_`
    lists those that are violated. Without links A = I is optimal, and the method is plain spectral
    clustering. It does not support sizes.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    n_neighbors : int, default=5
        Neighbors of each sample in the graph; one direction suffices for an edge.
    scale : {"local", "median"}, default="local"
        Weights ``exp(-|x_p - x_q|^2 / (s_p s_q))``: s_p is the distance of p to its last
        neighbor, or the median of these distances for all p. Both grow with X, so the unit
        of X does not matter.
    n_eigenvectors : int, default=None
        Number m of eigenvectors, the trivial one included. None is n_clusters without links, as in
        spectral clustering. With links it is 20, or n_clusters + 5 if that is more, since k
        clusters need about k directions; but no more than a quarter of the samples (and no less
        than k), since the more vectors, the more equally different all rows of F are.
    n_init : int, default=10
        Number of starts of the final k-means; the best is kept.
    max_iter : int, default=100
        Maximum number of iterations of that k-means.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the eigensolver and of k-means.

    Attributes
    ----------
    kernel_ : ndarray of shape (m, m)
        A.
    n_iter_ : int
        Number of projected gradient steps to learn A; at least 1.

    Notes
    -----
    The original solves a semidefinite program over the same cone; here accelerated projected
    gradient, with the quadratic form in the m (m + 1) / 2 entries of A built once. A link of more
    than two samples counts as all its pairs; links that others entail are not added. The
    default of 5 neighbors was chosen among 5, 10 and 20 by NMI on ORL, UMIST, Yale, Yale B and
    MNIST with links, that is with their classes in view; one seed each.

    References
    ----------
    Li, Liu: Constrained clustering by spectral kernel learning (ICCV 2009). Zelnik-Manor, Perona:
    Self-tuning spectral clustering (NIPS 2004), for the local scale.

    Examples
    --------
    >>> from bckm.methods import CKSC
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> model = CKSC(2, n_neighbors=2, random_state=0).fit(X, must_link=[(0, 2)])
    >>> model.cluster_sizes_.tolist(), model.violations_
    ([3, 3], [])
    """

    knows_links = True

    kernel_: FloatArray

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 5,
        scale: str = "local",
        n_eigenvectors: int | None = None,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.n_eigenvectors = n_eigenvectors
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _cluster(self, task: Task) -> Clustering:
        n, k = task.points.shape[0], task.n_clusters
        if self.scale not in ("local", "median"):
            raise ValueError(f"scale must be 'local' or 'median'; got {self.scale!r}.")
        neighbors = read_whole(self.n_neighbors, "n_neighbors")
        together = _pairs(task.constraints.must_link)
        apart = _pairs(task.constraints.cannot_link)
        linked = len(together) + len(apart) > 0
        m = min(max(20, k + 5), max(k, n // 4)) if linked else k
        if self.n_eigenvectors is not None:
            m = min(read_whole(self.n_eigenvectors, "n_eigenvectors"), n)
        n_init = read_whole(self.n_init, "n_init")
        max_iter = read_whole(self.max_iter, "max_iter")

        graph = _graph(task.points, min(neighbors, n - 1), local=self.scale == "local")
        rows = smoothest(graph, m, task.random)
        self.kernel_, steps = learn_kernel(rows, together, apart)
        model = KMeans(k, n_init=n_init, max_iter=max_iter, random_state=task.random)
        return Clustering(model.fit(rows @ _root(self.kernel_)).labels_, steps)


def _graph(points: FloatArray, neighbors: int, *, local: bool) -> Sparse:
    """Weights of the symmetric nearest-neighbor graph, (n, n)."""
    n = len(points)
    if neighbors == 0:  # one sample
        return sp.csr_array((n, n))
    distance, other = NearestNeighbors(n_neighbors=neighbors).fit(points).kneighbors()
    width = distance[:, -1]
    some = width[width > 0]
    median = float(np.median(some)) if some.size else 1.0
    # among many equal samples the local scale would be zero
    width = np.maximum(width, 1e-6 * median) if local else np.full(n, median)
    weight = np.exp(-(distance**2) / (width[:, None] * width[other]))
    weight = np.maximum(weight, WEAKEST)
    here = np.repeat(np.arange(n), neighbors)
    one_way = sp.csr_array((weight.ravel(), (here, other.ravel())), (n, n))
    return one_way.maximum(one_way.T)


def smoothest(graph: Sparse, m: int, random: np.random.RandomState) -> FloatArray:
    """The m eigenvectors of least eigenvalue of I - D^(-1/2) W D^(-1/2), with rows of length 1."""
    n = graph.shape[0]
    degree = np.asarray(graph.sum(axis=1)).ravel()
    shrink = sp.diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1.0)))
    smooth = shrink @ graph @ shrink  # the largest eigenvalues of this are the least of L
    if n <= DENSE or m >= n // 2:
        vectors = eigh(smooth.toarray(), subset_by_index=(n - m, n - 1))[1]
    else:
        options = {"k": m, "v0": random.uniform(-1, 1, n), "ncv": min(n, 3 * m + 20)}
        try:
            vectors = eigsh(smooth, which="LA", maxiter=RESTARTS, **options)[1]
        except ArpackNoConvergence:
            # long thin graphs have eigenvalues too close for products alone, but sparse factors
            vectors = eigsh(smooth.tocsc(), sigma=1 + 1e-6, which="LM", **options)[1]
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0))


def _pairs(links: Links) -> IntArray:
    """All pairs of the links, each once, (p, 2)."""
    every = [block.every_pair()[0].samples.reshape(-1, 2) for block in links.blocks]
    pairs = np.sort(np.concatenate([np.empty((0, 2), np.int64), *every]), axis=1)
    return np.unique(pairs, axis=0)


def learn_kernel(rows: FloatArray, together: IntArray, apart: IntArray) -> tuple[FloatArray, int]:
    """The kernel A (m, m) and the number of steps it took.

    A is a vector a of its upper triangle, off-diagonal entries times sqrt(2), so that lengths and
    hence projections are the same. The objective is a' gram a - 2 c' a + constant.
    """
    n, m = rows.shape
    itself = np.stack([np.arange(n), np.arange(n)], axis=1)
    pairs = np.concatenate([itself, together, apart])
    target = np.concatenate([np.ones(n + len(together)), np.zeros(len(apart))])
    upper, lower = np.triu_indices(m)
    stretch = np.where(upper == lower, 0.5, np.sqrt(0.5))
    gram = np.zeros((upper.size, upper.size))
    c = np.zeros(upper.size)
    for start in range(0, len(pairs), BLOCK):
        f, g = rows[pairs[start : start + BLOCK]].transpose(1, 0, 2)
        products = (f[:, upper] * g[:, lower] + f[:, lower] * g[:, upper]) * stretch
        gram += products.T @ products
        c += target[start : start + BLOCK] @ products

    def matrix(a: FloatArray) -> FloatArray:
        half = np.zeros((m, m))
        half[upper, lower] = a * stretch
        return half + half.T

    def project(a: FloatArray) -> FloatArray:
        values, vectors = np.linalg.eigh(matrix(a))
        nearest = (vectors * np.maximum(values, 0)) @ vectors.T
        return np.asarray(nearest[upper, lower] * np.where(upper == lower, 1, np.sqrt(2)))

    step = 1 / max(float(np.linalg.eigvalsh(gram)[-1]), 1e-300)
    a = np.where(upper == lower, 1.0, 0.0)  # the identity: optimal without links
    ahead, momentum, steps = a, 1.0, 0
    while steps < STEPS:
        steps += 1
        after = project(ahead - step * (gram @ ahead - c))
        moved = after - a
        if (ahead - after) @ moved > 0:  # the momentum points uphill: begin anew
            momentum = 1.0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = after + (momentum - 1) / faster * moved
        a, momentum = after, faster
        if np.linalg.norm(moved) <= STILL * np.linalg.norm(a):
            break
    return matrix(a), steps


def _root(kernel: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(kernel)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
