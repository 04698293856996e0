"""Words and numbers that all report formats share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from bckm._core.names import Name, visible
from bckm._core.terminal import clean

MINUS = "\u2212"


Sentence = tuple[str, ...]  # its parts; names among them are `Name`s


def number(value: float) -> str:
    """Format a number with four digits, or more if it is large.

    Examples
    --------
    >>> from bckm.report.words import number
    >>> number(3000), number(1234.5), number(0.1234), number(float("inf"))
    ('3,000', '1,234', '0.1234', '∞')
    """
    if value != value:
        return "–"
    if abs(value) == float("inf"):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    if size < 1e15 and (size >= 1000 or size == round(size)):
        found = f"{size:,.0f}"
    else:
        found = f"{size:.4g}"
    return f"{MINUS if value < 0 and found != '0' else ''}{found}"


def exact(value: float) -> str:
    """Format a round number with all its digits, for axes.

    Examples
    --------
    >>> from bckm.report.words import exact
    >>> exact(2020.5), exact(100000.0)
    ('2,020.5', '100,000')
    """
    return f"{MINUS if value < 0 else ''}{abs(value):,.10g}"


def beyond(value: float, bound: float, write: Callable[[float, int], str] | None = None) -> str:
    """A value beyond its bound, with the digits in which they differ; `write` takes their number.

    Examples
    --------
    >>> from bckm.report.words import beyond
    >>> beyond(2580.4, 2580), beyond(2700.4, 2580), beyond(0.50004, 0.5)
    ('2,580.4', '2,700', '0.50004')
    """
    if write is None:
        if number(value) != number(bound):
            return number(value)
        write = _digits
        least = min(max(4, 1 + math.floor(math.log10(max(abs(value), 1.0)))), 17)
    else:
        least = 2
    for digits in range(least, 18):
        found = write(value, digits)
        if found != write(bound, digits):
            break
    return found


def _digits(value: float, digits: int) -> str:
    return f"{MINUS if value < 0 else ''}{abs(value):,.{digits}g}"


def measured(value: float, spread: float) -> str:
    """A number with the digits that count where values differ by about `spread`.

    Examples
    --------
    >>> from bckm.report.words import measured
    >>> measured(2021.456, 3.0), measured(35312.0, 12000.0), measured(0.01234, 0.002)
    ('2,021.46', '35,300', '0.01234')
    """
    if value != value or not 1e-12 < spread < 1e15:
        return number(value)
    digits = 2 - math.floor(math.log10(spread))
    found = f"{abs(round(value, digits)):,.{max(digits, 0)}f}"
    if "." in found:
        found = found.rstrip("0").rstrip(".")
    return f"{MINUS if value < 0 and found != '0' else ''}{found}"


def share(value: float, digits: int = 3) -> str:
    """Format a share in percent.

    Examples
    --------
    >>> from bckm.report.words import share
    >>> tuple(share(one).replace(chr(160), " ") for one in (0.125, 1.0, 0.00001))
    ('12.5 %', '100 %', '0.001 %')
    """
    if value != value or abs(value) == float("inf"):
        return number(value)
    found = f"{100 * abs(value):.{digits}g}"
    return f"{MINUS if value < 0 else ''}{found if 'e' not in found else '< 0.0001'}\u00a0%"


def signed(value: float) -> str:
    """A number of standard deviations with its sign.

    Examples
    --------
    >>> from bckm.report.words import signed
    >>> signed(1.26), signed(-0.04), signed(0.0)
    ('+1.3', '0.0', '0.0')
    """
    if value != value:
        return "–"
    found = f"{abs(value):.1f}"
    return found if found == "0.0" else f"{'+' if value > 0 else MINUS}{found}"


def between(lower: float, upper: float, write: object = number) -> str:
    """Describe a range.

    Examples
    --------
    >>> from bckm.report.words import between
    >>> between(40, 60), between(40, float("inf")), between(-float("inf"), 60), between(5, 5)
    ('40 to 60', 'at least 40', 'at most 60', 'exactly 5')
    """
    assert callable(write)
    low, high = abs(lower) != float("inf"), abs(upper) != float("inf")
    if low and high:
        return f"exactly {write(lower)}" if lower == upper else f"{write(lower)} to {write(upper)}"
    if low:
        return f"at least {write(lower)}"
    return f"at most {write(upper)}" if high else "any"


def counted(many: int, noun: str, plural: str | None = None) -> str:
    """Format a count with its noun.

    Examples
    --------
    >>> from bckm.report.words import counted
    >>> counted(1, "cluster"), counted(3000, "sample"), counted(2, "box", "boxes")
    ('1 cluster', '3,000 samples', '2 boxes')
    """
    return f"{many:,} {noun if many == 1 else plural or noun + 's'}"


def seconds(value: float) -> str:
    """Format a duration.

    Examples
    --------
    >>> from bckm.report.words import seconds
    >>> seconds(0.0123), seconds(12.34), seconds(754), seconds(7322)
    ('0.012 s', '12.3 s', '12 min 34 s', '2 h 2 min')
    """
    if value < 60:
        return f"{value:.3g} s" if value >= 1 else f"{value:.2g} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def listed(parts: Sequence[str], most: int = 6) -> Sentence:
    """Name things in a sentence: a, b and c.

    Examples
    --------
    >>> from bckm.report.words import listed
    >>> "".join(listed(["a", "b", "c"])), "".join(listed(list("abcdefgh"), 3))
    ('a, b and c', 'a, b and 6 more')
    """
    shown = list(parts) if len(parts) <= most else [*parts[: most - 1]]
    if len(parts) > most:
        shown.append(f"{len(parts) - most + 1:,} more")
    found: list[str] = []
    for at, part in enumerate(shown):
        if at:
            found.append(" and " if at == len(shown) - 1 else ", ")
        found.append(part)
    return tuple(found)


def plain(parts: Iterable[str]) -> str:
    """A sentence as a string, names as they are shown."""
    return "".join(visible(part) if isinstance(part, Name) else clean(part) for part in parts)
