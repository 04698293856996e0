"""Drawn rules in other words: about ids, one by one, and as a rules file with a table."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import bckm
from tests.support.rule_instances import Ask, Drawn


def constraints_of(drawn: Drawn, names: list[Any] | None = None) -> bckm.Constraints:
    """The rules of a drawn instance, each stated on its own; about ids if there are names."""
    found = bckm.Constraints(by="position" if names is None else "sample_id")
    if not drawn.nonempty:
        found = found & bckm.Constraints(size_min=0)
    for ask in drawn.asks:
        if drawn.nonempty and ask.kind == "size_min" and ask.price is None:
            # a stated bound, even zero, replaces "no cluster is empty"
            ask = replace(ask, data=np.maximum(ask.data, 1))
        found = found & _of(ask, names)
    return found


def _of(ask: Ask, names: list[Any] | None) -> bckm.Constraints:
    kind, data = ask.kind, ask.data
    by = {"by": "position" if names is None else "sample_id"}

    def called(p: int) -> Any:
        return int(p) if names is None else names[p]

    def each(values: Any) -> Any:
        values = [None if v is None else v.item() if hasattr(v, "item") else v for v in values]
        return values if names is None else dict(zip(names, values, strict=True))

    if kind == "moved":
        previous, prices, scale = data
        return bckm.Constraints(
            stay=bckm.Stay(each(previous), **{ask.price[0]: prices / scale}), **by
        )
    asked: dict[str, Any] = {}
    if kind in ("must", "cannot"):
        links = list(combinations(data, 2)) if ask.pairs else [data]
        asked[f"{kind}_link"] = [[called(p) for p in link] for link in links]
    elif kind in ("fixed", "forbidden"):
        asked[kind] = [(called(data[0]), data[1])]
    elif kind in ("size_min", "size_max"):
        asked[kind] = np.asarray(data)
    elif kind == "at_most":
        asked["stay"] = bckm.Stay(each(data[0]), at_most=data[1])
    elif kind == "rows":
        asked["linear"] = bckm.LinearRows(*data)
    elif kind == "sum":
        values, scale, low, up = data
        sides = [None if side is None else side / scale for side in (low, up)]
        asked["capacities"] = {"load": bckm.Capacity(each(values / scale), *sides)}
    else:
        categories, bound = data
        asked["quotas"] = bckm.Quota(each(categories), **_quota(kind, bound))
    found = bckm.Constraints(**asked, **by)
    return found if ask.price is None else found.soft(**{ask.price[0]: ask.price[1]})


def _quota(kind: str, bound: Any) -> dict[str, Any]:
    if kind == "within":
        return {"within": f"±{bound}%"}
    return {kind: bound if kind.startswith("count") else {c: t / 10 for c, t in bound.items()}}


def told_in_toml(ask: Ask) -> bool:
    """Whether a rules file can say it."""
    if ask.kind == "rows":
        return False
    return ask.kind != "moved" or len(set(ask.data[1].tolist())) == 1


def as_file(drawn: Drawn, names: list[str]) -> tuple[Drawn, str, dict[str, list[Any]]]:
    """What a rules file can say of an instance: that part of it, the file, and the table."""
    asks = [ask for ask in drawn.asks if told_in_toml(ask)]
    table: dict[str, list[Any]] = {"name": list(names)}
    features = [f"x{at}" for at in range(drawn.X.shape[1])]
    for at, feature in enumerate(features):
        table[feature] = [repr(value) for value in drawn.X[:, at].tolist()]
    lines = [f"clusters = {drawn.k}", 'id = "name"', f"columns = {toml_of(features)}"]
    if drawn.weight is not None:
        table["mass"] = [repr(value) for value in drawn.weight.tolist()]
        lines.append('weight = "mass"')
    stated = any(ask.kind == "size_min" and ask.price is None for ask in asks)
    if not drawn.nonempty and not stated:
        lines += ["[[size]]", "min = 0"]
    for ask in asks:
        lines += _clause(ask, names, table)
        if ask.price is not None:
            price = ask.price[1] * (ask.data[1][0] / ask.data[2] if ask.kind == "moved" else 1)
            lines.append(f"{ask.price[0]} = {toml_of(float(price))}")
    kept = replace(drawn, asks=asks, constraints=None, nonempty=drawn.nonempty and not stated)
    return kept, "\n".join(lines) + "\n", table


def write_files(folder: Path, drawn: Drawn, names: list[str]) -> tuple[Drawn, list[str]]:
    """A table and a rules file: what they state, and the words that name them."""
    kept, rules, table = as_file(drawn, names)
    with (folder / "data.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    (folder / "rules.toml").write_text(rules, "utf-8")
    return kept, [str(folder / "data.csv"), "--rules", str(folder / "rules.toml")]


def _clause(ask: Ask, names: list[str], table: dict[str, list[Any]]) -> list[str]:
    kind, data = ask.kind, ask.data

    def column(values: Any) -> str:
        name = f"c{len(table)}"
        table[name] = ["" if v is None else v if isinstance(v, str) else repr(v) for v in values]
        return f"column = {toml_of(name)}"

    if kind in ("must", "cannot"):
        word = "together" if kind == "must" else "apart"
        return [f"[[{word}]]", f"ids = {toml_of([names[p] for p in data])}"]
    if kind in ("fixed", "forbidden"):
        return [f"[[{kind}]]", f"id = {toml_of(names[data[0]])}", f"cluster = {data[1] + 1}"]
    if kind in ("size_min", "size_max"):
        return ["[[size]]", f"{kind[5:]} = {toml_of(np.asarray(data).tolist())}"]
    if kind in ("at_most", "moved"):
        previous = [None if y < 0 else int(y) + 1 for y in data[0]]
        return ["[[stay]]", column(previous), *([f"at_most = {data[1]}"] * (kind == "at_most"))]
    if kind == "sum":
        values, scale, low, up = data
        lines = ["[[capacity]]", column((values / scale).tolist())]
        for side, bound in (("min", low), ("max", up)):
            if bound is not None:
                lines.append(f"{side} = {toml_of((bound / scale).tolist())}")
        return lines
    (key, bound) = next(iter(_quota(kind, data[1]).items()))
    return ["[[quota]]", column(data[0]), f"{key} = {toml_of(bound)}"]


def toml_of(value: Any) -> str:
    """A value as TOML; None and arrays, which it cannot say, become what it refuses."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(letter):08x}" for letter in value) + '"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_of(a)} = {toml_of(b)}" for a, b in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    return repr(value)
