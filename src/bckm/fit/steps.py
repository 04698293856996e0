"""Steps of a fit as columns, and how they ended, for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bckm._core.status import Status
from bckm._storage.fields import Fields, narrow
from bckm.fit.result import Step

_WHOLE = ("start", "iteration", "moved")
# columns in files, and what they are called now
_NUMBERS = {
    "inertia": "objective",
    "assigned": "assigned",
    "lower_bound": "lower_bound",
    "seconds": "seconds",
}


def read_status(word: str) -> Status:
    """A status from a file; in old ones it has spaces."""
    return Status(word.replace(" ", "_"))


def history_tree(history: Sequence[Step]) -> dict[str, Any]:
    """Steps as columns."""
    return {
        **{name: narrow([getattr(step, name) for step in history]) for name in _WHOLE},
        **{
            column: np.array([getattr(step, name) for step in history], float)
            for column, name in _NUMBERS.items()
        },
        "status": [step.status.value for step in history],
        "kind": [step.kind for step in history],
    }


def read_history(fields: Fields) -> tuple[Step, ...]:
    """Steps from their columns."""
    status, kind = fields.texts("status"), fields.texts("kind")
    if set(kind) - {"assign", "moves"}:
        raise ValueError("a step has an unknown kind")
    columns = {name: fields.whole_numbers(name, len(status)).tolist() for name in _WHOLE}
    columns |= {
        name: fields.floats(column, (len(status),), False).tolist()
        for column, name in _NUMBERS.items()
    }
    return tuple(
        Step(status=read_status(word), kind=what, **dict(zip(columns, values, strict=True)))
        for word, what, *values in zip(status, kind, *columns.values(), strict=True)
    )
