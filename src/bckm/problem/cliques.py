"""Conflicts as cliques: a program with a row per clique is smaller and tighter than with pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import overload

import numpy as np

from bckm._core.types import IntArray
from bckm.kernels import missing, native

GROWTH = 1.5e8  # work in which cliques grow: at most some tenths of a second
MOST = 100_000  # conflicts of which some grow to cliques without the kernels,
LOOKS = 100_000  # and items looked at for that


class Cliques(Sequence[IntArray]):
    """Sets of items, each an array; all of them in two.

    Attributes
    ----------
    start : array (c + 1,)
        Clique i has the members from ``start[i]`` to ``start[i + 1]``.
    member : array
        Items, rising within a clique.
    """

    def __init__(self, start: IntArray, member: IntArray) -> None:
        self.start, self.member = start, member

    def __len__(self) -> int:
        return self.start.size - 1

    @overload
    def __getitem__(self, at: int) -> IntArray: ...
    @overload
    def __getitem__(self, at: slice) -> list[IntArray]: ...
    def __getitem__(self, at: int | slice) -> IntArray | list[IntArray]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        at %= len(self)
        return self.member[self.start[at] : self.start[at + 1]]

    @property
    def sizes(self) -> IntArray:
        """How many items are in each."""
        return np.diff(self.start)

    def heaviest(self, weight: IntArray | None = None) -> IntArray:
        """The clique of most items, or of most weight; the first of several. Empty if none is."""
        if not len(self):
            return np.empty(0, np.int64)
        if weight is None:
            return self[int(self.sizes.argmax())]
        return self[int(np.add.reduceat(weight[self.member], self.start[:-1]).argmax())]


def clique_cover(sets: Iterable[Sequence[int]], edges: IntArray) -> Cliques:
    """Cover conflicts with cliques: stated sets first, each grown as far as it goes.

    Growing takes limited work. What is not covered by then is covered as it was stated.

    Parameters
    ----------
    sets : iterable of sequences of int
        More than two items that must be pairwise apart, large sets first.
    edges : array (e, 2)
        All conflicts, each once, sorted.
    """
    large = list(sets)
    lengths = np.fromiter(map(len, large), np.int64, len(large))
    start = np.concatenate([[0], np.cumsum(lengths)])
    member = np.fromiter(chain.from_iterable(large), np.int64, int(start[-1]))
    edges = np.ascontiguousarray(edges, np.int64)
    if missing:
        return _small_cover(start, member, edges)
    nodes = int(edges.max(initial=-1)) + 1
    found = native.clique_cover(nodes, edges, start, member, GROWTH)
    return Cliques(found.start, found.member)


def _small_cover(start: IntArray, member: IntArray, edges: IntArray) -> Cliques:
    """Cover without the kernels; where conflicts are many, as stated."""
    stated = [member[a:b].tolist() for a, b in pairwise(start)]
    pairs = list(map(tuple, edges.tolist())) if len(edges) <= MOST else []
    # items in conflict with each, and those of them whose conflict is not covered yet
    adjacent, bare = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for a, b in pairs:
        for one, other in ((a, b), (b, a)):
            adjacent[one].add(other)
            bare[one].add(other)
    cliques: list[list[int]] = []
    left = LOOKS
    for seed in [*stated, *pairs]:
        inside = set(seed)
        if pairs and not any(bare[v] & inside for v in seed):
            continue
        common = (
            set.intersection(*(adjacent[v] for v in seed)) if left > 0 and pairs else set[int]()
        )
        while common:
            left -= len(common)
            best = max(common, key=lambda v: (len(bare[v] & inside), len(adjacent[v] & common), -v))
            inside.add(best)
            common &= adjacent[best]
        for v in inside:
            bare[v] -= inside
        cliques.append(sorted(inside))
    lengths = np.fromiter(map(len, cliques), np.int64, len(cliques))
    flat = np.fromiter(chain.from_iterable(cliques), np.int64, int(lengths.sum()))
    if not pairs:  # each conflict is a clique, in a set or not
        lengths = np.append(lengths, np.full(len(edges), 2))
        flat = np.append(flat, edges.ravel())
    return Cliques(np.append(0, np.cumsum(lengths)), flat)
