"""Parquet, by pyarrow: types stay what they are."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from bckm._core.note import Note
from bckm.tables._headers import checked_names
from bckm.tables._limits import LIMIT, check_size
from bckm.tables._table import Table
from bckm.tables._text import expressible
from bckm.tables.cells import Cells, text_of
from bckm.tables.errors import TableError, needed, shown


def read(
    data: bytes, source: str, *, decimal: str | None = None, limit: int = LIMIT, **_: Any
) -> Table:
    """A table whose columns become Python values when they are asked for."""
    parquet = needed("pyarrow.parquet", "Parquet files")
    arrow = needed("pyarrow", "Parquet files")
    try:
        held = _held(arrow, parquet, data, limit, source)
        held.validate(full=True)  # texts that are no UTF-8, for one
    except TableError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        text = f"{source} is not a Parquet file or is damaged: {shown(str(error), 80)}."
        raise TableError(Note(text, "damaged", file=source)) from error
    names = checked_names(held.column_names, source, numbers=True)[0]
    if held.num_rows == 0 or not names:
        raise TableError(Note(f"{source} has no rows of data.", "no_rows", file=source))
    return Table(
        names,
        held.num_rows,
        "parquet",
        source,
        {name: _later(held, j) for j, name in enumerate(names)},
        origin=held,
        decimal=decimal or ".",
    )


def _held(arrow: Any, parquet: Any, data: bytes, limit: int, source: str) -> Any:
    """The whole table, read in parts: what is packed may be read a thousand times over.

    A million rows may say one long text, which the file holds once. So texts are measured before
    they are written out.
    """
    file = parquet.ParquetFile(arrow.BufferReader(data))
    about, schema = file.metadata, file.schema_arrow
    groups = [about.row_group(at) for at in range(about.num_row_groups)]
    check_size(sum(group.total_byte_size for group in groups), limit, source)
    check_size(about.num_rows * about.num_columns, limit, source)  # a byte for each, at least
    texts = [one.name for one in schema if _is_text(arrow, one.type)]
    if texts and about.num_rows * sum(group.total_byte_size for group in groups) > limit:
        check_size(_length(parquet, arrow, data, texts), limit, source)
    nested = any(arrow.types.is_nested(one.type) for one in schema)
    parts, size = [], 0
    for part in file.iter_batches(batch_size=2**10 if nested else 2**16):
        size += part.nbytes
        check_size(size, limit, source)
        parts.append(part)
    return arrow.Table.from_batches(parts, schema)


def _is_text(arrow: Any, kind: Any) -> bool:
    of = arrow.types
    return bool(of.is_string(kind) or of.is_binary(kind)) or bool(
        of.is_large_string(kind) or of.is_large_binary(kind)
    )


def _length(parquet: Any, arrow: Any, data: bytes, texts: list[str]) -> int:
    """Bytes of all texts, from the lengths of those that differ."""
    compute = needed("pyarrow.compute", "Parquet files")
    file = parquet.ParquetFile(arrow.BufferReader(data), read_dictionary=texts)
    size = 0
    for part in file.iter_batches(batch_size=2**16, columns=texts):
        for column in part.columns:
            if arrow.types.is_dictionary(column.type):
                lengths = compute.binary_length(column.dictionary).cast("int64")
                size += compute.sum(lengths.take(column.indices)).as_py() or 0
            else:
                size += column.nbytes
    return size


def _later(held: Any, j: int) -> Callable[[], Cells]:
    return lambda: _cells(held.column(j))


def _cells(column: Any) -> Cells:
    """Values of a column: an array of numbers where it is one, else a list."""
    arrow = needed("pyarrow", "Parquet files")
    kind = column.type
    if arrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if arrow.types.is_floating(kind) or (arrow.types.is_integer(kind) and not column.null_count):
        return np.asarray(column.to_numpy())
    coarse = _in_microseconds(arrow, kind)
    if coarse is not None:  # Python's own times are no finer
        column = column.cast(coarse, safe=False)
    # the later ones for a year that Python does not have, a time zone that is not installed
    forms: tuple[Callable[[], Any], ...] = (
        lambda: column,
        lambda: column.cast(arrow.string()),
        lambda: _bare(arrow, column),
    )
    for form in forms:
        with suppress(arrow.ArrowException, ValueError, OverflowError, KeyError):
            return list(form().to_pylist())
    return [None] * len(column)


def _bare(arrow: Any, column: Any) -> Any:
    """Times as texts, in UTC and without their zone."""
    return column.cast(arrow.timestamp(column.type.unit)).cast(arrow.string())


def _in_microseconds(arrow: Any, kind: Any) -> Any:
    if arrow.types.is_timestamp(kind) and kind.unit == "ns":
        return arrow.timestamp("us", kind.tz)
    if arrow.types.is_duration(kind) and kind.unit == "ns":
        return arrow.duration("us")
    if arrow.types.is_time64(kind) and kind.unit == "ns":
        return arrow.time64("us")
    return None


def to_bytes(table: Table) -> bytes:
    """The file; columns that came from Parquet are written as they came."""
    parquet = needed("pyarrow.parquet", "Parquet files")
    arrow = needed("pyarrow", "Parquet files")
    held = table.origin if table.format == "parquet" and table.origin is not None else None
    names = [expressible(name) for name in table.names]
    if held is None:
        held = arrow.table([_array(arrow, table, name) for name in table.names], names=names)
    else:
        about = held.schema.metadata
        if held.column_names != names[: held.num_columns]:  # one had no name
            held = held.rename_columns(names[: held.num_columns])
            held = held.replace_schema_metadata(about)
        for j, (name, written) in enumerate(zip(table.names, names, strict=True)):
            if j >= held.num_columns:
                held = held.append_column(written, _array(arrow, table, name))
            elif name in table.added:
                held = held.set_column(j, written, _array(arrow, table, name))
    out = io.BytesIO()
    parquet.write_table(held, out)
    return out.getvalue()


def _array(arrow: Any, table: Table, name: str) -> Any:
    """A column of one type; texts where values are of several."""
    cells = table.cells(name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        return arrow.array(cells)
    cells = table.typed(name)
    try:
        if {type(cell) for cell in cells} - {type(None)} > {bool}:
            raise TypeError("true would become 1")
        return arrow.array(cells, from_pandas=True)
    except (arrow.ArrowException, TypeError, ValueError, OverflowError):
        texts = [cell if isinstance(cell, str) else text_of(cell) for cell in cells]
        kept = [None if text is None else expressible(text) for text in texts]
        return arrow.array(kept, arrow.string())
