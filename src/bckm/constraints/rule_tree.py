"""Single rules as trees, for a file."""

from __future__ import annotations

from dataclasses import fields as fields_of
from typing import Any

from bckm._storage.fields import Fields, scalar
from bckm.constraints import rules
from bckm.constraints.statements import Capacity, LinearRows, Quota, Stay
from bckm.constraints.tree import Pool

_SOURCES = {
    rules.CapacityBound: Capacity,
    rules.QuotaBound: Quota,
    rules.RowBound: LinearRows,
    rules.MovedMax: Stay,
    rules.Moved: Stay,
}
_RULES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
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


def rule_tree(rule: rules.Rule, pool: Pool) -> dict[str, Any]:
    """A rule; the statement that it comes from goes to the pool."""
    tree: dict[str, Any] = {"rule": type(rule).__name__}
    for field in fields_of(rule):
        if field.name == "clusters":  # names stand once, beside all rules
            continue
        value = getattr(rule, field.name)
        if field.name == "source":
            value = pool.number(value)
        elif field.name == "ids" and value is not None:
            value = [scalar(name, "the id") for name in value]
        tree[field.name] = value
    return tree


def read_rule(fields: Fields, pool: Pool, n_samples: int, n_clusters: int) -> rules.Rule:
    """A rule from a file, about so many samples and clusters."""
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
    rule: rules.Rule = kind(**values)
    return rule


def _value(fields: Fields, name: str, kind: Any, pool: Pool) -> Any:
    """One field of a rule."""
    match name:
        case "source":
            return pool.at(fields, "source", _SOURCES[kind])
        case "samples":
            return tuple(Fields({"p": p}, "a link").whole("p") for p in fields.all("samples"))
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
