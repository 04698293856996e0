"""The same rules about other samples: some of them, or those that ids name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bckm._core.types import IntArray
from bckm.constraints.expand import Softened
from bckm.constraints.parse import Link
from bckm.constraints.rules import name_samples

if TYPE_CHECKING:
    from bckm.constraints import Constraints


class Relabel:
    """Brings rules to other samples: where each one is now, and what had to be left out.

    Parameters
    ----------
    position : dict
        New position of each sample, by its old name.
    order : callable
        Of a statement with values per sample, the places of the values of the new samples.
    named : bool
        Whether old names are ids, which rules then remember.
    """

    def __init__(
        self, position: dict[Any, int], order: Callable[[Any], IntArray], *, named: bool
    ) -> None:
        self.position, self.order, self.named = position, order, named
        self.dropped: list[str] = []

    def links(self, links: tuple[Link, ...], what: str) -> tuple[list[int], tuple[Link, ...]]:
        """The links that keep at least two samples, and which these were."""
        kept, moved = [], []
        for at, link in enumerate(links):
            present = tuple(p for p in link if p in self.position)
            if len(present) < len(link):
                self.dropped.append(f"{link.why or what} of {name_samples(link)}")
            if len(present) > 1:
                kept.append(at)
                ids = present if self.named else link.ids and _kept_ids(link, self.position)
                moved.append(Link((self.position[p] for p in present), link.why, ids or None))
        return kept, tuple(moved)

    def fixed(self, rules: tuple[Any, ...], what: str) -> tuple[Any, ...]:
        """What is fixed or forbidden for samples that are there."""
        moved = []
        for rule in rules:
            if rule.sample in self.position:
                ids = (rule.sample,) if self.named else rule.ids
                moved.append(type(rule)(self.position[rule.sample], rule.cluster, ids))
            else:
                self.dropped.append(f"{what} cluster of sample {rule.sample!r}")
        return tuple(moved)

    def __call__(self, c: Constraints) -> Constraints:
        """The same rules about the new samples."""
        if c.linear:
            raise TypeError(
                "linear rules refer to columns, not samples; define them for these samples."
            )

        def taken(blocks: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(block.taken(self.order(block), self.named) for block in blocks)

        _, together = self.links(c.must_link, "must-link")
        _, apart = self.links(c.cannot_link, "cannot-link")
        soft = []
        for part in c.softened:
            inner, weight = part.constraints, part.weight
            if weight.ndim:
                before = len(self.dropped)
                kept = self.links(inner.must_link, "")[0]
                at = len(inner.must_link)
                kept = [*kept, *(at + q for q in self.links(inner.cannot_link, "")[0])]
                del self.dropped[before:]
                weight = weight[kept]
            soft.append(Softened(self(inner), weight, part.relative))
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


def _kept_ids(link: Link, position: dict[Any, int]) -> tuple[Any, ...]:
    assert link.ids is not None
    return tuple(name for p, name in zip(link, link.ids, strict=True) if p in position)


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
