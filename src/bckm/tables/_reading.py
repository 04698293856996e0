"""`Reading`: how a file is to be read, as far as a person says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from bckm.tables._table import FORMATS
from bckm.tables.errors import OptionError, near

TOTALS = ("drop", "keep")


@dataclass(frozen=True)
class Reading:
    """How to read a file; what is None is found out.

    Attributes
    ----------
    format : {"csv", "tsv", "parquet", "xlsx", "jsonl", "npz"}, optional
        File format, if the suffix does not determine it.
    sheet : str or int, optional
        Sheet of a spreadsheet, by name or number from 1; by default the first.
    encoding : str, optional
        Encoding of a text file; by default from the byte order mark, else UTF-8, else cp1252.
    delimiter : str, optional
        Delimiter of a CSV file; by default detected among comma, semicolon, tab and bar.
    decimal : {".", ","}, optional
        Decimal separator in text cells; by default a point, or a comma where a file that does not
        use commas as delimiters clearly has decimal commas.
    header_row : int, optional
        Line of a CSV file, or row of a sheet, that holds the column names, from 1; by default the
        first one, unless it is clearly a title.
    drop_rows : tuple of int
        Lines of a CSV file, or rows of a sheet, to leave out, numbered as there; in other formats
        rows, from 1.
    fills : mapping of str to str
        For each column what stands for missing numbers: "mean", "median" or a number. The cells
        themselves stay as they are.
    totals : {"drop", "keep"}, optional
        Whether the last row is a sum of the others, to be left out; by default if it clearly is.

    Examples
    --------
    >>> from bckm.tables import Reading
    >>> reading = Reading(header_row=4).changed({"drop_rows": [17], "fills": {"kg": "mean"}})
    >>> reading.changed({"drop_rows": [20]}).drop_rows
    (17, 20)
    >>> Reading.of(reading.dict()) == reading
    True
    """

    format: str | None = None
    sheet: str | int | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    header_row: int | None = None
    drop_rows: tuple[int, ...] = ()
    fills: Mapping[str, str] = field(default_factory=dict)
    totals: str | None = None

    def __post_init__(self) -> None:
        _one_of("format", self.format, FORMATS)
        _one_of("totals", self.totals, TOTALS)
        if self.decimal not in (None, ".", ","):
            raise OptionError(f"decimal must be . or ,; got {self.decimal!r}.")
        for name in ("encoding", "delimiter"):
            if not isinstance(getattr(self, name), str | None):
                raise OptionError(f"{name} must be text; got {getattr(self, name)!r}.")
        if not isinstance(self.sheet, str | int | None):
            raise OptionError(f"sheet must be a name or a number; got {self.sheet!r}.")
        if self.header_row is not None and not _is_row(self.header_row):
            raise OptionError(f"header_row must be at least 1; got {self.header_row!r}.")
        if isinstance(self.drop_rows, str) or not all(map(_is_row, self.drop_rows)):
            raise OptionError(f"drop_rows must be numbers of rows; got {self.drop_rows!r}.")
        object.__setattr__(self, "drop_rows", tuple(sorted(set(self.drop_rows))))
        for name, how in self.fills.items():
            if not isinstance(how, str) or not _is_fill(how):
                raise OptionError(
                    f"column {name!r} can be filled with mean, median or a number; got {how!r}."
                )

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """Return a reading from values as JSON has them; the inverse of `dict`."""
        known = [one.name for one in fields(cls)]
        for name in found:
            if name not in known:
                meant = near(name, known)
                also = f"; did you mean {meant!r}" if meant else ""
                raise OptionError(f"a reading has no {name!r}{also}. It has {', '.join(known)}.")
        given = {name: value for name, value in found.items() if value is not None}
        if not isinstance(given.get("drop_rows", []), list | tuple):
            raise OptionError(f"drop_rows must be a list; got {given['drop_rows']!r}.")
        if not isinstance(given.get("fills", {}), Mapping):
            raise OptionError(f"fills must be a mapping; got {given['fills']!r}.")
        return cls(**given)

    def changed(self, change: Mapping[str, Any]) -> Self:
        """Return the reading with a change, such as that of a `Remedy`.

        Rows to leave out and columns to fill are added to those there are.
        """
        more = self.of(change)
        given = {name: getattr(more, name) for name in change}
        if "drop_rows" in given:
            given["drop_rows"] = (*self.drop_rows, *more.drop_rows)
        if "fills" in given:
            given["fills"] = {**self.fills, **more.fills}
        return replace(self, **given)

    def dict(self) -> dict[str, Any]:
        """Return the values as JSON has them."""
        return {**asdict(self), "drop_rows": list(self.drop_rows), "fills": dict(self.fills)}


def _one_of(name: str, value: str | None, choices: tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        raise OptionError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")


def _is_row(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_fill(how: str) -> bool:
    if how in ("mean", "median"):
        return True
    try:
        return abs(float(how)) < float("inf")
    except ValueError:
        return False
