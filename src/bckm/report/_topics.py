"""Rules in plain words, grouped by kind, and how many of each kind labels keep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from bckm.checker import Violation, verify
from bckm.report._words import Name, Sentence, Told, between, counted, listed, number, share
from bckm.rules import (
    CannotLink,
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
    SumBound,
)
from bckm.study import Study

MOST = 200  # sentences about rules of one kind

_KINDS: dict[type, str] = {
    SizeMin: "size",
    SizeMax: "size",
    NonEmpty: "size",
    SumBound: "capacity",
    MustLink: "together",
    CannotLink: "apart",
    QuotaBound: "quota",
    Fixed: "place",
    Forbidden: "place",
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
    "place": "Places",
    "stay": "Previous clusters",
    "row": "Linear rules",
}
_UNITS = {  # what a soft rule of each kind is paid for
    "size": "sample beyond the bound",
    "capacity": "unit beyond the bound",
    "together": "pair",
    "apart": "pair",
    "quota": "sample beyond the bound",
    "place": "sample",
    "stay": "sample that leaves",
}
Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Topic:
    """Rules of one kind: what they ask, and how many are kept.

    Attributes
    ----------
    kind : str
        size, capacity, together, apart, quota, place, stay or row.
    title, noun : str
        The kind for a person, and what is counted.
    soft : bool
        Whether they may be given up at a price.
    asked, kept : int
        Single demands: links, places, bounds of one cluster, samples that should stay.
    lines : tuple of Sentence
        In words, at most `MOST`; `left_out` is how many more there are.
    price : str
        What giving up costs; empty for hard rules.
    """

    kind: str
    title: str
    noun: str
    soft: bool
    asked: int
    kept: int
    lines: tuple[Sentence, ...]
    left_out: int
    price: str = ""


@dataclass(frozen=True, eq=False)
class Checked:
    """What was asked, and what the independent checker says about it."""

    topics: tuple[Topic, ...]
    broken: tuple[Sentence, ...]  # hard rules; a result of the library has none

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
    broken = verify(labels, study.constraints, k)
    lost = verify(labels, study.constraints, k, soft=True)
    topics = [_topic(kind, rules, broken, words, None) for kind, rules in _grouped(hard)]
    inner: dict[str, list[SoftRule]] = defaultdict(list)
    for wish in soft:
        inner[_KINDS[type(wish.rule)]].append(wish)
    for kind in _TITLES:
        if kind in inner:
            rules = [wish.rule for wish in inner[kind]]
            topics.append(_topic(kind, rules, lost, words, inner[kind]))
    first = {id(one.rule): one for one in broken}.values()  # of a set, once
    told = [words.broken(one.rule, one.message) for one in islice(first, MOST)]
    return Checked(tuple(topics), tuple(told))


def _grouped(rules: Sequence[Rule]) -> list[tuple[str, list[Rule]]]:
    found: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        found[_KINDS[type(rule)]].append(rule)
    return [(kind, found[kind]) for kind in _TITLES if kind in found]


def _topic(
    kind: str,
    rules: list[Rule],
    violations: list[Violation],
    words: Words,
    wishes: list[SoftRule] | None,
) -> Topic:
    asked = sum(_demands(rule, words.n_clusters) for rule in rules)
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
        noun=_noun(kind, rules),
        soft=wishes is not None,
        asked=asked,
        kept=asked - sum(lost.values()),
        lines=tuple(lines[:MOST]),
        left_out=left_out,
        price="" if wishes is None else _price(kind, wishes),
    )


def bare(rule: Rule | SoftRule) -> Rule:
    """The rule itself, whether or not it is soft."""
    return rule.rule if isinstance(rule, SoftRule) else rule


def _demands(rule: Rule, n_clusters: int) -> int:
    match rule:
        case SizeMin() | SizeMax() | SumBound():
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


def _noun(kind: str, rules: list[Rule]) -> str:
    if kind in ("together", "apart"):
        pairs = all(isinstance(r, MustLink | CannotLink) and len(r.samples) == 2 for r in rules)
        return f"{'pairs' if pairs else 'sets'} {kind}"
    if kind == "stay":
        return "samples stay" if isinstance(rules[0], Moved) else "limits on moves"
    return {
        "size": "bounds on sizes",
        "capacity": "bounds on sums",
        "quota": "bounds of quotas",
        "place": "samples in their place",
        "row": "linear rules",
    }[kind]


def _price(kind: str, wishes: list[SoftRule]) -> str:
    """What a violation costs, of all that may differ."""
    relative = {wish.relative for wish in wishes}
    found = list(chain.from_iterable(_prices(wish) for wish in wishes))
    low, high = min(found), max(found)
    word = "confidence" if relative == {True} else "price" if relative == {False} else "weight"
    much = number(low) if low == high else f"{number(low)} to {number(high)}"
    return f"{word} {much} for each {_UNITS[kind]}"


def _prices(wish: SoftRule) -> list[float]:
    if isinstance(wish.rule, Moved):
        source = wish.rule.source
        return [float(price) for price in np.unique(source.prices[source.paid])]
    return [wish.weight]


class Words:
    """Rules of a study in words; samples by their names."""

    def __init__(self, study: Study) -> None:
        self.study, self.n_clusters = study, study.n_clusters

    def lines(self, kind: str, rules: list[Rule]) -> Iterable[Sentence]:
        """What rules of one kind ask."""
        return _LINES[kind](self, rules)

    def sample(self, p: int, name: object = None) -> str:
        """What a sample is called; `name` is what the rule itself calls it."""
        if self.study.sample_id is not None:
            return Name(self.study.sample_id[p])
        return f"sample {p:,}" if name is None else Name(str(name))

    def samples(
        self, places: Sequence[int], ids: tuple[object, ...] | None = None, most: int = 6
    ) -> Sentence:
        """Names of several samples."""
        names = ids if ids is not None else (None,) * len(places)
        # those that are not named are not looked up: a set may hold all samples
        shown = [self.sample(p, name) for p, name in zip(places[:most], names, strict=False)]
        return listed([*shown, *[""] * (len(places) - len(shown))], most)

    def broken(self, rule: Rule | SoftRule, message: str) -> Sentence:
        """What is wrong, by the names of the samples."""
        labels = self.study.result.labels
        match bare(rule):
            case MustLink(samples, _, ids):
                here = [f"{i}" for i in sorted({int(labels[p]) for p in samples})]
                told = (" should be together, but lie in clusters ", *listed(here), ".")
                return (*self.samples(samples, ids), *told)
            case CannotLink(samples, _, ids):
                names = ids if ids is not None else (None,) * len(samples)
                where = [int(labels[p]) for p in samples]
                at = [q for q, i in enumerate(where) if where.count(i) > 1]
                close = self.samples([samples[q] for q in at], tuple(names[q] for q in at))
                here = [f"{i}" for i in sorted({where[q] for q in at})]
                word = "cluster " if len(here) == 1 else "clusters "
                return (*close, " should be apart, but share ", word, *listed(here), ".")
            case Fixed(sample, cluster, ids):
                name = self.sample(sample, ids and ids[0])
                found = f" should lie in cluster {cluster}, but lies in {labels[sample]}."
                return (name, found)
            case Forbidden(sample, cluster, ids):
                name = self.sample(sample, ids and ids[0])
                return (name, f" lies in cluster {cluster}, which is forbidden to it.")
        if message.startswith("the "):
            message = "T" + message[1:]
        return (Told(message),)

    def sizes(self, rules: list[Rule]) -> Iterable[Sentence]:
        """How many samples clusters hold."""
        ranges = _ranges(
            (rule.cluster, "min" if isinstance(rule, SizeMin) else "max", rule.value)
            for rule in rules
            if isinstance(rule, SizeMin | SizeMax)
        )
        for cluster, bounds in ranges.items():
            yield (f"{_where(cluster, 'Every')} holds {between(*bounds)} samples.",)
        if any(isinstance(rule, NonEmpty) for rule in rules):
            yield ("No cluster is empty.",)

    def sums(self, rules: list[Rule]) -> Iterable[Sentence]:
        """What clusters hold of an attribute."""
        found = [rule for rule in rules if isinstance(rule, SumBound)]
        for source in {id(rule.source): rule.source for rule in found}.values():
            ranges = _ranges((r.cluster, r.side, r.value) for r in found if r.source is source)
            for cluster, bounds in ranges.items():
                where = _where(cluster, "every")
                yield ("The sum of ", Name(source.name), f" in {where} is {between(*bounds)}.")

    def links(self, rules: list[Rule]) -> Iterable[Sentence]:
        """Who is with whom, and who is not."""
        for rule in rules:
            if isinstance(rule, MustLink | CannotLink):
                word = " together" if isinstance(rule, MustLink) else " apart"
                why = (
                    [] if rule.why in ("must-link", "cannot-link") else [" (", Name(rule.why), ")"]
                )
                yield (*self.samples(rule.samples, rule.ids), word, *why, ".")

    def quotas(self, rules: list[Rule]) -> Iterable[Sentence]:
        """What categories clusters hold."""
        found = [rule for rule in rules if isinstance(rule, QuotaBound)]
        for source in {id(rule.source): rule.source for rule in found}.values():
            ranges = _ranges(
                ((r.category, r.share), r.side, r.value) for r in found if r.source is source
            )
            for (category, of_share), bounds in ranges.items():
                much = between(*bounds, share if of_share else number)
                unit = "of the samples" if of_share else "samples"
                yield (
                    Name(source.name),
                    ": every cluster holds ",
                    Name(str(source.categories[category])),
                    f" as {much} {unit}.",
                )

    def places(self, rules: list[Rule]) -> Iterable[Sentence]:
        """Which samples lie where."""
        for rule in rules:
            if isinstance(rule, Fixed | Forbidden):
                verb = "lies in" if isinstance(rule, Fixed) else "does not lie in"
                name = self.sample(rule.sample, rule.ids and rule.ids[0])
                yield (name, f" {verb} cluster {rule.cluster}.")

    def stays(self, rules: list[Rule]) -> Iterable[Sentence]:
        """Who keeps its previous cluster."""
        for rule in rules:
            if isinstance(rule, MovedMax):
                many = counted(rule.value, "sample")
                yield (f"At most {many} may leave their previous cluster.",)
            elif isinstance(rule, Moved):
                many = counted(int(rule.source.paid.sum()), "sample")
                yield (f"{many} should keep their previous cluster.",)

    def rows(self, rules: list[Rule]) -> Iterable[Sentence]:
        """Any linear rules."""
        found = [rule for rule in rules if isinstance(rule, RowBound)]
        for source in {id(rule.source): rule.source for rule in found}.values():
            ranges = _ranges((r.row, r.side, r.value) for r in found if r.source is source)
            for row, bounds in ranges.items():
                yield (Name(source.name), f", row {row}: {between(*bounds)}.")


_LINES: dict[str, Callable[[Words, list[Rule]], Iterable[Sentence]]] = {
    "size": Words.sizes,
    "capacity": Words.sums,
    "together": Words.links,
    "apart": Words.links,
    "quota": Words.quotas,
    "place": Words.places,
    "stay": Words.stays,
    "row": Words.rows,
}


def _where(cluster: object, every: str) -> str:
    if cluster is None:
        return f"{every} cluster"
    return f"{'Cluster' if every == 'Every' else 'cluster'} {cluster}"


def _ranges(bounds: Iterable[tuple[Any, str, float]]) -> dict[Any, Range]:
    """Both sides of each bound; of several the tighter ones."""
    found: dict[Any, Range] = {}
    for key, side, value in bounds:
        low, high = found.get(key, (-np.inf, np.inf))
        found[key] = (max(low, value), high) if side == "min" else (low, min(high, value))
    return found
