"""Single cells: what is missing, what is a number, and how a value is written as text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

Cells = Sequence[Any] | np.ndarray[Any, Any]  # values of a column

_MISSING = frozenset({"na", "n/a", "#n/a", "nan", "null", "none"})
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)\.0")
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,3})?")
_LARGEST_EXACT = 2**53  # whole numbers up to here are different floats


def no_number(text: str) -> bool:
    """Whether a text says that a number is missing."""
    bare = text.strip()
    return not bare or bare.casefold() in _MISSING


def text_of(value: Any) -> str | None:
    """Canonical text of a value; None where it is missing."""
    if isinstance(value, str):
        return value if value.strip() else None
    if value is None:
        return None
    if isinstance(value, np.generic):
        value = _plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _int_text(value)
    if isinstance(value, float | Decimal):
        return _real_text(value)
    if isinstance(value, date | time):
        return _time_text(value)
    if isinstance(value, bytes):
        return text_of(value.decode("utf-8", "backslashreplace"))
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=text_of)
    return text_of(str(value))


def _plain(value: np.generic) -> Any:
    """A NumPy scalar as a value of Python."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            return None
        seen = value.astype("M8[us]") if isinstance(value, np.datetime64) else value
        return seen.item() if isinstance(seen.item(), date) else str(value)
    return value.item()


def _int_text(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # more digits than Python likes to write
        return hex(value)


def _real_text(value: float | Decimal) -> str | None:
    if value != value:
        return None
    if isinstance(value, Decimal):
        if not value.is_finite():
            return str(value)
        bare = format(value, "f")
        return (bare.rstrip("0").rstrip(".") if "." in bare else bare) or "0"
    if value.is_integer() and abs(value) <= _LARGEST_EXACT:
        return str(int(value))
    return repr(value)


def _time_text(value: date | time) -> str:
    """ISO; a day without a time of the day is a date."""
    if isinstance(value, datetime):
        if value.tzinfo is None and value.time() == time():
            return value.date().isoformat()
        return value.isoformat(sep=" ")
    return value.isoformat()


def listed(values: Cells) -> list[Any]:
    """Values of a column as Python has them."""
    if not isinstance(values, np.ndarray):
        return list(values)
    if values.dtype.kind in "Mm":  # tolist would give some of them as bare numbers
        return [_plain(value) for value in values]
    plain: list[Any] = values.tolist()
    return plain


def texts_of(values: Cells) -> list[str | None]:
    """Canonical texts of a column.

    A column of texts that all read like ``17.0`` was one of whole numbers before some program
    needed a place for a missing one: it is ``17`` again.
    """
    values = listed(values)
    texts = [text_of(value) for value in values]
    first = next((value for value in values if value is not None and text_of(value)), None)
    if isinstance(first, str) and _WHOLE.fullmatch(first):
        every = zip(values, texts, strict=True)
        if all(t is None or (isinstance(v, str) and _WHOLE.fullmatch(v)) for v, t in every):
            return [None if t is None else t[:-2] for t in texts]
    return texts


def typed(values: Cells) -> list[Any]:
    """Texts of a text file as the numbers they are, for files that know types.

    Only columns in which every text is how a program writes that number: an id ``007``, a phone
    number or 20 digits stay texts.
    """
    kept = [None if isinstance(v, str) and not v.strip() else v for v in values]
    present = [v for v in kept if v is not None]
    if not present or not all(isinstance(v, str) and _PLAIN.fullmatch(v) for v in present):
        return list(values)
    if all(v.lstrip("-").isdigit() for v in present):
        return [None if v is None else int(v) for v in kept]
    numbers = [None if v is None else float(v) for v in kept]
    return numbers if all(v is None or math.isfinite(v) for v in numbers) else list(values)


def is_text(values: Iterable[Any]) -> bool:
    """Whether every value is a text."""
    return all(type(value) is str for value in values)


def whole_text(text: str) -> str:
    """A whole number without decimals, as some tables write it; any other text as it is."""
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text
