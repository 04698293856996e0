"""Proofs from bounds: what clusters must and may hold against what there is."""

from __future__ import annotations

import numpy as np

from bckm._core.types import IntArray
from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import (
    CannotLink,
    MustLink,
    NonEmpty,
    Rule,
    SizeMax,
    SizeMin,
    name_cluster,
    names_in,
    plural,
)
from bckm.feasibility._proof import MustLinkGraph, Names, Proof, unique
from bckm.problem.structure import Structure


def size_rules(rules: Rules) -> list[Rule]:
    """The few rules about sizes among many."""
    return [rule for rule in rules.others if isinstance(rule, SizeMin | SizeMax | NonEmpty)]


def lower_rule(rules: list[Rule], cluster: int) -> Rule | None:
    """Return the rule with the largest lower bound on a cluster."""
    best: Rule | None = None
    value = 0
    for rule in rules:
        if isinstance(rule, NonEmpty) and value < 1:
            best, value = rule, 1
        elif isinstance(rule, SizeMin) and rule.cluster in (None, cluster) and rule.value > value:
            best, value = rule, rule.value
    return best


def upper_rule(rules: list[Rule], cluster: int) -> Rule | None:
    """Return the rule with the smallest upper bound on a cluster."""
    upper = [r for r in rules if isinstance(r, SizeMax) and r.cluster in (None, cluster)]
    return min(upper, key=lambda r: r.value, default=None)


def bounds_sum(rules: Rules, s: Structure) -> Proof | None:
    return sizes_sum(rules, s.lower, s.upper, s.item.size)


def sizes_sum(rules: Rules, lower: IntArray, upper: IntArray, n: int) -> Proof | None:
    """What clusters must and may hold in total against the number of samples."""
    k, sizes = lower.size, size_rules(rules)
    if lower.sum() > n:
        order = np.argsort(-lower, kind="stable")
        enough = int(np.argmax(np.cumsum(lower[order]) > n)) + 1
        needed = int(lower[order[:enough]].sum())
        return Proof(
            unique(lower_rule(sizes, int(i)) for i in order[:enough]),
            True,  # the largest ones until the sum exceeds n: without any of them it does not
            f"the lower bounds of {plural(enough, 'cluster')} add up to "
            f"{plural(needed, 'sample')}, but the data have only {plural(n, 'sample')}",
            f"lower size_min (at most {n // k} for {plural(k, 'equal cluster')}) or use fewer "
            "clusters",
        )
    if upper.sum() < n:
        return Proof(
            unique(upper_rule(sizes, i) for i in range(k)),
            True,
            f"{plural(k, 'cluster')} may hold at most {plural(int(upper.sum()), 'sample')}, but "
            f"the data have {n}",
            f"raise size_max (at least {-(-n // k)} for {plural(k, 'equal cluster')}) or use more "
            "clusters",
        )
    return None


def bounds_crossed(rules: Rules, s: Structure) -> Proof | None:
    return sizes_crossed(rules, s.lower, s.upper)


def sizes_crossed(rules: Rules, lower: IntArray, upper: IntArray) -> Proof | None:
    """What can cross here is "not empty" and an upper bound, or shares of few samples."""
    for i in np.flatnonzero(lower > upper).tolist():
        where = name_cluster(i, names_in(rules.others))
        return Proof(
            unique(rule(size_rules(rules), i) for rule in (lower_rule, upper_rule)),
            True,
            f"{where} needs at least {lower[i]} and at most {upper[i]} samples",
            "raise its size_max or lower its size_min (0 allows an empty cluster)",
        )
    return None


def item_too_large(rules: Rules, s: Structure) -> Proof | None:
    capacity = int(s.upper.max())
    large = np.flatnonzero(s.count > capacity)
    if not large.size:
        return None
    start = int(np.argmax(s.item == large[0]))
    links = MustLinkGraph(rules, s.item.size)
    reached: set[int] = {start}
    used: list[MustLink | CannotLink] = []
    for node in links.before(start)[0]:
        if node >= s.item.size and len(reached) <= capacity:
            link = links.links[node - s.item.size]
            if not reached.issuperset(link.samples):
                used.append(link)
                reached.update(link.samples)
    bounds = size_rules(rules)
    upper = unique(upper_rule(bounds, i) for i in range(s.n_clusters))
    names = Names(used)
    first, last = names.of(min(reached)), names.of(max(reached))
    return Proof(
        (*used, *upper),
        # a tree of pairs falls apart without any of them, and its parts fit
        len(upper) == 1 and all(len(link.samples) == 2 for link in used),
        f"must-links join {len(reached)} samples (including {first!r} and {last!r}), "
        f"but no cluster may hold more than {capacity}",
        f"raise size_max to at least {len(reached)} or remove must-links",
    )


def too_few_items(rules: Rules, s: Structure) -> Proof | None:
    filled = np.flatnonzero(s.lower > 0)
    if s.n_items >= filled.size:
        return None
    # must-links until fewer groups than such clusters are left
    parent = np.arange(s.item.size)

    def root(p: int) -> int:
        while parent[p] != p:
            parent[p] = parent[parent[p]]
            p = int(parent[p])
        return p

    groups = s.item.size
    used: list[MustLink | CannotLink] = []
    for rule in rules.must_links:
        if groups < filled.size:
            break
        merged = False
        for p in rule.samples[1:]:
            a, b = root(rule.samples[0]), root(p)
            if a != b:
                parent[b] = a
                groups -= 1
                merged = True
        if merged:
            used.append(rule)
    bounds = size_rules(rules)
    lower = unique(lower_rule(bounds, int(i)) for i in filled)
    pairs = all(len(rule.samples) == 2 for rule in used)
    plain = all(isinstance(rule, NonEmpty) or rule == SizeMin(1) for rule in lower)
    return Proof(
        (*used, *lower),
        pairs and plain,  # each link of a forest of pairs is needed to get below the number
        f"must-links leave {plural(groups, 'group')} of samples for "
        f"{plural(filled.size, 'cluster')} that must not be empty",
        f"use at most {plural(s.n_items, 'cluster')}, allow empty ones (size_min=0) or remove "
        "must-links",
    )
