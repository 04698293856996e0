"""Rules for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bckm._core.card import card, facts
from bckm._core.html import Child, Element
from bckm._core.names import Told
from bckm.constraints.links import Links

if TYPE_CHECKING:
    from bckm.constraints._constraints import Constraints

SHOWN = 4  # of the rules of each kind


def constraints_card(constraints: Constraints) -> str:
    """The card of rules."""
    return card("Constraints", rules_table(constraints))


def rules_table(constraints: Constraints) -> Element:
    """A line for each kind of rule."""
    rows = list(_rows(constraints, ""))
    return facts(rows or [("rules", "none: no cluster is empty")])


def _rows(constraints: Constraints, price: str) -> Iterator[tuple[str, Child]]:
    names = [name for name in constraints.__slots__ if name not in ("by", "softened")]
    for name in sorted(names, key=lambda name: not name.startswith("size")):
        value = getattr(constraints, name)
        if value is not None and not (isinstance(value, tuple | Links) and not value):
            yield f"soft {name}" if price else name, Told(_told(value) + price)
    if constraints.by != "position" and not price:
        yield "by", constraints.by
    for part in constraints.softened:
        least, most = part.weight.min(), part.weight.max()
        kind = "confidence" if part.relative else "price"
        each = f"{least:g}" if least == most else f"{least:g} to {most:g}"
        yield from _rows(part.constraints, f" ({kind} {each})")


def _told(value: Any) -> str:
    if not isinstance(value, tuple | Links):  # one bound for all clusters, or one for each
        numbers = np.ravel(value).tolist()
        return _listed([f"{number:g}" for number in numbers[:SHOWN]], len(numbers))
    many = "" if len(value) <= SHOWN else f"{len(value):,}: "
    return many + _listed([_one(one) for one in value[:SHOWN]], len(value))


def _one(value: Any) -> str:
    ids = getattr(value, "ids", None)
    if isinstance(value, tuple):  # a link
        return f"({_listed([str(one) for one in (ids or value)[:SHOWN]], len(value))})"
    if hasattr(value, "cluster"):  # a sample that is fixed, or forbidden, there
        return f"{value.sample if ids is None else ids[0]}: {value.cluster}"
    return str(value)


def _listed(words: list[str], number: int) -> str:
    """The first of so many."""
    return ", ".join([*words, *([f"… {number - SHOWN:,} more"] if number > SHOWN else [])])
