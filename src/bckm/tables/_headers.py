"""The line of column names."""

from __future__ import annotations

from collections.abc import Sequence

from bckm.tables._numbers import parse
from bckm.tables.errors import TableError, shown


def checked_names(names: Sequence[str], source: str, *, numbers: bool = False) -> tuple[str, ...]:
    """Column names, all there and different.

    An empty one becomes ``column 3``. Unless `numbers` are admitted, a header of numbers alone is
    thought to be missing.
    """
    if not numbers and _all_numbers(names):
        listed = ", ".join(shown(name) for name in names[:3])
        raise TableError(
            f"the first line of {source} holds numbers ({listed}) instead of column names; add a "
            "line with column names at the top."
        )
    taken = {name for name in names if name.strip()}
    full = []
    for i, name in enumerate(names, 1):
        given = name
        while not given.strip() or (given is not name and given in taken):
            given = f"{given} column {i}".strip()
        full.append(given)
    seen: dict[str, int] = {}
    for i, name in enumerate(full, 1):
        if name in seen:
            raise TableError(
                f"columns {seen[name]} and {i} of {source} are both named {shown(name)}; column "
                "names must be unique."
            )
        seen[name] = i
    return tuple(full)


def _all_numbers(names: Sequence[str]) -> bool:
    parsed = parse(list(names), ".", lambda: None)
    return bool(len(names)) and not parsed.bad.any() and not parsed.missing.any()
