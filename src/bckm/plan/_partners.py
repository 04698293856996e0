"""Columns that name other rows: ``friend_of``, ``not_with``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from bckm._core.note import Note, few
from bckm._core.terminal import clean
from bckm.constraints.links import Link
from bckm.plan._columns import Reader
from bckm.tables import Problem, ProblemsError
from bckm.tables.cells import no_number, text_of
from bckm.tables.errors import shown, some

_BETWEEN = re.compile(r"[;,]")
_WHOLE = re.compile(r"0|[1-9][0-9]*")
_SHOWN = 5
MOST = 0.9  # share of the values that must be ids to take a column for one of partners


def read_partners(column: str, read: Reader) -> list[Link]:
    """Pairs of each row and the rows that a column names in it.

    Cells hold an id, several with semicolons or commas between, a list, or nothing.
    """
    pairs: dict[frozenset[int], tuple[int, int]] = {}
    place = {name: row for row, name in enumerate(read.names)}
    themselves = 0
    unknown: list[tuple[int, str]] = []
    texts = read.table.texts(column)
    for row, cell in enumerate(read.table.cells(column)):
        named = _named(cell, texts[row], read.known)
        for one in named:
            if one not in read.known:
                unknown.append((row, one))
                continue
            other = place[read.known[one]]
            themselves += other == row
            if other != row:
                pairs.setdefault(frozenset((row, other)), (row, other))
    if unknown:
        row, one = unknown[0]
        others = list(dict.fromkeys(other for _, other in unknown if other != one))
        more = f" Also unknown: {some(others, _SHOWN)}." if others else ""
        what = read.unknown(one)
        message = Note(
            f"column {column!r}, {read.table.place(row)}: {what}{more}",
            "no_partner",
            column=column,
            row=str(read.table.line(row)),
            what=what,
            others=few(list(map(shown, others)), _SHOWN) or "–",
        )
        rows = tuple(dict.fromkeys(row for row, _ in unknown))
        raise ProblemsError([Problem("id unknown", column, rows, message)], read.table)
    if themselves:
        text = f"column {column!r}: {themselves} rows name themselves; ignored."
        read.notes.append(Note(text, "themselves", column=column, n=themselves))
    return [Link([read.names[a], read.names[b]], clean(column)) for a, b in pairs.values()]


def _named(cell: Any, text: str | None, known: Mapping[str, Any]) -> list[str]:
    """The ids in a cell; an id that holds a comma is one, if a row has it."""
    if isinstance(cell, list | tuple | np.ndarray):
        return [one for one in map(text_of, cell) if one is not None]
    if text is None:
        return []
    if text in known:
        return [text]
    if no_number(text):  # NA and the like
        return []
    return [one.strip() for one in _BETWEEN.split(text) if one.strip()] or [text]


def note_of_partners(kind: str, column: str, read: Reader) -> Note | None:
    """What to say where a column of groups looks like one of partners; None where it does not.

    That is so if nearly all values are ids, and not of rows that hold themselves, as where groups
    are called by the id of one member. Whole numbers are ids by chance: they must also not be
    counted up from 0 or 1, and most must be named once only, which groups are not.
    """
    texts = read.table.texts(column)
    values = Counter(text for text in texts if text is not None)
    named = {value: _named(None, value, read.known) for value in values}
    found = [value for value, ids in named.items() if ids and all(one in read.known for one in ids)]
    if not values or len(found) < MOST * len(values):
        return None
    place = {str(name): row for row, name in enumerate(read.names)}
    alone = [value for value in found if len(named[value]) == 1 and value in place]
    if sum(texts[place[value]] == value for value in alone) > len(found) / 2:
        return None
    if all(map(_WHOLE.fullmatch, values)):
        numbers = {int(value) for value in values}
        shared = max(values.values()) > 1
        counted = len(numbers) >= max(numbers) - min(numbers) + 1 and min(numbers) <= 1
        once = sum(number == 1 for number in values.values())
        if len(numbers) < 3 or (counted and shared) or 2 * once < len(values):
            return None
    option = "--together-with" if kind == "together" else "--apart-from"
    text = (
        f"{kind} {column!r}: its values are ids of other rows ({some(found, 3)}). Rows with the "
        f"same id are kept {kind}, wherever the row with that id goes; to link to that row, use "
        f"{option} {column} (partners = ... in a rules file)."
    )
    return Note(text, f"partners.{kind}", column=column, samples=few(found, 3))
