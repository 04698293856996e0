"""`ParquetRows`: numbers in a Parquet file, or in all files of a folder, block by block."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.terminal import clean
from bckm.tables.errors import NoFileError, TableError, UnknownColumnError, needed, shown

SUFFIXES = (".parquet", ".pq")
NUMBERS = 2**21  # in a block: what is decoded becomes rows in a second array


@dataclass(frozen=True)
class RowGroup:
    """Some rows of a file, which it can read on their own."""

    file: Path
    number: int
    start: int  # its first row among the rows of all files
    n_rows: int


@dataclass(frozen=True)
class _Column:
    """A column of numbers, or of lists of so many numbers."""

    name: str
    width: int
    listed: bool
    narrow: bool  # float32 holds its numbers exactly

    @property
    def features(self) -> list[str]:
        return [f"{self.name}[{at}]" for at in range(self.width)] if self.listed else [self.name]


class ParquetRows:
    """Rows of a Parquet file, or of all Parquet files of a folder, in the order of their names.

    `bckm.kmeans` takes paths, too; this class is for a choice of columns. One block is in memory at
    a time.

    Parameters
    ----------
    path : str or path
        A file, or a folder with files that end in .parquet or .pq, also in folders within: part.2
        comes before part.10. Names that begin with _ or a dot are left out.
    columns : sequence of str, optional
        Columns to cluster by: of numbers, or of lists of numbers that all have the same length, as
        embeddings are often kept. By default all; then a column of anything else is refused.

    Attributes
    ----------
    shape : tuple
        Number of rows, number of features.
    dtype : dtype
        float32 if it holds the numbers of all columns exactly, else float64.
    names : tuple of str
        Names of the features; of lists with the number of the entry.

    Examples
    --------
    >>> import bckm, pathlib, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> table = pa.table({"name": ["ann", "bob", "joe"], "x": [0.0, 1.0, 9.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "people.parquet")
    ...     pq.write_table(table, path)
    ...     rows = bckm.ParquetRows(path, columns=["x"])
    ...     rows.shape, rows.names, next(rows.blocks())[1].tolist()
    ((3, 1), ('x',), [[0.0], [1.0], [9.0]])
    """

    in_file = True

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> None:
        self.path = Path(path)
        self.source = clean(self.path.name or str(self.path))
        groups: list[RowGroup] = []
        first: Any = None
        asked = columns
        for file in _files(self.path):
            schema, lengths = _opened(file)
            if first is None:
                first, self._columns = schema, self._read_columns(file, schema, columns)
                asked = [column.name for column in self._columns]
            elif self._read_columns(file, schema, asked) != self._columns:
                raise TableError(
                    f"{clean(str(file))} has other types of columns than the files before it; "
                    "write all of them in the same form."
                )
            for number, n_rows in enumerate(lengths):
                start = groups[-1].start + groups[-1].n_rows if groups else 0
                groups.append(RowGroup(file, number, start, n_rows))
        width = sum(column.width for column in self._columns)
        n_rows = groups[-1].start + groups[-1].n_rows if groups else 0
        self.groups = tuple(groups)
        if not n_rows or not width:
            raise TableError(f"{self.source} has no rows of data.")
        self.shape = (n_rows, width)
        narrow = all(column.narrow for column in self._columns)
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if narrow else np.float64)
        self.names = tuple(name for column in self._columns for name in column.features)

    @property
    def block_rows(self) -> int:
        """Rows of a block, at most."""
        return max(1, NUMBERS // self.shape[1])

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, NDArray[Any]]]:
        """Rows from `start` to `stop`, in order: number of the first, and an array (m, d).

        What has no number is NaN.
        """
        stop = self.shape[0] if stop is None else min(stop, self.shape[0])
        names = [column.name for column in self._columns]
        for at, batch in self.batches(names, self.block_rows, start, stop):
            yield at, self._rows(at, batch)

    def batches(
        self, columns: Sequence[str], n_rows: int, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Record batches of Arrow, of any columns and at most so many rows, never of two groups.

        Each comes with the number of its first row.
        """
        parquet, arrow = needed("pyarrow.parquet", "Parquet files"), _arrow()
        stop = self.shape[0] if stop is None else stop
        opened: tuple[Path, Any] | None = None
        for group in self.groups:
            if group.start + group.n_rows <= start or group.start >= stop or not group.n_rows:
                continue
            try:
                if opened is None or opened[0] != group.file:
                    # page by page: a row group at once may be larger than memory
                    file = parquet.ParquetFile(group.file, buffer_size=2**16, pre_buffer=False)
                    opened = group.file, file
                at = group.start
                parts = opened[1].iter_batches(
                    batch_size=n_rows,
                    row_groups=[group.number],
                    columns=list(columns),
                    use_threads=False,
                )
                for part in parts:
                    low, high = max(start - at, 0), min(stop - at, part.num_rows)
                    if low < high:
                        yield at + low, part.slice(low, high - low)
                    at += part.num_rows
                    if at >= stop:
                        break
            except (arrow.ArrowException, OSError) as error:
                raise _damaged(group.file, error) from error

    def place(self, row: int, feature: int) -> str:
        """Where a number is, for messages."""
        return f"row {row} (counted from 0) of column {shown(self.names[feature])}"

    def _rows(self, at: int, batch: Any) -> NDArray[Any]:
        rows, j = np.empty((batch.num_rows, self.shape[1]), self.dtype), 0
        for column in self._columns:
            values = batch.column(batch.schema.get_field_index(column.name))
            if column.listed:
                rows[:, j : j + column.width] = _lists(values, column, at)
            else:
                rows[:, j] = _numbers(values)
            j += column.width
        return rows

    def _read_columns(
        self, file: Path, schema: Any, columns: Sequence[str] | None
    ) -> tuple[_Column, ...]:
        """Columns to cluster by, as a file has them."""
        called = clean(file.name)
        if isinstance(columns, str):
            raise TypeError(f"columns must be a sequence of names; got {columns!r:.60}.")
        names = list(schema.names if columns is None else columns)
        if twice := [name for name, often in Counter(names).items() if often > 1]:
            raise TableError(f"column {shown(twice[0])} of {called} is there twice.")
        found = []
        for name in names:
            if schema.names.count(name) != 1:
                raise UnknownColumnError(name, schema.names, called)
            kind = schema.field(name).type
            column = _column(name, kind, file)
            if column is None:
                raise TableError(
                    f"column {shown(name)} of {called} holds {kind}, not numbers; choose columns, "
                    f"for example bckm.ParquetRows({shown(str(self.path))}, columns=[...])."
                )
            found.append(column)
        return tuple(found)


def numeric_columns(path: str | os.PathLike[str]) -> tuple[list[str], list[str]]:
    """Columns of numbers, or of lists of them, in a Parquet file or folder; and all columns."""
    file = _files(Path(path))[0]
    schema, _ = _opened(file)
    numeric = [one.name for one in schema if _column(one.name, one.type, file) is not None]
    return numeric, list(schema.names)


def _arrow() -> Any:
    return needed("pyarrow", "Parquet files")


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise NoFileError(f"file {clean(str(path))} does not exist.")
    found = [
        file
        for file in sorted(path.rglob("*"), key=_by_numbers)
        if file.suffix.lower() in SUFFIXES
        and file.is_file()
        and not any(part[:1] in "_." for part in file.relative_to(path).parts)
    ]
    if not found:
        raise NoFileError(f"folder {clean(str(path))} has no Parquet files.")
    return found


def _by_numbers(file: Path) -> list[Any]:
    """Order of files: part.2 before part.10, as those who write parts mean it."""
    words = re.split(r"([0-9]+)", str(file))
    return [int(word) if at % 2 else word for at, word in enumerate(words)]


def _opened(file: Path) -> tuple[Any, list[int]]:
    """The schema of a file, and the number of rows of each row group."""
    parquet, arrow = needed("pyarrow.parquet", "Parquet files"), _arrow()
    try:
        with parquet.ParquetFile(file) as opened:
            about = opened.metadata
            lengths = [about.row_group(at).num_rows for at in range(about.num_row_groups)]
            return opened.schema_arrow, lengths
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception) -> TableError:
    return TableError(
        f"{clean(file.name)} is not a Parquet file or is damaged: {shown(str(error), 80)}."
    )


def _column(name: str, kind: Any, file: Path) -> _Column | None:
    """What a column holds; None if it holds no numbers."""
    of = _arrow().types
    listed = of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind)
    inner = kind.value_type if listed else kind
    if not (of.is_floating(inner) or of.is_integer(inner) or of.is_decimal(inner)):
        return None
    width = 1
    if listed:
        width = kind.list_size if of.is_fixed_size_list(kind) else _first_length(name, file)
    narrow = of.is_float32(inner) or of.is_float16(inner)
    return _Column(name, width, listed, narrow)


def _first_length(name: str, file: Path) -> int:
    """Length of the first list of a column."""
    parquet = needed("pyarrow.parquet", "Parquet files")
    with parquet.ParquetFile(file) as opened:
        for part in opened.iter_batches(batch_size=1, columns=[name]):
            if part.num_rows:
                return len(part.column(0)[0].as_py() or ())
    return 0


def _numbers(values: Any) -> NDArray[Any]:
    """Values of a column; NaN where there is none."""
    arrow = _arrow()
    if arrow.types.is_decimal(values.type):
        values = values.cast(arrow.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _lists(values: Any, column: _Column, at: int) -> NDArray[Any]:
    """Lists of numbers as rows."""
    compute = needed("pyarrow.compute", "Parquet files")
    lengths = compute.list_value_length(values).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(~(lengths == column.width))
    if wrong.size:
        found = lengths[wrong[0]]
        raise TableError(
            f"column {shown(column.name)} has "
            f"{'no list' if np.isnan(found) else f'{int(found)} numbers'} in row "
            f"{at + int(wrong[0])} (counted from 0), but {column.width} in the first; all lists "
            "must have the same length."
        )
    return _numbers(values.flatten()).reshape(-1, column.width)
