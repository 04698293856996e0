"""BCLS: a linear map to indicators whose sizes are pushed towards balance."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bckm._core.types import FloatArray
from bckm._core.validation import read_not_negative, read_whole
from bckm.methods._base import Clustering, Method, Task, plain_kmeans


class BCLS(Method):
    """Balanced clustering with least square regression.

    Seeks, over a linear map W (d x k), b (k) and indicators F (N x k, one 1 in each row)::

        min  |X W + 1 b' - F|^2 + gamma |W|^2 + lam sum_i (1' F)_i^2.

    The last term is the sum of squared sizes, least when all are equal. An augmented Lagrangian
    with a copy Z of F, multipliers and a penalty mu that grows by the factor rho alternates three
    closed forms: ridge regression (factorized once), Z by the Sherman-Morrison formula, F by the
    largest entry of each row. Balance is encouraged, not enforced: see `cluster_sizes_`. The
    original guarantees no bound on sizes and no optimum. It does not support links: `fit` accepts
    and ignores them.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    gamma : float, default=1.0
        Weight of the map, positive. X is centered and divided by the root of its mean squared row
        length first, so gamma does not depend on the unit of X. Much larger values make the map
        vague: at 100 all samples may end in one cluster (see mu).
    lam : float, default=10.0
        Weight of balance, in units of k / N: the objective's own weight is lam k / N, so that the
        price of a sample in a cluster of mean size is 2 lam, whatever N. 0 asks for no balance.
    mu : float, default=1.0
        Initial penalty, positive, on the scale of the indicators, which are 0 and 1. With much
        smaller ones F follows the regression too freely, with larger ones whole clusters move at
        once; both may end with all samples in one cluster, from where nothing leads back.
    rho : float, default=1.005
        Growth factor of the penalty per round, above 1.
    max_iter : int, default=2000
        Maximum number of rounds, as in the paper.
    tol : float, default=1e-3
        Stop when F no longer changes and ``|F - Z|^2 / N`` is below the square of this.
    n_init : int, default=10
        Starts of the plain k-means whose labels are the first F.
    random_state : int, RandomState, Generator or None, default=None
        Seed of that k-means.

    Notes
    -----
    The authors' parameters are not known here. gamma was chosen among 0.1 to 100 by NMI and sizes
    on unit-length images (ORL, Yale, UMIST, Yale B, MNIST), with their classes in view; lam,
    mu and rho by the balance they reach on unbalanced Gaussian blobs. Where d > N the regression is
    factorized as N x N. The labels depend on X only through inner products, so the order of
    features does not matter.

    References
    ----------
    Liu, Han, Nie, Li: Balanced clustering with least square regression (AAAI 2017).

    Examples
    --------
    >>> from bckm.methods import BCLS
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> BCLS(2, random_state=0).fit(X).cluster_sizes_.tolist()
    [3, 3]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        gamma: float = 1.0,
        lam: float = 10.0,
        mu: float = 1.0,
        rho: float = 1.005,
        max_iter: int = 2000,
        tol: float = 1e-3,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.lam = lam
        self.mu = mu
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def _cluster(self, task: Task) -> Clustering:
        gamma = _read_above(self.gamma, 0, "gamma")
        lam = read_not_negative(self.lam, "lam") * task.n_clusters / len(task.X)
        mu = _read_above(self.mu, 0, "mu")
        rho = _read_above(self.rho, 1, "rho")
        rounds = read_whole(self.max_iter, "max_iter")
        tol = read_not_negative(self.tol, "tol")
        n, k = task.points.shape[0], task.n_clusters
        labels = plain_kmeans(task, read_whole(self.n_init, "n_init")).labels_
        regression = Ridge(task.points, gamma)

        F = np.eye(k)[labels]  # noqa: N806
        fitted = regression(F)  # X W + 1 b'
        multiplier = np.zeros_like(F)
        t = 0
        while t < rounds:
            t += 1
            Z = solve_copy(F, multiplier, lam, mu)  # noqa: N806
            after = (2 * fitted + mu * Z - multiplier).argmax(axis=1)
            still = np.array_equal(after, labels)
            if not still:
                moved = after != labels
                touched = np.union1d(after[moved], labels[moved])  # other columns stay fitted
                labels, F = after, np.eye(k)[after]  # noqa: N806
                fitted[:, touched] = regression(F[:, touched])
            apart = F - Z
            multiplier += mu * apart
            mu *= rho
            if still and np.linalg.norm(apart) <= tol * np.sqrt(n):
                break
        return Clustering(labels, t)


def solve_copy(F: FloatArray, multiplier: FloatArray, lam: float, mu: float) -> FloatArray:  # noqa: N803
    """Solve (2 lam 1 1' + mu I) Z = mu F + multiplier by the Sherman-Morrison formula, (n, k)."""
    pulled: FloatArray = F + multiplier / mu
    share = 2 * lam / (mu + 2 * lam * len(F))
    return np.asarray(pulled - share * pulled.sum(axis=0))


class Ridge:
    """Fitted values of ridge regression with an intercept, for many targets and one X."""

    def __init__(self, points: FloatArray, gamma: float) -> None:
        X = points - points.mean(axis=0)  # noqa: N806
        n, d = X.shape
        X /= np.sqrt(np.square(X).sum() / n) or 1.0  # noqa: N806
        self._right = X.T if d <= n else None
        if d <= n:  # X (X'X + gamma I)^-1, applied after X'
            self._left = cho_solve(cho_factor(X.T @ X + gamma * np.eye(d)), X.T).T
        else:  # the same map is I - gamma (X X' + gamma I)^-1
            self._left = np.eye(n) - gamma * cho_solve(
                cho_factor(X @ X.T + gamma * np.eye(n)), np.eye(n)
            )

    def __call__(self, target: FloatArray) -> FloatArray:
        """Fit and predict the target, (n, k)."""
        mean = target.mean(axis=0)
        centered: FloatArray = target - mean
        inner = centered if self._right is None else self._right @ centered
        return np.asarray(self._left @ inner + mean)


def _read_above(value: Any, least: float, what: str) -> float:
    number = read_not_negative(value, what)
    if not least < number < np.inf:
        raise ValueError(f"{what} must be above {least:g} and finite; got {value!r}.")
    return number
