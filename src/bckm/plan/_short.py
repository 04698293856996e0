"""The short forms of rules on the command line: ``--size 40:60``, ``--capacity weight:0:500``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from bckm.plan._model import Clause, PlanError

_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*)),')  # quoted, or as it is
SHORT = (
    *("size", "capacity", "together", "apart", "together_with", "apart_from"),
    *("quota", "known", "fixed", "stay", "links"),
)
_PARTNERS = {"together_with": "together", "apart_from": "apart"}


def clauses_of(options: Mapping[str, Iterable[str]]) -> tuple[Clause, ...]:
    """Parse rules in their short forms.

    Parameters
    ----------
    options : mapping of kind to texts
        Kinds are those of `SHORT`.

    Examples
    --------
    >>> from bckm.plan import clauses_of
    >>> for clause in clauses_of({"size": ["40:60"], "capacity": ["weight:0:500"]}):
    ...     print(clause.kind, clause.keys)
    size {'min': 40, 'max': 60}
    capacity {'column': 'weight', 'min': 0, 'max': 500}
    """
    return tuple(_clause(kind, text) for kind in SHORT for text in options.get(kind, ()))


def names_of(texts: Iterable[str], option: str = "--columns") -> tuple[str, ...]:
    """Parse comma-separated names; a name with a comma is quoted, as in CSV.

    Parameters
    ----------
    texts : iterable of str
        Values of the option.
    option : str
        Name of the option in messages.

    Examples
    --------
    >>> from bckm.plan import names_of
    >>> names_of(['x_km, y_km', '"weight, kg"'])
    ('x_km', 'y_km', 'weight, kg')
    """
    found = []
    for text in texts:
        for quoted, bare in _NAME.findall(f"{text},"):
            name = quoted.replace('""', '"') or bare
            if not name.strip():
                raise PlanError(f"{option} {text!r}: a name is missing.")
            found.append(name)
    return tuple(found)


def _clause(kind: str, text: str) -> Clause:
    where = f"--{kind.replace('_', '-')} {text!r}"
    if not text.strip():
        raise PlanError(f"{where}: the value is empty.")
    readers = {"size": _size, "capacity": _capacity, "quota": _quota, "stay": _stay}
    if kind in readers:
        keys = readers[kind](text, where)
    elif kind in _PARTNERS:
        kind, keys = _PARTNERS[kind], {"partners": text}
    else:
        keys = {"file" if kind == "links" else "column": text}
    return Clause.read(kind, keys, f"{where}: ")


def _size(text: str, where: str) -> dict[str, Any]:
    """40:60, 40:, :60, 50 (exactly), 10%:20%, or one of these per cluster, commas between."""
    each = [_range(one, where) for one in text.split(",")]
    sides = {}
    for side, at, free in (("min", 0, 1), ("max", 1, math.inf)):
        bounds = [pair[at] for pair in each]
        if any(bound is not None for bound in bounds):
            whole = [free if bound is None else bound for bound in bounds]
            sides[side] = whole[0] if len(whole) == 1 else whole
    return sides


def _range(text: str, where: str) -> tuple[float | None, float | None]:
    low, colon, high = text.strip().partition(":")
    try:
        first = _bound(low) if low.strip() else None
        last = first if not colon else _bound(high) if high.strip() else None
    except ValueError:
        raise PlanError(
            f"{where}: must be a range such as 40:60, 40:, :60, 50 (exactly) or 10%:20%, or a "
            "comma-separated list with one per cluster."
        ) from None
    if not colon and isinstance(first, float):
        raise PlanError(
            f"{where}: a share is rarely a whole number of rows; give a range such as 9%:11%."
        )
    if first is not None and last is not None and type(first) is type(last) and first > last:
        raise PlanError(f"{where}: {low.strip()} is greater than {high.strip()}.")
    return first, last


def _bound(text: str) -> float:
    """A number of rows, or a share of them in percent."""
    if not text.strip().endswith("%"):
        return int(text)
    share = float(text.strip()[:-1]) / 100
    if not 0 < share < 1:
        raise ValueError
    return share


def _capacity(text: str, where: str) -> dict[str, Any]:
    """COLUMN:MIN:MAX, COLUMN::MAX, COLUMN:MIN:, COLUMN:MAX; the column may contain colons."""
    parts = text.split(":")
    numbers: list[float | None] = []
    while len(parts) > 1 and len(numbers) < 2 and _is_bound(parts[-1]):
        last = parts.pop().strip()
        numbers.insert(0, _number(last) if last else None)
    if len(numbers) == 1:
        numbers.insert(0, None)
    if not any(number is not None for number in numbers):
        raise PlanError(f"{where}: must be COLUMN:MIN:MAX, such as weight:0:500 or weight::500.")
    bounds = zip(("min", "max"), numbers, strict=True)
    return {"column": ":".join(parts)} | {
        side: number for side, number in bounds if number is not None
    }


def _is_bound(text: str) -> bool:
    try:
        return not text.strip() or math.isfinite(float(text))
    except ValueError:
        return False


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _quota(text: str, where: str) -> dict[str, Any]:
    column, colon, within = text.rpartition(":")
    if not colon:
        raise PlanError(f"{where}: must be COLUMN:WITHIN, such as gender:±10%.")
    return {"column": column, "within": within}


def _stay(text: str, where: str) -> dict[str, Any]:
    column, colon, moves = text.rpartition(":")
    if not colon or not moves.strip().isdecimal():
        raise PlanError(
            f"{where}: must be COLUMN:MOVES, the column of previous clusters and how many rows may "
            "move, such as van:20."
        )
    return {"column": column, "at_most": int(moves)}
