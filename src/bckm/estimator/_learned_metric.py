"""`LearnedMetric`: the scikit-learn door to a metric that is learned from links."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bckm._core.types import FloatArray
from bckm._core.validation import read_centers
from bckm.constraints import Constraints
from bckm.estimator._rows import gather
from bckm.estimator.validated import validated
from bckm.fit.learned import learned_metric
from bckm.metric.embedding import Euclidean, Metric
from bckm.metric.judging import Judgment
from bckm.metric.learn import NothingToLearn, learn_metric
from bckm.metric.learned import Learned


class LearnedMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn from links which differences matter: a linear map, as a scikit-learn transformer.

    Samples that belong together show which differences do not matter: the covariance inside
    must-link sets, in principal components and shrunk, becomes the unit of length in all directions
    (relevant component analysis). The number of components, whether features are standardized
    first, and the shrinkage are chosen by the method: members of the sets are held back, in turn,
    and told apart by what was learned from the rest. If that is no better than the plain metric,
    the transformer changes nothing, and says so in `judgment_`.

    The same is done by ``metric="learned"`` of `bckm.kmeans` and `bckm.ConstrainedKMeans`. Use the
    transformer to look at the map, to use it for something else, or to apply it to other data.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters that are to be found, if known: clusters found by a metric then help to
        judge it, and teach it where held-back links say so, as in `bckm.kmeans`.

    Attributes
    ----------
    metric_ : Metric
        What was learned, for the parameter `metric` of `bckm.kmeans`, `bckm.assign_to` and others,
        which also take the fitted transformer itself.
    judgment_ : Judgment
        Whether the learned metric is used, why, and from how many links; ``judgment_.message`` says
        it in a sentence.
    n_components_ : int
        Number of features after `transform`.
    components_ : ndarray of shape (n_components, n_features)
        The map: ``transform(X)`` is ``(X - mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        Mean of the data; zero where the plain metric is kept.
    feature_weights_ : ndarray of shape (n_features,)
        How much the variance of each feature counts, against 1 in the plain metric.
    n_dropped_ : int
        Number of rules about samples that are not in X, as in a split.
    dropped_rules_ : sequence of str
        These rules, in words.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in,)
        Names of the features; only if X has names that are all strings.

    See Also
    --------
    bckm.kmeans : Clusters by a metric that is learned from its rules with ``metric="learned"``.

    Examples
    --------
    >>> import bckm, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.stack([y + 0.2 * rng.normal(size=100), 5 * rng.normal(size=100)], axis=1)
    >>> known = np.where(np.arange(100) % 5 == 0, y, -1)  # the second feature is noise
    >>> metric = bckm.LearnedMetric().fit(X, partial_labels=known)
    >>> bool(metric.feature_weights_[0] > 100 * metric.feature_weights_[1])
    True
    >>> points = metric.transform(X)
    >>> labels = bckm.kmeans(points, 2, random_state=0).labels
    >>> float(max(np.mean(labels == y), np.mean(labels != y)))
    1.0
    """

    def __init__(self, n_clusters: int | None = None) -> None:
        self.n_clusters = n_clusters

    metric_: Metric
    judgment_: Judgment
    n_components_: int
    components_: FloatArray
    mean_: FloatArray
    feature_weights_: FloatArray
    n_dropped_: int
    dropped_rules_: Sequence[str]
    n_features_in_: int

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        partial_labels: Any = None,
        sample_id: Any = None,
    ) -> Self:
        """Learn from the links between samples of X.

        Samples are identified as in `bckm.ConstrainedKMeans.fit`, also in splits. Without any
        must-link, group or label there is nothing to learn from: the plain metric is kept, with a
        warning.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.
        y : None
            Ignored, by scikit-learn's convention. Pass known labels as `partial_labels`.
        must_link : array-like of shape (p, 2), or iterable of pairs or sets, default=None
            Samples that belong together.
        cannot_link : array-like of shape (p, 2), or iterable of pairs or sets, default=None
            Samples that do not; what is learned is judged by them.
        constraints : Constraints, default=None
            Further rules: links, hard or soft (of which wrong ones do little harm), and fixed
            clusters teach, others are ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        groups : array-like of shape (n_samples,), default=None
            Samples with the same value belong together; None and NaN: no group.
        partial_labels : array-like of shape (n_samples,), default=None
            Samples with the same label belong together, with different labels not; -1, None and NaN
            are unknown.
        sample_id : array-like of shape (n_samples,), default=None
            Unique id of each sample, for rules about ids.

        Returns
        -------
        self : LearnedMetric
            The fitted transformer.

        Examples
        --------
        >>> import bckm
        >>> X = [[0.0, 9.0], [0.1, 1.0], [0.2, 5.0], [1.0, 2.0], [1.1, 7.0], [1.2, 4.0]]
        >>> metric = bckm.LearnedMetric().fit(X, must_link=[(0, 1, 2), (3, 4, 5)])
        >>> metric.judgment_.learned, metric.transform(X).shape
        (True, (6, 2))
        """
        if isinstance(y, Constraints):
            raise TypeError("y is ignored: pass rules by name, as in fit(X, constraints=rules).")
        frame, X = X, validated(self, X, reset=True)  # noqa: N806
        located = gather(
            frame,
            X.shape[0],
            must_link=must_link,
            cannot_link=cannot_link,
            constraints=constraints,
            groups=groups,
            partial_labels=partial_labels,
            sample_id=sample_id,
        )
        self.n_dropped_ = len(located.dropped)
        self.dropped_rules_ = located.dropped
        try:
            rules = located.constraints
            if self.n_clusters is None:
                self.metric_ = learn_metric(X, rules, sample_weight)
            else:
                self.metric_ = learned_metric(X, self.n_clusters, rules, sample_weight)
        except NothingToLearn as error:
            message = f"the plain metric is kept: {error}"
            warnings.warn(message, UserWarning, stacklevel=2)
            self.metric_ = Euclidean(Judgment(False, message))
        assert self.metric_.judgment is not None
        self.judgment_ = self.metric_.judgment
        d = X.shape[1]
        if isinstance(self.metric_, Learned):
            self.components_, self.mean_ = self.metric_.matrix.T, self.metric_.origin
            self.feature_weights_ = self.metric_.feature_weights
        else:
            self.components_, self.mean_ = np.eye(d), np.zeros(d)
            self.feature_weights_ = np.ones(d)
        self.n_components_ = len(self.components_)
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Return the points of X whose Euclidean distances count.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data, old or new.

        Returns
        -------
        points : ndarray of shape (n_samples, n_components), or frame after `set_output`
            Points in the learned space; where the plain metric is kept, X itself.

        Examples
        --------
        >>> import bckm
        >>> X = [[0.0, 9.0], [0.1, 1.0], [0.2, 5.0], [1.0, 2.0], [1.1, 7.0], [1.2, 4.0]]
        >>> metric = bckm.LearnedMetric().fit(X, must_link=[(0, 1, 2), (3, 4, 5)])
        >>> metric.transform([[1.0, 1.0]]).shape
        (1, 2)
        """
        check_is_fitted(self)
        return self.metric_.embedded(validated(self, X, reset=False))

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """Return data that have the given points, for example centers in the terms of X.

        Of all such data, those nearest to the mean: what the map leaves out is as in the mean.

        Parameters
        ----------
        X : array-like of shape (n_points, n_components)
            Points in the learned space.

        Returns
        -------
        data : ndarray of shape (n_points, n_features)
            Data, such that ``transform(data)`` are the points.

        Examples
        --------
        >>> import bckm
        >>> X = [[0.0, 9.0], [0.1, 1.0], [0.2, 5.0], [1.0, 2.0], [1.1, 7.0], [1.2, 4.0]]
        >>> metric = bckm.LearnedMetric().fit(X, must_link=[(0, 1, 2), (3, 4, 5)])
        >>> metric.inverse_transform(metric.transform(X)).round(9)[3].tolist()
        [1.0, 2.0]
        """
        check_is_fitted(self)
        if sp.issparse(X) and not isinstance(self.metric_, Learned):
            return X
        points = read_centers(X, "X")
        if points.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {points.shape[1]} features, but the learned space has {self.n_components_}."
            )
        return self.metric_.inverse(points) if isinstance(self.metric_, Learned) else points

    @property
    def _n_features_out(self) -> int:
        """Columns of `transform`; scikit-learn names them after the class."""
        return self.n_components_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
