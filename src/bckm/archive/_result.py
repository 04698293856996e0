"""`Result` as a tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bckm._core.types import FloatArray
from bckm._storage.fields import Fields, narrow
from bckm.constraints import rules
from bckm.constraints.parse import read_cluster_names
from bckm.constraints.rule_tree import read_rule, rule_tree
from bckm.constraints.tree import Pool
from bckm.fit.mixed.measure import Mixed
from bckm.fit.result import Result, SoftViolation, result_on_host
from bckm.fit.steps import history_tree, read_history, read_status
from bckm.metric.embedding import Metric
from bckm.metric.tree import metric_tree, read_metric_tree


def result_tree(result: Result, pool: Pool) -> dict[str, Any]:
    """All of a result; statements that rules come from go to the pool."""
    result = result_on_host(result)
    names = rules.names_in(violation.rule.rule for violation in result.violated)
    return {
        "labels": narrow(result.labels),
        "centers": result.centers,
        "embedded": result.embedded,
        "metric": metric_tree(result.metric),
        "prices": result.prices,
        "inertia": float(result.inertia),
        "penalty": float(result.penalty),
        "lower_bound": float(result.lower_bound),
        "seconds": float(result.seconds),
        "status": result.status.value,
        "assignment_status": result.assignment_status.value,
        "solver": result.solver,
        "counters": {name: int(number) for name, number in result.counters.items()},
        "history": history_tree(result.history),
        "violated": [_violation_tree(violation, pool) for violation in result.violated],
        "cluster_names": None if names is None else list(names),
        "mixed": None if result.mixed is None else _mixed_tree(result.mixed),
    }


def read_result(fields: Fields, pool: Pool) -> Result:
    """A `Result` from a file."""
    centers = fields.floats("centers", (None, None))
    k = len(centers)
    labels = fields.whole_numbers("labels")
    if not labels.size or not k or labels.max() >= k:
        raise ValueError(f"labels are not between 0 and {k - 1}")
    embedded = fields.floats("embedded", (k, None))
    metric = read_metric_tree(fields.of("metric"), centers.shape[1])
    if ensure_finite(metric, centers).shape != embedded.shape:
        raise ValueError(f"embedded centers do not fit the metric {metric.name!r}")
    counters = fields.of("counters")
    names = read_cluster_names(fields["cluster_names"])
    if names is not None and len(names) != k:
        raise ValueError(f"there are {len(names)} names for {k} clusters")
    return Result(
        labels=labels,
        centers=centers,
        inertia=fields.amount("inertia"),
        lower_bound=fields.number("lower_bound"),
        status=read_status(fields.text("status")),
        assignment_status=read_status(fields.text("assignment_status")),
        history=read_history(fields.of("history")),
        seconds=fields.amount("seconds"),
        sizes=np.bincount(labels, minlength=k),
        solver=fields.text("solver"),
        embedded=embedded,
        metric=metric,
        counters={name: counters.whole(name) for name in counters.tree},
        prices=None if fields["prices"] is None else fields.floats("prices", (k,)),
        penalty=fields.amount("penalty"),
        violated=tuple(
            _violation(Fields(tree, "a violated rule"), pool, labels.size, k, names)
            for tree in fields.all("violated")
        ),
        mixed=_read_mixed(fields, centers.shape[1]),
    )


def _mixed_tree(mixed: Mixed) -> dict[str, Any]:
    return {
        "between": float(mixed.between),
        "total": float(mixed.total),
        "variances": mixed.variances,
        "spread": mixed.spread,
        "least_spread": mixed.least_spread,
    }


def _read_mixed(fields: Fields, n_features: int) -> Mixed | None:
    if fields.tree.get("mixed") is None:  # files of before know nothing of it
        return None
    mixed = fields.of("mixed")
    return Mixed(
        between=mixed.amount("between"),
        total=mixed.amount("total"),
        variances=mixed.flag("variances"),
        spread=mixed.floats("spread", (n_features,)),
        least_spread=mixed.floats("least_spread", (n_features,)),
    )


def ensure_finite(metric: Metric, data: FloatArray) -> FloatArray:
    """Points of data, which numbers of a file must not make too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        points: FloatArray = metric.embedded(data)
    if not np.isfinite(points).all():
        raise ValueError(f"the metric {metric.name!r} takes data to infinity")
    return points


def _violation_tree(violation: SoftViolation, pool: Pool) -> dict[str, Any]:
    return {
        "rule": rule_tree(violation.rule.rule, pool),
        "weight": float(violation.rule.weight),
        "relative": violation.rule.relative,
        "message": violation.message,
        "paid": float(violation.penalty),
        "saved": float(violation.saved),
    }


def _violation(
    fields: Fields, pool: Pool, n_samples: int, n_clusters: int, names: rules.ClusterNames | None
) -> SoftViolation:
    rule = read_rule(fields.of("rule"), pool, n_samples, n_clusters)
    if hasattr(rule, "clusters"):
        rule = replace(rule, clusters=names)  # type: ignore[arg-type]
    soft = rules.SoftRule(rule, fields.number("weight"), fields.flag("relative"))
    return SoftViolation(
        soft, fields.text("message"), fields.number("paid"), fields.number("saved")
    )
