"""`look_over`: all problems of a table at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime

import numpy as np

from bckm._core.note import Note, and_more
from bckm.tables._problems import Problem, Remedy, id_problems, is_day, number_problems
from bckm.tables._shape import likely_total
from bckm.tables._table import Table
from bckm.tables.errors import OptionError, shown

ROLES = ("number", "number or missing", "id", "latitude", "longitude", "text")
_ID = re.compile(r"(?:.*[\W_])?(?:id|nr|no|key|code|number|nummer)\.?", re.I)
_LATITUDE = re.compile(r"lat(?:itude)?|breite(?:ngrad)?", re.I)
_LONGITUDE = re.compile(r"l(?:o?ng?|ong)(?:itude)?|l(?:ä|ae)nge(?:ngrad)?", re.I)
_TRUTHS = frozenset({"true", "false", "yes", "no", "y", "n", "ja", "nein", "wahr", "falsch"})
MOSTLY = 0.8  # share of cells from which on a column is meant to hold numbers
_HEADERS = 5  # lines that may hold the column names instead


def look_over(table: Table, columns: Mapping[str, str] | None = None) -> list[Problem]:
    """Return all problems of a table at once.

    Parameters
    ----------
    table : Table
        The table.
    columns : mapping of str to str, optional
        What columns are used for: "number", "number or missing", "id", "latitude", "longitude" or
        "text". Then problems that keep them from it are blocking. By default all columns are
        looked at for what they seem to be, and nothing is blocking.

    Returns
    -------
    list of Problem
        Those of the whole table first, then column by column.

    Examples
    --------
    >>> from bckm.tables import Table, look_over
    >>> table = Table.of({"kg": ["3", "4", "5", "7,5"], "x": [1, 1, 1, 1]}, source="stops.csv")
    >>> for problem in look_over(table):
    ...     print(problem.kind, [remedy.text for remedy in problem.remedies])
    not a number ['the decimal separator is a comma', 'leave row 4 out']
    constant []
    """
    roles = _guessed(table) if columns is None else _named(table, columns)
    found = _of_header(table) + _of_totals(table)
    for name, role in roles.items():
        if role == "id":
            found += id_problems(table, name)
        elif role != "text":
            numbers = number_problems(table, name, missing=role == "number or missing")
            found += numbers or _of_values(table, name, role)
    found += _of_places(table, roles)
    if columns is not None:
        return found
    return [_only_noted(problem) for problem in found]


def kind_of(table: Table, name: str) -> str:
    """Return what a column holds: "number", "text", "date", "yes/no" or "empty".

    Examples
    --------
    >>> from bckm.tables import Table, kind_of
    >>> table = Table.of({"kg": ["3", ""], "day": ["1.3.2026", "2.3.2026"], "ok": ["yes", "no"]})
    >>> [kind_of(table, name) for name in table.names]
    ['number', 'date', 'yes/no']
    """
    parsed = table.parsed(name)
    texts = [text for text in table.texts(name) if text is not None]
    if not texts:
        return "empty"
    if parsed.truth or {text.strip().casefold() for text in texts} <= _TRUTHS:
        return "yes/no"
    if parsed.numeric:
        return "number"
    cells = [cell for cell in table.cells(name) if cell is not None and cell != ""]
    if all(isinstance(cell, date | datetime) or is_day(cell) for cell in cells):
        return "date"
    return "text"


def _only_noted(problem: Problem) -> Problem:
    return Problem(
        problem.kind, problem.column, problem.rows, problem.message, problem.remedies, False
    )


def _named(table: Table, columns: Mapping[str, str]) -> dict[str, str]:
    for role in columns.values():
        if role not in ROLES:
            raise OptionError(f"a column is used as {', '.join(ROLES)}; got {role!r}.")
    return {table.column(name): role for name, role in columns.items()}


def _guessed(table: Table) -> dict[str, str]:
    """What each column seems to be meant for."""
    found = {}
    for name in table.names:
        parsed = table.parsed(name)
        said = table.n_rows - int(parsed.missing.sum())
        numbers = said - int(parsed.bad.sum())
        bare = name.strip()
        if _ID.fullmatch(bare) and _mostly_different(table, name):
            found[name] = "id"
        elif _LATITUDE.fullmatch(bare) and numbers:
            found[name] = "latitude"
        elif _LONGITUDE.fullmatch(bare) and numbers:
            found[name] = "longitude"
        elif numbers and numbers >= MOSTLY * said and not parsed.truth:
            # a column that is empty in most rows is meant to be
            found[name] = "number" if said > table.n_rows / 2 else "number or missing"
        else:
            found[name] = "text"
            if said and has_commas(table, name):
                found[name] = "number"
    return found


def has_commas(table: Table, name: str) -> bool:
    """Whether a column would be one of numbers if its commas were decimal ones."""
    problems = number_problems(table, name, missing=True)
    return any(remedy.key == "decimal" for problem in problems for remedy in problem.remedies)


def _mostly_different(table: Table, name: str) -> bool:
    texts = [text for text in table.texts(name) if text is not None]
    return bool(texts) and len(set(texts)) >= 0.9 * len(texts)


def _of_header(table: Table) -> list[Problem]:
    """Columns whose names were made up."""
    made = [name for name in table.names if re.fullmatch(r"column [0-9]+", name)]
    if not made or table.lines is None:
        return []
    first = table.line(0)
    told = "1 column has" if len(made) == 1 else f"{len(made)} columns have"
    remedies: tuple[Remedy, ...] = ()
    if 2 * len(made) >= len(table.names):
        remedies = tuple(
            Remedy("header", f"the column names are in line {line}", {"header_row": line})
            for line in [table.line(row) for row in range(min(_HEADERS, table.n_rows - 1))]
        )
    text = (
        f"{told} no name above line {first} of {table.source} ({shown(made[0])}); if the column "
        "names are in another line, say in which (--header-row)."
    )
    message = Note(text, "unnamed", n=len(made), row=str(first))
    return [Problem("name", made[0], (), message, remedies, blocking=False)]


def _of_totals(table: Table) -> list[Problem]:
    if not likely_total(table):
        return []
    row = table.n_rows - 1
    text = (
        f"the last row of {table.source}, {table.place(row)}, may be a sum of the others; if so, "
        "leave it out (--totals drop)."
    )
    message = Note(text, "likely_total", row=str(table.line(row)))
    remedy = Remedy("totals", f"leave row {table.line(row)} out", {"totals": "drop"})
    return [Problem("totals", None, (row,), message, (remedy,), blocking=False)]


def _of_values(table: Table, name: str, role: str) -> list[Problem]:
    """What numbers say that cannot be meant."""
    values = table.parsed(name).values
    most = {"latitude": 90.0, "longitude": 180.0}.get(role)
    if most is not None:
        rows = np.flatnonzero(np.abs(values) > most).tolist()
        if rows:
            value = float(values[rows[0]])
            text = (
                f"column {shown(name)} of {table.source}: {table.place(rows[0])} has "
                f"{value:.6g}, but a {role} is within ±{most:.0f} degrees."
            )
            message = Note(text, f"place.{role}", row=str(table.line(rows[0])), value=value)
            return [Problem("place", name, tuple(rows), message, blocking=True)]
        return []
    known = values[np.isfinite(values)]
    if known.size > 1 and known.min() == known.max():
        text = f"column {shown(name)} of {table.source} has the same value in every row."
        message = Note(text, "constant", column=name)
        return [Problem("constant", name, (), message, blocking=False)]
    return []


def _of_places(table: Table, roles: Mapping[str, str]) -> list[Problem]:
    """Latitude and longitude that are exchanged, or 0, 0 as programs write that know no place."""
    sides = {role: name for name, role in roles.items() if role in ("latitude", "longitude")}
    if len(sides) < 2:
        return []
    north, east = (table.parsed(sides[role]).values for role in ("latitude", "longitude"))
    pair = f"{shown(sides['latitude'])} and {shown(sides['longitude'])}"
    found = []
    if np.nanmax(np.abs(north), initial=0) > 90 >= np.nanmax(np.abs(east), initial=0):
        text = f"columns {pair} of {table.source} seem to be exchanged: latitude comes first."
        first, second = sides["latitude"], sides["longitude"]
        message = Note(text, "exchanged", first=first, second=second)
        return [Problem("exchanged", sides["latitude"], (), message, blocking=True)]
    if not (np.isfinite(north).any() and np.isfinite(east).any()):
        return []
    middle, across = np.nanmedian(north), np.nanmedian(east)
    with np.errstate(invalid="ignore"):
        turned = (np.abs(north - across) < 3) & (np.abs(east - middle) < 3)
        turned &= (np.abs(north - middle) > 15) & (np.abs(east - across) > 15)
    nowhere = (north == 0) & (east == 0)
    for which, key, words in (
        (turned, "turned", "latitude and longitude seem to be exchanged"),
        (nowhere, "nowhere", "the place 0, 0 usually means that it is not known"),
    ):
        rows = np.flatnonzero(which).tolist()
        if rows and len(rows) < table.n_rows / 2:
            lines = [table.line(row) for row in rows]
            told = f"row {lines[0]}" if len(rows) == 1 else f"{len(rows)} rows"
            more = and_more(len(rows) - 1)
            text = f"columns {pair} of {table.source}: in {table.place(rows[0])}{more} {words}."
            message = Note(text, f"where.{key}", row=str(lines[0]), more=more)
            remedy = Remedy("drop", f"leave {told} out", {"drop_rows": lines})
            found.append(
                Problem("place", sides["latitude"], tuple(rows), message, (remedy,), blocking=False)
            )
    return found
