"""Reading and writing tables: which kind of file it is, and where it goes."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zipfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from bckm._core.memory import uncollected
from bckm._core.note import Note
from bckm._core.terminal import clean, say
from bckm._storage.atomic import atomic
from bckm.tables._csv import csv_bytes, read_csv
from bckm.tables._limits import LIMIT, read_file, read_pipe, unzipped
from bckm.tables._reading import Reading
from bckm.tables._shape import kept_rows, without_totals
from bckm.tables._table import FORMATS, Table
from bckm.tables.errors import NoFileError, OptionError, TableError, near

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "text",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xls": "xlsx",
    ".ods": "xlsx",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npz": "npz",
}
_TEXTS = ("csv", "tsv", "text", "jsonl")
_WITH_HEADER = ("csv", "tsv", "text", "xlsx")
_HAVE = {  # what only some kinds of files have, and what it is called
    "sheet": (("xlsx",), "sheets"),
    "encoding": (_TEXTS, "encoding"),
    "delimiter": (("csv", "tsv", "text"), "delimiter"),
    "header_row": (_WITH_HEADER, "row of column names"),
    "totals": (_WITH_HEADER, "row of sums"),
}


@dataclass(frozen=True)
class Written:
    """Summary returned by `write_table`.

    Attributes
    ----------
    n_escaped : int
        Number of cells of a CSV or TSV file that were prefixed with an apostrophe, because a
        spreadsheet would have run them as formulas.

    Examples
    --------
    >>> import io
    >>> from bckm.tables import Table, write_table
    >>> write_table(Table.of({"name": ["=1+1", "Eve"]}), io.BytesIO())
    Written(n_escaped=1)
    """

    n_escaped: int = 0


def read_table(
    path: str | os.PathLike[str],
    reading: Reading | None = None,
    *,
    read_limit: int | None = None,
    stdin: IO[bytes] | None = None,
    **options: Any,
) -> Table:
    r"""Read a table from a file.

    What had to be assumed, such as a title above the column names, is said in `Table.assumed`.

    Parameters
    ----------
    path : str or path
        The file; its suffix determines the format. ``-`` is standard input, whose format is
        detected from its content.
    reading : Reading, optional
        How to read it; by default this is found out.
    read_limit : int, optional
        Largest accepted size in bytes after unpacking, 1e9 by default: small packed files can
        grow beyond the available memory.
    stdin : binary file, optional
        Stream to read for ``-`` instead of standard input.
    **options
        Attributes of `Reading` that differ from it, for example ``sheet="May"``.

    Examples
    --------
    >>> import io
    >>> from bckm.tables import read_table
    >>> table = read_table("-", stdin=io.BytesIO(b"id;weight\n007;3,5\n008;4\n"))
    >>> table.source, table.texts("id"), table.numbers("weight").tolist()
    ('standard input', ['007', '008'], [3.5, 4.0])
    """
    how = (reading or Reading()).changed(options)
    limit = LIMIT if read_limit is None else read_limit
    source, data, said = _loaded(path, stdin, limit)
    if data.startswith(b"\x1f\x8b"):
        data = unzipped(data, limit, source)
    kind = how.format or _checked_kind(said or _sniffed(data), data, source)
    if not data:
        raise TableError(Note(f"{source} is empty.", "empty", file=source))
    _refuse_unused(kind, source, how)
    with uncollected():
        table = _read(kind, data, source, how, limit)
        return _prepared(table, how, kind)


def _read(kind: str, data: bytes, source: str, how: Reading, limit: int) -> Table:
    if kind in ("csv", "tsv", "text"):
        return read_csv(
            data,
            source,
            encoding=how.encoding,
            delimiter=how.delimiter,
            decimal=how.decimal,
            header_row=how.header_row,
            drop_rows=how.drop_rows,
            likely="\t" if kind == "tsv" else ",",
        )
    rows = {} if kind != "xlsx" else {"header_row": how.header_row, "drop_rows": how.drop_rows}
    table: Table = _module(kind).read(
        data,
        source,
        sheet=how.sheet,
        encoding=how.encoding,
        decimal=how.decimal,
        limit=limit,
        **rows,
    )
    return table


def _prepared(table: Table, how: Reading, kind: str) -> Table:
    """Without rows that are to be left out, and with numbers for missing ones."""
    if kind in _WITH_HEADER:
        table = without_totals(table, how.totals)
    elif how.drop_rows:
        lines = [table.line(row) for row in range(table.n_rows)]
        table = table.taken(kept_rows(lines, how.drop_rows, table.source, "row"))
    if not how.fills:
        return table
    return table.with_fills(how.fills)


def _refuse_unused(kind: str, source: str, how: Reading) -> None:
    """Refuse what was asked of a kind of file that does not have it."""
    for name, (kinds, word) in _HAVE.items():
        if getattr(how, name) is not None and kind not in kinds:
            told = {"jsonl": "a JSON lines", "text": "a CSV", "npz": "an NPZ", "xlsx": "an Excel"}
            called = told.get(kind, f"a {kind.upper() if kind != 'parquet' else 'Parquet'}")
            raise OptionError(
                f"{source} is {called} file, which has no {word}; drop --{name.replace('_', '-')}."
            )


def _module(kind: str) -> Any:
    """Reader and writer of a kind of file; what they need is imported only when it is met."""
    return import_module(f"bckm.tables._{kind}")


def _loaded(
    path: str | os.PathLike[str], stdin: IO[bytes] | None, limit: int
) -> tuple[str, bytes, str | None]:
    """What messages call the file, its bytes, and the kind its name says."""
    if os.fspath(path) == "-":
        stream = sys.stdin.buffer if stdin is None else stdin
        return "standard input", read_pipe(stream, limit, "standard input"), None
    file = Path(path)
    try:
        source = clean(file.name)
        return source, read_file(file, limit, source), _kind_of(file)
    except FileNotFoundError:
        raise NoFileError(_no_file(file)) from None
    except OSError as error:
        why = error.strerror or error
        raise TableError(f"{clean(str(file))} cannot be read: {why}.") from error


def _no_file(file: Path) -> str:
    folder, told = file.parent, clean(str(file))
    if not folder.is_dir():
        return f"file {told} does not exist: folder {clean(str(folder))} does not exist."
    suggestion = near(file.name, (each.name for each in folder.iterdir() if each.is_file()))
    if suggestion is None:
        return f"file {told} does not exist."
    return f"file {told} does not exist; did you mean {clean(str(file.with_name(suggestion)))}?"


def _kind_of(file: Path) -> str | None:
    """What the name of a file says it is."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
        kind = _SUFFIXES.get(suffixes[-1]) if suffixes else None
        return kind if kind in _TEXTS else None
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def names_table(path: str) -> bool:
    """Return whether a text ends as names of tables do, such as ``.xlsx`` or ``.csv.gz``.

    Examples
    --------
    >>> from bckm.tables import names_table
    >>> names_table("last week.xlsx"), names_table("van")
    (True, False)
    """
    return _kind_of(Path(path)) is not None


