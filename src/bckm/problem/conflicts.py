"""Cannot-links between items: sets of items, each once, and the pairs they come down to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bckm._core.types import IntArray, Sparse
from bckm.constraints.links import PART, Block
from bckm.constraints.rule_list import LinkRules, Rules

Set = tuple[int, ...]
TABLE = 8  # bytes per stated pair that a table of all pairs of items may take


class ConflictSets(Sequence[Set]):
    """Sets of items that must be pairwise apart, as stated, each once, largest first.

    Attributes
    ----------
    sets : tuple of tuples of int
        Those of more than two items.
    pairs : array (p, 2)
        Those of two, sorted.
    """

    def __init__(self, sets: Iterable[Set] = (), pairs: NDArray[np.integer] | None = None) -> None:
        self.sets: tuple[Set, ...] = tuple(sets)
        self.pairs = np.empty((0, 2), np.int64) if pairs is None else pairs

    def __len__(self) -> int:
        return len(self.sets) + len(self.pairs)

    @overload
    def __getitem__(self, at: int) -> Set: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Set, ...]: ...
    def __getitem__(self, at: int | slice) -> Set | tuple[Set, ...]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(*at.indices(len(self))))
        at = at + len(self) if at < 0 else at
        if at < len(self.sets):
            return self.sets[at]
        return tuple(self.pairs[at - len(self.sets)].tolist())

    def __iter__(self) -> Iterator[Set]:
        yield from self.sets
        for pair in self.pairs:
            yield tuple(pair.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConflictSets | tuple):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self):,} sets of items apart>"

    def edges(self) -> NDArray[np.integer]:
        """All pairs of items that must be apart, each once, sorted."""
        if not self.sets:
            return self.pairs
        parts = [self.pairs]
        for length in sorted({len(each) for each in self.sets}):
            members = np.array([each for each in self.sets if len(each) == length])
            a, b = np.triu_indices(length, 1)
            parts.append(np.stack([members[:, a].ravel(), members[:, b].ravel()], axis=1))
        return distinct_pairs(parts)

    def among(self, position: IntArray) -> ConflictSets:
        """The same sets of items that have a new position, others having none (-1)."""
        moved = [tuple(p for p in position[list(each)].tolist() if p >= 0) for each in self.sets]
        both = position[self.pairs]
        twos = [each for each in moved if len(each) == 2]
        pairs = [both[(both >= 0).all(axis=1)], np.array(twos, np.int64).reshape(-1, 2)]
        return ConflictSets((s for s in moved if len(s) > 2), distinct_pairs(pairs))


def lift(rules: Rules, item: IntArray) -> tuple[ConflictSets, LinkRules]:
    """Cannot-links between items, and the links that contradict: they part what is one item."""
    larger: list[Set] = []
    wrong: list[IntArray] = []
    begin = 0
    apart = rules.cannot_links
    unique, some_joined = _distinct([block.pairs()[0] for block in apart.blocks], item)
    for block in apart.blocks:
        if some_joined:
            twos, numbers = block.pairs()
            inside = [at + np.flatnonzero(item[p[:, 0]] == item[p[:, 1]]) for at, p in _parts(twos)]
            joined = np.concatenate([*inside, np.empty(0, np.int64)])
            wrong.append(begin + (joined if numbers is None else numbers[joined]))
        sets, places = block.larger()
        if len(sets):
            found, fewer = _lifted(sets, item)
            larger += found
            wrong.append(begin + places[fewer])
        begin += len(block)
    by_length = sorted({s for s in larger if len(s) > 2}, key=lambda s: (-len(s), s))
    twos = np.array([s for s in larger if len(s) == 2], np.int64).reshape(-1, 2)
    if len(twos):
        unique = distinct_pairs([unique, twos])
    contradictions = np.sort(np.concatenate([*wrong, np.empty(0, np.int64)]))
    return ConflictSets(by_length, unique), apart.take(contradictions)


def _lifted(sets: Block, item: IntArray) -> tuple[list[Set], IntArray]:
    """The items of each set, where there are several, and the sets that have fewer than samples."""
    length = sets.length
    of = np.repeat(np.arange(len(sets)), length)
    items = item[sets.samples]
    order = np.lexsort((items, of))
    items, of = items[order], of[order]
    fresh = np.append(True, (np.diff(items) != 0) | (np.diff(of) != 0))
    items, left = items[fresh], np.bincount(of[fresh], minlength=len(sets))
    ends = np.cumsum(left).tolist()
    listed = items.tolist()
    found = [
        tuple(listed[end - size : end])
        for end, size in zip(ends, left.tolist(), strict=True)
        if size > 1
    ]
    return found, np.flatnonzero(left < length)


def _parts(pairs: NDArray[np.integer]) -> Iterator[tuple[int, NDArray[np.integer]]]:
    for begin in range(0, len(pairs), PART):
        yield begin, pairs[begin : begin + PART]


def symmetric(a: NDArray[Any], b: NDArray[Any], value: NDArray[Any], m: int) -> Sparse:
    """A symmetric array (m, m) in CSR, from its entries above the diagonal, sorted by row."""
    if a.size == 0:
        return sp.csr_array((m, m), dtype=value.dtype)
    starts = np.zeros(m + 1, np.int32)
    np.cumsum(np.bincount(a, minlength=m), out=starts[1:])
    upper = sp.csr_array((value, b.astype(np.int32), starts), (m, m))
    return upper + upper.T.tocsr()


def distinct_pairs(
    pairs: Sequence[NDArray[np.integer]], item: IntArray | None = None
) -> NDArray[np.int32]:
    """Pairs of different items, each once, the smaller first, sorted.

    Parameters
    ----------
    pairs : list of arrays (p, 2)
        Pairs in any order and number, of items or of samples.
    item : array, optional
        The item of each sample.
    """
    return _distinct(pairs, item)[0]


def _distinct(
    pairs: Sequence[NDArray[np.integer]], item: IntArray | None
) -> tuple[NDArray[np.int32], bool]:
    """The same, and whether there are pairs of one item."""
    total = sum(map(len, pairs))
    if not total:
        return np.empty((0, 2), np.int32), False
    size = int(item.max() if item is not None else max(p.max() for p in pairs if p.size)) + 1
    named = _named(pairs, item, size, math.isqrt(int(TABLE * total) // 2))
    rank = None
    if named is not None:  # perhaps all pairs of some items: mark them in a table
        rank, size = np.zeros(size, np.int32), named.size
        rank[named] = np.arange(size)
    bits = max(1, (size - 1).bit_length())  # of the second of two items in the code of a pair
    codes = np.empty(total, np.int64) if rank is None else np.zeros(size << bits, bool)
    begin = 0
    for _, some in (each for part in pairs for each in _parts(part)):
        a, b = (end if item is None else item[end] for end in some.T)
        if rank is not None:
            a, b = rank[a], rank[b]
        code = np.minimum(a, b).astype(np.int64) << bits | np.maximum(a, b)
        if rank is None:
            codes[begin : begin + code.size] = code
            begin += code.size
        else:
            codes[code] = True
    if rank is not None:
        codes = np.flatnonzero(codes)
    else:
        codes.sort()
        codes = codes[np.append(True, codes[1:] != codes[:-1])]
    found = np.empty((codes.size, 2), np.int32)
    for begin in range(0, codes.size, PART):
        part = found[begin : begin + PART]
        part[:, 0] = codes[begin : begin + PART] >> bits
        part[:, 1] = codes[begin : begin + PART] & ((1 << bits) - 1)
    if named is not None:
        found = named[found]
    differ = found[:, 0] != found[:, 1]
    return (found, False) if differ.all() else (found[differ], True)


def _named(
    pairs: Sequence[NDArray[np.integer]], item: IntArray | None, size: int, most: int
) -> NDArray[np.int32] | None:
    """The items that pairs name, of so many; None if they are more than `most`."""
    met = np.zeros(size, bool)
    for _, some in (each for part in pairs for each in _parts(part)):
        met[some if item is None else item[some]] = True
        if np.count_nonzero(met) > most:
            return None
    return np.flatnonzero(met).astype(np.int32)
