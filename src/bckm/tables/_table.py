"""`Table`: named columns, as they came from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from bckm._core.note import Note
from bckm._core.types import FloatArray, IntArray
from bckm.tables._numbers import Parsed, has_decimal_commas, parse
from bckm.tables._problems import id_problems, number_problems
from bckm.tables.cells import Cells, listed, texts_of, typed
from bckm.tables.errors import TableError, UnknownColumnError, shown

FORMATS = ("csv", "tsv", "parquet", "xlsx", "jsonl", "npz")


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Named columns of equal length, as they came from a file.

    Create one with `read_table`, or with `Table.of` from values. Cells are kept as they are: text
    in a CSV file stays text, however it is used, and is written back unchanged.

    Attributes
    ----------
    names : tuple of str
        Column names, in order.
    n_rows : int
        Number of rows of data.
    format : {"csv", "tsv", "parquet", "xlsx", "jsonl", "npz"}
        Format of the file it came from or will be written to.
    source : str
        Name of the table in messages: the file name.
    assumed : tuple of str
        What was assumed when the file was read, in sentences: a title above the column names, a
        row of sums left out, an encoding.

    Examples
    --------
    >>> from bckm.tables import Table
    >>> table = Table.of({"id": ["007", "008"], "weight": ["3.5", "NA"]})
    >>> table.names, table.n_rows
    (('id', 'weight'), 2)
    >>> table.ids("id"), table.numbers("weight", missing="nan").tolist()
    (['007', '008'], [3.5, nan])
    """

    names: tuple[str, ...]
    n_rows: int
    format: str
    source: str
    columns: Mapping[str, Cells | Callable[[], Cells]]
    origin: Any = None  # what the writer of the same format needs to keep everything else
    lines: Sequence[int] | IntArray | None = None  # where each row begins in the file
    decimal: str = "."
    added: frozenset[str] = frozenset()  # columns that did not come from the file
    assumed: tuple[str, ...] = ()
    fills: Mapping[str, str] = field(default_factory=dict)  # what stands for missing numbers
    _known: dict[tuple[str, str], Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Cells],
        *,
        format: str = "csv",  # noqa: A002
        source: str = "the table",
    ) -> Self:
        """Create a table from columns of values.

        Parameters
        ----------
        columns : mapping of str to sequence
            Values of each column, all of equal length.
        format : str
            File format to write, if the file name does not determine it.
        source : str
            Name of the table in messages.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"cluster": [0, 1, 1]}, format="jsonl").texts("cluster")
        ['0', '1', '1']
        """
        if format not in FORMATS:
            raise TableError(f"format must be one of {', '.join(FORMATS)}; got {format!r}.")
        lengths = {name: len(cells) for name, cells in columns.items()}
        n_rows = next(iter(lengths.values()), 0)
        for name, length in lengths.items():
            if length != n_rows:
                raise TableError(
                    f"column {shown(name)} has {length} values, but others have {n_rows}."
                )
        return cls(tuple(columns), n_rows, format, source, dict(columns))

    def __repr__(self) -> str:
        return f"Table({self.source}: {self.n_rows} rows, {len(self.names)} columns)"

    def column(self, name: str) -> str:
        """Return the name of a column as it is in the file, or raise `UnknownColumnError`.

        Leading and trailing blanks are ignored where this is unambiguous.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"id": [1], " weight": [3.5]}).column("weight")
        ' weight'
        """
        if name in self.columns:
            return name
        alike = [each for each in self.names if each.strip() == name.strip()]
        if len(alike) == 1:
            return alike[0]
        raise UnknownColumnError(name, self.names, self.source)

    def cells(self, name: str) -> Cells:
        """Return the values of a column as they were read; for CSV, text.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"id": ["007", ""]}).cells("id")
        ['007', '']
        """
        name = self.column(name)
        found = self.columns[name]
        cells: Cells = self._once("cells", name, found) if callable(found) else found
        return cells

    def texts(self, name: str) -> list[str | None]:
        """Return the cells of a column as canonical text, for ids and categories; None if empty.

        Whole numbers are the same in every file format: 17, 17.0 and "17" are ``17``, but the text
        "007" stays ``007``.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"id": [17.0, 18.0, None]}).texts("id")
        ['17', '18', None]
        """
        name = self.column(name)
        return list(self._once("texts", name, lambda: texts_of(self.cells(name))))

    def typed(self, name: str) -> list[Any]:
        """Return the values of a column for files that know types.

        Texts of a CSV file become numbers if all of them are how programs write numbers, also with
        decimal commas; the id ``007`` and telephone numbers stay text.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> table = Table.of({"id": ["007", "008"], "kg": ["3.5", ""]})
        >>> table.typed("id"), table.typed("kg")
        (['007', '008'], [3.5, None])
        """
        name = self.column(name)
        cells = listed(self.cells(name))
        if self.format not in ("csv", "tsv") or name in self.added:
            return cells
        if self.decimal_sign() == "," and not self.parsed(name).doubt:
            pointed = [
                c.replace(",", ".") if isinstance(c, str) and "." not in c else c for c in cells
            ]
            numbers = typed(pointed)
            if numbers != pointed and "," in "".join(c for c in cells if isinstance(c, str)):
                return numbers
        return typed(cells)

    def numbers(self, name: str, missing: Literal["error", "nan"] = "error") -> FloatArray:
        """Return the values of a column as float64.

        Parameters
        ----------
        name : str
            The column.
        missing : {"error", "nan"}
            How to treat missing numbers: empty cells, NA, N/A, NaN, null and None.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"weight": ["3.5", "4"]}).numbers("weight").tolist()
        [3.5, 4.0]
        """
        name = self.column(name)
        for problem in number_problems(self, name, missing=missing == "nan"):
            raise TableError(problem.message)
        return self.parsed(name).values.copy()

    def is_numeric(self, name: str) -> bool:
        """Return whether every non-empty cell is a number, and there is at least one.

        True and false do not count as numbers, although `numbers` returns 1 and 0 for them.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> table = Table.of({"a": ["1", "NA"], "b": ["1", "x"]})
        >>> table.is_numeric("a"), table.is_numeric("b")
        (True, False)
        """
        return self.parsed(self.column(name)).numeric

    def has_missing(self, name: str) -> bool:
        """Return whether a cell is empty or, in a column of numbers, NA or the like.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> table = Table.of({"a": ["1", "NA"], "b": ["x", "NA"]})
        >>> table.has_missing("a"), table.has_missing("b")
        (True, False)
        """
        name = self.column(name)
        if self.is_numeric(name):
            return bool(self.parsed(name).missing.any())
        return None in self.texts(name)

    def ids(self, name: str) -> list[str]:
        """Return the ids in a column as text, or raise if one is missing or repeated.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"id": ["a", "b", "a"]}).ids("id")
        Traceback (most recent call last):
            ...
        bckm.tables.errors.TableError: column 'id' of the table: the id 'a' appears in row 1 and \
row 3; ids must be unique.
        """
        name = self.column(name)
        for problem in id_problems(self, name):
            raise TableError(problem.message)
        return [text for text in self.texts(name) if text is not None]

    def with_columns(self, columns: Mapping[str, Cells]) -> Self:
        """Return a table with columns appended; a column of the same name is replaced in place.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> table = Table.of({"id": ["a", "b"]}).with_columns({"cluster": [1, 0]})
        >>> table.names, table.cells("cluster")
        (('id', 'cluster'), [1, 0])
        """
        for name, cells in columns.items():
            if len(cells) != self.n_rows:
                raise TableError(
                    f"column {shown(name)} has {len(cells)} values for the {self.n_rows} rows of "
                    f"{self.source}."
                )
        return replace(
            self,
            names=self.names + tuple(name for name in columns if name not in self.columns),
            columns={**self.columns, **columns},
            added=self.added | set(columns),
            _known={},
        )

    def taken(self, rows: Sequence[int], assumed: Sequence[str] = ()) -> Self:
        """Return a table of some of the rows, by position.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"id": ["a", "b", "c"]}).taken([0, 2]).cells("id")
        ['a', 'c']
        """
        origin = self.origin
        if self.format == "jsonl" and origin is not None:
            origin = [origin[row] for row in rows]
        elif self.format in ("parquet", "npz"):
            origin = None  # it holds all rows
        columns = {name: listed(self.cells(name)) for name in self.names}
        return replace(
            self,
            n_rows=len(rows),
            columns={name: [cells[row] for row in rows] for name, cells in columns.items()},
            origin=origin,
            lines=[self.line(row) for row in rows],
            assumed=(*self.assumed, *assumed),
            _known={},
        )

    def with_fills(self, fills: Mapping[str, str]) -> Self:
        """Return a table in which missing numbers are filled; cells stay as they are.

        Parameters
        ----------
        fills : mapping of str to {"mean", "median"} or number as text
            What stands for cells that are empty or hold words, for each column to fill. A cell
            with a digit, such as "47,7" or "12 kg", is never filled: it says a number.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> table = Table.of({"kg": ["3", "", "5"]}).with_fills({"kg": "mean"})
        >>> table.numbers("kg").tolist(), table.assumed
        ([3.0, 4.0, 5.0], ("1 cell of column 'kg' was filled with the mean, 4.",))
        """
        named = {self.column(name): how for name, how in fills.items()}
        filled = replace(self, fills={**self.fills, **named}, _known={})
        said = []
        for name, how in named.items():
            gaps = self.parsed(name).gaps(self.cells(name))
            if gaps.any() and np.isfinite(filled.parsed(name).values[gaps]).all():
                value, n = float(filled.parsed(name).values[gaps][0]), int(gaps.sum())
                cells, was = ("1 cell", "was") if n == 1 else (f"{n} cells", "were")
                by = f"the {how}, {value:.6g}" if how in ("mean", "median") else f"{value:.6g}"
                text = f"{cells} of column {shown(name)} {was} filled with {by}."
                said.append(
                    Note(text, f"filled.{how}", n=n, column=name, value=value)
                    if how in ("mean", "median")
                    else Note(text, "filled", n=n, column=name, value=value)
                )
        return replace(filled, assumed=(*self.assumed, *said))

    def place(self, row: int) -> str:
        """Describe where a row (from 0) is, counting from 1.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"id": ["a", "b"]}).place(1)
        'row 2'
        """
        if self.lines is None or self.format in ("parquet", "npz"):
            return f"row {self.line(row)}"
        line = self.lines[row]
        where = f"row {line} of the sheet" if self.format == "xlsx" else f"line {line}"
        return f"row {row + 1} ({where})"

    def line(self, row: int) -> int:
        """Return the number of a row (from 0) in the file, as `Reading.drop_rows` has it.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"id": ["a", "b"]}).line(1)
        2
        """
        return row + 1 if self.lines is None else int(self.lines[row])

    def decimal_sign(self) -> str:
        """Decimal separator in the text of the file: a point or a comma.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"x": ["3.5"]}).decimal_sign()
        '.'
        """
        if self.decimal != "either":
            return self.decimal
        return "." if self._comma_column() is None else ","

    def _once(self, what: str, name: str, make: Callable[[], Any]) -> Any:
        key = (what, name)
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def parsed(self, name: str) -> Parsed:
        """Return a column read as numbers, with what is missing and what is no number."""
        name = self.column(name)

        def read() -> Parsed:
            found = parse(self.cells(name), self.decimal, self._comma_column)
            return found.filled(self.fills[name], self.cells(name)) if name in self.fills else found

        parsed: Parsed = self._once("numbers", name, read)
        return parsed

    def _comma_column(self) -> str | None:
        """The first column with decimal commas beyond doubt."""

        def look() -> str | None:
            mine = (name for name in self.names if name not in self.added)
            return next((name for name in mine if has_decimal_commas(self.cells(name))), None)

        found: str | None = self._once("commas", "", look)
        return found
