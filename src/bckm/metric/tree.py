"""A metric as a tree, for files."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import Any

from bckm._storage.fields import Fields
from bckm.metric.embedding import Euclidean, Metric
from bckm.metric.judging import Judgment
from bckm.metric.learned import Learned
from bckm.metric.named import METRICS, read_metric


def metric_tree(metric: Metric) -> dict[str, Any]:
    """The name of a metric, how it was judged if it was to be learned, and what was learned."""
    judgment = metric.judgment
    tree: dict[str, Any] = {
        "name": metric.name,
        "judgment": None if judgment is None else asdict(judgment),
    }
    if isinstance(metric, Learned):
        tree |= {
            "origin": metric.origin,
            "matrix": metric.matrix,
            "variance": metric.variance,
        }
    elif metric.name not in METRICS:
        raise TypeError(f"the metric {metric!r:.60} cannot be saved.")
    return tree


def read_metric_tree(tree: Fields, n_features: int | None = None) -> Metric:
    """A metric from a file, for data of so many features."""
    name = tree.text("name")
    judgment = None if tree["judgment"] is None else _judgment(tree.of("judgment"))
    if judgment is not None and judgment.learned != (name == Learned.name):
        raise ValueError(f"the judgment of the metric {name!r:.60} is that of another one")
    if name == Learned.name:
        if judgment is None:
            raise ValueError("the learned metric has no judgment")
        matrix = tree.floats("matrix", (n_features, None))
        origin, variance = (tree.floats(key, (len(matrix),)) for key in ("origin", "variance"))
        if not matrix.size or (variance < 0).any():
            raise ValueError("the learned metric has no dimensions, or a negative variance")
        return Learned(origin, matrix, variance, judgment)
    if judgment is not None and name == Euclidean.name:
        return Euclidean(judgment)
    if judgment is not None:
        raise ValueError(f"the metric {name!r:.60} is not one that is learned")
    return read_metric(name)


def _judgment(tree: Fields) -> Judgment:
    """Fields that a later version added have their defaults."""
    readers = {"bool": tree.flag, "str": tree.text, "int": tree.whole}
    found: dict[str, Any] = {}
    for field in fields(Judgment):
        if field.name not in tree.tree and field.name not in ("learned", "message"):
            continue
        kind = str(field.type)  # annotations are texts
        if kind in readers:
            found[field.name] = readers[kind](field.name)
        else:
            value = tree[field.name]  # what was not judged is no number
            unknown = isinstance(value, float) and math.isnan(value)
            found[field.name] = value if unknown else tree.number(field.name)
    return Judgment(**found)
