"""Proofs from capacities and quotas: what there is of something, against what clusters may hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from bckm._core.tolerance import allowed, group_sums, smallest
from bckm._core.types import FloatArray
from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import (
    CapacityBound,
    Fixed,
    Forbidden,
    QuotaBound,
    Rule,
    name_cluster,
    names_in,
    plural,
)
from bckm.feasibility._proof import MustLinkGraph, Names, Proof, links_inside, unique
from bckm.problem.linear import as_sum
from bckm.problem.structure import Structure


@dataclass(eq=False)
class Column:
    """A sum that rules bound: what it adds up, and per cluster the rule of each side."""

    values: FloatArray
    first: CapacityBound | QuotaBound
    upper: dict[int, CapacityBound | QuotaBound] = field(default_factory=dict)
    lower: dict[int, CapacityBound | QuotaBound] = field(default_factory=dict)

    @property
    def share(self) -> bool:
        return isinstance(self.first, QuotaBound) and self.first.share

    @property
    def words(self) -> str:
        """What it is."""
        if isinstance(self.first, CapacityBound):
            return f"sums of {self.first.source.name}"
        return f"numbers of {self.first.source.categories[self.first.category]!r}"

    def amount(self, value: float) -> str:
        """So much of it, in words: 120 kg, 3 of 'red'."""
        if isinstance(self.first, CapacityBound):
            return f"{value:.15g} {self.first.source.name}"
        return f"{value:.15g} of {self.first.source.categories[self.first.category]!r}"

    def clear(self, sums: Iterable[float], bounds: Iterable[float]) -> bool:
        """Whether sums are, in all, above bounds, all of which were kept as far as they may be."""
        bounds = list(bounds)
        least, held = smallest(self.values), float(np.abs(self.values).sum())
        room = [allowed(bound, least, 0.0) for bound in bounds]
        gap = math.fsum([*sums, *(-bound for bound in bounds), *(-value for value in room)])
        return gap > allowed(0.0, 0.0, held)


def columns(rules: Rules, k: int) -> Iterator[Column]:
    """All sums that rules bound."""
    columns: dict[tuple[object, ...], Column] = {}
    for rule in rules.others:
        if isinstance(rule, CapacityBound | QuotaBound):
            total = as_sum(rule)
            column = columns.setdefault(total.key, Column(total.values, rule))
            cluster = rule.cluster if isinstance(rule, CapacityBound) else None
            side = column.lower if rule.side == "min" else column.upper
            side.update(dict.fromkeys(range(k) if cluster is None else [cluster], rule))
    yield from columns.values()


def totals(rules: Rules, s: Structure) -> Proof | None:
    """The sums of all clusters add up to the total."""
    for column in columns(rules, s.n_clusters):
        values = column.values.tolist()
        total = math.fsum(values)
        for bounds, high in ((column.upper, True), (column.lower, False)):
            if len(bounds) < s.n_clusters:
                continue
            each = [0.0 if column.share else rule.value for rule in bounds.values()]
            bound = math.fsum(each)
            if not high:  # at least so much is at most so much of the opposite
                values, each = [-value for value in values], [-value for value in each]
            if column.clear(values, each):
                used = unique(iter(bounds.values()))
                if column.share:
                    return _share_of_all(column, used, s)
                word, verb = ("at most", "raise") if high else ("at least", "lower")
                need = "may" if high else "must"
                return Proof(
                    used,
                    len(used) == 1,
                    f"the clusters together {need} hold {word} {column.amount(bound)}, but the "
                    f"data have {_told(total, bound)}",
                    f"{verb} the bound, on average to {_reach(total / s.n_clusters, values, high)}",
                )
    return None


def _told(total: float, bound: float) -> str:
    """A total in as few digits as show its decimals and tell it from a bound."""
    whole = len(f"{abs(total):.0f}")
    for digits in range(max(whole + 2, 6), 15):
        if (told := f"{total:.{digits}g}") != f"{bound:.{digits}g}":
            return told
    return f"{total:.15g}"


def _reach(mean: float, values: list[float], up: bool) -> str:
    """A bound that is wide enough, in few digits; a whole number where all amounts are whole."""
    toward = math.ceil if up else math.floor
    if all(float(value).is_integer() for value in values):
        return f"{toward(mean)}"
    unit = 10.0 ** (math.floor(math.log10(abs(mean))) - 5) if mean else 1.0
    return f"{toward(mean / unit) * unit:.6g}"


def _share_of_all(column: Column, used: tuple[Rule, ...], s: Structure) -> Proof:
    rule = column.first
    assert isinstance(rule, QuotaBound)
    held = int((rule.source.values == rule.category).sum())
    low = rule.side == "min"
    side, verb, beyond = ("at least", "lower", "less") if low else ("at most", "raise", "more")
    return Proof(
        used,
        True,
        f"{held} of all {s.item.size} samples ({100 * held / s.item.size:.4g} %) are "
        f"{rule.source.categories[rule.category]!r}, but {side} {100 * rule.value:.6g} % of every "
        "cluster must be",
        f"{verb} this share to {held / s.item.size:.4g} or {beyond}",
    )


def too_heavy(rules: Rules, s: Structure) -> Proof | None:
    """An item that holds more than any cluster that is open to it may."""
    for column in columns(rules, s.n_clusters):
        if (column.values < 0).any() or not column.upper:
            continue
        most = np.full(s.n_clusters, np.inf)
        most[list(column.upper)] = [rule.value for rule in column.upper.values()]
        held = group_sums(column.values, s.item, s.n_items)
        room = np.full(s.n_items, most.max())
        for j, forbidden in _forbidden_by_item(s):
            room[j] = np.delete(most, forbidden).max(initial=0.0)
        heavy = int((held - room).argmax())
        if column.clear([float(held[heavy])], [float(room[heavy])]):
            return _heavy_item(rules, s, column, heavy, float(room[heavy]))
    return None


def _forbidden_by_item(s: Structure) -> Iterator[tuple[int, list[int]]]:
    if s.forbidden.size:
        item, cluster = s.columns.split(s.forbidden)
        starts = np.flatnonzero(np.diff(item, prepend=-1))
        for j, part in zip(item[starts].tolist(), np.split(cluster, starts[1:]), strict=True):
            yield j, part.tolist()


def _heavy_item(rules: Rules, s: Structure, column: Column, j: int, room: float) -> Proof:
    links = MustLinkGraph(rules, s.item.size)
    inside = np.flatnonzero(s.item == j)
    start = int(inside[column.values[inside].argmax()])
    reached: set[int] = {start}
    used: list[Rule] = []
    for node in links.before(start)[0].tolist():  # near ones first, until it is too much
        if node >= s.item.size and not column.clear([_sum(column, reached)], [room]):
            link = links.links[node - s.item.size]
            if not reached.issuperset(link.samples):
                used.append(link)
                reached.update(link.samples)
    marked = [rule for rule in rules.others if isinstance(rule, Fixed | Forbidden)]
    fixing = [rule for rule in marked if int(s.item[rule.sample]) == j]
    forbidden = dict(_forbidden_by_item(s)).get(j, [])
    left = [i for i in range(s.n_clusters) if i not in forbidden]
    if fixing:  # the ways to them are told with all links
        used = links_inside(rules, s.item, {j})
        reached = set(inside.tolist())
    samples, total = sorted(reached), _sum(column, reached)
    names = Names((*used, *fixing, column.first))
    each = {float(column.values[p]) for p in samples}
    held = f"hold {column.amount(total)}"
    if len(samples) > 1 and len(each) == 1 and isinstance(column.first, CapacityBound):
        held = f"hold {column.amount(each.pop())} each, {column.amount(total)} in total"
    subject = f"{names(*samples)} must stay together and {held}"
    if len(samples) == 1:
        subject = f"{names(*samples)} holds {column.amount(total)}"
    where = name_cluster(left[0], names_in(rules.others)) if len(left) == 1 else "every cluster"
    where += " they can go to" if len(left) > 1 and forbidden else ""
    beyond = (
        f"the capacity of {where}" if isinstance(column.first, CapacityBound) else f"{where} may"
    )
    return Proof(
        (*used, *fixing, *unique(column.upper[i] for i in left)),
        False,
        f"{subject}, more than {beyond} ({column.amount(room)})",
        f"raise this bound to at least {total:.15g} or "
        + ("separate them" if len(samples) > 1 else "leave out this sample"),
    )


def _sum(column: Column, samples: set[int]) -> float:
    return math.fsum(column.values[list(samples)].tolist())


def overloaded(rules: Rules, s: Structure) -> Proof | None:
    """What is fixed to a cluster is more than it may hold."""
    fixed = {rule.sample: rule for rule in rules.others if isinstance(rule, Fixed)}
    if not fixed:
        return None
    samples = np.array(list(fixed))
    cluster = np.array([rule.cluster for rule in fixed.values()])
    for column in columns(rules, s.n_clusters):
        if (column.values < 0).any():
            continue
        sums = group_sums(column.values[samples], cluster, s.n_clusters)
        for i, bound in column.upper.items():
            if not column.clear([float(sums[i])], [bound.value]):
                continue
            here = samples[cluster == i]
            here = here[np.argsort(-column.values[here], kind="stable")]
            after = list(accumulate(column.values[here].tolist()))
            enough = next(
                (at for at, held in enumerate(after, 1) if column.clear([held], [bound.value])),
                len(after),
            )
            used = [fixed[p] for p in here[:enough].tolist()]
            where = name_cluster(i, used[0].clusters)
            return Proof(
                (*used, bound),
                False,
                f"{plural(enough, 'sample')} fixed to {where} hold "
                f"{column.amount(after[enough - 1])}, more than its capacity "
                f"({column.amount(bound.value)})",
                f"raise the capacity of {where} or fix fewer samples to it",
            )
    return None
