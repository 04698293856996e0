"""Metrics by their names."""

from __future__ import annotations

from typing import Any

from bckm.metric.embedding import Euclidean, Metric
from bckm.metric.sphere import Cosine, Haversine, LatLon

LEARNED = "learned"
_ALL = (Euclidean(), Cosine(), LatLon(), Haversine())
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}


def read_metric(metric: Any) -> Metric:
    """Read a metric that is known: a name, a `Metric`, or a fitted `bckm.LearnedMetric`."""
    found = getattr(metric, "metric_", metric)
    if isinstance(found, Metric):
        return found
    if is_learned(metric):
        raise ValueError(
            "metric='learned' is for a fit, which learns it; pass what was learned: "
            "metric=result.metric, or a fitted bckm.LearnedMetric."
        )
    if not isinstance(metric, str) or metric not in METRICS:
        names = ", ".join(map(repr, (*METRICS, LEARNED)))
        raise ValueError(f"metric must be one of {names}; got {metric!r:.60}.")
    return METRICS[metric]


def is_learned(metric: Any) -> bool:
    """Whether a metric is yet to be learned."""
    return isinstance(metric, str) and metric == LEARNED
