"""The short forms of rules on the command line: ``--size 40:60``, ``--capacity weight:0:500``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from bckm.plan._model import STRENGTHS, Clause, PlanError, near
from bckm.tables import names_table

_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*)),')  # quoted, or as it is
NICE = "nice"  # rules that may be violated, as RULE=VALUE@STRENGTH
SHORT = (
    *("size", "capacity", "together", "apart", "together_with", "apart_from"),
    *("quota", "known", "fixed", "stay", "links", NICE),
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
    return tuple(
        _nice(text) if kind == NICE else _clause(kind, text)
        for kind in SHORT
        for text in options.get(kind, ())
    )


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
    """40:60, 40:, :60, 60 (at most), 10%:20%, or one of these per cluster, commas between."""
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
        last = _bound(high) if high.strip() else None
    except ValueError:
        raise PlanError(
            f"{where}: must be a range such as 40:60, 40:, 60 (at most) or 10%:20%, or a "
            "comma-separated list with one per cluster."
        ) from None
    if not colon:
        return None, first
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
    """COLUMN:MIN:MAX, COLUMN:MIN:, COLUMN:MAX (at most); the column may contain colons.

    A bound is a number, or one per cluster with commas between.
    """
    parts = text.split(":")
    numbers: list[Any] = []
    while len(parts) > 1 and len(numbers) < 2 and _is_bound(parts[-1]):
        last = parts.pop().strip()
        numbers.insert(0, _numbers(last) if last else None)
    if len(numbers) == 1:
        numbers.insert(0, None)
    if not any(number is not None for number in numbers):
        raise PlanError(
            f"{where}: must be COLUMN:MIN:MAX, such as weight:100:500, or COLUMN:MAX, such as "
            "weight:500."
        )
    bounds = zip(("min", "max"), numbers, strict=True)
    return {"column": ":".join(parts)} | {
        side: number for side, number in bounds if number is not None
    }


def _is_bound(text: str) -> bool:
    try:
        return not text.strip() or all(math.isfinite(float(one)) for one in text.split(","))
    except ValueError:
        return False


def _numbers(text: str) -> float | list[float]:
    each = [_number(one) for one in text.split(",")]
    return each[0] if len(each) == 1 else each


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
    if not colon or not column or not moves.strip().isdecimal():
        raise PlanError(
            f"{where}: must be COLUMN:MOVES or FILE:MOVES, where previous clusters are and how "
            "many rows may move, such as van:20 or last-week.xlsx:20."
        )
    return {**_previous(column), "at_most": int(moves)}


def _previous(text: str) -> dict[str, Any]:
    """A column, or a file, or FILE:COLUMN."""
    if names_table(text):
        return {"file": text}
    file, colon, column = text.rpartition(":")
    if colon and names_table(file):
        return {"file": file, "label_column": column}
    return {"column": text}


def _nice(text: str) -> Clause:
    """RULE=VALUE, or RULE=VALUE@STRENGTH."""
    where = f"--nice {text!r}"
    kind, equals, value = text.partition("=")
    kind = kind.strip().removeprefix("--").replace("-", "_")
    soft = [one for one in SHORT if one not in ("links", NICE)]
    if not equals or kind not in soft:
        known = ", ".join(one.replace("_", "-") for one in soft)
        raise PlanError(
            f"{where}: must be RULE=VALUE, such as together=household, with one of the rules "
            f"{known}."
        )
    strength = "nice"
    if "@" in value and not _says_strength(value):
        wrong = value.rpartition("@")[2].strip()
        raise PlanError(
            f"{where}: the strength is one of {', '.join(STRENGTHS)}, or a number; got "
            f"{wrong!r}{near(wrong, STRENGTHS)} After a name that contains @ it must be said: "
            f"{text}@nice."
        )
    if _says_strength(value):
        value, _, strength = value.rpartition("@")
    clause = Clause(kind, _previous(value)) if kind == "stay" else _clause(kind, value)
    how = strength.strip() if strength.strip() in STRENGTHS else float(strength)
    return Clause.read(clause.kind, {**clause.keys, "strength": how}, f"{where}: ")


def _says_strength(value: str) -> bool:
    _, at, strength = value.rpartition("@")
    return bool(at) and (strength.strip() in STRENGTHS or strength.replace(".", "", 1).isdecimal())
