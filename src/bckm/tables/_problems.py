"""What is wrong with the cells of a table, and what can be done about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from bckm._core.note import Note, and_more
from bckm.tables._numbers import has_decimal_commas
from bckm.tables.cells import text_of
from bckm.tables.errors import TableError, shown

if TYPE_CHECKING:
    from bckm.tables._table import Table

_SHOWN = 3  # rows in a message
_UNIT = re.compile(r"\s*[+-]?[0-9]+(?:[.,][0-9]+)?\s*([^\W\d_]{1,8}\.?|[%€$£°])\s*")
_DAY = re.compile(
    r"\s*(?:[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4})\b.*"
)


@dataclass(frozen=True)
class Remedy:
    """What may be done about a problem.

    Attributes
    ----------
    key : str
        What kind of remedy: "drop", "mean", "median", "zero", "decimal", "header", "totals".
    text : str
        What it does, in words.
    change : mapping
        What it changes in the `Reading`; the file is read again with it (`Reading.changed`).

    Examples
    --------
    >>> from bckm.tables import Reading, Remedy
    >>> remedy = Remedy("drop", "leave row 17 out", {"drop_rows": [17]})
    >>> Reading().changed(remedy.change).drop_rows
    (17,)
    """

    key: str
    text: str
    change: Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """Something about a table that may be wrong.

    Attributes
    ----------
    kind : str
        "not a number", "missing", "decimal", "unit", "date", "id missing", "id repeated",
        "constant", "place", "exchanged", "name", "totals".
    column : str or None
        The column; None if it concerns the whole table.
    rows : tuple of int
        Positions of the rows, from 0.
    message : str
        What is wrong, where, and what to do.
    remedies : tuple of Remedy
        What reading the file in another way can do.
    blocking : bool
        Whether the column cannot be used so; else it is only worth a look.

    Examples
    --------
    >>> from bckm.tables import Table, look_over
    >>> table = Table.of({"id": ["a", "b", "a"], "kg": ["3", "x", "4"]}, source="stops.csv")
    >>> for problem in look_over(table, {"id": "id", "kg": "number"}):
    ...     print(problem.kind, problem.column, problem.rows, problem.remedies[0].text)
    id repeated id (2,) leave row 3 out
    not a number kg (1,) leave row 2 out
    """

    kind: str
    column: str | None
    rows: tuple[int, ...]
    message: Note
    remedies: tuple[Remedy, ...] = ()
    blocking: bool = True


class ProblemsError(TableError):
    """Columns do not hold what is required; all problems at once.

    Attributes
    ----------
    problems : tuple of Problem
        What is wrong.

    Examples
    --------
    >>> from bckm.tables import ProblemsError, Table, look_over
    >>> table = Table.of({"x": ["1", "?"], "y": ["2", ""]}, source="places.csv")
    >>> print(ProblemsError(look_over(table, {"x": "number", "y": "number"}), table))
    places.csv has 2 problems:
    - column 'x' of places.csv: row 2 has '?', which is not a number; correct it, leave the cell \
empty, or choose another column.
    - column 'y' of places.csv has no number in 1 of 2 rows: row 2; fill them in, remove the rows, \
