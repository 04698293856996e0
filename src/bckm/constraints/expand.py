"""From `Constraints` to single rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bckm._core.types import FloatArray
from bckm._core.validation import resolve_sizes
from bckm.constraints.linear_rule import LinearRule
from bckm.constraints.links import Links
from bckm.constraints.rule_list import LinkKind, RuleBlock, SoftBlock
from bckm.constraints.rules import (
    CannotLink,
    CapacityBound,
    ClusterNames,
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
    name_samples,
)
from bckm.constraints.statements import Capacity, LinearRows, Stay

if TYPE_CHECKING:
    from bckm.constraints import Constraints


@dataclass(frozen=True, eq=False)
class Softened:
    """Rules that may be violated, and what each violation costs."""

    constraints: Constraints
    weight: FloatArray  # one number, or one per link
    relative: bool


def hard_rules(c: Constraints, n_samples: int, n_clusters: int) -> list[RuleBlock | Rule]:
    """The rules of `Constraints`, as if none were soft; links as blocks."""
    names = c.cluster_names
    if names is not None and len(names) != n_clusters:
        raise ValueError(f"cluster_names has {len(names)} names for {n_clusters} clusters.")
    rules: list[RuleBlock | Rule] = []
    rules += _links(c.must_link, MustLink, n_samples, "must_link")
    rules += _links(c.cannot_link, CannotLink, n_samples, "cannot_link")
    lower = resolve_sizes(c.size_min, n_samples, "size_min")
    upper = resolve_sizes(c.size_max, n_samples, "size_max")
    for value, cluster in _per_cluster(lower, n_clusters, "size_min"):
        if value > 0:
            rules.append(SizeMin(int(value), cluster, names))
    for value, cluster in _per_cluster(upper, n_clusters, "size_max"):
        if value < n_samples:
            rules.append(SizeMax(int(value), cluster, names))
    if c.size_min is None:
        rules.append(NonEmpty(names))
    for rule in c.fixed_and_forbidden:
        _check_fixed(rule, n_samples, n_clusters)
        rules.append(rule if names is None else replace(rule, clusters=names))
    for statement in c.statements:
        if isinstance(statement, LinearRule):
            statement = statement.compiled(n_samples, n_clusters)
        if isinstance(statement, LinearRows):
            rules += _row_rules(statement, n_samples, n_clusters)
            continue
        _check_length(statement, n_samples)
        if isinstance(statement, Capacity):
            rules += _capacity_rules(statement, n_clusters, names)
        else:
            rules += [QuotaBound(statement, *bound) for bound in statement.bounds()]
    for stay in c.stay:
        _check_length(stay, n_samples)
        if stay.values.max(initial=-1) >= n_clusters:
            raise ValueError(
                f"Stay refers to cluster {stay.values.max()}; clusters are 0 to {n_clusters - 1}."
            )
        if stay.at_most is not None and stay.at_most < n_samples:
            rules.append(MovedMax(stay, stay.at_most))
        rules += [
            Fixed(p, int(stay.values[p])) for p in np.flatnonzero(stay.prices == np.inf).tolist()
        ]
    return rules


def priced_rules(
    part: Softened, n_samples: int, n_clusters: int, names: ClusterNames | None
) -> Iterator[SoftBlock | SoftRule]:
    """The rules of a softened `Constraints` with their prices; links pair by pair."""
    c = part.constraints._with(cluster_names=names)
    prices = np.broadcast_to(part.weight, len(c.must_link) + len(c.cannot_link))
    for links, kind, what, price in (
        (c.must_link, MustLink, "must_link", prices[: len(c.must_link)]),
        (c.cannot_link, CannotLink, "cannot_link", prices[len(c.must_link) :]),
    ):
        begin = 0
        for block in links.blocks:
            own = price[begin : begin + len(block)]
            begin += len(block)
            pairs, of = block.every_pair()
            for rules in _links(Links([pairs]), kind, n_samples, what):
                yield SoftBlock(kind, rules.links, own[of], part.relative)
    if part.weight.ndim == 0:
        for rule in hard_rules(
            c._with(must_link=Links(), cannot_link=Links()), n_samples, n_clusters
        ):
            if not isinstance(rule, NonEmpty | RuleBlock):
                yield SoftRule(rule, float(part.weight), part.relative)


def made_hard(priced: Iterable[SoftBlock | SoftRule]) -> Iterator[RuleBlock | Rule]:
    """Those whose price is infinite."""
    for one in priced:
        if isinstance(one, SoftRule):
            if one.weight == np.inf:
                yield one.rule
        elif (hard := one.weight == np.inf).any():
            yield RuleBlock(one.kind, one.links.take(hard))


def kept_soft(priced: Iterable[SoftBlock | SoftRule]) -> Iterator[SoftBlock | SoftRule]:
    """Those whose price is neither zero nor infinite."""
    for one in priced:
        soft = np.asarray((one.weight > 0) & (one.weight < np.inf))
        if soft.all():
            yield one
        elif not isinstance(one, SoftRule):
            yield replace(one, links=one.links.take(soft), weight=one.weight[soft])


def stay_rules(stays: tuple[Stay, ...]) -> list[SoftRule]:
    """Moves that cost something; a `Stay` knows the price of each sample itself."""
    return [SoftRule(Moved(stay), 1.0, stay.relative) for stay in stays if stay.paid.any()]


def _links(links: Links, kind: LinkKind, n_samples: int, what: str) -> Iterator[RuleBlock]:
    """Blocks of links that name samples which are there, at least two each."""
    for block in links.blocks:
        other = block.among not in (None, n_samples)
        begin = block.samples[: block.begin(1)] if other else block.samples
        if begin.max() >= n_samples:
            named = name_samples(block[block.link_of(int(np.argmax(begin >= n_samples)))])
            raise ValueError(
                f"{what} refers to {named}, but samples are numbered 0 to {n_samples - 1}."
            )
        if other:
            raise ValueError(
                f"{block[0].why} comes from {block.among} values, but there are {n_samples} "
                "samples."
            )
        words = tuple(word or what.replace("_", "-") for word in block.words)
        if block.samples.dtype == object:
            block = replace(block, samples=block.samples.astype(np.int64))
        block = replace(block, words=words)
        if block.starts is not None and (block.length < 2).any():
            block = block.take(block.length > 1)  # a sample is always together with itself
        yield RuleBlock(kind, block)


def _check_fixed(rule: Fixed | Forbidden, n_samples: int, n_clusters: int) -> None:
    what = type(rule).__name__.lower()
    if rule.sample >= n_samples:
        raise ValueError(
            f"{what} refers to sample {rule.sample}, but samples are numbered 0 to {n_samples - 1}."
        )
    if rule.cluster >= n_clusters:
        raise ValueError(
            f"{what} refers to cluster {rule.cluster}; clusters are 0 to {n_clusters - 1}."
        )


def _check_length(block: Any, n_samples: int) -> None:
    if block.values.size != n_samples:
        raise ValueError(
            f"{block.what} of {block.name!r} cover {block.values.size} samples, but there are "
            f"{n_samples}."
        )


def _capacity_rules(capacity: Capacity, n_clusters: int, names: ClusterNames | None) -> list[Rule]:
    sides: tuple[tuple[Literal["min", "max"], FloatArray | None], ...]
    sides = (("min", capacity.min), ("max", capacity.max))
    return [
        CapacityBound(capacity, side, float(value), cluster, names)
        for side, bounds in sides
        for value, cluster in _per_cluster(
            bounds, n_clusters, f"{side} of capacity {capacity.name!r}"
        )
        if np.isfinite(value)
    ]


def _row_rules(block: LinearRows, n_samples: int, n_clusters: int) -> list[Rule]:
    if block.A.shape[1] != n_samples * n_clusters:
        raise ValueError(
            f"A of {block.name!r} has {block.A.shape[1]} columns; "
            f"{n_samples} samples x {n_clusters} clusters need {n_samples * n_clusters}."
        )
    rules: list[Rule] = []
    for r in range(block.A.shape[0]):
        if np.isfinite(block.lower[r]):
            rules.append(RowBound(block, "min", float(block.lower[r]), r))
        if np.isfinite(block.upper[r]):
            rules.append(RowBound(block, "max", float(block.upper[r]), r))
    return rules


def _per_cluster(bounds: Any, n_clusters: int, what: str) -> list[tuple[float, int | None]]:
    """Pair each bound with its cluster; a scalar is one rule for every cluster (None)."""
    if bounds is None:
        return []
    if bounds.ndim == 0:
        return [(bounds.item(), None)]
    if bounds.size != n_clusters:
        raise ValueError(
            f"{what} has {bounds.size} values for {n_clusters} clusters; give one number, or one "
            "per cluster."
        )
    return list(zip(bounds.tolist(), range(n_clusters), strict=True))
