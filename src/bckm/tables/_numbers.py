"""Columns as float64 arrays, with what is missing and what is no number."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from bckm._core.note import Note
from bckm._core.types import BoolArray, FloatArray
from bckm.tables.cells import Cells, listed, no_number

_COMMA_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+|[0-9]*,[0-9]+|[0-9]+,)(?:[eE][+-]?[0-9]+)?\s*")
_COMMA_GROUPS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+\s*")
_POINT_GROUPS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+\s*")


@dataclass(frozen=True, eq=False)
class Parsed:
    """A column read as numbers.

    Attributes
    ----------
    values : array (n,)
        NaN where a number is missing or the cell is something else.
    missing, bad : array (n,)
        Which cells say nothing; which say something that is no finite number.
    truth : bool
        They are true and false, not numbers in the first place.
    doubt : str
        Why the numbers may mean something else; empty if they cannot.
    """

    values: FloatArray
    missing: BoolArray
    bad: BoolArray
    truth: bool = False
    doubt: str = ""

    def gaps(self, cells: Cells) -> BoolArray:
        """Which cells may be filled: those that say nothing, or words such as "unknown".

        A cell with a digit does say a number, though in another way ("47,7", "12 kg", a day).
        """
        found = self.missing.copy()
        for i in np.flatnonzero(self.bad).tolist():
            found[i] = not any(letter.isdigit() for letter in str(cells[i]))
        return found

    def filled(self, how: str, cells: Cells) -> Parsed:
        """With "mean", "median" or a number in the `gaps`."""
        gaps = self.gaps(cells)
        known = self.values[np.isfinite(self.values)]
        if how in ("mean", "median"):
            if not known.size:
                return self
            value = float(np.mean(known) if how == "mean" else np.median(known))
        else:
            value = float(how)
        values = np.where(gaps, value, self.values)
        return Parsed(values, self.missing & ~gaps, self.bad & ~gaps, doubt=self.doubt)

    @property
    def numeric(self) -> bool:
        """Whether every cell that says something is a number, and one does."""
        return not self.truth and not self.bad.any() and not self.missing.all()


def parse(cells: Cells, decimal: str | None, other: Callable[[], str | None]) -> Parsed:
    """Read a column as numbers.

    `decimal` (".", "," or "either") stands before the decimals of a text. `other` is asked in
    doubt: a column of the file that has decimal commas beyond doubt, or None.
    """
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        return _array(cells)
    cells = listed(cells)
    if decimal == "." or not any(isinstance(cell, str) for cell in cells):
        return _listed(cells)
    has_comma = any(isinstance(cell, str) and "," in cell for cell in cells)
    if decimal == ",":
        return _listed(_pointed(cells))
    return _commas(cells, other) if has_comma else _points(cells, other)


def _array(cells: np.ndarray[Any, Any]) -> Parsed:
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, and bad
        values = cells.astype(np.float64)
    missing, bad = np.isnan(values), np.isinf(values)
    return Parsed(values, missing, bad, truth=cells.dtype.kind == "b")


def _listed(cells: Cells) -> Parsed:
    try:
        # float() takes "1_000", people do not mean it
        if set(map(type, cells)) != {str} or "_" in "".join(cells):
            raise ValueError
        values = np.array(list(map(float, cells)))
    except ValueError:
        return _one_by_one(cells)
    return Parsed(values, np.isnan(values), np.isinf(values))


def _one_by_one(cells: Cells) -> Parsed:
    values = np.full(len(cells), np.nan)
    missing, bad = np.zeros(len(cells), bool), np.zeros(len(cells), bool)
    truths = 0
    for i, cell in enumerate(cells):
        if cell is None or (isinstance(cell, str) and no_number(cell)):
            missing[i] = True
            continue
        truths += isinstance(cell, bool | np.bool_)
        values[i] = _number(cell)
        missing[i] = not isinstance(cell, str) and cell != cell
        bad[i] = not np.isfinite(values[i]) and not missing[i]
    values[bad] = np.nan
    return Parsed(values, missing, bad, truth=0 < truths == int((~missing).sum()))


def _number(cell: Any) -> float:
    """Its value; NaN if it has none."""
    if isinstance(cell, str):
        if "_" in cell:
            return np.nan
    elif not isinstance(cell, int | float | Decimal | np.integer | np.floating | np.bool_):
        return np.nan
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return np.nan


def _pointed(cells: Cells) -> list[Any]:
    """Decimal commas as points; a text that has a point already becomes no number."""
    return [
        c if not isinstance(c, str) or no_number(c) else "?" if "." in c else c.replace(",", ".")
        for c in cells
    ]


def _commas(cells: Cells, other: Callable[[], str | None]) -> Parsed:
    """A column with commas, in a file whose cells are not separated by them."""
    parsed = _listed(_pointed(cells))
    if parsed.bad.any():
        return parsed
    grouped = [c for c in cells if isinstance(c, str) and "," in c]
    if all(map(_COMMA_GROUPS.fullmatch, grouped)) and other() is None:
        value = grouped[0].strip()
        return Parsed(
            parsed.values,
            parsed.missing,
            parsed.bad,
            doubt=Note(
                f"{value!r} may have a decimal comma or a thousands separator; specify the decimal "
                "separator (--decimal , or --decimal .), or remove the thousands separators",
                "doubt.comma",
                value=value,
            ),
        )
    return parsed


def _points(cells: Cells, other: Callable[[], str | None]) -> Parsed:
    """A column without commas, in a file whose cells are not separated by them."""
    parsed = _listed(cells)
    pointed = [c for c in cells if isinstance(c, str) and "." in c]
    if pointed and not parsed.bad.any() and all(map(_POINT_GROUPS.fullmatch, pointed)):
        elsewhere = other()
        if elsewhere is not None:
            value = pointed[0].strip()
            return Parsed(
                parsed.values,
                parsed.missing,
                parsed.bad,
                doubt=Note(
                    f"{value!r} may have a decimal point or a thousands separator, because column "
                    f"{elsewhere!r} has decimal commas; specify the decimal separator (--decimal . "
                    "or --decimal ,), or remove the thousands separators",
                    "doubt.point",
                    value=value,
                    column=elsewhere,
                ),
            )
    return parsed


def has_decimal_commas(cells: Cells) -> bool:
    """Whether a column of texts holds numbers with decimal commas, beyond doubt."""
    if not any(isinstance(cell, str) and "," in cell for cell in cells):
        return False
    present = [c for c in cells if not (c is None or (isinstance(c, str) and no_number(c)))]
    return all(isinstance(c, str) and _COMMA_NUMBER.fullmatch(c) for c in present) and not all(
        _COMMA_GROUPS.fullmatch(c) for c in present if "," in c
    )
