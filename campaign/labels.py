"""Label arrays against an oracle: which rules are broken, where and by how much.

The oracle (`tests.support.oracle`) reads rules as they were drawn, in whole numbers; `bckm.verify`
reads the `Constraints` made of them.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import Any

import numpy as np

import bckm
from campaign.part import Case, Part
from tests.support.instances import all_labels
from tests.support.oracle import owed, parts
from tests.support.rule_instances import Drawn, draw

EACH = 250
Broken = dict[tuple[Any, ...], list[float]]  # amounts by rule and cluster


def look(case: Case) -> None:
    """Draw rules, and labels that break few or many of them."""
    large = case.number % 3 == 0
    drawn = draw(case.key, *((40, 6) if large else (8, 3)))
    labels = drawn_labels(drawn, case.rng)
    hard, soft = Expected(drawn, labels, soft=False), Expected(drawn, labels, soft=True)
    for at, y in enumerate(labels):
        found = bckm.verify(y, drawn.k, drawn.constraints)
        case.count("broken arrays", bool(found))
        case.count("violations", len(found))
        difference(hard.of(at), told(found), f"labels {y.tolist()}")
        hard.look_at_labels(at, found)
        violated = bckm.verify(y, drawn.k, drawn.constraints, soft=True)
        case.count("violated soft rules", len(violated))
        difference(soft.of(at), told(violated), f"soft rules, labels {y.tolist()}")
        case.count(PART.what)


def drawn_labels(drawn: Drawn, rng: np.random.Generator) -> np.ndarray:
    """Half of them near to what is asked, where all labels can be listed; else any."""
    n, k = len(drawn.X), drawn.k
    found = rng.integers(k, size=(EACH, n))
    if k**n <= 7_000:
        every = all_labels(n, k)
        lost = sum((owed(ask, every, k) > 0 for ask in drawn.hard), np.zeros(len(every), int))
        near = np.argsort(lost + rng.random(len(every)))[: EACH // 2]
        found[: near.size] = every[near]
    else:  # one cluster for nearly all, and one or two samples moved from the array before
        found[: EACH // 10] = rng.integers(k, size=(EACH // 10, 1))
        for at in range(1, EACH // 3):
            found[at] = np.where(rng.random(n) < 1.5 / n, found[at], found[at - 1])
    return found


class Expected:
    """What the oracle says of label arrays."""

    def __init__(self, drawn: Drawn, labels: np.ndarray, *, soft: bool) -> None:
        self.drawn, self.labels, self.found = drawn, labels, []
        for ask in drawn.soft if soft else drawn.hard:
            if ask.price is not None and not ask.price[1]:
                continue  # for nothing
            if ask.labels and not soft:
                continue  # the library may state them as sets: looked at on their own
            mark = () if ask.price is None else (ask.price[0], float(ask.price[1]))
            for key, amount in parts(ask, labels, drawn.k):
                self.found.append(((*mark, *key), np.asarray(amount, float)))
        self.linked = [ask for ask in drawn.hard if ask.labels]

    def of(self, at: int) -> Broken:
        """What the labels of a number break."""
        broken: Broken = defaultdict(list)
        for key, amounts in self.found:
            if amounts[at] > 0:
                broken[key].append(amounts[at])
        return broken

    def look_at_labels(self, at: int, found: list[bckm.Violation]) -> None:
        """Hard links from labels may be told as sets or pairs, but must cover what is broken."""
        y = self.labels[at]
        torn = {a.data for a in self.linked if a.kind == "must" and y[a.data[0]] != y[a.data[1]]}
        met = {a.data for a in self.linked if a.kind == "cannot" and y[a.data[0]] == y[a.data[1]]}
        asked = {ask.data for ask in self.linked}
        named: dict[str, set[tuple[int, int]]] = {"MustLink": set(), "CannotLink": set()}
        for one in found:
            if from_labels(one.rule):
                pairs = set(combinations(sorted(one.rule.samples), 2))
                assert pairs <= asked, (one, asked)
                named[type(one.rule).__name__] |= pairs
        wrong = (y.tolist(), torn, met, named)
        assert torn <= named["MustLink"], wrong
        assert bool(named["MustLink"]) == bool(torn), wrong
        # of labels that are torn apart only one sample each is kept apart from the others
        assert bool(named["CannotLink"]) == bool(met) or torn, wrong
        assert not named["CannotLink"] or met, wrong


def from_labels(rule: Any) -> bool:
    """Whether a link comes from labels."""
    return str(getattr(rule, "why", "")).startswith("label")


def told(found: list[bckm.Violation]) -> Broken:
    """What `verify` says, by rule and cluster; hard links from labels are left out."""
    broken: Broken = defaultdict(list)
    for one in found:
        assert str(one), one
        rule, mark = one.rule, ()
        if hasattr(rule, "weight"):
            mark = (("price", "confidence")[rule.relative], rule.weight)
            rule = rule.rule
        elif from_labels(rule):
            continue
        broken[*mark, *key_of(rule, one.cluster)].append(one.amount)
    return broken


def key_of(rule: Any, cluster: int | None) -> tuple[Any, ...]:
    """A rule of the library as the oracle calls it."""
    name = type(rule).__name__
    if name in ("MustLink", "CannotLink"):
        return name, rule.samples
    if name in ("Fixed", "Forbidden"):
        return name, rule.sample, rule.cluster
    if name in ("SizeMin", "NonEmpty", "SizeMax"):
        return name, "max" if name == "SizeMax" else "min", cluster
    if name == "CapacityBound":
        return name, tuple(rule.source.values.tolist()), rule.side, cluster
    if name == "QuotaBound":
        return name, rule.source.categories[rule.category], rule.share, rule.side, cluster
    if name == "RowBound":
        return name, rule.side, rule.row
    if name == "MovedMax":
        return name, rule.value
    assert name == "Moved", rule
    return (name,)


def difference(expected: Broken, found: Broken, where: str) -> None:
    """Raise unless both break the same rules by the same amounts."""
    for key in {*expected, *found}:
        a, b = sorted(expected.get(key, [])), sorted(found.get(key, []))
        same = len(a) == len(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12)
        assert same, f"{where}: {key} is broken by {a}, verify says {b}"


PART = Part("labels", "label arrays", 1_000_000, look, each=EACH, chunk=40)
