"""`ConstrainedKMeans`: the scikit-learn door to `kmeans`. It validates, calls and copies."""

from __future__ import annotations

import sys
from typing import Any, Self

from sklearn.utils import check_random_state

from bckm._core.validation import read_weight
from bckm.constraints import Constraints
from bckm.estimator._fitted import FittedCenters
from bckm.estimator._rows import gather
from bckm.estimator.fitted_bounds import FittedBounds, read_capacities
from bckm.estimator.validated import n_rows, narrow_labels, validated_in_blocks
from bckm.fit.kmeans import kmeans
from bckm.fit.parameters import SETTINGS, documented
from bckm.fit.result import Result, Step
from bckm.metric.embedding import Metric


@documented
class ConstrainedKMeans(FittedCenters):
    """k-means under rules, as a scikit-learn estimator.

    Solves, over labels y and centers c::

        min  sum_p w_p |x_p - c_{y_p}|^2
        s.t. size_min_i <= #{p : y_p = i} <= size_max_i   for every cluster i,
             y_p = y_q                                     for must-linked samples p, q,
             y_p != y_q                                    for cannot-linked samples p, q,
             any further rows of `constraints`,

    by alternating optimal assignments and means, followed by a search: every rule holds in
    `labels_`, and the inertia is a local minimum. Rules about clusters are parameters; rules about
    samples belong to the data and are passed to `fit`. No cluster is empty unless ``size_min=0``.
    With ``objective="mixed"`` clusters are alike instead: `fit` and `fit_predict` make them, and
    `predict`, `assign` and `score`, which ask for the nearest center, raise an error.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    size_min, size_max : int, float or array-like of shape (n_clusters,), default=None
        Bounds on the number of samples in each cluster: one for all, or one per cluster. A float
        between 0 and 1 is a share of the samples of a fit: at least ceil(share * n_samples), at
        most floor(share * n_samples).
    capacity_min, capacity_max : float or array-like of shape (n_clusters,), default=None
        Bounds on the sum of the `amounts` of `fit` in each cluster. For r resources, an array of
        shape (r,) or (n_clusters, r), or a mapping of names to bounds.
    {parameters}
    verbose : int, default=0
        If positive, print a line for each step.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample; obeys every rule. Of data in a file, a `bckm.blocks.labels.Labels`:
        it looks like an array and reads the rows when it is asked. Of a dask array, a dask array
        with the same chunks; of an array on a GPU, the same kind of array on the same device.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters (an empty cluster keeps its last center), also for a learned metric;
        for other metrics the directions of the means, with the columns of X, see `bckm.Result`.
    inertia_ : float
        Weighted sum of squared distances of samples to the center of their cluster.
    n_iter_ : int
        Number of iterations of the best start.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Number of samples in each cluster.
    status_ : str
        "converged", "iteration_limit", "time_limit", "interrupted" or "not_started".
    lower_bound_ : float
        No labels that obey the rules have a smaller inertia (and penalty) *with these centers*; for
        mixed groups, no labels have less between them (and penalty).
    penalty_ : float
        Cost of the violated soft rules, not included in `inertia_`; zero if all rules are hard.
    violated_ : tuple of SoftViolation
        The violated soft rules.
    n_dropped_ : int
        Number of rules about samples that are not in X, as in a split; see `fit`.
    dropped_rules_ : sequence of str
        These rules, in words.
    result_ : Result
        All of the above, with history and time, as returned by `kmeans`.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in,)
        Names of the features; only if X has names that are all strings.

    See Also
    --------
    bckm.kmeans : The same fit as a function.
    bckm.Constraints : All rules, including linear ones.

    Examples
    --------
    >>> from bckm import ConstrainedKMeans
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]]
    >>> model = ConstrainedKMeans(3, size_min=2, size_max=2, random_state=0)
    >>> labels = model.fit_predict(X, cannot_link=[(0, 1)])
    >>> model.cluster_sizes_.tolist(), bool(labels[0] != labels[1])
    ([2, 2, 2], True)
    >>> model.status_
    'converged'
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        size_min: Any = None,
        size_max: Any = None,
        capacity_min: Any = None,
        capacity_max: Any = None,
        objective: str = "compact",
        solver: str = "auto",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        search: str = "auto",
        metric: str | Metric = "euclidean",
        label_bounds: str = "matched",
        max_iter: int = 300,
        tol: float = 1e-4,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.size_min = size_min
        self.size_max = size_max
        self.capacity_min = capacity_min
        self.capacity_max = capacity_max
        self.objective = objective
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.search = search
        self.metric = metric
        self.label_bounds = label_bounds
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
        amounts: Any = None,
        groups: Any = None,
        partial_labels: Any = None,
        sample_id: Any = None,
    ) -> Self:
        """Cluster the samples of X under the rules.

        The rules of the parameters and those given here all apply; of two size bounds the tighter
        one counts.

        **How samples are identified.** Pairs refer to the ids of `sample_id` if given; otherwise to
        the labels of a pandas index, if no label is a number; otherwise to positions of rows in
        *this* X, from 0. `Constraints` have their own `by`. Positions raise an error where they
        could refer to other rows: if X has an index other than 0, 1, 2, ..., and in the splits of a
        cross-validation.

        **In splits**, ids remain valid: for example with ``sample_id=np.arange(n)``, which
        scikit-learn splits along with X, rules about absent samples are dropped, with a
        `DroppedRulesWarning`, and listed in `dropped_rules_`. If no rule refers to any sample of X,
        that is an error. Bounds are unchanged; sizes given as shares are shares of the split.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data: NumPy array, nested list, pandas or polars frame, SciPy sparse array or matrix;
            under no rules but sizes also data larger than memory, as in `bckm.kmeans`.
        y : None
            Ignored, by scikit-learn's convention. Pass known labels as `partial_labels`.
        must_link : array-like of shape (p, 2), or iterable of pairs or sets, default=None
            The samples of each pair or set go to the same cluster.
        cannot_link : array-like of shape (p, 2), or iterable of pairs or sets, default=None
            The samples of each pair or set go to different clusters.
        constraints : Constraints, default=None
            Further rules of any kind.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in the objective; sizes count samples, capacities their amounts.
        amounts : array-like of shape (n_samples,) or (n_samples, r), frame or mapping, default=None
            Amount of each sample, bounded by `capacity_min` and `capacity_max`; for several
            resources, a mapping of names to arrays.
        groups : array-like of shape (n_samples,), default=None
            Samples with the same value go to the same cluster; None and NaN: no group.
            `GridSearchCV` passes `groups` to its splitter unless metadata routing is enabled.
        partial_labels : array-like of shape (n_samples,), default=None
            Samples with the same label go together, with different labels apart; -1, None and NaN
            are unknown. Any label may become any cluster.
        sample_id : array-like of shape (n_samples,), default=None
            Unique id of each sample, for rules about ids.

        Returns
        -------
        self : ConstrainedKMeans
            The fitted estimator.

        Raises
        ------
        InfeasibleError
            If no labels obey the rules; the message names a minimal conflict.
        UndecidedError
            If `time_limit` passed before feasible labels or a proof was found.

        Examples
        --------
        >>> import bckm
        >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]]
        >>> model = bckm.ConstrainedKMeans(2, size_max=4, capacity_max=7, random_state=0)
        >>> model = model.fit(X, must_link=[(2, 3)], amounts=[4, 1, 1, 1, 1, 4])
        >>> bool(model.labels_[2] == model.labels_[3]), int(model.cluster_sizes_.max()) <= 4
        (True, True)
        """
        if isinstance(y, Constraints):
            raise TypeError("y is ignored: pass rules by name, as in fit(X, constraints=rules).")
        frame, X = X, validated_in_blocks(self, X, reset=True)  # noqa: N806
        n = n_rows(X)
        located = gather(
            frame,
            n,
            must_link=must_link,
            cannot_link=cannot_link,
            constraints=constraints,
            amounts=amounts,
            groups=groups,
            partial_labels=partial_labels,
            sample_id=sample_id,
        )
        own = self._own_rules(n, amounts)
        rules = own & located.constraints.resolved(n)
        settings = {setting.name: getattr(self, setting.name) for setting in SETTINGS}
        seed = self.random_state
        if seed is None:  # scikit-learn's custom: np.random.seed makes a fit repeatable
            seed = check_random_state(None)
        result = kmeans(
            X,
            self.n_clusters,
            rules,
            **(settings | {"random_state": seed}),
            sample_weight=sample_weight,
            on_step=_write if self.verbose else None,
        )
        self._copy(result)
        self.n_dropped_ = len(located.dropped)
        self.dropped_rules_ = located.dropped
        self._space = result.metric
        self._bounds = FittedBounds(own, rules, n)
        self._weight = 1.0
        if sample_weight is not None:
            self._weight = float(read_weight(sample_weight, n).mean())
        return self

    def _own_rules(self, n_samples: int, amounts: Any) -> Constraints:
        """What the parameters ask of so many samples."""
        capacities = read_capacities(amounts, self.capacity_min, self.capacity_max)
        rules = Constraints(size_min=self.size_min, size_max=self.size_max, capacities=capacities)
        return rules.resolved(n_samples)

    def _copy(self, result: Result) -> None:
        """Show a result in the attributes that scikit-learn knows."""
        self.labels_ = narrow_labels(result.labels)
        self.cluster_centers_ = result.centers
        self.inertia_ = result.inertia
        self.n_iter_ = result.n_iter
        self.cluster_sizes_ = result.sizes
        self.status_ = result.status.value
        self.lower_bound_ = result.lower_bound
        self.penalty_ = result.penalty
        self.violated_ = result.violated
        self.result_ = result


def _write(step: Step) -> None:
    """Write a step as one line; the library's only output, and only for those who ask."""
    sys.stdout.write(
        f"start {step.start}, iteration {step.iteration}: objective {step.objective:.6g}, "
        f"{step.moved} samples moved, assignment {step.status.value}, {step.seconds:.2f} s\n"
    )
