"""`Note`: a sentence for the person that can also be said in other words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Note(str):
    """A sentence, with what it says as a key and values.

    It is an ordinary text wherever text is wanted; who speaks another language words it by its key.

    Parameters
    ----------
    text : str
        The sentence.
    key : str
        What kind of sentence it is.
    **values : str, int or float
        What it speaks of.

    Examples
    --------
    >>> from bckm._core.note import Note
    >>> note = Note("2 rows are new.", "new", n=2)
    >>> note, note.key, note.values
    ('2 rows are new.', 'new', {'n': 2})
    """

    __slots__ = ("key", "values")

    key: str
    values: dict[str, str | int | float]

    def __new__(cls, text: str, key: str, **values: str | float) -> Note:
        """Make one."""
        note = super().__new__(cls, text)
        note.key, note.values = key, values
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        """As other processes get it: with key and values."""
        return _note, (str(self), self.key, self.values)


def _note(text: str, key: str, values: dict[str, Any]) -> Note:
    return Note(text, key, **values)


def note_of(error: BaseException) -> str:
    """What an error says: a note, if it was raised with one.

    Examples
    --------
    >>> from bckm._core.note import Note, note_of
    >>> note_of(ValueError(Note("2 rows are new.", "new", n=2))).key
    'new'
    """
    first = error.args[0] if error.args else ""
    return first if isinstance(first, Note) else str(error)


def and_more(n: int) -> str:
    """How many more there are, as a value of a note; nothing if there are none."""
    return Note(f" and {n} more", "more", n=n) if n > 0 else ""


def few(names: Sequence[str], most: int) -> str:
    """The first of many names, as a value of a note: in no language.

    Examples
    --------
    >>> from bckm._core.note import few
    >>> few(["a", "b", "c"], 2)
    'a, b …'
    """
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")
