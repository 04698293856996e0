"""Words of format 1 for which the library has others now; files keep theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

METRICS = {"latlon": "haversine", "haversine": "haversine in radians"}
SOLVERS = {"lagrangian": "prices"}
_PARAMS = {"label_bounds": "bounds"}  # names of parameters
_VALUES: dict[str, Mapping[str, str]] = {  # and their values
    "metric": METRICS,
    "solver": SOLVERS,
    "label_bounds": {"given": "fixed"},
}


def written(value: Any, words: Mapping[str, str]) -> Any:
    """What files call it."""
    return words.get(value, value) if isinstance(value, str) else value


def read(value: Any, words: Mapping[str, str]) -> Any:
    """What the library calls it."""
    return written(value, {theirs: ours for ours, theirs in words.items()})


def params_written(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a model as files have them."""
    return {
        written(name, _PARAMS): written(value, _VALUES.get(name, {}))
        for name, value in params.items()
    }


def params_read(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a model from a file."""
    ours = {read(name, _PARAMS): value for name, value in params.items()}
    return {name: read(value, _VALUES.get(name, {})) for name, value in ours.items()}
