"""Rules that contradict each other, or are violated: which card, and which samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from bckm._core.terminal import clean
from bckm.app.cards import Asked
from bckm.constraints.rules import (
    CannotLink,
    CapacityBound,
    Fixed,
    Forbidden,
    Moved,
    MovedMax,
    MustLink,
    NonEmpty,
    QuotaBound,
    SizeMax,
    SizeMin,
    SoftRule,
)
from bckm.constraints.sample_id import located
from bckm.plan import compile_rules
from bckm.tables import Table

_Links = MustLink | CannotLink
SHOWN = 4  # samples that are named


def samples_of(rule: Any) -> list[int]:
    """Positions that a rule names; none where it is about all."""
    if isinstance(rule, SoftRule):
        return samples_of(rule.rule)
    if isinstance(rule, _Links):
        return [int(one) for one in rule.samples]
    return [int(rule.sample)] if isinstance(rule, Fixed | Forbidden) else []


class Cards:
    """Finds the card behind a rule: each card is compiled alone, when it is first asked for."""

    def __init__(self, asked: Asked, table: Table) -> None:
        self._asked, self._table = asked, table
        self._marks: list[tuple[str, set[Any], dict[Any, list[frozenset[int]]]]] | None = None

    def prepare(self) -> None:
        """Compile the cards, if that is not done."""
        if self._marks is None:
            self._marks = [
                (card, *self._read(at)) for at, card in enumerate(self._asked.cards) if card
            ]

    def of(self, rule: Any) -> str | None:
        """The id of the card, or None."""
        if isinstance(rule, SoftRule):
            return self.of(rule.rule)
        self.prepare()
        assert self._marks is not None
        mark = _mark(rule)
        for card, marks, _ in self._marks:
            if mark in marks:
                return card
        if isinstance(rule, _Links):  # a pair of a larger set
            mine = frozenset(rule.samples)
            for card, _, sets in self._marks:
                if any(mine <= one for one in sets.get(type(rule), ())):
                    return card
        return None

    def _read(self, at: int) -> tuple[set[Any], dict[Any, list[frozenset[int]]]]:
        plan = self._asked.plan
        one = compile_rules(replace(plan, clauses=(plan.clauses[at],)), self._table)
        n, k = self._table.n_rows, one.n_clusters
        constraints = located(one.constraints, n, one.sample_id, n)
        marks: set[Any] = set()
        sets: dict[Any, list[frozenset[int]]] = {}
        for rule in (*constraints.rules(n, k), *constraints.soft_rules(n, k)):
            bare = rule.rule if isinstance(rule, SoftRule) else rule
            marks.add(_mark(bare))
            if isinstance(bare, _Links) and len(bare.samples) > 2:
                sets.setdefault(type(bare), []).append(frozenset(bare.samples))
        marks.discard(("NonEmpty",))
        return marks, sets


def _mark(rule: Any) -> tuple[Any, ...]:
    match rule:
        case MustLink() | CannotLink():
            return (type(rule).__name__, frozenset(rule.samples))
        case Fixed() | Forbidden():
            return (type(rule).__name__, rule.sample, rule.cluster)
        case SizeMin() | SizeMax():
            return (type(rule).__name__, rule.value, rule.cluster)
        case CapacityBound():
            return ("capacity", rule.source.name, rule.side, rule.value, rule.cluster)
        case QuotaBound():
            return ("quota", rule.source.name, rule.category, rule.side, rule.value, rule.share)
        case Moved() | MovedMax():
            return ("stay",)
    return (type(rule).__name__,)


def conflict_tree(rules: Sequence[Any], asked: Asked, table: Table) -> list[dict[str, Any]]:
    """Rules of a conflict, as the page hears them."""
    cards = Cards(asked, table)
    return [
        {
            "text": clean(str(rule)),
            "card": cards.of(rule),
            "samples": samples_of(rule),
            **said(rule),
        }
        for rule in rules
    ]


def said(rule: Any, cluster: str | None = None) -> dict[str, Any]:
    """A rule as the page words it: a key of its texts, and values; nothing where it has no words.

    `cluster` is the one that violates a rule about every cluster.
    """
    if isinstance(rule, SoftRule):
        return said(rule.rule, cluster)
    of = getattr(rule, "cluster", None)
    where = cluster if of is None else str(rule.clusters[of] if rule.clusters else of + 1)
    one = "" if where is None else ".one"
    values: dict[str, Any] = {} if where is None else {"cluster": where}
    match rule:
        case MustLink() | CannotLink():
            key = "together" if isinstance(rule, MustLink) else "apart"
            values = {"samples": _named(rule.samples, rule.ids)}
        case SizeMin() | SizeMax():
            key = f"size.{'min' if isinstance(rule, SizeMin) else 'max'}{one}"
            values |= {"n": rule.value}
        case CapacityBound():
            key = f"capacity.{rule.side}{one}"
            values |= {"column": rule.source.name, "amount": rule.value}
        case QuotaBound():
            key = f"quota.{'share' if rule.share else 'count'}.{rule.side}"
            amount = 100 * rule.value if rule.share else rule.value
            category = str(rule.source.categories[rule.category])
            values = {"column": rule.source.name, "category": category, "amount": amount}
        case Fixed() | Forbidden():
            key = "fixed" if isinstance(rule, Fixed) else "forbidden"
            values |= {"samples": _named((rule.sample,), rule.ids)}
        case MovedMax():
            key, values = "moved", {"n": rule.value}
        case Moved():
            key, values = "stay", {}
        case NonEmpty():
            key, values = "filled", {}
        case _:
            return {}
    return {"key": key, "values": values}


def _named(samples: Sequence[Any], ids: Sequence[Any] | None) -> str:
    names = [clean(str(one)) for one in (samples if ids is None else ids)]
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def broken_tree(
    violations: Iterable[Any], cards: Cards, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Violations, as the page hears them; `names` are those of the clusters."""
    return [
        {
            "text": clean(one.message),
            "card": cards.of(one.rule),
            "samples": samples_of(one.rule),
            **({} if one.cluster is None else {"cluster": int(one.cluster)}),
            **said(one.rule, None if one.cluster is None else names[one.cluster]),
        }
        for one in violations
    ]
