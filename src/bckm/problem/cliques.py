"""Conflicts as cliques: a program with one row per clique is smaller and tighter than one per pair.

Sets of items are whole numbers here, one bit per item: their intersections and sizes take next to
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bckm._core.types import IntArray

GROWTH = 2_000_000  # sets looked at while cliques grow: some tenths of a second
START = 400  # as much as that takes the beginning of a clique
TIES = 64  # items that are as good as each other and are looked at
LARGEST = 20_000  # items among which cliques grow: those with most conflicts


def clique_cover(sets: Sequence[tuple[int, ...]], edges: IntArray) -> tuple[IntArray, ...]:
    """Cover conflicts with cliques: stated sets first, each grown as far as it goes.

    Growing takes at most the work `GROWTH`. What is not covered by then, or concerns items with few
    conflicts among very many, is covered as it was stated.

    Parameters
    ----------
    sets : sequence of tuples
        Items that must be pairwise apart, large sets first.
    edges : array (e, 2)
        The same as pairs, each once.
    """
    growth = _Growth(edges)
    cliques = []
    for seed in sets:  # largest first; a set inside an earlier clique adds nothing
        clique = growth.clique(seed)
        if clique is not None:
            cliques.append(np.array(clique))
    return tuple(cliques)


class _Growth:
    """Items in conflict with each, and which of these conflicts no clique covers yet."""

    def __init__(self, edges: IntArray) -> None:
        items, degree = np.unique(edges, return_counts=True)
        self.items = np.sort(items[np.argsort(-degree, kind="stable")[:LARGEST]]).tolist()
        self.place = {item: at for at, item in enumerate(self.items)}
        self.adjacent = [0] * len(self.items)
        place = self.place
        for a, b in edges.tolist():
            if a in place and b in place:
                self.adjacent[place[a]] |= 1 << place[b]
                self.adjacent[place[b]] |= 1 << place[a]
        self.bare = list(self.adjacent)
        self.left = GROWTH

    def clique(self, seed: tuple[int, ...]) -> list[int] | None:
        """A clique around a set; None if cliques before it cover the set."""
        members = [self.place.get(item, -1) for item in seed]
        if -1 in members:
            return list(seed)
        inside = sum(1 << v for v in members)
        if not any(self.bare[v] & inside for v in members):
            return None
        if self.left > 0:
            members += self._grown(members)
            inside = sum(1 << v for v in members)
        for v in members:
            self.bare[v] &= ~inside
        return sorted(self.items[v] for v in members)

    def _grown(self, members: list[int]) -> list[int]:
        """Items that make a set a larger clique: those with most uncovered conflicts in it.

        Of several the one that leaves most others to choose from, and of these the first.
        """
        common = -1
        for v in members:
            common &= self.adjacent[v]
        bare = np.zeros(len(self.items), np.int64)  # uncovered conflicts with the clique
        for v in members:
            bare[_members(self.bare[v] & common)] += 1
        grown = []
        self.left -= START
        while common:
            candidates = _members(common)
            equal = candidates[bare[candidates] == bare[candidates].max()][:TIES].tolist()
            best = max(equal, key=lambda v: ((self.adjacent[v] & common).bit_count(), -v))
            self.left -= 32 + len(equal)
            grown.append(best)
            common &= self.adjacent[best]
            bare[_members(self.bare[best] & common)] += 1
        return grown


def _members(items: int) -> IntArray:
    """The members of a set, rising."""
    raw = items.to_bytes((items.bit_length() + 7) // 8, "little")
    return np.flatnonzero(np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little"))
