"""What a fitted estimator does with data, old or new: predict, assign, transform, score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bckm._core.arrays import nearest, squared_distances
from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import read_data, read_jobs, read_weight
from bckm.blocks.array_holder import ArrayHolder
from bckm.blocks.holders import nearest_cost
from bckm.blocks.labeling import Labeling
from bckm.constraints import Constraints
from bckm.estimator._rows import gather
from bckm.estimator.fitted_bounds import FittedBounds
from bckm.estimator.validated import is_held, n_rows, narrow_labels, validated_in_blocks
from bckm.exceptions import UnsupportedError
from bckm.fit.assign_to import assign_to
from bckm.fit.result import Result, SoftViolation
from bckm.metric.embedding import Metric


class FittedCenters(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """The part of `ConstrainedKMeans` that needs its centers; `fit` sets the attributes."""

    solver: str
    search: str
    time_limit: float | None
    n_jobs: int | None
    labels_: NDArray[np.int32]
    cluster_centers_: FloatArray
    inertia_: float
    n_iter_: int
    cluster_sizes_: IntArray
    status_: str
    lower_bound_: float
    penalty_: float
    violated_: tuple[SoftViolation, ...]
    n_dropped_: int
    dropped_rules_: Sequence[str]
    result_: Result
    _space: Metric  # where distances of the last fit are Euclidean
    _bounds: FittedBounds  # of the last fit
    _weight: float  # mean weight of its samples

    def predict(self, X: Any) -> NDArray[np.int32]:  # noqa: N803
        """Return the closest cluster for each sample of X, adjusted by the prices of size bounds.

        Each sample is treated separately, so its label depends neither on the other samples of X
        nor on their order. Hence `predict` enforces *neither sizes nor links nor any other rule*;
        use `assign` for labels that obey the rules.

        If the engine of `fit` computes prices of the size bounds (``result_.prices``), the label is
        the i that minimizes ``|x - c_i|^2 - price_i``, otherwise the one with the nearest center.
        Prices make crowded clusters expensive: if `fit` ran until nothing changed (``tol=0``) with
        samples of weight 1, predicted labels of its X are `labels_`, except for samples on a border
        between two clusters (ties). With `sample_weight`, prices refer to weighted distances, and a
        sample counts here with the mean weight: the prices are divided by it. Without prices,
        labels of the X of `fit` may differ from `labels_` wherever a rule binds.

        After a fit of data in blocks, predicted labels of its X are always `labels_`, except for
        samples exactly on a border, such as copies of a sample that sizes divide among clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data, old or new.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            Cluster of each sample; the first one in case of ties. Of data in a file, and of
            a dask array, made when they are asked for, as `labels_`; of an array on a GPU, the same
            kind of array there.

        Examples
        --------
        >>> from bckm import ConstrainedKMeans
        >>> model = ConstrainedKMeans(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
        >>> labels = model.predict([[2.0], [1.0], [7.0]])
        >>> bool(labels[0] == labels[1] != labels[2])
        True
        """
        self._require_compact("predict")
        X = self._read(X)  # noqa: N806
        prices = self.result_.prices
        if prices is not None:
            prices = prices / self._weight
        threads = read_jobs(self.n_jobs)
        rule = self.result_.labeling
        if is_held(X) or (rule is not None and not sp.issparse(X)):
            held = X if is_held(X) else ArrayHolder(X, threads)
            if rule is None:  # fitted in memory
                rule = Labeling.plain(self.result_.embedded, prices)
            return narrow_labels(held.labels(rule.without_exceptions()))  # type: ignore[no-any-return]
        return nearest(X, self.result_.embedded, prices, threads)[0].astype(np.int32)

    def assign(
        self,
        X: Any,  # noqa: N803
        *,
        size_min: Any = None,
        size_max: Any = None,
        capacity_min: Any = None,
        capacity_max: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
        amounts: Any = None,
        groups: Any = None,
        partial_labels: Any = None,
        sample_id: Any = None,
    ) -> NDArray[np.int32]:
        """Return labels of X that obey rules, optimal for the centers of `fit`.

        All samples are assigned together, unlike in `predict`. If a size bound is not given here,
        that of `fit` is scaled to the number of samples: with n samples here and n_fit there, at
        least floor(lower * n / n_fit) and at most ceil(upper * n / n_fit) samples. Capacities are
        scaled to the total amount of these samples in the same way, and rounded only if every
        amount is whole. The default of `fit` that no cluster is empty applies if n >= n_fit. Links
        and other rules of `fit` belong to its samples and do not apply.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data, old or new.
        size_min, size_max : int, float or array-like of shape (n_clusters,), default=None
            Bounds that replace those of `fit`.
        capacity_min, capacity_max : float or array-like of shape (n_clusters,), default=None
            Bounds on the sum of `amounts` that replace those of `fit`.
        must_link, cannot_link : array-like of shape (p, 2), or iterable of pairs or sets, \
                default=None
            Samples of this X, as in `fit`.
        constraints : Constraints, default=None
            Further rules of any kind; size bounds in them replace those of `fit` too.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in the objective; sizes count samples, capacities their amounts.
        amounts : array-like of shape (n_samples,) or (n_samples, r), frame or mapping, default=None
            Amount of each sample; required if `fit` had amounts.
        groups, partial_labels, sample_id : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            Cluster of each sample; obeys every rule.

        Raises
        ------
        InfeasibleError
            If no labels obey the rules; the message names a minimal conflict.

        See Also
        --------
        bckm.assign_to : The same as a function, with a full `Result`.

        Examples
        --------
        >>> from bckm import ConstrainedKMeans
        >>> X = [[0.0], [1.0], [8.0], [9.0]]
        >>> model = ConstrainedKMeans(2, size_max=2, random_state=0).fit(X)
        >>> labels = model.assign([[0.0], [1.0], [2.0], [3.0], [9.0], [8.0]])  # 3 samples each
        >>> sorted((labels == labels[0]).tolist())
        [False, False, False, True, True, True]
        >>> len(set(model.assign([[0.0], [1.0]], size_max=1).tolist()))
        2
        """
        self._require_compact("assign")
        frame, X = X, self._read(X)  # noqa: N806
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
        given = {
            "size_min": size_min,
            "size_max": size_max,
            "capacity_min": capacity_min,
            "capacity_max": capacity_max,
        }
        assigned = assign_to(
            X,
            self.result_.embedded,
            self._bounds.of_batch(n, given, amounts, located.constraints),
            solver=self.solver,
            sample_weight=sample_weight,
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
        )
        return narrow_labels(assigned.labels)  # type: ignore[no-any-return]

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Return the distance of each sample of X to each center.

        It is Euclidean; for other metrics it is measured in the learned space, or from points on
        the sphere to their means inside it (``result_.embedded``): what `fit` squares and adds up.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data, old or new.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters), or frame after `set_output`
            Entry (p, i) is ``|x_p - c_i|``. Of a dask array, a dask array; of an array
            on a GPU, the same kind of array there.

        Examples
        --------
        >>> from bckm import ConstrainedKMeans
        >>> model = ConstrainedKMeans(1).fit([[0.0, 0.0], [0.0, 0.0]])
        >>> model.transform([[3.0, 4.0]]).tolist()
        [[5.0]]
        """
        X = self._read(X)  # noqa: N806
        if is_held(X):
            if hasattr(X, "distances"):
                return X.distances(self.result_.embedded)
            raise UnsupportedError(
                "transform returns a distance to each center, more numbers than X has: pass parts "
                "of X that fit into memory, one after the other."
            )
        return np.sqrt(squared_distances(X, self.result_.embedded))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the negative inertia of X with each sample at its nearest center.

        This is ``-sum_p w_p min_i |x_p - c_i|^2``; higher is better. Rules and prices are ignored,
        so for the X of `fit` it is at least ``-inertia_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data, old or new.
        y : None
            Ignored, by scikit-learn's convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights w; by default 1.

        Returns
        -------
        score : float
            The score, at most 0.

        Examples
        --------
        >>> from bckm import ConstrainedKMeans
        >>> model = ConstrainedKMeans(1).fit([[0.0, 0.0], [0.0, 0.0]])
        >>> model.score([[3.0, 4.0], [0.0, 1.0]])
        -26.0
        """
        self._require_compact("score")
        X = self._read(X)  # noqa: N806
        if is_held(X):
            if sample_weight is not None:
                raise UnsupportedError("data in blocks have no sample_weight: leave it out.")
            return -nearest_cost(X, self.result_.embedded)
        least = nearest(X, self.result_.embedded, threads=read_jobs(self.n_jobs))[1]
        return -float(read_weight(sample_weight, X.shape[0]) @ least)

    def _require_compact(self, method: str) -> None:
        """Refuse what asks for the nearest center where all centers are alike."""
        check_is_fitted(self)
        if self.result_.mixed is not None:
            raise UnsupportedError(
                f"{method} looks for the nearest center, but mixed groups are alike, and no sample "
                "is nearer to one than to another. To add samples, fit all of them again, with "
                "those of before fixed: constraints=Constraints(fixed=...), or stay=Stay(...) to "
                "let a few of them move."
            )

    @property
    def _n_features_out(self) -> int:
        """Columns of `transform`; scikit-learn names them after the class."""
        return len(self.cluster_centers_)

    def _read(self, X: Any) -> Any:  # noqa: N803
        """Points of X in the space where distances are Euclidean."""
        check_is_fitted(self)
        X = validated_in_blocks(self, X, reset=False)  # noqa: N806
        if is_held(X):
            if self._space.name != "euclidean":
                raise UnsupportedError(
                    f"metric {self._space.name!r} needs data in memory: pass parts of X that fit, "
                    "one after the other."
                )
            return X
        X = self._space.embedded(X)  # noqa: N806
        return read_data(X) if sp.issparse(X) else X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.search not in ("local", "global")  # moves need dense data
        return tags
