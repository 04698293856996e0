"""Rules in plain words, grouped by kind, and how many of each kind labels keep."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from bckm.constraints.rule_list import RuleBlock, Rules, SoftBlock, SoftRules
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
    RowBound,
    Rule,
    SizeMax,
    SizeMin,
    SoftRule,
)
from bckm.report._sentences import Words, bare
from bckm.report.words import Sentence, counted, number
from bckm.study import Study
from bckm.verification import Violation, verify

Listing = TypeVar("Listing", Rules, SoftRules)
MOST = 200  # sentences about rules of one kind

_KINDS: dict[type, str] = {
    SizeMin: "size",
    SizeMax: "size",
    NonEmpty: "size",
    CapacityBound: "capacity",
    MustLink: "together",
    CannotLink: "apart",
    QuotaBound: "quota",
    Fixed: "fixed",
    Forbidden: "fixed",
    MovedMax: "stay",
    Moved: "stay",
    RowBound: "row",
}
_TITLES = {
    "size": "Sizes",
    "capacity": "Capacities",
    "together": "Together",
    "apart": "Apart",
    "quota": "Quotas",
    "fixed": "Fixed and forbidden clusters",
    "stay": "Previous clusters",
    "row": "Linear rules",
}
_UNITS = {  # what a soft rule of each kind is paid for
    "size": "sample beyond the bound",
    "capacity": "unit beyond the bound",
    "together": "pair",
    "apart": "pair",
    "quota": "sample beyond the bound",
    "fixed": "sample",
    "stay": "sample that leaves",
}


@dataclass(frozen=True, eq=False)
class Topic:
    """Rules of one kind: what they ask, and how many are kept.

    Attributes
    ----------
    kind : str
        size, capacity, together, apart, quota, fixed, stay or row.
    title : str
        The kind for a person.
    nouns : tuple of two str
        What is counted: of one, of several.
    soft : bool
        Whether they are soft.
    asked, kept : int
        Single rules: links, fixed samples, bounds of one cluster, samples that should stay.
    lines : tuple of Sentence
        In words, at most `MOST`; `left_out` is how many more there are.
    price : str
        What a violation costs; empty for hard rules.
    moved : Sentence
        Of a limit on moves: how many were used, and by whom.
    """

    kind: str
    title: str
    nouns: tuple[str, str]
    soft: bool
    asked: int
    kept: int
    lines: tuple[Sentence, ...]
    left_out: int
    price: str = ""
    moved: Sentence = ()

    @property
    def counted(self) -> str:
        """How many are asked."""
        return counted(self.asked, *self.nouns)

    @property
    def score(self) -> str:
        """How many are kept."""
        return self.scored(soft=False)

    def scored(self, *, soft: bool) -> str:
        """How many are kept; in lines without headings soft ones are called so."""
        one, several = (f"soft {noun}" if soft else noun for noun in self.nouns)
        return f"{self.kept:,} of {counted(self.asked, one, several)}"


@dataclass(frozen=True, eq=False)
class Checked:
    """What was asked, and what the independent checker says about it."""

    topics: tuple[Topic, ...]
    broken: tuple[Sentence, ...]  # hard rules; a result of the library has none
    lost: dict[str, Violation]  # soft rules, by their messages

    @property
    def stated(self) -> tuple[Topic, ...]:
        """Topics without that of sizes, if all it says is what goes without saying."""
        return tuple(topic for topic in self.topics if topic.asked)


def check_rules(study: Study) -> Checked:
    """Read the rules of a study, and check its labels anew."""
    n, k, labels = study.n_samples, study.n_clusters, study.result.labels
    hard = study.constraints.rules(n, k)
    soft = study.constraints.soft_rules(n, k)
    words = Words(study)
    broken = verify(labels, k, study.constraints)
    lost = verify(labels, k, study.constraints, soft=True)
    topics = [_topic(kind, rules, broken, words, None) for kind, rules in _grouped(hard)]
    for kind, priced in _grouped(soft):
        rules = Rules(_bare(entry) for entry in priced.entries)
        topics.append(_topic(kind, rules, lost, words, priced))
    first = {(id(one.rule), one.cluster): one for one in broken}.values()  # a set of links once
    told = [words.broken(one.rule, one.message, one) for one in islice(first, MOST)]
    return Checked(tuple(topics), tuple(told), {one.message: one for one in lost})


def _grouped(rules: Listing) -> list[tuple[str, Listing]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for entry in rules.entries:
        one = _bare(entry)
        found[_KINDS[one.kind if isinstance(one, RuleBlock) else type(one)]].append(entry)
    return [(kind, type(rules)(found[kind])) for kind in _TITLES if kind in found]


def _bare(entry: RuleBlock | SoftBlock | Rule | SoftRule) -> RuleBlock | Rule:
    """Without its price."""
    if isinstance(entry, SoftBlock):
        return RuleBlock(entry.kind, entry.links)
    return entry.rule if isinstance(entry, SoftRule) else entry


def _topic(
    kind: str,
    rules: Rules,
    violations: list[Violation],
    words: Words,
    soft: SoftRules | None,
) -> Topic:
    asked = len(rules.links) + sum(_count(rule, words.n_clusters) for rule in rules.others)
    lost = {
        (id(one.rule), one.cluster): _lost(bare(one.rule), words.study)
        for one in violations
        if _KINDS[type(bare(one.rule))] == kind
    }
    lines = list(islice(words.lines(kind, rules), MOST + 1))
    left_out = max(0, len(rules) - MOST) if len(lines) > MOST else 0
    return Topic(
        kind=kind,
        title=_TITLES[kind],
        nouns=_nouns(kind, rules),
        soft=soft is not None,
        asked=asked,
        kept=asked - sum(lost.values()),
        lines=tuple(lines[:MOST]),
        left_out=left_out,
        price="" if soft is None else _price(kind, soft),
        moved=_moved(rules, words) if kind == "stay" else (),
    )


def _count(rule: Rule, n_clusters: int) -> int:
    match rule:
        case SizeMin() | SizeMax() | CapacityBound():
            return n_clusters if rule.cluster is None else 1
        case QuotaBound():
            return n_clusters
        case NonEmpty():  # nobody asked for it
            return 0
        case Moved(source):
            return int(source.paid.sum())
    return 1


def _lost(rule: Rule, study: Study) -> int:
    if isinstance(rule, Moved):
        return int((rule.source.paid & (rule.source.values != study.result.labels)).sum())
    return 0 if isinstance(rule, NonEmpty) else 1


def _nouns(kind: str, rules: Rules) -> tuple[str, str]:
    if kind in ("together", "apart"):
        pairs = all(block.starts is None for block in rules.links.blocks)
        noun = "pair" if pairs else "set"
        return f"{noun} {kind}", f"{noun}s {kind}"
    if kind == "stay" and isinstance(rules[0], Moved):
        return "sample stays", "samples stay"
    one, rest = {
        "size": ("bound", " on sizes"),
        "capacity": ("bound", " on capacities"),
        "quota": ("bound", " of quotas"),
        "fixed": ("sample", " in their cluster"),
        "stay": ("limit", " on moves"),
        "row": ("linear rule", ""),
    }[kind]
    return one + rest.replace("their", "its"), f"{one}s{rest}"


def _moved(rules: Rules, words: Words) -> Sentence:
    """How much of limits on moves was used, and by whom."""
    told: Sentence = ()
    for rule in rules:
        if isinstance(rule, MovedMax):
            previous = rule.source.values
            gone = np.flatnonzero((previous >= 0) & (previous != words.study.result.labels))
            told += (". " if told else "", f"{gone.size:,} of {counted(rule.value, 'move')} used")
            told += (": ", *words.samples(gone.tolist(), most=9)) if gone.size else ()
    return told


def _price(kind: str, rules: SoftRules) -> str:
    """What a violation costs, of all that may differ."""
    relative = {entry.relative for entry in rules.entries}
    found = list(chain.from_iterable(map(_prices, rules.others)))
    found += [float(end) for b in rules.blocks for end in (b.weight.min(), b.weight.max())]
    low, high = min(found), max(found)
    word = "confidence" if relative == {True} else "price" if relative == {False} else "weight"
    much = number(low) if low == high else f"{number(low)} to {number(high)}"
    return f"{word} {much} for each {_UNITS[kind]}"


def _prices(priced: SoftRule) -> list[float]:
    if isinstance(priced.rule, Moved):
        source = priced.rule.source
        return [float(price) for price in np.unique(source.prices[source.paid])]
    return [priced.weight]
