"""Text from data and settings, and how much of it is shown."""

from __future__ import annotations

import re

from bckm._core.terminal import clean

LONG = 60  # characters of a name that are shown

_MARKS = "[\\u0300-\\u036f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff]"
_PILED = re.compile(f"({_MARKS}{{2}}){_MARKS}+")  # accents can pile up until they cover the page


class Name(str):
    """Text that comes from data or settings; each form of a report sets it apart in its own way."""

    __slots__ = ()
    most = LONG  # characters that are shown


class Told(Name):
    """A longer text that holds names: a message, a value of the settings."""

    __slots__ = ()
    most = 1_000


def shorten(text: str, most: int = LONG) -> str:
    """The beginning of a text that is too long.

    Examples
    --------
    >>> from bckm._core.names import shorten
    >>> shorten("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def visible(text: str, most: int | None = None) -> str:
    """A name as it is shown: clean, short, and never nothing."""
    if most is None:
        most = text.most if isinstance(text, Name) else LONG
    found = shorten(_PILED.sub(r"\1", clean(text)), most)
    return found if found.strip() else "(blank)"
