"""Links as arrays: millions of pairs are a few blocks, and a single link is made when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import BoolArray, IntArray

PART = 1 << 18  # links that are looked at in one pass: arrays that fit into the cache
_SHOWN = 100  # links in a repr


class Link(tuple[Any, ...]):
    """Samples that a link names; `why` says in which words, `ids` what they were called.

    One that comes from values per sample knows of how many: it is `among` these.
    """

    why: str
    ids: tuple[Any, ...] | None
    among: int | None

    def __new__(
        cls,
        samples: Iterable[Any],
        why: str = "",
        ids: tuple[Any, ...] | None = None,
        among: int | None = None,
    ) -> Link:
        """Name samples."""
        link = super().__new__(cls, samples)
        link.why, link.ids, link.among = why, ids, among
        return link

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (tuple(self), self.why, self.ids, self.among)


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Links in arrays that are never written to.

    Attributes
    ----------
    samples : array
        The samples of all links, one link after the other: positions, or ids of any kind.
    starts : array of length (links + 1), or None
        Where each link begins among the samples; None: all are pairs.
    words : tuple of str
        In which words links were asked for.
    reason : array of int, or None
        Which of the words each link has; None: the first.
    ids : array, or None
        What each of the samples was called.
    among : int or None
        Of how many values per sample all these links come.
    """

    samples: NDArray[Any]
    starts: IntArray | None = None
    words: tuple[str, ...] = ("",)
    reason: NDArray[np.int32] | None = None
    ids: NDArray[Any] | None = None
    among: int | None = None

    @classmethod
    def of(
        cls, samples: NDArray[Any], length: IntArray, why: Sequence[str] = ("",), **more: Any
    ) -> Block:
        """Links of so many samples each, with one word for all or one for each."""
        starts = None if (length == 2).all() else starts_of(length)
        words = tuple(dict.fromkeys(why)) or ("",)
        reason = None
        if len(words) > 1:
            place = {word: at for at, word in enumerate(words)}
            reason = np.fromiter(map(place.__getitem__, why), np.int32, len(why))
        return cls(samples, starts, words, reason, **more)

    def __post_init__(self) -> None:
        for array in (self.samples, self.starts, self.reason, self.ids):
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return self.samples.size // 2 if self.starts is None else self.starts.size - 1

    @property
    def length(self) -> IntArray:
        """Samples of each link."""
        return np.full(len(self), 2) if self.starts is None else np.diff(self.starts)

    def begin(self, at: int) -> int:
        """Where a link begins among the samples."""
        return 2 * at if self.starts is None else int(self.starts[at])

    def link_of(self, place: int) -> int:
        """The link that a place among the samples belongs to."""
        if self.starts is None:
            return place // 2
        return int(np.searchsorted(self.starts, place, "right")) - 1

    def links_of(self, those: BoolArray) -> IntArray:
        """The links that have some of these samples."""
        return np.flatnonzero(np.logical_or.reduceat(those, self._heads))

    def __getitem__(self, at: int) -> Link:
        part = slice(self.begin(at), self.begin(at + 1))
        why = self.words[0 if self.reason is None else self.reason[at]]
        ids = None if self.ids is None else tuple(self.ids[part].tolist())
        return Link(self.samples[part].tolist(), why, ids, self.among)

    def __iter__(self) -> Iterator[Link]:
        return map(self.__getitem__, range(len(self)))

    def take(self, at: NDArray[Any]) -> Block:
        """Some of the links, by their numbers or marks."""
        if at.dtype == bool:
            at = np.flatnonzero(at)
        if self.starts is None:
            length, places = None, (2 * at[:, None] + np.arange(2)).ravel()
        else:
            length = self.length[at]
            ends = np.cumsum(length)
            places = np.repeat(self.starts[at] - (ends - length), length)
            places += np.arange(places.size)
        return replace(
            self,
            samples=self.samples[places],
            starts=None if length is None or (length == 2).all() else starts_of(length),
            reason=None if self.reason is None else self.reason[at],
            ids=None if self.ids is None else self.ids[places],
        )

    def keep(self, those: BoolArray) -> tuple[BoolArray, Block]:
        """What is left if links lose samples: which keep at least two, and these."""
        if those.all() and (self.starts is None or (self.length > 1).all()):
            return np.ones(len(self), bool), self
        length = np.add.reduceat(those, self._heads, dtype=np.int64)
        kept = length > 1
        those = those & np.repeat(kept, self.length)
        length = length[kept]
        return kept, replace(
            self,
            samples=self.samples[those],
            starts=None if (length == 2).all() else starts_of(length),
            reason=None if self.reason is None else self.reason[kept],
            ids=None if self.ids is None else self.ids[those],
        )

    @property
    def _heads(self) -> IntArray:
        """Where each link begins."""
        return np.arange(0, self.samples.size, 2) if self.starts is None else self.starts[:-1]

    def pairs(self) -> tuple[NDArray[Any], IntArray | None]:
        """Links of two samples, (p, 2), and their numbers; None: all."""
        if self.starts is None:
            return self.samples.reshape(-1, 2), None
        at = np.flatnonzero(self.length == 2)
        return self.samples[self.starts[at][:, None] + np.arange(2)], at

    def larger(self) -> tuple[Block, IntArray]:
        """Links of more than two samples, and their numbers."""
        at = np.empty(0, np.int64) if self.starts is None else np.flatnonzero(self.length > 2)
        return self.take(at), at

    def chained(self, part: int = PART) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """The first sample of each link and every other one, so many links at a time."""
        if self.starts is None:
            pairs = self.samples.reshape(-1, 2)
            for begin in range(0, len(pairs), part):
                yield pairs[begin : begin + part, 0], pairs[begin : begin + part, 1]
        else:
            yield np.repeat(self.samples[self._heads], self.length), self.samples

    def every_pair(self) -> tuple[Block, IntArray | slice]:
        """All pairs of each link, link by link, and which link each pair is of."""
        if self.starts is None:
            return self, slice(None)
        length = self.length
        number = length * (length - 1) // 2
        ends = np.cumsum(number)
        places = np.empty((int(number.sum()), 2), np.int64)
        for size in np.unique(length).tolist():
            at = np.flatnonzero(length == size)
            inside = np.stack(np.triu_indices(size, 1), axis=1)
            rows = (ends - number)[at][:, None] + np.arange(len(inside))
            places[rows] = self.starts[at][:, None, None] + inside
        of = np.repeat(np.arange(len(self)), number)
        where = places.ravel()
        return replace(
            self,
            samples=self.samples[where],
            starts=None,
            reason=None if self.reason is None else self.reason[of],
            ids=None if self.ids is None else self.ids[where],
        ), of


