"""The same rules about other samples: some of them, or those that ids name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import BoolArray, IntArray
from bckm.constraints.expand import Softened
from bckm.constraints.links import PART, Block, Links
from bckm.constraints.rules import name_samples

if TYPE_CHECKING:
    from bckm.constraints import Constraints


_SPARSE = 16  # numbers per sample, in a table of all


class Positions:
    """Where samples are, by their names: a list of any ids, or an array of numbers."""

    def __init__(self, names: Sequence[Any] | IntArray) -> None:
        self.names = names

    @cached_property
    def by_name(self) -> dict[Any, int]:
        """The position of each."""
        names = self.names.tolist() if isinstance(self.names, np.ndarray) else self.names
        return {name: at for at, name in enumerate(names)}

    @cached_property
    def _numbers(self) -> tuple[IntArray, IntArray] | None:
        """Names that are all whole numbers, rising, and their positions."""
        names = self.names
        if not isinstance(names, np.ndarray):
            if set(map(type, names)) != {int} or max(map(abs, names)) >= 2**63:
                return None
            names = np.array(names, np.int64)
        order = np.argsort(names, kind="stable")
        return names[order], order

    @cached_property
    def _table(self) -> NDArray[np.int32] | None:
        """The position of each number, if names are numbers from 0 that are not far apart."""
        if self._numbers is None:
            return None
        names, order = self._numbers
        if names.size == 0 or names[0] < 0 or names[-1] > _SPARSE * names.size:
            return None
        table = np.full(int(names[-1]) + 1, -1, np.int32)
        table[names] = order
        return table

    def of(self, samples: NDArray[Any]) -> NDArray[np.int32]:
        """The position of each sample; -1 where there is none."""
        found = np.empty(samples.size, np.int32)
        for begin in range(0, samples.size, PART):
            part = samples[begin : begin + PART]
            found[begin : begin + part.size] = self._of(part)
        return found

    def _of(self, samples: NDArray[Any]) -> NDArray[Any]:
        if samples.dtype == object or self._numbers is None:
            known = map(self.by_name.get, samples.tolist(), repeat(-1))
            return np.fromiter(known, np.int64, samples.size)
        table = self._table
        if table is not None and samples.min() >= 0:
            beyond = samples >= table.size
            return np.where(beyond, -1, table[np.where(beyond, 0, samples)])
        names, order = self._numbers
        at = np.searchsorted(names, samples).clip(max=names.size - 1)
        return np.where(names[at] == samples, order[at], -1)


class Dropped(Sequence[str]):
    """Rules that name absent samples, in words that are made when read."""

    def __init__(self, parts: Sequence[tuple[Block, IntArray, str] | str] = ()) -> None:
        self._parts = tuple(parts)  # a block, its links and what they are, or words

    @cached_property
    def _ends(self) -> IntArray:
        return np.cumsum([1 if isinstance(part, str) else len(part[1]) for part in self._parts])

    def __len__(self) -> int:
        return int(self._ends[-1]) if self._parts else 0

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(*at.indices(len(self))))
        at = at + len(self) if at < 0 else at
        if not 0 <= at < len(self):
            raise IndexError(f"{len(self)} rules were dropped, none of number {at}")
        number = int(np.searchsorted(self._ends, at, "right"))
        part = self._parts[number]
        if isinstance(part, str):
            return part
        block, numbers, what = part
        link = block[int(numbers[at - self._ends[number]])]
        return f"{link.why or what} of {name_samples(link)}"

    def __add__(self, other: Dropped) -> Dropped:
        return Dropped(self._parts + other._parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dropped | tuple):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        more = f", ... {len(self) - 9:,} more" if len(self) > 10 else ""
        return (
            f"({', '.join(map(repr, self[: 9 if more else 10]))}{more or ',' * (len(self) == 1)})"
        )


class Relabel:
    """Brings rules to other samples: where each one is now, and what had to be left out.

    Parameters
    ----------
    position : Positions
        New position of each sample, by its old name.
    order : callable
        Of a statement with values per sample, the places of the values of the new samples.
    named : bool
        Whether old names are ids, which rules then remember.
    """

    def __init__(
        self, position: Positions, order: Callable[[Any], IntArray], *, named: bool
    ) -> None:
        self.position, self.order, self.named = position, order, named
        self._dropped: list[tuple[Block, IntArray, str] | str] = []
        self.kept: BoolArray = np.empty(0, bool)  # which links of the last rules are left

    @property
    def dropped(self) -> Dropped:
        """What names samples that are not there."""
        return Dropped(self._dropped)

    def links(self, links: Links, what: str) -> tuple[BoolArray, Links]:
        """The links that keep at least two samples, and which these were."""
        marks, moved = [np.empty(0, bool)], []
        for block in links.blocks:
            at = self.position.of(block.samples)
            ids = block.samples if self.named else block.ids
            there = at >= 0
            if not there.all():
                self._dropped.append((block, block.links_of(~there), what))
            kept, rest = replace(block, samples=at, ids=ids, among=None).keep(there)
            marks.append(kept)
            moved.append(rest)
        return np.concatenate(marks), Links(moved)

    def fixed(self, rules: tuple[Any, ...], what: str) -> tuple[Any, ...]:
        """What is fixed or forbidden for samples that are there."""
        moved = []
        for rule in rules:
            if rule.sample in self.position.by_name:
                ids = (rule.sample,) if self.named else rule.ids
                at = self.position.by_name[rule.sample]
                moved.append(type(rule)(at, rule.cluster, ids))
            else:
                self._dropped.append(f"{what} cluster of sample {rule.sample!r}")
        return tuple(moved)

    def __call__(self, c: Constraints) -> Constraints:
        """The same rules about the new samples."""
        if c.linear:
            raise TypeError(
                "linear rules refer to columns, not samples; define them for these samples."
            )

        def taken(blocks: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(block.taken(self.order(block), self.named) for block in blocks)

        kept_together, together = self.links(c.must_link, "must-link")
        kept_apart, apart = self.links(c.cannot_link, "cannot-link")
        soft = []
        for part in c.softened:
            inner = self(part.constraints)
            weight = part.weight[self.kept] if part.weight.ndim else part.weight
            soft.append(Softened(inner, weight, part.relative))
        self.kept = np.concatenate([kept_together, kept_apart])
        return c._with(
            must_link=together,
            cannot_link=apart,
            fixed=self.fixed(c.fixed, "fixed"),
            forbidden=self.fixed(c.forbidden, "forbidden"),
            statements=taken(c.statements),
            stay=taken(c.stay),
            softened=tuple(soft),
            by="position",
        )


def order_of(block: Any, ids: list[Any]) -> IntArray:
    """Where the values of these samples are in a statement by id."""
    if block.ids is None:
        raise ValueError(
            f"{block.what} of {block.name!r} have no ids; rules about sample ids need a mapping "
            "of ids to values, or a pandas series."
        )
    where = {name: at for at, name in enumerate(block.ids.tolist())}
    absent = [name for name in ids if name not in where]
    if absent:
        raise ValueError(
            f"{block.name!r} has no value for {len(absent)} samples; the first is {absent[0]!r}."
        )
    return np.array([where[name] for name in ids], np.int64)
