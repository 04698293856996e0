"""JSON lines: one object a line, its keys are the columns."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from bckm._core.note import Note
from bckm.tables._limits import LIMIT, check_size
from bckm.tables._table import Table
from bckm.tables._text import Encoding, decoded
from bckm.tables.cells import text_of
from bckm.tables.errors import TableError, shown


def read(
    data: bytes,
    source: str,
    *,
    encoding: str | None = None,
    decimal: str | None = None,
    limit: int = LIMIT,
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
        told = f"{source} has no rows; it should have one JSON object per line."
        raise TableError(Note(told, "no_rows", file=source))
    # rows need not have the same keys: many that all differ make a table of empty cells
    check_size(8 * len(names) * len(records), limit, source)
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
        text = f"line {number} of {source} is not JSON: {why}; JSON lines have one object per line."
        raise TableError(Note(text, "json", file=source, row=str(number))) from None
    if not isinstance(record, dict):
        text = (
            f"line {number} of {source} should be a JSON object such as "
            f'{{"id": "a", "weight": 3.5}}; got {shown(line.strip())}.'
        )
        raise TableError(Note(text, "json", file=source, row=str(number)))
    return record


def to_bytes(table: Table) -> bytes:
    """The file; keys that an object did not have, it still has not."""
    kept = table.origin if table.format == "jsonl" else None
    new = table.names if kept is None else [n for n in table.names if n in table.added]
    columns = {name: table.typed(name) for name in new}
    lines = []
    for i in range(table.n_rows):
        before = {} if kept is None else kept[i]
        lines.append(_line({**before, **{name: column[i] for name, column in columns.items()}}))
    return Encoding().bytes_of("".join(line + "\n" for line in lines))


def _line(record: Mapping[str, Any]) -> str:
    tidy = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in record.items()}
    line = json.dumps(tidy, ensure_ascii=False, default=text_of)
    try:
        line.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can express
        line = json.dumps(tidy, default=text_of)
    return line
