"""Workbooks of several sheets, in which every text is a text: no formulas, no links."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from bckm._core.terminal import clean
from bckm.tables._formulas import risky
from bckm.tables._text import expressible
from bckm.tables.cells import text_of
from bckm.tables.errors import needed

MOST_ROWS = 1_048_576  # of a sheet, with the header
MOST_COLUMNS = 16_384
LONGEST = 32_767  # characters of a cell
_MOST_DIGITS = 10**15  # a cell keeps 15 digits of a number
_SHOWN_WIDTH = 40
_FIRST_DAY = date(1900, 1, 1)
_TITLE = 31  # characters of the name of a sheet
_COMMENT = 2_000

STYLES: dict[str, dict[str, Any]] = {
    "": {},
    "header": {"bold": True},
    "title": {"bold": True, "font_size": 14},
    "quiet": {"font_color": "#666666"},
    "wrong": {"bg_color": "#FFC7CE", "font_color": "#9C0006"},
}


class Workbook:
    """An .xlsx file in the making.

    Examples
    --------
    >>> from bckm.tables.workbook import Workbook
    >>> book = Workbook()
    >>> sheet = book.sheet("Van 1/2")
    >>> sheet.title
    'Van 1-2'
    >>> sheet.row(0, ["stop", "kg"], "header")
    >>> sheet.row(1, ["=1+1", 3.5])
    >>> book.bytes()[:2]
    b'PK'
    """

    def __init__(self) -> None:
        self._xlsxwriter = needed("xlsxwriter", "Excel files")
        self._out = io.BytesIO()
        self._book = self._xlsxwriter.Workbook(self._out, {"in_memory": True})
        self._formats: dict[tuple[str, ...], Any] = {}
        self._titles: set[str] = set()

    def sheet(self, title: str) -> Sheet:
        """Add a sheet; its title is what the name of a sheet may be, and different from others."""
        return Sheet(self, self._book.add_worksheet(self._named(title)))

    def bytes(self) -> bytes:
        """Return the file."""
        self._book.close()
        return self._out.getvalue()

    def _named(self, title: str) -> str:
        bare = re.sub(r"[\[\]:*?/\\]", "-", letters(clean(title)))
        bare = bare.strip().strip("'").strip() or "sheet"
        if bare.casefold() == "history":  # Excel keeps it to itself
            bare = f"{bare} 1"
        found, number = _cut(bare, _TITLE), 1
        while found.casefold() in self._titles or not found:
            number += 1
            ending = f" ({number})"
            found = _cut(bare, _TITLE - len(ending)) + ending
        self._titles.add(found.casefold())
        return found

    def style(self, name: str, **more: Any) -> Any:
        """Return a format of the file."""
        key = (name, *map(str, sorted(more.items())))
        if key not in self._formats:
            self._formats[key] = self._book.add_format({**STYLES[name], **more})
        return self._formats[key]


def _cut(text: str, most: int) -> str:
    """The beginning of a text, as long as programs count: two for letters beyond 16 bits."""
    while len(text.encode("utf-16-le")) > 2 * most:
        text = text[:-1]
    return text.rstrip().rstrip("'")


class Sheet:
    """A sheet of a `Workbook`; rows and columns are counted from 0."""

    def __init__(self, book: Workbook, sheet: Any) -> None:
        self._book, self._sheet = book, sheet

    @property
    def title(self) -> str:
        """Its name."""
        return str(self._sheet.get_name())

    def row(self, i: int, values: Iterable[Any], style: str = "") -> None:
        """Put values into the cells of a row."""
        for j, value in enumerate(values):
            self.put(i, j, value, style)

    def put(self, i: int, j: int, value: Any, style: str = "") -> None:
        """Put a value into a cell, as what it is."""
        book, sheet = self._book, self._sheet
        if isinstance(value, np.generic):
            value = value.item() if value.dtype.kind in "biuf" else text_of(value)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            if style:
                sheet.write_blank(i, j, None, book.style(style))
        elif isinstance(value, str):
            self._text(i, j, value, style)
        elif isinstance(value, bool):
            sheet.write_boolean(i, j, value, book.style(style))
        elif isinstance(value, int | float | Decimal) and _exact(value):
            sheet.write_number(i, j, float(value), book.style(style))
        elif (shown := _time_format(value)) is not None:
            sheet.write_datetime(i, j, value, book.style(style, num_format=shown))
        else:
            self._text(i, j, text_of(value) or "", style)

    def _text(self, i: int, j: int, value: str, style: str) -> None:
        # else a program computes the text as soon as somebody edits the cell
        more = {"quote_prefix": True} if risky(value) else {}
        self._sheet.write_string(i, j, letters(value), self._book.style(style, **more))

    def comment(self, i: int, j: int, text: str) -> None:
        """Attach a remark to a cell."""
        wide = {"width": 320, "height": 24 + 18 * (len(text) // 45 + 1)}
        self._sheet.write_comment(i, j, letters(clean(text))[:_COMMENT], wide)

    def widths(self, columns: Sequence[Sequence[Any]]) -> None:
        """Make columns as wide as their first values need."""
        for j, cells in enumerate(columns):
            longest = max((len(str(each)) for each in cells[:101] if each is not None), default=0)
            self._sheet.set_column(j, j, min(max(longest + 2, 8), _SHOWN_WIDTH))

    def freeze(self, i: int) -> None:
        """Keep the rows above in sight, also on every printed page."""
        self._sheet.freeze_panes(i, 0)
        if i > 0:
            self._sheet.repeat_rows(i - 1)

    def wide(self) -> None:
        """Print it on pages as wide as the sheet."""
        self._sheet.set_landscape()
        self._sheet.set_paper(9)
        self._sheet.fit_to_pages(1, 0)


def letters(text: str) -> str:
    """Without halves of surrogate pairs and what else is no character of XML."""
    return re.sub("[\ufffe\uffff]", "\ufffd", expressible(text))


def _exact(value: float | Decimal) -> bool:
    """Whether a cell can hold the number without loss that matters."""
    if isinstance(value, int):
        return abs(value) < _MOST_DIGITS
    return math.isfinite(value)


def _time_format(value: Any) -> str | None:
    """How a cell shows a time; None if it cannot hold it as such."""
    if isinstance(value, datetime):
        known = value.tzinfo is None and value.date() >= _FIRST_DAY
        return "yyyy-mm-dd hh:mm:ss" if known else None
    if isinstance(value, date):
        return "yyyy-mm-dd" if value >= _FIRST_DAY else None
    if isinstance(value, time):
        return "hh:mm:ss" if value.tzinfo is None else None
    return "[h]:mm:ss" if isinstance(value, timedelta) and value >= timedelta() else None
