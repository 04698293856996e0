"""Values of any kind as numbers of categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bckm._core.types import IntArray


def categorize(values: Any, what: str) -> tuple[list[Any], IntArray]:
    """Number the different values; None, NaN and what is masked are none of them (-1)."""
    if isinstance(values, Mapping):
        raise ValueError(f"{what} must be one value per sample in row order; got a mapping.")
    if hasattr(values, "to_list"):
        values = values.to_list()
    array = values.tolist() if isinstance(values, np.ndarray) else list(values)
    unknown = (None, np.ma.masked)
    known = [
        None if any(value is nothing for nothing in unknown) or value != value else value
        for value in array
    ]
    try:
        different: set[Any] = set(known) - {None}
    except TypeError as error:
        raise ValueError(f"{what} must be one value per sample: {error}.") from None
    try:
        categories = sorted(different)
    except TypeError:  # numbers and strings
        categories = sorted(different, key=lambda value: (str(type(value)), repr(value)))
    number = {category: at for at, category in enumerate(categories)}
    return categories, np.array([number.get(value, -1) for value in known], np.int64)
