"""Lists as a workbook: an overview, then a sheet per cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from bckm.lists._model import Cluster, Lists
from bckm.study import views
from bckm.tables.workbook import Sheet, Workbook

HEADER = 3  # row of the column names, below title, facts and an empty row


def workbook(lists: Lists) -> bytes:
    """The file."""
    book = Workbook()
    _overview(book.sheet("overview"), lists)
    for one in lists.clusters:
        _members(book.sheet(one.name), one, lists)
    return book.bytes()


def _overview(sheet: Sheet, lists: Lists) -> None:
    """A row per cluster: what it holds, and the bounds beside."""
    columns: list[list[Any]] = [["cluster", *(one.name for one in lists.clusters)]]
    wrong: set[tuple[int, int]] = set()
    for amount in lists.amounts:
        values = [None if np.isnan(v) else _plain(v) for v in amount.values.tolist()]
        wrong |= {(i + 1, len(columns)) for i in np.flatnonzero(amount.broken).tolist()}
        columns.append([amount.name, *values])
        columns += _bounds(amount)
    if lists.moved:
        columns.append(["came", *(one.came for one in lists.clusters)])
        columns.append(["left", *(one.left for one in lists.clusters)])
    for j, cells in enumerate(columns):
        for i, cell in enumerate(cells):
            sheet.put(i, j, cell, "header" if i == 0 else "wrong" if (i, j) in wrong else "")
    sheet.widths(columns)
    sheet.freeze(1)
    sheet.wide()


def _bounds(amount: views.Amount) -> list[list[Any]]:
    found: list[list[Any]] = []
    for word, side, bound in zip(
        ("min", "max"), (amount.lower, amount.upper), amount.limits, strict=True
    ):
        if side is not None:
            cells = [_plain(v) if np.isfinite(v) else None for v in bound.tolist()]
            found.append([f"{amount.name} {word}", *cells])
    return found


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value


def _members(sheet: Sheet, one: Cluster, lists: Lists) -> None:
    sheet.put(0, 0, one.name, "title")
    facts = [*one.held, lists.title, lists.date]
    sheet.put(1, 0, " · ".join(fact for fact in facts if fact), "quiet")
    sheet.row(HEADER, lists.header, "header")
    for i, cells in enumerate(one.rows, HEADER + 1):
        sheet.row(i, cells)
    sheet.widths([[name, *(row[j] for row in one.rows)] for j, name in enumerate(lists.header)])
    sheet.freeze(HEADER + 1)
    sheet.wide()
