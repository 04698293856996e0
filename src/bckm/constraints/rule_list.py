"""Rules of one problem as a sequence; links stay arrays, and are single rules when looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Generic, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray, IntArray
from bckm.constraints.links import Block
from bckm.constraints.rules import CannotLink, MustLink, Rule, SoftRule

LinkKind = type[MustLink] | type[CannotLink]
One = TypeVar("One")


@dataclass(frozen=True, eq=False, slots=True)
class RuleBlock:
    """Many must-links, or many cannot-links: the `links` name at least two positions each."""

    kind: LinkKind
    links: Block

    def __len__(self) -> int:
        return len(self.links)

    def __getitem__(self, at: int) -> MustLink | CannotLink:
        link = self.links[at]
        return self.kind(tuple(link), link.why, link.ids)

    def take(self, at: NDArray[Any]) -> RuleBlock:
        """Some of them."""
        return RuleBlock(self.kind, self.links.take(at))


@dataclass(frozen=True, eq=False, slots=True)
class SoftBlock:
    """Many soft links, all pairs, with their prices."""

    kind: LinkKind
    links: Block
    weight: FloatArray  # of each
    relative: bool

    def __len__(self) -> int:
        return len(self.links)

    def __getitem__(self, at: int) -> SoftRule:
        rule = RuleBlock(self.kind, self.links)[at]
        return SoftRule(rule, float(self.weight[at]), self.relative)


_BLOCKS = (RuleBlock, SoftBlock)


class _Listed(Sequence[One], Generic[One]):
    """Single rules and blocks of links, as a sequence of single rules."""

    def __init__(self, entries: Iterable[Any] = ()) -> None:
        self.entries = tuple(
            entry for entry in entries if not (isinstance(entry, _BLOCKS) and not len(entry))
        )

    @cached_property
    def _starts(self) -> IntArray:
        """The number of the first rule of each entry, and of all."""
        lengths = [len(e) if isinstance(e, _BLOCKS) else 1 for e in self.entries]
        return np.cumsum([0, *lengths])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, at: int) -> One: ...
    @overload
    def __getitem__(self, at: slice) -> list[One]: ...
    def __getitem__(self, at: int | slice) -> One | list[One]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        at = int(at) + len(self) if at < 0 else int(at)
        if not 0 <= at < len(self):
            raise IndexError(f"there are {len(self)} rules, but none of number {at}")
        number = int(np.searchsorted(self._starts, at, "right")) - 1
        one: Any = self.entries[number]
        if isinstance(one, _BLOCKS):
            one = one[at - int(self._starts[number])]
        return cast(One, one)

    def __iter__(self) -> Iterator[One]:
        for entry in self.entries:
            if isinstance(entry, _BLOCKS):
                yield from map(entry.__getitem__, range(len(entry)))
            else:
                yield entry

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Listed | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self[:100]) if len(self) <= 100 else f"<{len(self):,} rules>"

    def take(self, at: NDArray[Any]) -> Self:
        """Some of the rules, by their numbers, in the order of all."""
        at = np.sort(at)
        cuts = np.searchsorted(at, self._starts)
        entries = []
        for number in np.flatnonzero(np.diff(cuts)).tolist():
            entry = self.entries[number]
            if isinstance(entry, RuleBlock):
                inside = at[cuts[number] : cuts[number + 1]] - self._starts[number]
                entry = entry if inside.size == len(entry) else entry.take(inside)
            entries.append(entry)
        return type(self)(entries)

    @cached_property
    def others(self) -> list[One]:
        """Every rule that is no link."""
        return [entry for entry in self.entries if not isinstance(entry, _BLOCKS)]


class Rules(_Listed[Rule]):
    """All hard rules; `entries` are single rules and, of links, blocks."""

    entries: tuple[RuleBlock | Rule, ...]

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> Rules:
        """Single rules, gathered: links that follow each other become a block."""
        if isinstance(rules, Rules):
            return rules
        entries: list[RuleBlock | Rule] = []
        for kind, run in groupby(rules, type):
            if kind is MustLink or kind is CannotLink:
                entries += _blocks(kind, list(run))
            else:
                entries += run
        return cls(entries)

    def _of(self, *kinds: LinkKind) -> LinkRules:
        blocks = (entry for entry in self.entries if isinstance(entry, RuleBlock))
        return LinkRules(block for block in blocks if block.kind in kinds)

    @cached_property
    def must_links(self) -> LinkRules:
        """The must-links alone."""
        return self._of(MustLink)

    @cached_property
    def cannot_links(self) -> LinkRules:
        """The cannot-links alone."""
        return self._of(CannotLink)

    @cached_property
    def links(self) -> LinkRules:
        """Must-links and cannot-links alone."""
        return self._of(MustLink, CannotLink)


class LinkRules(_Listed[MustLink | CannotLink]):
    """Links alone; `entries` are blocks."""

    entries: tuple[RuleBlock, ...]

    @property
    def blocks(self) -> list[Block]:
        """The links as arrays."""
        return [entry.links for entry in self.entries]

    def members(self) -> tuple[IntArray, IntArray]:
        """The samples of all links, link by link, and how many each has."""
        none = [np.empty(0, np.int64)]
        samples = np.concatenate([*none, *(block.samples for block in self.blocks)])
        return samples, np.concatenate([*none, *(block.length for block in self.blocks)])


def _blocks(kind: LinkKind, rules: list[Any]) -> Iterator[RuleBlock]:
    for named, run in groupby(rules, lambda rule: rule.ids is not None):
        links = list(run)
        length = np.array([len(rule.samples) for rule in links])
        samples = np.array([p for rule in links for p in rule.samples], np.int64)
        ids = None
        if named:
            ids = np.empty(samples.size, object)
            ids[:] = [name for rule in links for name in rule.ids]
        yield RuleBlock(kind, Block.of(samples, length, [rule.why for rule in links], ids=ids))


class SoftRules(_Listed[SoftRule]):
    """All soft rules; `entries` are single rules and, of links, blocks of pairs."""

    entries: tuple[SoftBlock | SoftRule, ...]

    @property
    def blocks(self) -> list[SoftBlock]:
        """The links as arrays."""
        return [entry for entry in self.entries if isinstance(entry, SoftBlock)]
