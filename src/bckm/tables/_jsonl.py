"""JSON lines: one object a line, its keys are the columns."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bckm.tables._cells import text_of, typed
from bckm.tables._errors import TableError, shown
from bckm.tables._table import Table
from bckm.tables._text import Encoding, decoded


def read(
    data: bytes,
    source: str,
    *,
    encoding: str | None = None,
    decimal: str | None = None,
    **_: Any,
) -> Table:
    """A table of JSON values; its columns are all keys, in the order in which they appear."""
    text, _kept = decoded(data, source, encoding)
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):  # other line ends may be inside of texts
        if line.strip():
            records.append(_record(line, number, source))
            lines.append(number)
    names = tuple(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise TableError(f"{source} holds no rows; it should have one JSON object a line.")
    return Table(
        names,
        len(records),
        "jsonl",
        source,
        {name: [record.get(name) for record in records] for name in names},
        origin=records,
        lines=lines,
        decimal=decimal or ".",
    )


def _record(line: str, number: int, source: str) -> dict[str, Any]:
    try:
        record = json.loads(line, strict=False)  # control characters are no reason to stop
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise TableError(
            f"line {number} of {source} is not JSON: {why}; JSON lines have one object a line."
        ) from None
    if not isinstance(record, dict):
        raise TableError(
            f"line {number} of {source} should be a JSON object such as "
            f'{{"id": "a", "weight": 3.5}}; it is {shown(line.strip())}.'
        )
    return record


def to_bytes(table: Table) -> bytes:
    """The file; keys that an object did not have, it still has not."""
    kept: Sequence[Mapping[str, Any]] = table.origin if table.format == "jsonl" else ()
    old = [name for name in table.names if name not in table.added] if kept else []
    new = [name for name in table.names if name not in old]
    columns = {name: _values(table, name) for name in new}
    records: list[dict[str, Any]] = []
    for i in range(table.n_rows):
        before = {name: kept[i][name] for name in old if name in kept[i]} if kept else {}
        mine = {name: columns[name][i] for name in new}
        records.append(
            {name: (before | mine)[name] for name in table.names if name in before | mine}
        )
    return Encoding().bytes_of("".join(_line(record) + "\n" for record in records))


def _values(table: Table, name: str) -> list[Any]:
    cells = table.cells(name)
    cells = cells.tolist() if isinstance(cells, np.ndarray) else cells
    if table.format in ("csv", "tsv") and name not in table.added:
        return typed(cells)
    return list(cells)


def _line(record: Mapping[str, Any]) -> str:
    tidy = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in record.items()}
    line = json.dumps(tidy, ensure_ascii=False, default=text_of)
    try:
        line.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can express
        line = json.dumps(tidy, default=text_of)
    return line
