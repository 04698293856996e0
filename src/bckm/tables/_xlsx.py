"""Spreadsheets: .xlsx, .xls and .ods in, .xlsx out."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from bckm.tables._extent import n_cells
from bckm.tables._formulas import risky
from bckm.tables._headers import checked_names
from bckm.tables._limits import LIMIT, check_memory, check_size, members
from bckm.tables._table import Table, typed_cells
from bckm.tables._text import expressible
from bckm.tables.cells import Cells, text_of
from bckm.tables.errors import OptionError, TableError, near, needed, shown, there_is_no

_MOST_ROWS = 1_048_576  # of a sheet, with the header
_MOST_COLUMNS = 16_384
_LONGEST = 32_767  # characters of a cell
_MOST_DIGITS = 10**15  # a cell keeps 15 digits of a number
_SHOWN_WIDTH = 40
_CELL = 48  # bytes of one, in the reader and here
_FIRST_DAY = date(1900, 1, 1)


@dataclass(frozen=True)
class _Sheet:
    """Where a table came from."""

    title: str


def read(
    data: bytes,
    source: str,
    *,
    sheet: str | int | None = None,
    decimal: str | None = None,
    limit: int = LIMIT,
    **_: Any,
) -> Table:
    """A table of numbers, texts, truths and times of one sheet, empty cells as None.

    Of formulas there are only the values that were stored with them.
    """
    calamine = needed("python_calamine", "Excel files")
    title, rows, first = _rows(calamine, data, source, sheet, limit)
    where = f"sheet {shown(title)} of {source}"
    full = [i for i, row in enumerate(rows) if any(cell not in ("", None) for cell in row)]
    if not full:
        raise TableError(f"{where} is empty; it should start with a row of column names.")
    header = [text_of(cell) or "" for cell in rows[full[0]]]
    body = [rows[i] for i in full[1:]]
    if not body:
        raise TableError(f"{where} has a row of column names but no rows of data.")
    used = [j for j, name in enumerate(header) if name or any(row[j] != "" for row in body)]
    names = checked_names([header[j] for j in used], where)
    columns = {name: [_value(row[j]) for row in body] for name, j in zip(names, used, strict=True)}
    return Table(
        names,
        len(body),
        "xlsx",
        source,
        columns,
        origin=_Sheet(title),
        lines=[first + i for i in full[1:]],
        decimal=decimal or ".",
    )


def _rows(
    calamine: Any, data: bytes, source: str, sheet: str | int | None, limit: int
) -> tuple[str, list[list[Any]], int]:
    """Title of the sheet, its cells, and the number of its first row."""
    try:
        parts = dict(members(data, limit, source)) if data.startswith(b"PK") else {}
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        title = _title(book.sheets_metadata, source, sheet)
        # a reader makes room for all cells up to the last one, and ends the process if it cannot
        number = n_cells(parts, title)
        room, where = _CELL * number, f"sheet {shown(title)} of {source}"
        far = f"it spans {number:,} cells up to the last one: delete stray cells far out; "
        check_size(room, limit, where, far)
        check_memory(room, source)
        del parts
        found = book.get_sheet_by_name(title)
        rows = found.to_python()
    except (TableError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a reader that panics raises what is no Exception
        if type(error).__name__ == "PasswordError":
            raise TableError(
                f"{source} is password-protected; save it without a password."
            ) from error
        raise TableError(
            f"{source} cannot be read as a spreadsheet: {shown(str(error), 80)}; is it damaged or "
            "in another format?"
        ) from error
    return title, rows, 1 + (found.start[0] if found.start else 0)


def _title(sheets: Sequence[Any], source: str, asked: str | int | None) -> str:
    """The sheet that is asked for; else the first that can be seen."""
    titles: list[str] = [sheet.name for sheet in sheets]
    if not titles:
        raise TableError(f"{source} has no sheets.")
    if asked is None:
        seen = [s.name for s in sheets if "Visible" in str(s.visible) and "Work" in str(s.typ)]
        return (seen or titles)[0]
    if isinstance(asked, str):
        if asked in titles:
            return asked
        if not asked.isdecimal():
            raise OptionError(there_is_no("sheet", asked, titles, source, near(asked, titles)))
    number = int(asked)
    if not 1 <= number <= len(titles):
        raise OptionError(
            f"there is no sheet {number} in {source}; it has {len(titles)}, numbered from 1: "
            f"{', '.join(map(shown, titles[:12]))}."
        )
    return titles[number - 1]


def _value(cell: Any) -> Any:
    """Whole numbers as such: a sheet knows only one kind of number."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= 2**53:
        return int(cell)
    return None if isinstance(cell, str) and not cell else cell


