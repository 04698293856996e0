"""`feature_weights`: which features a learned metric counts more, and which less."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.metric.learned import Learned
from bckm.study import Study


@dataclass(frozen=True, eq=False)
class FeatureWeights:
    """How much features count in the plain and in a learned metric.

    Attributes
    ----------
    features : array of int
        Columns of X, those that gain most first.
    plain, learned : array
        Share of each in the squared distances between samples, as far as its own variance makes
        them; the shares of all features add up to 1.
    left_out : int
        How many in between are left out.

    Examples
    --------
    >>> from bckm.study import views
    >>> import bckm
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> views.feature_weights(bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X)) is None
    True
    """

    features: IntArray
    plain: FloatArray
    learned: FloatArray
    left_out: int


def feature_weights(study: Study, most: int = 10) -> FeatureWeights | None:
    """Return how much features count with and without the learned metric; None if there is none.

    Parameters
    ----------
    study : Study
        What to show.
    most : int
        Features at either end, if there are more than twice as many.

    Examples
    --------
    >>> import bckm, numpy as np
    >>> from bckm.study import views
    >>> known = np.arange(30) % 3
    >>> X = np.stack([known + np.arange(30) % 7 / 20, np.arange(30) % 11], axis=1)
    >>> rules = bckm.Constraints.from_labels(known)
    >>> result = bckm.kmeans(X, 3, rules, metric="learned", random_state=0)
    >>> found = views.feature_weights(bckm.Study.of(result, X, rules))
    >>> found.features.tolist(), found.plain.round(2).tolist(), bool(found.learned[0] > 0.5)
    ([0, 1], [0.07, 0.93], True)
    """
    metric = study.result.metric
    if not isinstance(metric, Learned):
        return None
    plain, learned = metric.variance, metric.variance * metric.feature_weights
    plain, learned = (one / (float(one.sum()) or 1.0) for one in (plain, learned))
    order = np.argsort(plain - learned, kind="stable")
    left_out = order.size - 2 * most
    if left_out > 0:
        order = np.delete(order, slice(most, order.size - most))
    return FeatureWeights(order, plain[order], learned[order], max(left_out, 0))
