"""Sentences for the page: a key and values, which it words in the person's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bckm._core.note import Note
from bckm._core.terminal import clean
from bckm.tables import Problem

MOST_ROWS = 1000  # of a problem


def note_tree(note: str, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A note that the page words by its key; values may be notes themselves.

    `names` says what people call files, by what they are called here.
    """

    def told(value: Any) -> Any:
        if isinstance(value, Note):
            return note_tree(value, names)
        if not isinstance(value, str):
            return value
        for stored, name in (names or {}).items():
            value = value.replace(stored, name)
        return clean(value)

    found: dict[str, Any] = {"text": told(str(note))}
    if isinstance(note, Note):
        found["key"] = note.key
        found["values"] = {name: told(value) for name, value in note.values.items()}
    return found


def problem_tree(problem: Problem, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What is wrong with cells, as the page hears it."""
    return {
        "kind": problem.kind,
        "column": problem.column,
        "rows": list(problem.rows[:MOST_ROWS]),
        "message": note_tree(problem.message, names),
        "remedies": [
            {"key": one.key, "text": one.text, "change": dict(one.change)}
            for one in problem.remedies
        ],
    }
