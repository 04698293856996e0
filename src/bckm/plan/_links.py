"""Links in a table of their own: ``kind, a, b, confidence``."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bckm._core.note import Note, note_of
from bckm.constraints import Constraints
from bckm.plan._columns import Reader
from bckm.tables import Table, TableError, read_table
from bckm.tables.errors import shown

KINDS = {
    "together": "must_link",
    "must-link": "must_link",
    "must_link": "must_link",
    "ml": "must_link",
    "apart": "cannot_link",
    "cannot-link": "cannot_link",
    "cannot_link": "cannot_link",
    "cl": "cannot_link",
}


def read_links_file(path: str, read: Reader) -> Constraints:
    """Read links by id; those with a confidence are soft.

    The table has the columns kind ("together" or "apart"), a, b, and optionally confidence: empty
    or "inf" for a link that must hold.
    """
    table = read_table(path)
    kinds = table.texts("kind")
    ends = [table.texts("a"), table.texts("b")]
    confidence = np.full(table.n_rows, np.inf)
    if "confidence" in table.names:
        confidence = _confidence(table)
    hard: dict[str, Any] = {"must_link": [], "cannot_link": []}
    soft: dict[str, list[tuple[list[Any], float]]] = {"must_link": [], "cannot_link": []}
    for row in range(table.n_rows):
        where = _Where(table, row)
        kind = KINDS.get((kinds[row] or "").strip().lower())
        if kind is None:
            text = f"kind must be together or apart; got {kinds[row]!r}."
            raise where.error(Note(text, "link_kind", value=shown(kinds[row] or "")))
        link = _pair(ends[0][row], ends[1][row], read, where)
        if math.isinf(confidence[row]):
            hard[kind].append(link)
        else:
            soft[kind].append((link, float(confidence[row])))
    found = Constraints(**hard, by=read.by)
    if any(soft.values()):
        links: dict[str, Any] = {kind: [link for link, _ in rows] for kind, rows in soft.items()}
        # must-links come first, as in `Constraints.soft`
        prices = [price for kind in ("must_link", "cannot_link") for _, price in soft[kind]]
        found &= Constraints(**links, by=read.by).soft(confidence=prices)
    return found


def _confidence(table: Any) -> Any:
    """One number per link; empty and "inf" are hard."""
    texts = table.texts("confidence")
    found = np.full(len(texts), np.inf)
    for row, text in enumerate(texts):
        if text is None:
            continue
        try:
            found[row] = float(text)
        except ValueError:
            found[row] = np.nan
        if not found[row] >= 0:
            said = (
                "confidence must be a number of at least 0, or empty for a hard link; got "
                f"{text!r}."
            )
            raise _Where(table, row).error(Note(said, "link_confidence", value=shown(text)))
    return found


def _pair(a: str | None, b: str | None, read: Reader, where: _Where) -> list[Any]:
    if a is None or b is None:
        raise where.error(Note("a link needs two ids, a and b.", "link_ends"))
    if a == b:
        text = f"a row cannot be linked to itself ({a!r})."
        raise where.error(Note(text, "link_itself", id=shown(a)))
    try:
        return read.samples([a, b])
    except TableError as error:
        raise where.error(note_of(error)) from None


class _Where(NamedTuple):
    """A row of the file, for messages."""

    table: Table
    row: int

    def error(self, what: str) -> TableError:
        text, row = f"{self.table.source}, row {self.row + 1}: {what}", str(self.row + 1)
        return TableError(Note(text, "link_row", file=self.table.source, row=row, what=what))
