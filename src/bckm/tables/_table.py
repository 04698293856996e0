"""`Table`: named columns, as they came from a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.tables._numbers import Parsed, has_decimal_commas, parse
from bckm.tables.cells import Cells, listed, text_of, texts_of, typed
from bckm.tables.errors import TableError, UnknownColumnError, shown

FORMATS = ("csv", "tsv", "parquet", "xlsx", "jsonl", "npz")
_SHOWN = 3  # rows in a message


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
        parsed = self._parsed(name)
        if parsed.bad.any():
            raise TableError(self._not_numbers(name, parsed))
        if parsed.doubt:
            raise TableError(f"column {shown(name)} of {self.source}: {parsed.doubt}.")
        if missing == "error" and parsed.missing.any():
            raise TableError(self._missing_numbers(name, parsed))
        return parsed.values.copy()

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
        return self._parsed(self.column(name)).numeric

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
            return bool(self._parsed(name).missing.any())
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
        texts = self.texts(name)
        where = f"column {shown(name)} of {self.source}"
        present = [text for text in texts if text is not None]
        if len(present) < len(texts):
            gaps = [i for i, text in enumerate(texts) if text is None]
            raise TableError(
                f"{where}: the id is missing in {self._places(gaps)}; every row needs one."
            )
        if len(set(present)) < len(present):
            twice, most = next((t, c) for t, c in Counter(present).items() if c > 1)
            a = present.index(twice)
            b = present.index(twice, a + 1)
            often = f", {most} times in total" if most > 2 else ""
            others = sum(c > 1 for c in Counter(present).values()) - 1
            more = f" ({others} other ids are repeated too)" if others else ""
            raise TableError(
                f"{where}: the id {shown(twice)} appears in {self.place(a)} and {self.place(b)}"
                f"{often}{more}; ids must be unique."
            )
        return present

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

    def place(self, row: int) -> str:
        """Describe where a row (from 0) is, counting from 1.

        Examples
        --------
        >>> from bckm.tables import Table
        >>> Table.of({"id": ["a", "b"]}).place(1)
        'row 2'
        """
        if self.lines is None:
            return f"row {row + 1}"
        line = self.lines[row]
        where = f"row {line} of the sheet" if self.format == "xlsx" else f"line {line}"
        return f"row {row + 1} ({where})"

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

    def _parsed(self, name: str) -> Parsed:
        parsed: Parsed = self._once(
            "numbers", name, lambda: parse(self.cells(name), self.decimal, self._comma_column)
        )
        return parsed

    def _comma_column(self) -> str | None:
        """The first column with decimal commas beyond doubt."""

        def look() -> str | None:
            mine = (name for name in self.names if name not in self.added)
            return next((name for name in mine if has_decimal_commas(self.cells(name))), None)

        found: str | None = self._once("commas", "", look)
        return found

    def _places(self, rows: Sequence[int]) -> str:
        some = ", ".join(self.place(row) for row in rows[:_SHOWN])
        return some + (f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")

    def _not_numbers(self, name: str, parsed: Parsed) -> str:
        rows = np.flatnonzero(parsed.bad).tolist()
        cells = self.cells(name)
        told = [f"{self.place(row)} has {_told(cells[row])}" for row in rows[:_SHOWN]]
        one = len(rows) == 1
        more = f", and so on in {len(rows) - _SHOWN} more rows" if len(rows) > _SHOWN else ""
        which = "which is not a number" if one else "which are not numbers"
        return (
            f"column {shown(name)} of {self.source}: {', '.join(told)}, {which}{more}; "
            f"{_remedy([cells[row] for row in rows], one, self.decimal)}."
        )

    def _missing_numbers(self, name: str, parsed: Parsed) -> str:
        rows = np.flatnonzero(parsed.missing).tolist()
        if len(rows) == self.n_rows:
            return f"column {shown(name)} of {self.source} is empty; choose another column."
        return (
            f"column {shown(name)} of {self.source} has no number in {len(rows)} of {self.n_rows} "
            f"rows: {self._places(rows)}; fill them in, remove the rows, or choose another column."
        )


def _told(value: Any) -> str:
    return shown(value if isinstance(value, str) else text_of(value) or str(value))


def _remedy(values: Sequence[Any], one: bool, decimal: str) -> str:
    """What to do about values that are no numbers."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    if len(texts) == len(values) and decimal != ",":
        if has_decimal_commas(texts):
            return "if these are decimal commas, use --decimal ,"
        if all("," in text and text.replace(",", "").replace(".", "").isdigit() for text in texts):
            return "remove the thousands separators"
    if decimal == "," and any("." in text for text in texts):
        return "the decimal separator is a comma, so remove thousands separators"
    it = ("it", "the cell", "another column") if one else ("them", "the cells", "other columns")
    return f"correct {it[0]}, leave {it[1]} empty, or choose {it[2]}"


def typed_cells(table: Table, name: str) -> list[Any]:
    """Values of a column for files that know types: texts that are numbers become numbers."""
    cells = listed(table.cells(name))
    plain = table.format in ("csv", "tsv") and name not in table.added
    return typed(cells) if plain else cells
