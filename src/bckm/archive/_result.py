"""`Result` as a tree."""

from __future__ import annotations

from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any

import numpy as np

from bckm._storage.fields import Fields, narrow, scalar
from bckm.archive._statements import Pool
from bckm.constraints import rules
from bckm.constraints.parse import read_cluster_names
from bckm.constraints.statements import Capacity, LinearRows, Quota, Stay
from bckm.fit.result import Result, SoftViolation
from bckm.fit.steps import history_tree, read_history, read_status

_SOURCES = {
    rules.CapacityBound: Capacity,
    rules.QuotaBound: Quota,
    rules.RowBound: LinearRows,
    rules.MovedMax: Stay,
    rules.Moved: Stay,
}
_RULES: dict[str, Any] = {
    one.__name__: one
    for one in (
        rules.MustLink,
        rules.CannotLink,
        rules.SizeMin,
        rules.SizeMax,
        rules.NonEmpty,
        rules.Fixed,
        rules.Forbidden,
        *_SOURCES,
    )
}


def result_tree(result: Result, pool: Pool) -> dict[str, Any]:
    """All of a result; statements that rules come from go to the pool."""
    names = rules.names_in(one.rule.rule for one in result.violated)
    return {
        "labels": narrow(result.labels),
        "centers": result.centers,
        "embedded": result.embedded,
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
        "violated": [_violation_tree(one, pool) for one in result.violated],
        "cluster_names": None if names is None else list(names),
    }


def read_result(fields: Fields, pool: Pool) -> Result:
    """A `Result` from a file."""
    centers = fields.floats("centers", (None, None))
    k = len(centers)
    labels = fields.whole_numbers("labels")
    if not labels.size or not k or labels.max() >= k:
        raise ValueError(f"labels are not between 0 and {k - 1}")
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
        embedded=fields.floats("embedded", (k, None)),
        counters={name: counters.whole(name) for name in counters.tree},
        prices=None if fields["prices"] is None else fields.floats("prices", (k,)),
        penalty=fields.amount("penalty"),
        violated=tuple(
            _violation(Fields(one, "a violated rule"), pool, labels.size, k, names)
            for one in fields.all("violated")
        ),
    )


def _violation_tree(one: SoftViolation, pool: Pool) -> dict[str, Any]:
    return {
        "rule": _rule_tree(one.rule.rule, pool),
        "weight": float(one.rule.weight),
        "relative": one.rule.relative,
        "message": one.message,
        "paid": float(one.penalty),
        "saved": float(one.saved),
    }


def _violation(
    fields: Fields, pool: Pool, n_samples: int, n_clusters: int, names: rules.ClusterNames | None
) -> SoftViolation:
    rule = _rule(fields.of("rule"), pool, n_samples, n_clusters)
    if hasattr(rule, "clusters"):
        rule = replace(rule, clusters=names)  # type: ignore[arg-type]
    soft = rules.SoftRule(rule, fields.number("weight"), fields.flag("relative"))
    return SoftViolation(
        soft, fields.text("message"), fields.number("paid"), fields.number("saved")
    )


def _rule_tree(rule: rules.Rule, pool: Pool) -> dict[str, Any]:
    tree: dict[str, Any] = {"rule": type(rule).__name__}
    for field in fields_of(rule):
        if field.name == "clusters":  # names stand once, beside all rules
            continue
        value = getattr(rule, field.name)
        if field.name == "source":
            value = pool.number(value)
        elif field.name == "ids" and value is not None:
            value = [scalar(one, "the id") for one in value]
        tree[field.name] = value
    return tree


def _rule(fields: Fields, pool: Pool, n_samples: int, n_clusters: int) -> rules.Rule:
    kind = _RULES.get(fields.text("rule"))
    if kind is None:
        raise ValueError(f"there is no rule {fields.text('rule')!r:.60}")
    values: dict[str, Any] = {}
    for field in fields_of(kind):
        if field.name != "clusters":
            values[field.name] = _value(fields, field.name, kind, pool)
    for name, most in (("sample", n_samples), ("cluster", n_clusters)):
        if values.get(name) is not None and values[name] >= most:
            raise ValueError(f"a rule is about {name} {values[name]}; there are {most}")
    if any(p >= n_samples for p in values.get("samples", ())):
        raise ValueError("a link names samples that are not there")
    if "row" in values and values["row"] >= values["source"].A.shape[0]:
        raise ValueError("a rule is about a row that is not there")
    if "category" in values and values["category"] >= len(values["source"].categories):
        raise ValueError("a rule is about a category that is not there")
    found: rules.Rule = kind(**values)
    return found


def _value(fields: Fields, name: str, kind: Any, pool: Pool) -> Any:
    """One field of a rule."""
    match name:
        case "source":
            return pool.at(fields, "source", _SOURCES[kind])
        case "samples":
            each = [Fields({"p": p}, "a link").whole("p") for p in fields.all("samples")]
            return tuple(each)
        case "ids":
            return None if fields["ids"] is None else tuple(fields.scalars("ids"))
        case "side":
            if fields.text("side") not in ("min", "max"):
                raise ValueError("a bound has no side")
            return fields.text("side")
        case "why":
            return fields.text("why")
        case "share":
            return fields.flag("share")
        case "value":
            bounded = kind in (rules.SizeMin, rules.SizeMax, rules.MovedMax)
            return fields.whole("value") if bounded else fields.number("value")
        case "cluster" if fields["cluster"] is None and kind not in (rules.Fixed, rules.Forbidden):
            return None
    return fields.whole(name)  # sample, cluster, category, row
