"""Rules in plain words; samples by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bckm._core.names import Name, Told
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
from bckm.report.words import (
    Sentence,
    between,
    beyond,
    counted,
    exact,
    listed,
    number,
    share,
)
from bckm.study import Study
from bckm.verification import Violation

Range = tuple[float, float]


def bare(rule: Rule | SoftRule) -> Rule:
    """The rule itself, whether or not it is soft."""
    return rule.rule if isinstance(rule, SoftRule) else rule


class Words:
    """Rules of a study in words; samples by their names."""

    def __init__(self, study: Study) -> None:
        self.study, self.n_clusters = study, study.n_clusters

    def lines(self, kind: str, rules: Sequence[Rule]) -> Iterable[Sentence]:
        """What rules of one kind ask."""
        return _LINES[kind](self, rules)

    def sample(self, p: int, name: object = None) -> str:
        """What a sample is called; `name` is what the rule itself calls it."""
        if self.study.sample_id is not None:
            return Name(self.study.sample_id[p])
        return f"Sample {p:,}" if name is None else Name(str(name))

    def cluster(self, label: int) -> str:
        """What a cluster is called; a number needs no escaping."""
        name = self.study.cluster_names[label]
        return Name(name) if isinstance(name, str) else str(name)

    def where(self, label: int | None, every: str) -> Sentence:
        """A cluster in a sentence; `every` is how it speaks of all of them."""
        if label is None:
            return (f"{every} cluster",)
        return ("Cluster " if every == "Every" else " in cluster ", self.cluster(label))

    def samples(
        self, places: Sequence[int], ids: tuple[object, ...] | None = None, most: int = 6
    ) -> Sentence:
        """Names of several samples."""
        if self.study.sample_id is None and ids is None:
            numbers = [f"{p:,}" for p in places[:most]] + [""] * (len(places) - most)
            return ("Samples " if len(places) > 1 else "Sample ", *listed(numbers, most))
        names = ids if ids is not None else (None,) * len(places)
        # those that are not named are not looked up: a set may hold all samples
        shown = [self.sample(p, name) for p, name in zip(places[:most], names, strict=False)]
        return listed([*shown, *[""] * (len(places) - len(shown))], most)

    def broken(
        self, rule: Rule | SoftRule, message: str, violation: Violation | None = None
    ) -> Sentence:
        """What is wrong, by the names of the samples; `message` is how the library says it."""
        labels = self.study.result.labels
        match bare(rule):
            case MustLink(samples, _, ids):
                here = [self.cluster(i) for i in sorted({int(labels[p]) for p in samples})]
                told = (" should be together, but are in clusters ", *listed(here), ".")
                return (*self.samples(samples, ids), *told)
            case CannotLink(samples, _, ids):
                where = [int(labels[p]) for p in samples]
                at = [q for q, i in enumerate(where) if where.count(i) > 1]
                called = None if ids is None else tuple(ids[q] for q in at)
                close = self.samples([samples[q] for q in at], called)
                here = [self.cluster(i) for i in sorted({where[q] for q in at})]
                word = "cluster " if len(here) == 1 else "clusters "
                return (*close, " should be apart, but share ", word, *listed(here), ".")
            case Fixed(sample, cluster, ids):
                name = self.sample(sample, ids and ids[0])
                told = (" should be in cluster ", self.cluster(cluster), ", but is in ")
                return (name, *told, self.cluster(labels[sample]), ".")
            case Forbidden(sample, cluster, ids):
                name = self.sample(sample, ids and ids[0])
                told = (" is in cluster ", self.cluster(cluster), ", which is forbidden for it.")
                return (name, *told)
            case CapacityBound(source, side, value) if violation is not None:
                low = side == "min"
                total = value + violation.amount * (-1 if low else 1)
                return (
                    "The sum of ",
                    Name(source.name),
                    *self.where(violation.cluster, " in every"),
                    f" is {beyond(total, value)}, ",
                    f"{number(violation.amount)} {'below' if low else 'above'} its bound of "
                    f"{exact(value)}.",
                )
            case RowBound():  # begins with a name
                return (Told(message),)
        return (Told(message[:1].upper() + message[1:]),)

    def sizes(self, rules: Sequence[Rule]) -> Iterable[Sentence]:
        """How many samples clusters hold."""
        ranges = _ranges(
            (rule.cluster, "min" if isinstance(rule, SizeMin) else "max", rule.value)
            for rule in rules
            if isinstance(rule, SizeMin | SizeMax)
        )
        for cluster, bounds in ranges.items():
            held = f" has {between(*bounds)} {_samples(bounds)}."
            yield (*self.where(cluster, "Every"), held)
        if any(isinstance(rule, NonEmpty) for rule in rules):
            yield ("No cluster is empty.",)

    def loads(self, rules: Sequence[Rule]) -> Iterable[Sentence]:
        """What clusters hold of the amounts of a capacity."""
        found = [rule for rule in rules if isinstance(rule, CapacityBound)]
        for source in {id(rule.source): rule.source for rule in found}.values():
            ranges = _ranges((r.cluster, r.side, r.value) for r in found if r.source is source)
            for cluster, bounds in ranges.items():
                where = self.where(cluster, " in every")
                yield ("The sum of ", Name(source.name), *where, f" is {between(*bounds)}.")

    def links(self, rules: Sequence[Rule]) -> Iterable[Sentence]:
        """Who is with whom, and who is not."""
        for rule in rules:
            if isinstance(rule, MustLink | CannotLink):
                word = " together" if isinstance(rule, MustLink) else " apart"
                why = (
                    [] if rule.why in ("must-link", "cannot-link") else [" (", Name(rule.why), ")"]
                )
                yield (*self.samples(rule.samples, rule.ids), word, *why, ".")

    def quotas(self, rules: Sequence[Rule]) -> Iterable[Sentence]:
        """What categories clusters hold."""
        found = [rule for rule in rules if isinstance(rule, QuotaBound)]
        for source in {id(rule.source): rule.source for rule in found}.values():
            ranges = _ranges(
                ((r.category, r.share), r.side, r.value) for r in found if r.source is source
            )
            for (category, of_share), bounds in ranges.items():
                much = between(*bounds, share if of_share else number)
                unit = "of the samples" if of_share else _samples(bounds)
                yield (
                    Name(source.name),
                    ": every cluster has ",
                    Name(str(source.categories[category])),
                    f" as {much} {unit}.",
                )

    def fixed(self, rules: Sequence[Rule]) -> Iterable[Sentence]:
        """Which samples lie where."""
        for rule in rules:
            if isinstance(rule, Fixed | Forbidden):
                verb = "is in" if isinstance(rule, Fixed) else "is not in"
                name = self.sample(rule.sample, rule.ids and rule.ids[0])
                yield (name, f" {verb} cluster ", self.cluster(rule.cluster), ".")

    def stays(self, rules: Sequence[Rule]) -> Iterable[Sentence]:
        """Who keeps its previous cluster."""
        for rule in rules:
            if isinstance(rule, MovedMax):
                many = counted(rule.value, "sample")
                whose = "its" if rule.value == 1 else "their"
                yield (f"At most {many} may leave {whose} previous cluster.",)
            elif isinstance(rule, Moved):
                paid = int(rule.source.paid.sum())
                whose = "its" if paid == 1 else "their"
                yield (f"{counted(paid, 'sample')} should keep {whose} previous cluster.",)

    def rows(self, rules: Sequence[Rule]) -> Iterable[Sentence]:
        """Any linear rules."""
        found = [rule for rule in rules if isinstance(rule, RowBound)]
        for source in {id(rule.source): rule.source for rule in found}.values():
            ranges = _ranges((r.row, r.side, r.value) for r in found if r.source is source)
            for row, bounds in ranges.items():
                yield (Name(source.name), f", row {row}: {between(*bounds)}.")


_LINES: dict[str, Callable[[Words, Sequence[Rule]], Iterable[Sentence]]] = {
    "size": Words.sizes,
    "capacity": Words.loads,
    "together": Words.links,
    "apart": Words.links,
    "quota": Words.quotas,
    "fixed": Words.fixed,
    "stay": Words.stays,
    "row": Words.rows,
}


def _samples(bounds: Range) -> str:
    """The noun after a range: what comes last before it decides."""
    last = bounds[1] if np.isfinite(bounds[1]) else bounds[0]
    return "sample" if last == 1 else "samples"


def _ranges(bounds: Iterable[tuple[Any, str, float]]) -> dict[Any, Range]:
    """Both sides of each bound; of several the tighter ones."""
    found: dict[Any, Range] = {}
    for key, side, value in bounds:
        low, high = found.get(key, (-np.inf, np.inf))
        found[key] = (max(low, value), high) if side == "min" else (low, min(high, value))
    return found
