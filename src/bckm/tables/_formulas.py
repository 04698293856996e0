"""Texts that a spreadsheet program would take for formulas when it opens a text file.

A cell that begins with ``=``, ``+``, ``-`` or ``@`` is computed, and may start programs. Such a
text gets an apostrophe in front, which reading takes away again; so files go round unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Blanks and characters without a width hide the first one from the eye, not from the program;
# the wide forms are what East Asian keyboards give, and they are computed as well.
_BLANK = r"[\s\x00-\x20\x7f-\xa0\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
_SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]"
_RISKY = re.compile(rf"'*(?:[\t\r\n]|{_BLANK}*{_SIGN})")
_NUMBER = re.compile(r"'*[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
# no blank, else the search below would run through empty cells again and again; a letter that texts
# may hold is no harm: then they are looked at one by one
_BETWEEN = "\xff"
_SOME_RISK = re.compile(
    rf"(?:^|\xff)(?!{_NUMBER.pattern}(?:\xff|\Z))'*(?:[\t\r\n]|{_BLANK}*{_SIGN})"
)


def risky(text: str) -> bool:
    """Whether a spreadsheet may compute a text; whatever apostrophes it has in front.

    Examples
    --------
    >>> from bckm.tables._formulas import risky
    >>> [risky(text) for text in ("=1+1", " @x", "'=1", "-3.5", "-3,5", "a=b", "+49 30 1")]
    [True, True, True, False, False, False, True]
    """
    return _RISKY.match(text) is not None and _NUMBER.fullmatch(text) is None


def guarded(texts: list[str]) -> tuple[list[str], int]:
    """The texts, with an apostrophe before risky ones; and how many these are."""
    if not _SOME_RISK.search(_BETWEEN.join(texts)):  # one look at all of them
        return texts, 0
    marks = [risky(text) for text in texts]
    return [f"'{t}" if mark else t for t, mark in zip(texts, marks, strict=True)], sum(marks)


def unguarded(texts: Iterable[str]) -> list[str]:
    """The texts as they were before `guarded`."""
    return [t[1:] if t.startswith("'") and risky(t) else t for t in texts]
