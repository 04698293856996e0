"""What the page hears when something is wrong: a kind, a sentence, never a traceback.

The page has words of its own for every kind but "bad_input", whose sentence is a note.
"""

from __future__ import annotations

import secrets
import traceback
from collections.abc import Mapping
from typing import Any

from bckm._core.note import Note, note_of
from bckm._core.terminal import clean, say
from bckm.app.words import note_tree, problem_tree
from bckm.exceptions import BckmError, InfeasibleError, UndecidedError
from bckm.tables import ProblemsError

INSTALL = "the page needs Starlette and uvicorn: pip install 'bckm[app]'"
STATUS = {
    "bad_input": 400,
    "malformed": 400,  # nothing that the page sends
    "forbidden": 403,
    "not_found": 404,
    "busy": 409,
    "stopped": 409,
    "stale": 409,
    "too_large": 413,
    "infeasible": 422,
    "undecided": 422,
    "internal": 500,
}


class Refused(Exception):  # noqa: N818 - an answer
    """An answer that is no success.

    Parameters
    ----------
    kind : str
        One of `STATUS`.
    message : str
        A sentence for the person; a note, where the page is to word it.
    **more
        What else the page may use, for example the card that is meant.
    """

    def __init__(self, kind: str, message: str, **more: Any) -> None:
        super().__init__(message)
        if isinstance(message, Note):
            more.setdefault("words", note_tree(message))
        self.kind, self.message, self.more = kind, str(message), more

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.kind, self.message, self.more)

    @property
    def status(self) -> int:
        """Status code of the answer."""
        return STATUS[self.kind]

    def tree(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"kind": self.kind, "message": self.message, **self.more}}


def _again(kind: str, message: str, more: dict[str, Any]) -> Refused:
    return Refused(kind, message, **more)


def refusal(error: BaseException, names: Mapping[str, str] | None = None, **more: Any) -> Refused:
    """An exception as an answer; what nobody expected is told on the terminal alone.

    `names` says what people call files, by what they are called here.
    """
    if isinstance(error, Refused):
        return error
    if isinstance(error, InfeasibleError):
        return Refused("infeasible", clean(str(error)))
    if isinstance(error, UndecidedError):
        return Refused("undecided", clean(str(error)))
    if isinstance(error, MemoryError):
        text = "there is not enough memory for this on this computer."
        return Refused("too_large", Note(text, "no_memory"))
    if isinstance(error, KeyboardInterrupt):
        return Refused("stopped", "stopped before there was a result.")
    if isinstance(error, BckmError | ValueError | OverflowError):
        words = note_tree(note_of(error), names)
        if isinstance(error, ProblemsError):
            more["problems"] = [problem_tree(one, names) for one in error.problems]
        return Refused("bad_input", words["text"], words=words, **more)
    number = secrets.token_hex(4)
    told = "".join(traceback.format_exception(error))
    say(f"Error {number} in bckm app:\n{told}", err=True)
    message = f"something went wrong inside bckm (number {number}, see the terminal)."
    return Refused("internal", message, id=number)