or choose another column.
    """

    def __init__(self, problems: Sequence[Problem], table: Table) -> None:
        self.problems = tuple(problems)
        told = [problem.message for problem in problems]
        if len(told) > 1:
            listed = "\n".join(f"- {one}" for one in told)
            text, n = f"{table.source} has {len(told)} problems:\n{listed}", len(told)
            told = [Note(text, "problems", file=table.source, n=n)]
        super().__init__(*told)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.args, self.problems)


def _rebuilt(args: tuple[Any, ...], problems: tuple[Problem, ...]) -> ProblemsError:
    error = ProblemsError.__new__(ProblemsError, *args)
    error.args, error.problems = args, problems
    return error


@dataclass(frozen=True)
class _Found:
    """Rows of a column that have a problem, and how to speak of them."""

    table: Table
    column: str
    rows: list[int] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"column {shown(self.column)} of {self.table.source}"

    @property
    def places(self) -> str:
        some = ", ".join(self.table.place(row) for row in self.rows[:_SHOWN])
        return f"{some}{self.more}"

    @property
    def more(self) -> str:
        return and_more(len(self.rows) - _SHOWN)

    @property
    def lines(self) -> str:
        """Numbers of the first rows, as a value of a note."""
        return ", ".join(str(self.table.line(row)) for row in self.rows[:_SHOWN])

    def drop(self) -> Remedy:
        lines = [self.table.line(row) for row in self.rows]
        told = f"row {lines[0]}" if len(lines) == 1 else f"{len(lines)} rows"
        return Remedy("drop", f"leave {told} out", {"drop_rows": lines})

    def fills(self) -> tuple[Remedy, ...]:
        parsed = self.table.parsed(self.column)
        gaps = parsed.gaps(self.table.cells(self.column))
        if not gaps[self.rows].any() or not np.isfinite(parsed.values).any():
            return ()
        n = int(gaps.sum())
        cells = "1 cell" if n == 1 else f"{n} cells"
        told = {"mean": "with the mean", "median": "with the median", "0": "with 0"}
        return tuple(
            Remedy(
                {"0": "zero"}.get(how, how), f"fill {cells} {words}", {"fills": {self.column: how}}
            )
            for how, words in told.items()
        )


def number_problems(table: Table, column: str, *, missing: bool = False) -> list[Problem]:
    """What keeps a column from being one of numbers; `missing` ones may be allowed."""
    parsed = table.parsed(column)
    problems = []
    if parsed.bad.any():
        problems.append(_not_numbers(_Found(table, column, np.flatnonzero(parsed.bad).tolist())))
    elif parsed.doubt:
        remedies = tuple(
            Remedy("decimal", f"the decimal separator is a {word}", {"decimal": sign})
            for word, sign in (("comma", ","), ("point", "."))
        )
        text = f"{_Found(table, column).where}: {parsed.doubt}."
        message = Note(text, "doubt", why=parsed.doubt)
        problems.append(Problem("decimal", column, (), message, remedies))
    if not missing and parsed.missing.any():
        problems.append(_missing(_Found(table, column, np.flatnonzero(parsed.missing).tolist())))
    return problems


def _not_numbers(found: _Found) -> Problem:
    table, rows = found.table, found.rows
    cells = table.cells(found.column)
    told = [f"{table.place(row)} has {_told(cells[row])}" for row in rows[:_SHOWN]]
    one = len(rows) == 1
    more = f", and so on in {len(rows) - _SHOWN} more rows" if len(rows) > _SHOWN else ""
    which = "which is not a number" if one else "which are not numbers"
    values = [cells[row] for row in rows]
    kind = "not a number"
    if all(is_day(value) for value in values):
        kind, remedy = "date", Note("days are no numbers: choose another column", "do.day")
    elif all(isinstance(value, str) and _UNIT.fullmatch(value) for value in values):
        kind = "unit"
        remedy = Note("write the numbers without units, all in the same one", "do.unit")
    else:
        remedy = _remedy(values, one, table.decimal)
    text = f"{found.where}: {', '.join(told)}, {which}{more}; {remedy}."
    held = ", ".join(f"{table.line(row)}: {_told(cells[row])}" for row in rows[:_SHOWN])
    message = Note(text, "no_numbers", n=len(rows), cells=held, more=found.more, do=remedy)
    remedies: tuple[Remedy, ...] = ()
    if remedy == _COMMAS:
        remedies = (Remedy("decimal", "the decimal separator is a comma", {"decimal": ","}),)
    if len(rows) < table.n_rows:
        remedies = (*remedies, found.drop(), *found.fills())
    return Problem(kind, found.column, tuple(rows), message, remedies)


def _missing(found: _Found) -> Problem:
    table, rows = found.table, found.rows
    if len(rows) == table.n_rows:
        text = f"{found.where} is empty; choose another column."
        message = Note(text, "column_empty", column=found.column)
        return Problem("missing", found.column, tuple(rows), message)
    text = (
        f"{found.where} has no number in {len(rows)} of {table.n_rows} rows: {found.places}; "
        "fill them in, remove the rows, or choose another column."
    )
    n, of = len(rows), table.n_rows
    message = Note(text, "missing", n=n, of=of, rows=found.lines, more=found.more)
    remedies = (*found.fills(), found.drop())
    return Problem("missing", found.column, tuple(rows), message, remedies)


def id_problems(table: Table, column: str) -> list[Problem]:
    """What keeps a column from being one of ids."""
    texts = table.texts(column)
    problems = []
    if gaps := [row for row, text in enumerate(texts) if text is None]:
        found = _Found(table, column, gaps)
        text = f"{found.where}: the id is missing in {found.places}; every row needs one."
        message = Note(text, "id_missing", n=len(gaps), rows=found.lines, more=found.more)
        remedies = (found.drop(),) if len(gaps) < table.n_rows else ()
        problems.append(Problem("id missing", column, tuple(gaps), message, remedies))
    often = {t: c for t, c in Counter(texts).items() if c > 1 and t is not None}
    if often:
        twice, most = next(iter(often.items()))
        first = texts.index(twice)
        second = texts.index(twice, first + 1)
        seen: set[str | None] = {None}
        later = [i for i, text in enumerate(texts) if text in seen or seen.add(text)]  # type: ignore[func-returns-value]
        found = _Found(table, column, [row for row in later if texts[row] is not None])
        times = f", {most} times in total" if most > 2 else ""
        more = f" ({len(often) - 1} other ids are repeated too)" if len(often) > 1 else ""
        text = (
            f"{found.where}: the id {shown(twice)} appears in {table.place(first)} and "
            f"{table.place(second)}{times}{more}; ids must be unique."
        )
        message = Note(
            text,
            "id_repeated",
            id=shown(twice),
            first=str(table.line(first)),
            second=str(table.line(second)),
            n=len(often),
        )
        problems.append(Problem("id repeated", column, tuple(found.rows), message, (found.drop(),)))
    return problems


def _told(value: Any) -> str:
    return shown(value if isinstance(value, str) else text_of(value) or str(value))


def is_day(value: Any) -> bool:
    """Whether a value is a day, or a text that looks like one."""
    return isinstance(value, date) or (isinstance(value, str) and bool(_DAY.fullmatch(value)))


_COMMAS = Note("if these are decimal commas, use --decimal ,", "do.commas")


def _remedy(values: Sequence[Any], one: bool, decimal: str) -> Note:
    """What to do about values that are no numbers."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    if len(texts) == len(values) and decimal != ",":
        likely = [text for text in texts if has_decimal_commas([text])]
        if len(likely) >= 0.8 * len(texts) and has_decimal_commas(likely):
            return _COMMAS
        if all("," in text and text.replace(",", "").replace(".", "").isdigit() for text in texts):
            return Note("remove the thousands separators", "do.thousands")
    if decimal == "," and any("." in text for text in texts):
        text = "the decimal separator is a comma, so remove thousands separators"
        return Note(text, "do.thousands")
    it = ("it", "the cell", "another column") if one else ("them", "the cells", "other columns")
    text = f"correct {it[0]}, leave {it[1]} empty, or choose {it[2]}"
    return Note(text, "do.correct", n=1 if one else 2)