def starts_of(length: NDArray[Any]) -> IntArray:
    """Where links of so many samples begin."""
    starts = np.zeros(len(length) + 1, np.int64)
    np.cumsum(length, out=starts[1:])
    return starts


def narrow_samples(samples: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in four bytes each, where they fit; always a copy."""
    small = samples.size == 0 or (samples.min() >= -(2**31) and samples.max() < 2**31)
    return samples.astype(np.int32 if small else np.int64)


def object_array(values: list[Any]) -> NDArray[Any]:
    """Any values, also tuples, as they are."""
    return np.fromiter(values, object, len(values))


class Links(Sequence[Link]):
    """All must-links, or all cannot-links, of a `Constraints`: a sequence of tuples of samples.

    It compares as such a tuple does, but holds arrays, the `blocks`.
    """

    __slots__ = ("blocks",)
    blocks: tuple[Block, ...]

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self.blocks = tuple(block for block in blocks if len(block))

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @overload
    def __getitem__(self, at: int) -> Link: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Link, ...]: ...
    def __getitem__(self, at: int | slice) -> Link | tuple[Link, ...]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(*at.indices(len(self))))
        inside = at + len(self) if at < 0 else at
        for block in self.blocks if inside >= 0 else ():
            if inside < len(block):
                return block[inside]
            inside -= len(block)
        raise IndexError(f"there are {len(self)} links, but none of number {at}")

    def __iter__(self) -> Iterator[Link]:
        for block in self.blocks:
            yield from block

    def __add__(self, other: Links) -> Links:
        return Links((*self.blocks, *other.blocks))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Links | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        if len(self) <= _SHOWN:
            return repr(tuple(self))
        shown = ", ".join(map(repr, self[:_SHOWN]))
        return f"({shown}, ... {len(self) - _SHOWN:,} more)"

    def take(self, at: IntArray) -> Links:
        """Some of them, by their rising numbers."""
        ends = np.cumsum([0, *map(len, self.blocks)])
        cuts = np.searchsorted(at, ends)
        return Links(
            block.take(at[a:b] - begin)
            for block, a, b, begin in zip(self.blocks, cuts, cuts[1:], ends, strict=False)
        )
