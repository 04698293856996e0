"""Cheap proofs that rules contradict each other, each with its sentence and its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from bckm._types import IntArray, Sparse
from bckm.rules import CannotLink, MustLink, NonEmpty, Rule, SizeMax, SizeMin, name_samples
from bckm.structure import Structure

_CHAIN_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Proof:
    """Rules that cannot hold together, and why.

    Attributes
    ----------
    rules : tuple of Rule
        Rules that contradict each other on their own.
    minimal : bool
        Whether each proper subset is known to be feasible.
    reason, remedy : str
        Sentences for a person.
    """

    rules: tuple[Rule, ...]
    minimal: bool
    reason: str
    remedy: str


def find_proof(rules: list[Rule], s: Structure) -> Proof | None:
    """Return the first cheap proof that applies, or None."""
    for search in (
        _set_too_large,
        _contradiction,
        _bounds_sum,
        _bounds_crossed,
        _too_few_items,
        _item_too_large,
        _clique_too_large,
    ):
        proof = search(rules, s)
        if proof is not None:
            return proof
    return None


def _set_too_large(rules: list[Rule], s: Structure) -> Proof | None:
    for rule in rules:
        if isinstance(rule, CannotLink) and len(rule.samples) > s.n_clusters:
            size = len(rule.samples)
            return Proof(
                (rule,),
                True,
                f"{size} samples are to be pairwise apart, but there are only "
                f"{s.n_clusters} clusters",
                f"use at least {size} clusters or shorten this cannot-link",
            )
    return None


class _Links:
    """The must-links as a graph of samples and links, for shortest chains."""

    def __init__(self, rules: list[Rule], n_samples: int) -> None:
        self.links = [rule for rule in rules if isinstance(rule, MustLink)]
        self.n_samples = n_samples
        which = np.repeat(np.arange(len(self.links)), [len(r.samples) for r in self.links])
        members = np.array([p for r in self.links for p in r.samples], np.int64)
        size = n_samples + len(self.links)
        self.graph: Sparse = sp.csr_array(
            (np.ones(members.size), (members, n_samples + which)), (size, size)
        )

    def before(self, start: int) -> tuple[IntArray, IntArray]:
        """Breadth first from a sample: nodes in order, and the node before each."""
        order, before = breadth_first_order(self.graph, start, directed=False)
        return order, before

    def path(self, before: IntArray, end: int) -> tuple[list[int], list[MustLink]]:
        """Samples and links on the way to `end`, from the start of `before`."""
        samples, links = [end], []
        node = int(before[end])
        while node >= 0:
            if node >= self.n_samples:
                links.append(self.links[node - self.n_samples])
            else:
                samples.append(node)
            node = int(before[node])
        return samples[::-1], links[::-1]


def _contradiction(rules: list[Rule], s: Structure) -> Proof | None:
    if not s.contradictions:
        return None
    links = _Links(rules, s.item.size)
    best: tuple[list[int], list[MustLink], CannotLink] | None = None
    for rule in s.contradictions[:20]:
        for p in rule.samples:
            joined = [q for q in rule.samples if q > p and s.item[q] == s.item[p]]
            if not joined:
                continue
            _, before = links.before(p)
            for q in joined:
                samples, used = links.path(before, q)
                if best is None or len(used) < len(best[1]):
                    best = (samples, used, rule)
    assert best is not None
    samples, used, rule = best
    shown = [str(p) for p in samples]
    if len(shown) > _CHAIN_SHOWN:
        hidden = len(shown) - _CHAIN_SHOWN + 1
        shown = [*shown[: _CHAIN_SHOWN - 2], f"({hidden} more)", shown[-1]]
    return Proof(
        (*used, rule),
        True,  # a shortest chain between members of the set: a shorter one would connect two others
        f"samples {samples[0]} and {samples[-1]} are cannot-linked, but must-links join them "
        f"({' - '.join(shown)})",
        "remove one of these links",
    )


def _lower_rule(rules: list[Rule], cluster: int) -> Rule | None:
    """Return the rule with the largest lower bound on a cluster."""
    best: Rule | None = None
    value = 0
    for rule in rules:
        if isinstance(rule, NonEmpty) and value < 1:
            best, value = rule, 1
        elif isinstance(rule, SizeMin) and rule.cluster in (None, cluster) and rule.value > value:
            best, value = rule, rule.value
    return best


def _upper_rule(rules: list[Rule], cluster: int) -> Rule | None:
    """Return the rule with the smallest upper bound on a cluster."""
    found = [r for r in rules if isinstance(r, SizeMax) and r.cluster in (None, cluster)]
    return min(found, key=lambda r: r.value, default=None)


def _unique(rules: Iterator[Rule | None]) -> tuple[Rule, ...]:
    return tuple(dict.fromkeys(rule for rule in rules if rule is not None))


def _bounds_crossed(rules: list[Rule], s: Structure) -> Proof | None:
    """Only "not empty" can cross an upper bound here: stated bounds that cross are refused."""
    for i in np.flatnonzero(s.lower > s.upper):
        return Proof(
            _unique(rule(rules, int(i)) for rule in (_lower_rule, _upper_rule)),
            True,
            f"cluster {i} needs at least {s.lower[i]} and at most {s.upper[i]} samples",
            "raise its size_max, or state size_min with 0 for it",
        )
    return None


def _bounds_sum(rules: list[Rule], s: Structure) -> Proof | None:
    n, k = s.item.size, s.n_clusters
    if s.lower.sum() > n:
        order = np.argsort(-s.lower, kind="stable")
        enough = int(np.argmax(np.cumsum(s.lower[order]) > n)) + 1
        needed = int(s.lower[order[:enough]].sum())
        return Proof(
            _unique(_lower_rule(rules, int(i)) for i in order[:enough]),
            True,  # the largest ones until the sum exceeds n: without any of them it does not
            f"the lower bounds of {enough} clusters add up to {needed} samples, "
            f"but there are only {n}",
            f"lower size_min (at most {n // k} for {k} equal clusters) or use fewer clusters",
        )
    if s.upper.sum() < n:
        return Proof(
            _unique(_upper_rule(rules, i) for i in range(k)),
            True,
            f"the {k} clusters hold at most {int(s.upper.sum())} samples, but there are {n}",
            f"raise size_max (at least {-(-n // k)} for {k} equal clusters) or use more clusters",
        )
    return None


def _too_few_items(rules: list[Rule], s: Structure) -> Proof | None:
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

    groups, used = s.item.size, []
    for rule in rules:
        if not isinstance(rule, MustLink) or groups < filled.size:
            continue
        merged = False
        for p in rule.samples[1:]:
            a, b = root(rule.samples[0]), root(p)
            if a != b:
                parent[b] = a
                groups -= 1
                merged = True
        if merged:
            used.append(rule)
    lower = _unique(_lower_rule(rules, int(i)) for i in filled)
    pairs = all(len(rule.samples) == 2 for rule in used)
    plain = all(isinstance(rule, NonEmpty) or rule == SizeMin(1) for rule in lower)
    return Proof(
        (*used, *lower),
        pairs and plain,  # each link of a forest of pairs is needed to get below the number
        f"must-links leave {groups} groups of samples for {filled.size} clusters that must not be "
        "empty",
        f"use at most {s.n_items} clusters, allow empty ones (size_min=0) or remove must-links",
    )


def _item_too_large(rules: list[Rule], s: Structure) -> Proof | None:
    capacity = int(s.upper.max())
    large = np.flatnonzero(s.count > capacity)
    if not large.size:
        return None
    start = int(np.argmax(s.item == large[0]))
    links = _Links(rules, s.item.size)
    reached, used = {start}, []
    for node in links.before(start)[0]:
        if node >= s.item.size and len(reached) <= capacity:
            link = links.links[node - s.item.size]
            if not reached.issuperset(link.samples):
                used.append(link)
                reached.update(link.samples)
    return Proof(
        (*used, *_unique(_upper_rule(rules, i) for i in range(s.n_clusters))),
        False,
        f"must-links join {len(reached)} samples (among them {min(reached)} and {max(reached)}), "
        f"but no cluster may hold more than {capacity}",
        f"raise size_max to at least {len(reached)} or remove must-links",
    )


def _clique_too_large(rules: list[Rule], s: Structure) -> Proof | None:
    clique = max((c.tolist() for c in s.cliques), key=len, default=[])
    if len(clique) <= s.n_clusters:
        return None
    clique = clique[: s.n_clusters + 1]
    members = set(clique)
    link: dict[tuple[int, int], tuple[CannotLink, int, int]] = {}
    for rule in sorted(
        (r for r in rules if isinstance(r, CannotLink)), key=lambda r: -len(r.samples)
    ):
        inside = [p for p in rule.samples if int(s.item[p]) in members]
        for p, q in combinations(inside, 2):
            a, b = sorted((p, q), key=lambda x: int(s.item[x]))
            link.setdefault((int(s.item[a]), int(s.item[b])), (rule, a, b))
    used: list[Rule] = []
    ends: dict[int, set[int]] = {j: set() for j in clique}
    for pair in combinations(sorted(clique), 2):
        rule, p, q = link[pair]
        used.append(rule)
        ends[pair[0]].add(p)
        ends[pair[1]].add(q)
    joining: list[Rule] = []
    if any(len(samples) > 1 for samples in ends.values()):
        links = _Links(rules, s.item.size)
        for samples in ends.values():
            first, *others = sorted(samples)
            if others:
                before = links.before(first)[1]
                for other in others:
                    joining += links.path(before, other)[1]
    samples = tuple(sorted(min(group) for group in ends.values()))
    unique = _unique(iter([*joining, *used]))
    return Proof(
        unique,
        # without chains or sets: the edges of a complete graph, none of which can be spared
        not joining and all(isinstance(r, CannotLink) and len(r.samples) == 2 for r in unique),
        f"{name_samples(samples)} are pairwise apart, but there are only {s.n_clusters} clusters",
        f"use at least {len(clique)} clusters or remove one of these links",
    )