def to_bytes(table: Table) -> bytes:
    """A workbook of one sheet in which every text is a text: no formulas, no links."""
    if table.n_rows >= _MOST_ROWS:
        raise TableError(
            f"a sheet can hold {_MOST_ROWS - 1:,} rows below its header; there are "
            f"{table.n_rows:,}. Write CSV or Parquet."
        )
    if len(table.names) > _MOST_COLUMNS:
        raise TableError(
            f"a sheet can hold {_MOST_COLUMNS:,} columns; there are {len(table.names):,}. Write "
            "CSV or Parquet."
        )
    xlsxwriter = needed("xlsxwriter", "Excel files")
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    title = table.origin.title if isinstance(table.origin, _Sheet) else "data"
    try:
        sheet = book.add_worksheet(title)
    except xlsxwriter.exceptions.XlsxWriterException:  # .ods allows more names
        sheet = book.add_worksheet("data")
    put = _writer(book, sheet)
    bold = book.add_format({"bold": True})
    for j, name in enumerate(table.names):
        cells = typed_cells(table, name)
        _check_lengths(name, cells)
        sheet.set_column(j, j, _width(name, cells))
        sheet.write_string(0, j, _letters(name), bold)
        for i, cell in enumerate(cells, 1):
            put(i, j, cell)
    sheet.freeze_panes(1, 0)
    book.close()
    return out.getvalue()


def _check_lengths(name: str, cells: Cells) -> None:
    for i, cell in enumerate([name, *cells]):
        if isinstance(cell, str) and len(cell) > _LONGEST:
            where = f"row {i} of column {shown(name)}" if i else f"the column name {shown(name)}"
            raise TableError(
                f"{where} has {len(cell):,} characters, but an Excel cell can hold {_LONGEST:,}; "
                "write CSV or Parquet."
            )


def _width(name: str, cells: Cells) -> int:
    """As wide as what the first rows hold."""
    longest = max(len(str(each)) for each in [name, *cells[:100]])
    return min(max(longest + 2, 8), _SHOWN_WIDTH)


def _letters(text: str) -> str:
    """Without halves of surrogate pairs and what else is no character of XML."""
    return re.sub("[\ufffe\uffff]", "\ufffd", expressible(text))


def _writer(book: Any, sheet: Any) -> Callable[[int, int, Any], None]:
    """Puts a value into a cell, as what it is."""
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
    clock = book.add_format({"num_format": "hh:mm:ss"})
    span = book.add_format({"num_format": "[h]:mm:ss"})
    # else a program computes the text as soon as somebody edits the cell
    quoted = book.add_format({"quote_prefix": True})

    def text(i: int, j: int, value: str) -> None:
        sheet.write_string(i, j, _letters(value), quoted if risky(value) else None)

    def put(i: int, j: int, value: Any) -> None:
        if isinstance(value, np.generic):
            value = value.item() if value.dtype.kind in "biuf" else text_of(value)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return
        if isinstance(value, str):
            text(i, j, value)
        elif isinstance(value, bool):
            sheet.write_boolean(i, j, value)
        elif isinstance(value, int | float | Decimal) and _exact(value):
            sheet.write_number(i, j, float(value))
        elif isinstance(value, datetime) and value.tzinfo is None and value.date() >= _FIRST_DAY:
            sheet.write_datetime(i, j, value, moment)
        elif isinstance(value, date) and not isinstance(value, datetime) and value >= _FIRST_DAY:
            sheet.write_datetime(i, j, value, day)
        elif isinstance(value, time) and value.tzinfo is None:
            sheet.write_datetime(i, j, value, clock)
        elif isinstance(value, timedelta) and value >= timedelta():
            sheet.write_datetime(i, j, value, span)
        else:
            text(i, j, text_of(value) or "")

    return put


def _exact(value: float | Decimal) -> bool:
    """Whether a cell can hold the number without loss that matters."""
    if isinstance(value, int):
        return abs(value) < _MOST_DIGITS
    return math.isfinite(value)
