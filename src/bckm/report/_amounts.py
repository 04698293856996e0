"""What clusters hold, in words: a value beyond its bound is told with the digits that show it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bckm.report.words import beyond, exact, number, share
from bckm.study import views


def writer(amount: views.Amount) -> Callable[[float], str]:
    """How values of an amount are written."""
    return _percent if amount.kind == "share" else number


def bound_writer(amount: views.Amount) -> Callable[[float], str]:
    """How its bounds are written: in full where a cluster is beyond them."""
    if not amount.broken.any():
        return writer(amount)
    return _whole_percent if amount.kind == "share" else exact


def _percent(value: float) -> str:
    return share(value, 2)


def _whole_percent(value: float) -> str:
    return share(value, 6)


def held(amount: views.Amount) -> list[str]:
    """What each cluster holds."""
    write, found = writer(amount), []
    rows = np.stack([amount.values, *amount.limits], axis=1).tolist()
    for (value, low, high), wrong in zip(rows, amount.broken, strict=True):
        bound = low if value < low or amount.upper is None else high
        if not wrong:
            found.append(write(value))
        elif amount.kind == "share":
            found.append(beyond(value, bound, share))
        else:
            found.append(beyond(value, bound))
    return found
