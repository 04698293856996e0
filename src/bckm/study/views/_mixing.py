"""`mixing`: how alike mixed groups are, feature by feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.types import BoolArray, FloatArray
from bckm.study import Study


@dataclass(frozen=True, eq=False)
class Mixing:
    """Means of each feature in each cluster, and how far apart they are, in the person's units.

    Attributes
    ----------
    features : tuple of str
        Names of the features.
    means : array (k, d)
        Mean of each feature in each cluster; NaN where a cluster is empty.
    overall : array (d,)
        Mean over all samples.
    spread : array (d,)
        Largest less least mean.
    least_spread : array (d,)
        No clusters of these sizes have a smaller spread; 0 where that is not known.
    proven : array (d,)
        Whether the spread is as small as that.
    deviation : array (d,)
        Standard deviation over all samples: a spread is small compared to it.
    deviations : array (k, d)
        Standard deviation in each cluster.
    """

    features: tuple[str, ...]
    means: FloatArray
    overall: FloatArray
    spread: FloatArray
    least_spread: FloatArray
    proven: BoolArray
    deviation: FloatArray
    deviations: FloatArray


def mixing(study: Study) -> Mixing | None:
    """Return how alike the clusters are; None if they are not to be.

    Parameters
    ----------
    study : Study
        What to show.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> result = bckm.kmeans(X, 2, objective="mixed", random_state=0)
    >>> found = views.mixing(bckm.Study.of(result, X, feature_names=["mark"]))
    >>> found.features, found.means.tolist(), found.spread.tolist(), found.proven.tolist()
    (('mark',), [[1.5], [1.5]], [0.0], [True])
    >>> views.mixing(bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X)) is None
    True
    """
    mixed = study.result.mixed
    if mixed is None:
        return None
    data, labels, k = study.X, study.result.labels, study.n_clusters
    weight = np.ones(len(data)) if study.sample_weight is None else study.sample_weight
    means = np.full((k, data.shape[1]), np.nan)
    deviations = means.copy()
    for i in range(k):
        inside = labels == i
        if weight[inside].sum() > 0:
            means[i], deviations[i] = _moments(data[inside], weight[inside])
    overall, deviation = _moments(data, weight)
    return Mixing(
        features=study.feature_names,
        means=means,
        overall=overall,
        spread=np.nanmax(means, axis=0) - np.nanmin(means, axis=0),
        least_spread=mixed.least_spread * study.scaling.factor,
        proven=mixed.proven,
        deviation=deviation,
        deviations=deviations,
    )


def _moments(data: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation."""
    mean = np.average(data, axis=0, weights=weight)
    square = np.average(np.square(data - mean), axis=0, weights=weight)
    return mean, np.sqrt(square)
