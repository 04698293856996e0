"""A metric learned from links for a number of clusters: quick fits help to judge and refine it."""

from __future__ import annotations

import math
from typing import Any

import bckm
from bckm._core.deadline import Deadline
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import read_data, read_n_clusters
from bckm.constraints import Constraints
from bckm.exceptions import InfeasibleError, UndecidedError
from bckm.metric.embedding import Metric
from bckm.metric.learn import learn_metric
from bckm.metric.links_seen import links_only
from bckm.metric.refining import NoClusters


def learned_metric(
    X: Any,  # noqa: N803
    n_clusters: int,
    constraints: Constraints,
    sample_weight: Any = None,
    deadline: Deadline | None = None,
    n_jobs: int | None = None,
) -> Metric:
    """Learn a metric for a fit with these arguments; see `bckm.metric.learn.learn_metric`."""
    data, deadline = read_data(X), deadline or Deadline()
    n = data.shape[0]
    k = read_n_clusters(n_clusters, n)

    def quick_labels(points: FloatArray, samples: IntArray) -> IntArray:
        if samples.size < k:
            raise NoClusters
        # bounds would not fit a part of the samples
        rules = constraints if samples.size == n else links_only(constraints).take(samples)
        limit = None if deadline.left == math.inf else deadline.left
        options: dict[str, Any] = {"search": "none", "n_init": 1, "random_state": 0}
        try:  # by the public door, since a fit asks for this
            found = bckm.kmeans(points, k, rules, time_limit=limit, n_jobs=n_jobs, **options)
        except (InfeasibleError, UndecidedError) as error:
            raise NoClusters from error
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return found.labels

    return learn_metric(data, constraints, sample_weight, deadline, quick_labels)
