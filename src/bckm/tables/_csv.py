"""CSV and its relatives: texts between commas, semicolons, tabs or bars."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from bckm._core.note import Note
from bckm.tables._formulas import guarded, unguarded
from bckm.tables._headers import checked_names
from bckm.tables._limits import check_memory
from bckm.tables._shape import asked_index, header_index, kept_rows, told_of_titles
from bckm.tables._table import Table
from bckm.tables._text import Encoding, decoded, without_nul
from bckm.tables.cells import Cells, listed, text_of
from bckm.tables.errors import OptionError, TableError, shown

_DELIMITERS = ",;\t|"
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": " "}
_SAMPLE = 50  # records that are looked at to find the delimiter


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out, beside its cells."""

    delimiter: str = ","
    newline: str = "\n"
    encoding: Encoding = field(default_factory=Encoding)
    says_delimiter: bool = False  # a first line "sep=;", by which Excel is told


@dataclass(frozen=True)
class _Records:
    """Rows of cells, and the line of the file in which each begins."""

    rows: list[list[str]]
    lines: list[int]

    def at(self, rows: int | Sequence[int]) -> _Records:
        """From a row on, or some of the rows."""
        if isinstance(rows, int):
            return _Records(self.rows[rows:], self.lines[rows:])
        return _Records([self.rows[i] for i in rows], [self.lines[i] for i in rows])


def read_csv(
    data: bytes,
    source: str,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header_row: int | None = None,
    drop_rows: Sequence[int] = (),
    likely: str = ",",
) -> Table:
    """A table of texts.

    What the file does not say itself, and nobody else, is found out; `likely` is the delimiter when
    nothing else can be seen.
    """
    text, kept = decoded(data, source, encoding)
    assumed = kept.assumed
    check_memory(_memory_of(text), source)
    layout = _layout(text, kept, _delimiter(delimiter), likely)
    records = _trimmed(_records(text, layout, source))
    if drop_rows:
        records = records.at(kept_rows(records.lines, drop_rows, source, "line"))
    if not records.rows:
        text = f"{source} is empty; it should start with a line of column names."
        raise TableError(Note(text, "empty", file=source))
    if header_row is not None:
        records = records.at(asked_index(records.lines, header_row, source))
    elif first := header_index(records.rows, records.lines):
        assumed += told_of_titles(records.lines, first)
        records = records.at(first)
    header, rows = records.rows[0], records.rows[1:]
    names, said = checked_names(unguarded(header), source)
    if not rows:
        told = (
            f"{source} has a line of column names ({', '.join(map(shown, names[:5]))}"
            f"{', ...' if len(names) > 5 else ''}) but no rows of data."
        )
        raise TableError(Note(told, "no_rows", file=source))
    _check_widths(records, len(names), source)
    columns: list[Sequence[str]] = list(zip(*rows, strict=True))
    if "'" in text:
        columns = [unguarded(column) for column in columns]
    sign = decimal or ("." if layout.delimiter == "," else "either")
    return Table(
        names,
        len(rows),
        "tsv" if layout.delimiter == "\t" else "csv",
        source,
        dict(zip(names, columns, strict=True)),
        origin=layout,
        lines=np.array(records.lines[1:]),
        decimal=sign,
        assumed=(*assumed, *said),
    )


def _memory_of(text: str) -> float:
    """Bytes that rows of cells take: lists of texts, and columns of them beside."""
    rows = text.count("\n") + 1
    cells = rows + max(text.count(one) for one in _DELIMITERS)
    # texts of one character are there already
    each = 16 if len(text) <= 2.2 * cells else 70
    return 5.0 * len(text) + 130.0 * rows + float(each) * cells


def _delimiter(asked: str | None) -> str | None:
    if asked is None:
        return None
    found = _WORDS.get(asked.casefold(), asked)
    if len(found) != 1 or found in '"\r\n':
        raise OptionError(f"the delimiter must be one character, such as ; or tab; got {asked!r}.")
    return found


def _layout(text: str, kept: Encoding, delimiter: str | None, likely: str) -> Layout:
    end = text.rfind("\n")
    newline = "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
    told = re.match(r"sep=(.)\r?\n", text)
    if told is not None:
        return Layout(delimiter or told[1], newline, kept, says_delimiter=True)
    return Layout(delimiter or _sniffed(text, likely), newline, kept)


def _sniffed(text: str, likely: str) -> str:
    """The delimiter by which most of the first records have the same number of columns."""
    best, chosen = (0.0, 1, False), likely
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(text[:200_000], newline=""), delimiter=delimiter)
        try:
            widths = [len(row) for row in islice(reader, _SAMPLE) if row]
        except csv.Error:
            continue
        if len(widths) > 2 and len(text) > 200_000:
            widths = widths[:-1]  # may be cut
        often = Counter(widths)
        common = max(often, key=lambda width: (often[width], width), default=0)
        if common < 2:
            continue
        score = (often[common] / len(widths), common, delimiter == likely)
        if score > best:
            best, chosen = score, delimiter
    return chosen