def _sniffed(data: bytes) -> str:
    """What the first bytes of a file say it is."""
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return "xlsx"  # the old kind
    if data.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return "npz" if any(n.endswith(".npy") for n in archive.namelist()) else "xlsx"
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
            return "xlsx"
    start = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    return "jsonl" if re.match(rb"(?:\[\s*)?\{\s*[\"}]", start) else "text"


def _checked_kind(kind: str, data: bytes, source: str) -> str:
    """The kind, unless the file is plainly of another one."""
    seen = _sniffed(data)
    if kind in _TEXTS and seen in ("parquet", "xlsx", "npz"):
        text = (
            f"{source} is not a text file; its content looks like {seen}: rename it, or use "
            f"--format {seen}."
        )
        raise TableError(Note(text, "other_kind", file=source, format=seen))
    return kind


def write_table(
    table: Table,
    path: str | os.PathLike[str] | IO[bytes],
    *,
    format: str | None = None,  # noqa: A002
) -> Written:
    """Write a table to a file, completely or not at all.

    In every format, no text can become a spreadsheet formula.

    Parameters
    ----------
    table : Table
        The table. If it came from a file of the same format, details are kept: the delimiter and
        line ends of CSV, the types of Parquet, other arrays of NPZ.
    path : str, path or binary file
        Destination; ``-`` is standard output.
    format : {"csv", "tsv", "parquet", "xlsx", "jsonl", "npz"}, optional
        File format; by default from the suffix of the path, else that of the table.

    Returns
    -------
    Written
        Number of cells that were escaped.

    Examples
    --------
    >>> import io
    >>> from bckm.tables import Table, write_table
    >>> out = io.BytesIO()
    >>> write_table(Table.of({"id": ["a", "b, c"], "cluster": [1, 0]}), out)
    Written(n_escaped=0)
    >>> print(out.getvalue().decode())
    id,cluster
    a,1
    "b, c",0
    <BLANKLINE>
    """
    if format is not None and format not in FORMATS:
        raise TableError(f"format must be one of {', '.join(FORMATS)}; got {format!r}.")
    if not table.names:
        raise TableError("cannot write a table without columns.")
    if not isinstance(path, str | os.PathLike):
        data, n_escaped = _bytes(table, format or table.format)
        path.write(data)
        return Written(n_escaped)
    if os.fspath(path) == "-":
        data, n_escaped = _bytes(table, format or table.format)
        _to_stdout(data, format or table.format)
        return Written(n_escaped)
    file = Path(path)
    data, n_escaped = _bytes(table, format or _kind_to_write(file, table))
    if file.suffix.lower() == ".gz":
        data = gzip.compress(data, mtime=0)
    with atomic(file, "wb") as handle:
        handle.write(data)
    return Written(n_escaped)


def _to_stdout(data: bytes, kind: str) -> None:
    """All bytes to a pipe or a file; to a terminal what it can show and must not obey."""
    if sys.stdout.isatty():
        if kind not in _TEXTS:
            raise TableError(f"a terminal cannot show {kind} files; write to a file or a pipe.")
        text = data.decode("utf-8", "backslashreplace")
        say(text.replace("\r\n", "\n").removesuffix("\n"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _kind_to_write(file: Path, table: Table) -> str:
    if file.suffix.lower() in (".xls", ".ods", ".xlsm"):
        raise TableError(
            f"{file.suffix} files can be read, but not written; write "
            f"{clean(str(file.with_suffix('.xlsx')))}."
        )
    kind = _kind_of(file)
    if kind == "text":
        return table.format if table.format in ("csv", "tsv") else "tsv"
    return kind or table.format


def _bytes(table: Table, kind: str) -> tuple[bytes, int]:
    """The file of a kind, and how many texts got an apostrophe."""
    with uncollected():
        if kind in ("csv", "tsv"):
            # a tab or a comma only where the other kind is asked for: ; stays
            other = None if kind == table.format else {"csv": ",", "tsv": "\t"}[kind]
            return csv_bytes(table, other)
        data: bytes = _module(kind).to_bytes(table)
    return data, 0
