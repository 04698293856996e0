"""Proofs from links alone: chains, cliques and odd cycles."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from bckm._core.types import IntArray
from bckm.constraints.links import PART
from bckm.constraints.rule_list import LinkRules, Rules
from bckm.constraints.rules import CannotLink, MustLink, Rule
from bckm.feasibility._proof import MustLinkGraph, Names, Proof, unique
from bckm.problem.structure import Structure

Link = MustLink | CannotLink


def _clusters(s: Structure) -> str:
    k = s.n_clusters
    return "there is only 1 cluster" if k == 1 else f"there are only {k} clusters"


def set_too_large(rules: Rules, s: Structure) -> Proof | None:
    for entry in rules.cannot_links.entries:
        length = entry.links.length
        if length.max() > s.n_clusters:
            at = int(np.argmax(length > s.n_clusters))
            return Proof(
                (entry[at],),
                True,
                f"{length[at]} samples must be pairwise apart, but {_clusters(s)}",
                f"use at least {length[at]} clusters or shorten this cannot-link",
            )
    return None


def contradiction(rules: Rules, s: Structure) -> Proof | None:
    if not s.contradictions:
        return None
    links = MustLinkGraph(rules, s.item.size)
    best: tuple[list[int], list[Rule], Link] | None = None
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
    samples, used, last = best
    names = Names((*used, last))
    return Proof(
        (*used, last),
        True,  # a shortest chain between members of the set: a shorter one would connect two others
        f"{names(samples[0], samples[-1])} are cannot-linked, but must-links join them "
        f"({names.chain(samples)})",
        "remove one of these links",
    )


def clique_too_large(rules: Rules, s: Structure) -> Proof | None:
    clique: list[int] = s.cliques.heaviest().tolist()
    if len(clique) <= s.n_clusters:
        return None
    clique = clique[: s.n_clusters + 1]
    story = story_of(rules, s, list(combinations(sorted(clique), 2)))
    samples = tuple(sorted(story.seen.values()))
    return Proof(
        story.rules,
        # without chains or sets: the edges of a complete graph, none of which can be spared
        story.plain,
        f"{Names(story.rules)(*samples)} are pairwise apart, but {_clusters(s)}",
        f"use at least {len(clique)} clusters or remove one of these links",
    )


def odd_cycle(rules: Rules, s: Structure) -> Proof | None:
    """Two clusters: conflicts must alternate, so a cycle of odd length contradicts itself."""
    if s.n_clusters != 2 or not s.edges.size:
        return None
    # with each item twice, once for each side, an odd cycle joins the two
    sides = sp.block_array([[None, s.neighbors], [s.neighbors, None]], format="csr")
    part = connected_components(sides, directed=False)[1]
    crossed = np.flatnonzero(part[: s.n_items] == part[s.n_items :])
    if not crossed.size:
        return None
    root = crossed[0]
    order, before = breadth_first_order(s.neighbors, root, directed=False)
    depth = np.full(s.n_items, -1)
    depth[root] = 0
    for j in order[1:]:
        depth[j] = depth[before[j]] + 1
    a, b = s.edges.T
    odd = np.flatnonzero((depth[a] >= 0) & (depth[a] % 2 == depth[b] % 2))
    at = odd[np.argmin(depth[a[odd]] + depth[b[odd]])]
    ring = _ring(int(a[at]), int(b[at]), before)
    story = story_of(rules, s, list(zip(ring, ring[1:] + ring[:1], strict=True)))
    samples = Names(story.rules)(*(story.seen[j] for j in ring))
    return Proof(
        story.rules,
        story.plain,  # a cycle of pairs is a path, hence feasible, without any of them
        f"{len(ring)} cannot-links form a cycle of odd length ({samples}), "
        "which 2 clusters cannot separate",
        "use at least 3 clusters or remove one of these links",
    )


def _ring(a: int, b: int, before: IntArray) -> list[int]:
    """The cycle that an edge a - b closes in a tree."""
    left, right = [a], [b]
    while before[left[-1]] >= 0:
        left.append(int(before[left[-1]]))
    while before[right[-1]] >= 0:
        right.append(int(before[right[-1]]))
    while len(left) > 1 and len(right) > 1 and left[-2] == right[-2]:
        left.pop()
        right.pop()
    return left + right[-2::-1]


@dataclass(frozen=True, eq=False)
class Story:
    """Rules that put items in conflict; `plain` if they are just one pair per conflict."""

    rules: tuple[Rule, ...]
    seen: dict[int, int]  # a sample of each item
    plain: bool


def _between(apart: LinkRules, s: Structure, members: set[int]) -> list[Link]:
    """Cannot-links between some items, large sets first; of pairs the first of each two items."""
    here = np.zeros(s.n_items, bool)
    here[list(members)] = True
    found: list[Link] = []
    for entry in apart.entries:
        at: list[int] = []
        sets, larger = entry.links.larger()
        if sets.starts is not None:
            inside = np.add.reduceat(here[s.item[sets.samples]], sets.starts[:-1], dtype=int)
            at = larger[inside > 1].tolist()
        pairs, numbers = entry.links.pairs()
        first: dict[int, int] = {}
        for begin in range(0, len(pairs), PART):
            items = s.item[pairs[begin : begin + PART]]
            rows = np.flatnonzero(here[items].all(axis=1))
            code = items[rows].min(axis=1) * s.n_items + items[rows].max(axis=1)
            known, row = np.unique(code, return_index=True)
            first = dict(zip(known.tolist(), (begin + rows[row]).tolist(), strict=True)) | first
        at += list(first.values()) if numbers is None else numbers[list(first.values())].tolist()
        found += map(entry.__getitem__, sorted(at))
    return sorted(found, key=lambda rule: -len(rule.samples))


def story_of(rules: Rules, s: Structure, edges: list[tuple[int, int]]) -> Story:
    """Tell conflicts between items in rules: a cannot-link each, and the must-links in between."""
    wanted = {(min(e), max(e)) for e in edges}
    members = {j for e in wanted for j in e}
    link: dict[tuple[int, int], tuple[Link, int, int]] = {}
    for rule in _between(rules.cannot_links, s, members):
        inside = [p for p in rule.samples if int(s.item[p]) in members]
        for p, q in combinations(inside, 2):
            a, b = sorted((p, q), key=lambda x: int(s.item[x]))
            link.setdefault((int(s.item[a]), int(s.item[b])), (rule, a, b))
    used: list[Rule] = []
    ends: dict[int, set[int]] = {j: set() for j in members}
    for pair in sorted(wanted):
        rule, p, q = link[pair]
        used.append(rule)
        ends[pair[0]].add(p)
        ends[pair[1]].add(q)
    joining: list[Rule] = []
    if any(len(samples) > 1 for samples in ends.values()):
        links = MustLinkGraph(rules, s.item.size)
        for samples in ends.values():
            first, *others = sorted(samples)
            if others:
                before = links.before(first)[1]
                for other in others:
                    joining += links.path(before, other)[1]
    plain = not joining and all(len(r.samples) == 2 for r in used if isinstance(r, CannotLink))
    seen = {j: min(samples) for j, samples in ends.items()}
    return Story(unique(iter([*joining, *used])), seen, plain)
