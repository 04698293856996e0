"""Capacities, quotas and linear rows in one list, as `Constraints` take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bckm


def stated(blocks: Sequence[Any]) -> dict[str, Any]:
    """Arguments of `Constraints`; capacities are called load, load 1, load 2, ..."""
    capacities = [one for one in blocks if isinstance(one, bckm.Capacity)]
    return {
        "capacities": {f"load {at}" if at else "load": one for at, one in enumerate(capacities)},
        "quotas": [one for one in blocks if isinstance(one, bckm.Quota)],
        "linear": [one for one in blocks if isinstance(one, bckm.LinearRows)],
    }
