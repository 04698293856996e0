"""Steps of a fit as columns, for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bckm._core.status import Status
from bckm._storage.fields import Fields, narrow
from bckm.fit.result import Step

_WHOLE = ("start", "iteration", "moved")
_NUMBERS = ("inertia", "assigned", "lower_bound", "seconds")


def history_tree(history: Sequence[Step]) -> dict[str, Any]:
    """Steps as columns."""
    return {
        **{name: narrow([getattr(step, name) for step in history]) for name in _WHOLE},
        **{name: np.array([getattr(step, name) for step in history], float) for name in _NUMBERS},
        "status": [step.status.value for step in history],
        "kind": [step.kind for step in history],
    }


def read_history(fields: Fields) -> tuple[Step, ...]:
    """Steps from their columns."""
    status, kind = fields.texts("status"), fields.texts("kind")
    if set(kind) - {"assign", "moves"}:
        raise ValueError("a step is of no known kind")
    columns = {name: fields.whole_numbers(name, len(status)).tolist() for name in _WHOLE}
    columns |= {name: fields.floats(name, (len(status),), False).tolist() for name in _NUMBERS}
    return tuple(
        Step(status=Status(word), kind=what, **dict(zip(columns, values, strict=True)))
        for word, what, *values in zip(status, kind, *columns.values(), strict=True)
    )
