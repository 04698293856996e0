"""What each labeling owes each drawn rule, by brute force and in whole numbers.

It reads rules as `tests.support.rule_instances` drew them, never those of the library (but
for `holds`, which reads the rules that a conflict names), and shares no code with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tests.support.instances import all_labels, inertias
from tests.support.rule_instances import Ask, Drawn

Key = tuple[Any, ...]  # which rule is broken, and in which cluster


def owed(ask: Ask, labels: np.ndarray, k: int) -> np.ndarray:
    """By how much each of the labels (L, n) breaks a rule: numbers of samples, pairs, units."""
    return sum((amount for _, amount in parts(ask, labels, k)), np.zeros(len(labels), int))


def parts(ask: Ask, labels: np.ndarray, k: int) -> list[tuple[Key, np.ndarray]]:
    """The same for all that may be broken on its own: each pair, each cluster, each side."""
    kind, data = ask.kind, ask.data
    if kind == "must":
        if ask.pairs:
            return [
                (("MustLink", (p, q)), (labels[:, p] != labels[:, q]).astype(int))
                for p, q in combinations(data, 2)
            ]
        return [(("MustLink", data), (labels[:, list(data)] != labels[:, [data[0]]]).sum(axis=1))]
    if kind == "cannot":
        return [
            (
                ("CannotLink", (p, q) if ask.pairs else data),
                (labels[:, p] == labels[:, q]).astype(int),
            )
            for p, q in combinations(data, 2)
        ]
    if kind == "fixed":
        return [(("Fixed", *data), (labels[:, data[0]] != data[1]).astype(int))]
    if kind == "forbidden":
        return [(("Forbidden", *data), (labels[:, data[0]] == data[1]).astype(int))]
    if kind == "at_most":
        previous, most = data
        moved = ((previous >= 0) & (labels != previous)).sum(axis=1)
        return [(("MovedMax", most), np.maximum(moved - most, 0))]
    if kind == "moved":
        previous, prices, scale = data
        left = (((previous >= 0) & (labels != previous)) * prices).sum(axis=1)
        return [(("Moved",), left / scale)]
    inside = labels[:, :, None] == np.arange(k)  # (L, n, k)
    sizes = inside.sum(axis=1)
    if kind in ("size_min", "nonempty", "size_max"):
        name = {"size_min": "SizeMin", "nonempty": "NonEmpty", "size_max": "SizeMax"}[kind]
        sides = (None, data) if kind == "size_max" else (data, None)
        return _beyond((name,), sizes, *sides)
    if kind == "sum":
        values, scale, low, up = data
        held = (inside * values[:, None]).sum(axis=1)
        return _beyond(("CapacityBound", tuple((values / scale).tolist())), held, low, up, scale)
    if kind == "rows":
        A, low, up = data
        return _beyond(("RowBound",), inside.reshape(len(labels), -1) @ A.T, low, up)
    return _quota_parts(kind, data, inside)


def _beyond(
    name: Key, held: np.ndarray, low: Any, up: Any, scale: int = 1
) -> list[tuple[Key, np.ndarray]]:
    """By how much amounts (L, m) lie beyond bounds, for each of the m clusters or rows."""
    found = []
    for side, bound, sign in (("min", low, 1), ("max", up, -1)):
        if bound is None:
            continue
        missing = np.maximum(sign * (np.asarray(bound) - held), 0) / scale
        found += [((*name, side, at), missing[:, at]) for at in range(held.shape[1])]
    return found


def _quota_parts(kind: str, data: Any, inside: np.ndarray) -> list[tuple[Key, np.ndarray]]:
    names, bound = data
    sizes = inside.sum(axis=1)
    n = inside.shape[1]
    found = []
    for name in sorted({c for c in names if c is not None}):
        if kind != "within" and name not in bound:
            continue
        held = inside[:, names == name].sum(axis=1)
        key = ("QuotaBound", name, not kind.startswith("count"))
        if kind == "within":  # in units of 1 / (100 n) sample
            whole = 100 * int((names == name).sum())
            low, up = max(whole - bound * n, 0), min(whole + bound * n, 100 * n)
            found += _beyond(key, 100 * n * held, low * sizes, up * sizes, 100 * n)
        elif kind.startswith("count"):
            low, up = (bound[name], None) if kind == "count_min" else (None, bound[name])
            found += _beyond(key, held, low, up)
        else:
            share = bound[name] * sizes
            low, up = (share, None) if kind == "share_min" else (None, share)
            found += _beyond(key, 10 * held, low, up, 10)
    return found


@dataclass
class Truth:
    """Every labeling, with what brute force says about it."""

    labels: np.ndarray
    obeys: np.ndarray
    penalty: np.ndarray

    @classmethod
    def of(cls, drawn: Drawn) -> Truth:
        labels = all_labels(len(drawn.X), drawn.k)
        obeys = np.ones(len(labels), bool)
        for ask in drawn.hard:
            obeys &= owed(ask, labels, drawn.k) == 0
        penalty = np.zeros(len(labels))
        for ask in drawn.soft:
            penalty += owed(ask, labels, drawn.k) * in_inertia(drawn, ask.price)
        return cls(labels, obeys, penalty)

    def at(self, y: np.ndarray) -> int:
        k = self.labels.max() + 1
        return int(np.polyval(y, k))  # labels are counted in base k


def in_inertia(drawn: Drawn, price: tuple[str, float]) -> float:
    """A price in units of inertia: a confidence of 1 is what a mean sample costs."""
    kind, number = price
    if kind == "price":
        return number
    whole = Drawn(drawn.X, 1, drawn.weight)
    total = float(inertias(whole, np.zeros((1, len(drawn.X)), int))[0])
    if total <= 1e-25 * np.square(drawn.X).sum():
        return number  # all alike, no scale: a confidence is a price
    return number * total / len(drawn.X)


# -- single rules of the library, for conflicts ---------------------------------------------------


def holds(rule: Any, labels: np.ndarray, k: int) -> np.ndarray:
    """Which labels obey a rule that a conflict names."""
    kind = type(rule).__name__
    inside = labels[:, :, None] == np.arange(k)
    sizes = inside.sum(axis=1)
    if kind in ("MustLink", "CannotLink"):
        part = np.sort(labels[:, list(rule.samples)], axis=1)
        equal = np.diff(part, axis=1) == 0
        return equal.all(axis=1) if kind == "MustLink" else ~equal.any(axis=1)
    if kind == "Fixed":
        return labels[:, rule.sample] == rule.cluster
    if kind == "Forbidden":
        return labels[:, rule.sample] != rule.cluster
    if kind == "NonEmpty":
        return (sizes > 0).all(axis=1)
    if kind == "MovedMax":
        previous = rule.source.values
        return ((previous >= 0) & (labels != previous)).sum(axis=1) <= rule.value
    slack = 1e-7  # sums here are multiples of 1 / 1000 or more
    low = kind == "SizeMin" or getattr(rule, "side", "") == "min"
    if kind == "RowBound":
        amount = (inside.reshape(len(labels), -1) @ rule.source.A.toarray()[rule.row])[:, None]
        bound: Any = rule.value
    elif kind == "QuotaBound":
        amount = inside[:, rule.source.values == rule.category].sum(axis=1)
        bound = rule.value * sizes if rule.share else rule.value
    else:
        amount, bound = sizes, rule.value
        if kind == "CapacityBound":
            amount = (inside * rule.source.values[:, None]).sum(axis=1)
        if rule.cluster is not None:
            amount = amount[:, [rule.cluster]]
    good = amount >= bound - slack if low else amount <= bound + slack
    return good.all(axis=1)
