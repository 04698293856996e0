"""How far a sheet of a workbook reaches, before anything makes room for it."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
_PLACE = re.compile(rb"""<(?:\w+:)?c\s[^<>]*?\br=["']([A-Za-z]{1,3})([0-9]{1,7})["']""")
_ROW_OR_CELL = re.compile(rb"<(?:\w+:)?(row|c)[\s/>]")
_ROW = re.compile(rb"""<(?:\w+:)?row\s[^<>]*?\br=["']([0-9]{1,7})["']""")
_SHEET = re.compile(r"<(?:\w+:)?sheet\s[^<>]*>")
_RELATION = re.compile(r"<(?:\w+:)?Relationship\s[^<>]*>")


def n_cells(parts: Mapping[str, bytes], title: str) -> int:
    """Cells between the first and the last one that a sheet of an .xlsx file holds.

    `parts` are the members of the file. If it is not clear which of them is the sheet of this
    title, the farthest one counts.
    """
    sheets = {n: one for n, one in parts.items() if re.match(r"/?xl/worksheets/[^/]+$", n)}
    mine = _member(parts, title)
    if mine in sheets:
        sheets = {mine: sheets[mine]}
    return max(map(_reach, sheets.values()), default=0)


def _reach(sheet: bytes) -> int:
    places = _PLACE.findall(sheet)
    rows = [int(row) for _, row in places] + [int(row) for row in _ROW.findall(sheet)]
    columns = [_number(letters) for letters in {letters.upper() for letters, _ in places}]
    if len(places) < len(_CELL.findall(sheet)):  # some say no place: they follow each other
        columns += [1, _longest(sheet)]
        rows += [1, max(rows, default=0) + sheet.count(b"<row")]
    if not rows or not columns:
        return 0
    return (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1)


def _number(letters: bytes) -> int:
    found = 0
    for letter in letters:
        found = 26 * found + letter - 64
    return found


def _longest(sheet: bytes) -> int:
    """The most cells in a row."""
    most = now = 0
    for kind in _ROW_OR_CELL.findall(sheet):
        now = 0 if kind == b"row" else now + 1
        most = max(most, now)
    return most


def _member(parts: Mapping[str, bytes], title: str) -> str:
    """The member that holds a sheet; nothing if that is not plainly said."""
    book = parts.get("xl/workbook.xml", b"").decode("utf-8", "replace")
    relations = parts.get("xl/_rels/workbook.xml.rels", b"").decode("utf-8", "replace")
    for sheet in _SHEET.findall(book):
        if _attribute(sheet, "name") != title:
            continue
        for relation in _RELATION.findall(relations):
            if _attribute(relation, "Id") == _attribute(sheet, r"\w+:id"):
                target = _attribute(relation, "Target")
                return target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return ""


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf"""\s{name}=(?:"([^"]*)"|'([^']*)')""", tag)
    return "" if found is None else html.unescape(found[1] or found[2] or "")
