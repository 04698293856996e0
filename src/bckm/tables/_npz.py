"""NPZ: a matrix with its column names, and arrays that are columns themselves."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bckm._core.note import Note
from bckm.tables._headers import checked_names
from bckm.tables._limits import LIMIT, members
from bckm.tables._table import Table
from bckm.tables._text import expressible, without_nul
from bckm.tables.cells import is_text, text_of
from bckm.tables.errors import TableError, shown

_NAMES = ("feature_names", "columns")  # arrays that may name the columns of the matrix
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # equal data give equal files

Array = np.ndarray[Any, Any]
_DAMAGED = (ValueError, OSError, EOFError, NotImplementedError, zlib.error, zipfile.BadZipFile)


@dataclass(frozen=True)
class _Archive:
    """What the file holds: the matrix is one of the arrays, its columns have names."""

    arrays: Mapping[str, Array]
    matrix: str | None
    names: tuple[str, ...]


def read(
    data: bytes, source: str, *, decimal: str | None = None, limit: int = LIMIT, **_: Any
) -> Table:
    """A table of the columns of a matrix and of arrays as long as it has rows."""
    arrays = _arrays(data, source, limit)
    matrix = _matrix(arrays, source)
    names, used = _matrix_names(arrays, matrix)
    n_rows = _n_rows(arrays, matrix, source)
    columns: dict[str, Any] = {}
    if matrix is not None:
        columns = {name: arrays[matrix][:, j] for j, name in enumerate(names)}
    order = list(names)
    for name, array in arrays.items():
        if array.ndim == 1 and len(array) == n_rows and name not in used:
            order.append(name)
            columns[name] = array
    checked_names(order, source, numbers=True)
    if not columns or n_rows == 0:
        text = f"{source} has no rows; an array is missing or empty."
        raise TableError(Note(text, "no_rows", file=source))
    return Table(
        tuple(order),
        n_rows,
        "npz",
        source,
        columns,
        origin=_Archive(arrays, matrix, tuple(names)),
        decimal=decimal or ".",
    )


def _arrays(data: bytes, source: str, limit: int) -> dict[str, Array]:
    try:
        if data.startswith(b"PK"):
            for name, part in members(data, limit, source):
                _check_shape(name, part, source)
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
    except TableError:
        raise
    except _DAMAGED as error:
        text = f"{source} is not an NPZ file or is damaged."
        raise TableError(Note(text, "damaged", file=source)) from error
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        text = f"{source} is a single array; save it with its columns as NPZ."
        raise TableError(Note(text, "arrays", file=source))
    arrays: dict[str, Array] = {}
    with loaded:
        for name in loaded.files:
            try:
                arrays[name] = loaded[name]
            except Exception as error:  # damaged in one of many ways
                if "allow_pickle" in str(error):
                    text = (
                        f"array {shown(name)} of {source} holds Python objects, and loading them "
                        "could run code; save numbers or text (array.astype(str)) instead."
                    )
                    raise TableError(Note(text, "arrays", file=source)) from None
                text = f"array {shown(name)} of {source} is damaged: {shown(str(error), 80)}."
                raise TableError(Note(text, "damaged", file=source)) from error
            if not isinstance(arrays[name], np.ndarray):
                del arrays[name]  # a file that is no array
    for name, array in arrays.items():
        if array.dtype.names is not None:
            text = f"array {shown(name)} of {source} has fields; save one array per field."
            raise TableError(Note(text, "arrays", file=source))
    return arrays


def _check_shape(name: str, part: bytes, source: str) -> None:
    """Refuse an array that is said to be larger than what there is of it."""
    file = io.BytesIO(part)
    if not name.endswith(".npy"):
        return
    called = f"array {shown(name.removesuffix('.npy'))} of {source}"
    try:
        version = np.lib.format.read_magic(file)
        reader = {(1, 0): np.lib.format.read_array_header_1_0}.get(
            version, np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = reader(file)
    except Exception as error:  # the header is a piece of Python, damaged in one of many ways
        text = f"{called} is damaged: its header cannot be read."
        raise TableError(Note(text, "damaged", file=source)) from error
    if math.prod(shape) * max(dtype.itemsize, 1) > len(part) and not dtype.hasobject:
        text = (
            f"{called} is damaged: its header says shape {shape}, but it has {len(part):,} bytes."
        )
        raise TableError(Note(text, "damaged", file=source))


def _matrix(arrays: Mapping[str, Array], source: str) -> str | None:
    flat = [name for name, array in arrays.items() if array.ndim == 2]
    if "X" in flat:
        return "X"
    if len(flat) > 1:
        told = ", ".join(map(shown, flat))
        text = f"{source} holds several matrices ({told}); name the data 'X'."
        raise TableError(Note(text, "arrays", file=source))
    return flat[0] if flat else None


def _matrix_names(
    arrays: Mapping[str, Array], matrix: str | None
) -> tuple[Sequence[str], frozenset[str]]:
    """Names of the columns of the matrix, and the arrays that are no columns therefore."""
    if matrix is None:
        return (), frozenset()
    width = arrays[matrix].shape[1]
    for name in _NAMES:
        array = arrays.get(name)
        if array is not None and array.shape == (width,) and array.dtype.kind in "US":
            return [text_of(each) or "" for each in array.tolist()], frozenset({name})
    return [str(j) for j in range(width)], frozenset()


def _n_rows(arrays: Mapping[str, Array], matrix: str | None, source: str) -> int:
    if matrix is not None:
        return len(arrays[matrix])
    lengths = {name: len(array) for name, array in arrays.items() if array.ndim == 1}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{shown(name)} {n}" for name, n in list(lengths.items())[:5])
        text = f"the arrays of {source} have different lengths: {told}."
        raise TableError(Note(text, "arrays", file=source))
    return next(iter(lengths.values()), 0)


def to_bytes(table: Table) -> bytes:
    """The file: all arrays it came with, and those that were added."""
    kept = table.origin if isinstance(table.origin, _Archive) else _Archive({}, None, ())
    arrays = dict(kept.arrays)
    if kept.matrix is not None and table.added & set(kept.names):
        arrays[kept.matrix] = _replaced(table, kept)
    for name in table.names:
        if name in kept.names or (name in arrays and name not in table.added):
            continue
        if name == kept.matrix or (name in _NAMES and name in arrays):
            raise TableError(f"{shown(name)} is an array of {table.source}; choose another name.")
        arrays[name] = _array(table, name)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{_letters(name)}.npy", _LONG_AGO)
            with archive.open(entry, "w", force_zip64=True) as handle:
                np.lib.format.write_array(handle, array, allow_pickle=False)
    return out.getvalue()


def _letters(text: str) -> str:
    """Text that members of an archive can be called, and that fits into an array."""
    return expressible(without_nul(text))


def _replaced(table: Table, kept: _Archive) -> Array:
    """The matrix with the columns that were replaced."""
    columns = [_array(table, name) for name in kept.names]
    return np.column_stack(columns)


def _array(table: Table, name: str) -> Array:
    """A column as an array without objects."""
    cells = table.cells(name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind != "O":
        return cells
    cells = table.typed(name)
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, bool | int | float | np.number) for cell in present):
        full = [np.nan if cell is None else cell for cell in cells]
        array = np.array(full)
        return array if array.dtype.kind != "O" else np.array(list(map(str, cells)))
    if is_text(cells):
        return np.array([_letters(cell) for cell in cells], dtype=str)
    return np.array([_letters(text_of(cell) or "") for cell in cells], dtype=str)
