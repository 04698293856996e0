"""Spreadsheets: .xlsx, .xls and .ods in, .xlsx out."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bckm._core.note import Note
from bckm.tables._extent import n_cells
from bckm.tables._headers import checked_names
from bckm.tables._limits import LIMIT, check_memory, check_size, members
from bckm.tables._shape import asked_index, header_index, kept_rows, told_of_titles
from bckm.tables._table import Table
from bckm.tables.cells import Cells, text_of
from bckm.tables.errors import OptionError, TableError, near, needed, shown, there_is_no
from bckm.tables.workbook import LONGEST, MOST_COLUMNS, MOST_ROWS, Sheet, Workbook

_CELL = 48  # bytes of one, in the reader and here
_START = "it should start with a row of column names."


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
    header_row: int | None = None,
    drop_rows: Sequence[int] = (),
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
        raise TableError(Note(f"{where} is empty; {_START}", "empty", file=source))
    lines = [first + i for i in full]
    assumed: tuple[str, ...] = ()
    if drop_rows:
        kept = kept_rows(lines, drop_rows, where, "row")
        full, lines = [full[i] for i in kept], [lines[i] for i in kept]
    if not full:
        raise TableError(Note(f"{where} is empty; {_START}", "empty", file=source))
    if header_row is not None:
        top = asked_index(lines, header_row, where, "row")
    elif top := header_index([rows[i] for i in full], lines):
        assumed = told_of_titles(lines, top, "row")
    header = [text_of(cell) or "" for cell in rows[full[top]]]
    body = [rows[i] for i in full[top + 1 :]]
    if not body:
        text = f"{where} has a row of column names but no rows of data."
        raise TableError(Note(text, "no_rows", file=source))
    used = [j for j, name in enumerate(header) if name or any(row[j] != "" for row in body)]
    names, said = checked_names([header[j] for j in used], where)
    columns = {name: [_value(row[j]) for row in body] for name, j in zip(names, used, strict=True)}
    return Table(
        names,
        len(body),
        "xlsx",
        source,
        columns,
        origin=_Sheet(title),
        lines=lines[top + 1 :],
        decimal=decimal or ".",
        assumed=(*assumed, *said),
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
            text = f"{source} is password-protected; save it without a password."
            raise TableError(Note(text, "password", file=source)) from error
        text = (
            f"{source} cannot be read as a spreadsheet: {shown(str(error), 80)}; is it damaged or "
            "in another format?"
        )
        raise TableError(Note(text, "damaged", file=source)) from error
    return title, rows, 1 + (found.start[0] if found.start else 0)


def _title(sheets: Sequence[Any], source: str, asked: str | int | None) -> str:
    """The sheet that is asked for; else the first that can be seen."""
    titles: list[str] = [sheet.name for sheet in sheets]
    if not titles:
        raise TableError(Note(f"{source} has no sheets.", "empty", file=source))
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
    book = Workbook()
    put_table(book, table)
    return book.bytes()


def put_table(book: Workbook, table: Table) -> Sheet:
    """Add a sheet with a table, its column names in the first row."""
    if table.n_rows >= MOST_ROWS:
        text = (
            f"a sheet can hold {MOST_ROWS - 1:,} rows below its header; there are "
            f"{table.n_rows:,}. Write CSV or Parquet."
        )
        raise TableError(Note(text, "sheet_rows", most=MOST_ROWS - 1, n=table.n_rows))
    if len(table.names) > MOST_COLUMNS:
        n = len(table.names)
        text = f"a sheet can hold {MOST_COLUMNS:,} columns; there are {n:,}. Write CSV or Parquet."
        raise TableError(Note(text, "sheet_columns", most=MOST_COLUMNS, n=n))
    sheet = book.sheet(table.origin.title if isinstance(table.origin, _Sheet) else "data")
    columns = []
    for j, name in enumerate(table.names):
        cells = table.typed(name)
        _check_lengths(name, cells)
        sheet.put(0, j, name, "header")
        for i, cell in enumerate(cells, 1):
            sheet.put(i, j, cell)
        columns.append([name, *cells[:100]])
    sheet.widths(columns)
    sheet.freeze(1)
    return sheet


def _check_lengths(name: str, cells: Cells) -> None:
    for i, cell in enumerate([name, *cells]):
        if isinstance(cell, str) and len(cell) > LONGEST:
            where = f"row {i} of column {shown(name)}" if i else f"the column name {shown(name)}"
            text = (
                f"{where} has {len(cell):,} characters, but an Excel cell can hold {LONGEST:,}; "
                "write CSV or Parquet."
            )
            raise TableError(Note(text, "cell_long", column=shown(name), n=len(cell), most=LONGEST))
