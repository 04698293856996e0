"""Where a table begins and ends among the rows of a file: titles above, sums below."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bckm._core.note import Note
from bckm.tables.cells import no_number
from bckm.tables.errors import OptionError, TableError

if TYPE_CHECKING:
    from bckm.tables._table import Table

_TITLES = 20  # rows at most above the header
_SHORT = 3  # and above one of two names
_LOOKED_AT = 50  # rows below it that tell what columns hold
_REMARKS = 3  # rows at most below the sums
_NUMBER = re.compile(
    r"\s*[+-]?[0-9][0-9.,' \xa0/:-]*(?:[eE][+-]?[0-9]+)?\s*"
)  # also days and times
_ID = re.compile(r"\s*0[0-9]+\s*")
_WORDS = (
    *("total", "totals", "grand total", "sum", "sums", "summe", "summen", "gesamt", "gesamtsumme"),
    *("insgesamt", "zusammen", "somme", "totale", "totaal", "suma", "subtotal", "Σ", "∑"),
)
_TOTAL = re.compile(rf"\s*(?:{'|'.join(map(re.escape, _WORDS))})\b.*|\s*[Σ∑].*", re.I | re.S)


def header_index(rows: Sequence[Sequence[Any]], lines: Sequence[int]) -> int:
    """Which of the rows holds the column names: the first, unless that is clearly a title.

    It is a later one where all rows above have at most half as many cells, all of its cells are
    different texts, and there is a sign that a table begins there: numbers below texts, rows that
    are as long, or an empty row above.
    """
    filled = [sum(map(_says, row)) for row in rows[: _TITLES + 1]]
    for at in range(1, min(len(rows) - 1, len(filled))):
        most = max(filled[:at])
        if 2 * most > filled[at] or not _are_names(rows[at]):
            continue
        if filled[at] == 2 and at > _SHORT:  # a narrow table with gaps looks like that
            continue
        body = rows[at + 1 : at + 1 + _LOOKED_AT]
        width = sum(any(len(row) > j and _says(row[j]) for row in body) for j in range(_wide(body)))
        if filled[at] < 0.6 * width:
            continue
        ragged = filled[at] > 2 and _wide(rows[:at]) < min(len(rows[at]), *map(len, body))
        apart = filled[at] > 2 and lines[at] > lines[at - 1] + 1
        if ragged or apart or _numbers_below(rows[at], body):
            return at
    return 0


def asked_index(lines: Sequence[int], asked: int, source: str, what: str = "line") -> int:
    """Where the row is that a person says holds the column names."""
    if asked not in lines:
        text = (
            f"{what} {asked} of {source} is empty or does not exist, so it holds no column names; "
            "use another --header-row."
        )
        raise OptionError(Note(text, "header_absent", file=source, row=str(asked)))
    return list(lines).index(asked)


def told_of_titles(lines: Sequence[int], at: int, what: str = "line") -> tuple[str, ...]:
    """What to say of rows above the header."""
    if at == 0:
        return ()
    first, last = lines[0], lines[at - 1]
    above = f"{what} {first} was" if at == 1 else f"{what}s {first} to {last} were"
    text = f"the column names are in {what} {lines[at]}; {above} taken as a title (--header-row)."
    return (Note(text, "title", row=str(lines[at])),)


def kept_rows(lines: Sequence[int], drop: Sequence[int], source: str, what: str) -> list[int]:
    """Positions of the rows that are not to be left out."""
    gone = set(drop)
    if absent := sorted(gone - set(lines)):
        text = (
            f"{what} {absent[0]} of {source} is empty or does not exist, so it cannot be left out; "
            "correct --drop-rows."
        )
        raise OptionError(Note(text, "drop_absent", file=source, row=str(absent[0])))
    return [i for i, line in enumerate(lines) if line not in gone]


def _says(cell: Any) -> bool:
    return cell is not None and not (isinstance(cell, str) and no_number(cell))


def _wide(rows: Sequence[Sequence[Any]]) -> int:
    return max(map(len, rows), default=0)


def _are_names(row: Sequence[Any]) -> bool:
    """Whether a row may hold the names of columns: several different texts."""
    said = [cell for cell in row if _says(cell)]
    texts = [cell.strip().casefold() for cell in said if isinstance(cell, str)]
    if len(texts) < len(said) or len(texts) < 2 or len(set(texts)) < len(texts):
        return False
    return not any(map(_NUMBER.fullmatch, texts))


def _numbers_below(names: Sequence[Any], body: Sequence[Sequence[Any]]) -> bool:
    for j, name in enumerate(names):
        said = [row[j] for row in body if len(row) > j and _says(row[j])]
        if not _says(name) or not said:
            continue
        numbers = sum(not isinstance(c, str) or bool(_NUMBER.fullmatch(c)) for c in said)
        if numbers >= 0.8 * len(said):
            return True
    return False


def without_totals(table: Table, asked: str | None) -> Table:
    """The table without a last row that sums up the others, and remarks below it.

    `asked` is "drop" (also where it is only likely), "keep", or None: where it is clear.
    """
    if asked == "keep" or table.n_rows < 3:
        return table
    for below in range(min(_REMARKS + 1, table.n_rows - 2)):
        row = table.n_rows - 1 - below
        found = _total(table, row)
        if found == "clear" or (found and asked == "drop"):
            text = (
                f"{table.place(row)} sums up the rows above and was left out (else --totals keep)."
            )
            said = [Note(text, "total", row=str(table.line(row)))]
            if below:
                rows = "1 row below it was" if below == 1 else f"{below} rows below it were"
                said.append(Note(f"{rows} taken for a remark and left out.", "remark", n=below))
            return table.taken(range(row), said)
        if not _is_remark(table, row):
            break
    if asked == "drop":
        last = table.n_rows - 1
        text = (
            f"the last row of {table.source}, {table.place(last)}, does not sum up the "
            "others; to leave it out all the same, use --drop-rows."
        )
        raise TableError(Note(text, "no_total", file=table.source, row=str(table.line(last))))
    return table


def likely_total(table: Table) -> bool:
    """Whether the last row may be a sum of the others."""
    if table.n_rows < 3 or table.format not in ("csv", "tsv", "xlsx"):
        return False  # other files hold columns, which are not read just to see
    return bool(_total(table, table.n_rows - 1))


def _is_remark(table: Table, row: int) -> bool:
    said = [cell for name in table.names if _says(cell := table.cells(name)[row])]
    return len(table.names) >= 3 and len(said) == 1 and isinstance(said[0], str)


def _total(table: Table, row: int) -> str:
    """Whether a row sums up those above: "clear", "likely", or empty if not."""
    word = gap = False
    for name in table.names:
        cells = table.cells(name)
        cell = cells[row]
        word |= isinstance(cell, str) and _TOTAL.fullmatch(cell) is not None
        gap |= not _says(cell) and all(map(_says, cells[max(row - _LOOKED_AT, 0) : row]))
    if not word and not gap:
        return ""
    agree = differ = 0
    for name in table.names:
        cell = table.cells(name)[row]
        if isinstance(cell, str) and (not _NUMBER.fullmatch(cell) or _ID.fullmatch(cell)):
            continue
        parsed = table.parsed(name)
        values = parsed.values[: row + 1]
        above = values[:row][~np.isnan(values[:row])]  # as spreadsheets sum, without texts
        if np.isnan(values[row]) or not above.size:
            continue
        total = float(above.sum())
        room = 1e-9 * float(np.abs(above).sum()) + _last_digit(cell)
        if np.count_nonzero(above) > 1 and total and abs(values[row] - total) <= room:
            agree += 1
        else:
            differ += 1
    if agree and (agree >= differ if word else not differ):
        return "clear"
    return "likely" if gap and (word or agree) else ""


def _last_digit(cell: Any) -> float:
    """Half a unit of the last digit that a text shows: sums are often rounded."""
    if not isinstance(cell, str):
        return 0.0
    found = re.search(r"[.,]([0-9]+)\s*$", cell)
    return 0.5 * 10.0 ** -len(found[1]) if found else 0.0
