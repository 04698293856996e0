"""The one place where text goes to a terminal, and what such text must not hold."""

from __future__ import annotations

import re
import sys
from typing import IO

# Shown as symbols: what has no glyph, moves the cursor or turns the direction of writing
_NO_GLYPH = r"\x80-\x9f\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff\ufeff"
_TURNING = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_BREAKING = r"\u2028\u2029"
_HIDDEN = re.compile(rf"[\x00-\x1f\x7f{_NO_GLYPH}{_TURNING}{_BREAKING}]")
_HIDDEN_IN_LINES = re.compile(rf"(?![\n\t]){_HIDDEN.pattern}")
_KINDS = (("\ufffd", _NO_GLYPH), ("\u2327", _TURNING), ("\u2424", _BREAKING), ("\u2421", r"\x7f"))


def clean(text: str) -> str:
    """One line of text without control characters, lone surrogates and overrides of direction.

    They become visible symbols. Names from data and files go through here, or through `repr`, on
    their way into a message: a line break in a name must not begin a line of its own.

    Examples
    --------
    >>> from bckm._core.terminal import clean
    >>> clean("a" + chr(10) + "b") == "a" + chr(0x240A) + "b"
    True
    """
    return _HIDDEN.sub(_symbol, text)


def say(text: str, *, err: bool = False, file: IO[str] | None = None) -> None:
    """Write lines for a person to standard output or error; whatever they hold, nothing obeys it.

    Parameters
    ----------
    text : str
        One line or several; a line break is added.
    err : bool
        To standard error.
    file : text file, optional
        Where to instead.

    Examples
    --------
    >>> from bckm._core.terminal import say
    >>> say("red is " + chr(27) + "[31m")
    red is ␛[31m
    """
    stream = file or (sys.stderr if err else sys.stdout)
    stream.write(_HIDDEN_IN_LINES.sub(_symbol, text) + "\n")
    stream.flush()


def in_json(text: str) -> str:
    r"""JSON that says the same without raw control characters and the like.

    Examples
    --------
    >>> from bckm._core.terminal import in_json
    >>> in_json('["' + chr(0x9b) + '31m"]')
    '["\\u009b31m"]'
    """
    return _HIDDEN_IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _symbol(match: re.Match[str]) -> str:
    if match[0] < " ":
        return chr(0x2400 + ord(match[0]))
    return next(symbol for symbol, kind in _KINDS if re.match(f"[{kind}]", match[0]))
