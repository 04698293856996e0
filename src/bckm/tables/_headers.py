"""The line of column names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bckm._core.note import Note, few
from bckm.tables._numbers import parse
from bckm.tables.errors import TableError, shown, some


def checked_names(
    names: Sequence[str], source: str, *, numbers: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Column names, all there and different; and what is to be said of them.

    An empty one becomes ``column 3``; ``kg``, where another column is called so, ``kg (column 3)``.
    Names may be `numbers` in files without a header, where repeated names are refused; elsewhere a
    header of numbers alone is thought to be missing.
    """
    if not numbers and _all_numbers(names):
        listed = ", ".join(shown(name) for name in names[:3])
        text = (
            f"the first line of {source} holds numbers ({listed}) instead of column names; add a "
            "line with column names at the top."
        )
        raise TableError(Note(text, "no_names", file=source, cells=listed))
    taken = {name for name in names if name.strip()}
    full = []
    for i, name in enumerate(names, 1):
        given = name
        while not given.strip() or (given is not name and given in taken):
            given = f"{given} column {i}".strip()
        full.append(given)
    often = Counter(full)
    if len(often) == len(full):
        return tuple(full), ()
    if numbers:  # a file of columns, which writing keeps as it is
        twice = next(name for name, n in often.items() if n > 1)
        first = full.index(twice)
        text = (
            f"columns {first + 1} and {full.index(twice, first + 1) + 1} of {source} are both "
            f"named {shown(twice)}; column names must be unique."
        )
        raise TableError(Note(text, "names_twice", file=source, column=shown(twice)))
    told, taken = [], set(full)
    for i, name in enumerate(full):
        if often[name] > 1:
            given = f"{name} (column {i + 1})"
            while given in taken:
                given += "'"
            full[i] = given
            taken.add(given)
    for name, n in often.items():
        if n > 1:
            called = [one for one in full if one.startswith(f"{name} (column ")]
            text = (
                f"{n} columns of {source} are named {shown(name)}; they are called "
                f"{some(called, 3)} here."
            )
            told.append(Note(text, "same_name", n=n, column=name, names=few(called, 3)))
    return tuple(full), tuple(told)


def _all_numbers(names: Sequence[str]) -> bool:
    parsed = parse(list(names), ".", lambda: None)
    return bool(len(names)) and not parsed.bad.any() and not parsed.missing.any()