def _records(text: str, layout: Layout, source: str) -> _Records:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter, strict=True)
    rows: list[list[str]] = []
    ends = [0]
    limit = csv.field_size_limit(max(len(text), 131_072))  # outlines of areas are long texts
    try:
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
    except csv.Error as error:
        line = ends[-1] + 1
        told = (
            f"line {line} of {source}: a quoted cell is not closed, or text follows its "
            f"closing quote ({error}); write quotes inside a quoted cell twice."
        )
        raise TableError(Note(told, "quote", file=source, row=str(line))) from None
    finally:
        csv.field_size_limit(limit)
    first = 1 if layout.says_delimiter else 0
    return _Records(rows[first:], [end + 1 for end in ends[first:-1]])


def _trimmed(records: _Records) -> _Records:
    """Without blank lines and empty rows at the end; a blank line in one column is a cell."""
    rows, lines = records.rows, records.lines
    while rows and not any(cell.strip() for cell in rows[-1]):
        rows.pop()
        lines.pop()
    while rows and not any(cell.strip() for cell in rows[0]):
        rows, lines = rows[1:], lines[1:]
    if not rows:
        return _Records([], [])
    if len(rows[0]) == 1:
        return _Records([row or [""] for row in rows], lines)
    if all(map(_says, rows)):
        return _Records(rows, lines)
    full = [i for i, row in enumerate(rows) if _says(row)]
    return _Records([rows[i] for i in full], [lines[i] for i in full])


def _says(row: list[str]) -> bool:
    return len(row) > 1 or (len(row) == 1 and not row[0].isspace())


def _check_widths(records: _Records, width: int, source: str) -> None:
    wrong = [i for i, row in enumerate(records.rows) if len(row) != width]
    if not wrong:
        return
    i = wrong[0]
    n = len(records.rows[i])
    more = f" (and so do {len(wrong) - 1} other lines)" if len(wrong) > 1 else ""
    remedy = (
        "quote cells that contain the delimiter, or set --delimiter"
        if n > width
        else f"add the missing cells, leave the line out (--drop-rows {records.lines[i]}), or set "
        "--delimiter"
    )
    line = records.lines[i]
    text = (
        f"line {line} of {source} has {n} cell{'s' if n != 1 else ''}, but the header "
        f"has {width} column{'s' if width != 1 else ''}{more}; {remedy}."
    )
    raise TableError(Note(text, "width", file=source, row=str(line), n=n, columns=width))


def csv_bytes(table: Table, delimiter: str | None = None) -> tuple[bytes, int]:
    """The file, and how many cells got an apostrophe because they looked like formulas.

    The delimiter is by default the one of the file it came from, else a comma.
    """
    layout = table.origin if isinstance(table.origin, Layout) else Layout()
    if delimiter is not None:
        layout = replace(layout, delimiter=delimiter)
    # in the header also what would mislead readers: other delimiters, and a first name that
    # looks like a byte order mark or like the line that tells Excel the delimiter
    special = re.compile(f'[{re.escape(layout.delimiter)}"\r\n]')
    in_header = re.compile(f'[{re.escape(layout.delimiter + _DELIMITERS)}"\r\n]|^\ufeff|^sep=')
    header, n_escaped = guarded([without_nul(name) for name in table.names])
    sign = table.decimal_sign() if table.format in ("csv", "tsv") else "."
    columns = []
    for name in table.names:
        texts, n = _written(table.cells(name), sign)
        n_escaped += n
        columns.append(_quoted(texts, special))
    if len(columns) == 1:  # an empty line would be no row
        columns = [[text or '""' for text in columns[0]]]
    lines = [layout.delimiter.join(_quoted(header, in_header))]
    lines.extend(map(layout.delimiter.join, zip(*columns, strict=True)))
    if layout.says_delimiter:
        lines.insert(0, f"sep={layout.delimiter}")
    text = layout.newline.join(lines) + layout.newline
    return layout.encoding.bytes_of(text), n_escaped


def _written(cells: Cells, sign: str) -> tuple[list[str], int]:
    """Texts of a column; only what was text before can be taken for a formula."""
    cells = listed(cells)
    kinds = set(map(type, cells))
    if kinds == {str}:
        return guarded(list(map(without_nul, cells)) if "\0" in "".join(cells) else cells)
    if kinds == {int}:
        if max(map(abs, cells)) < 2**63:  # of very long ones Python makes no text just like that
            return list(map(str, cells)), 0
        return [text_of(cell) or "" for cell in cells], 0
    texts, n_escaped = [], 0
    for cell in cells:
        text = cell if isinstance(cell, str) else text_of(cell) or ""
        if isinstance(cell, float) and sign == ",":
            text = text.replace(".", ",")
        if not isinstance(cell, int | float):
            (text,), n = guarded([without_nul(text)])
            n_escaped += n
        texts.append(text)
    return texts, n_escaped


def _quoted(texts: Sequence[str], special: re.Pattern[str]) -> list[str]:
    if not special.search("\x1f".join(texts)):
        return list(texts)
    return ['"' + text.replace('"', '""') + '"' if special.search(text) else text for text in texts]
