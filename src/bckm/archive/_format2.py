"""Files of format 2 as trees of format 3: a result knows its metric."""

from __future__ import annotations

from typing import Any

import numpy as np


def upgraded(content: dict[str, Any]) -> dict[str, Any]:
    """What a file of format 2 holds, in the words of format 3."""
    new = dict(content)
    if "result" in new:
        new["result"] = _of(new["result"], _seen(new["result"]))
    if "study" in new:
        new["study"] = _moved(new["study"])
    if "model" in new and new["model"]["fit"]:
        new["model"] = {**new["model"], "fit": _moved(new["model"]["fit"])}
    return new


def _moved(tree: dict[str, Any]) -> dict[str, Any]:
    """The metric of a study or a fit is that of its result."""
    return {**tree, "result": _of(tree["result"], tree["metric"])}


def _of(result: dict[str, Any], name: str) -> dict[str, Any]:
    return {**result, "metric": {"name": name, "judgment": None}}


def _seen(result: dict[str, Any]) -> str:
    """A result alone did not say its metric, but its centers show it."""
    centers, embedded = result["centers"], result["embedded"]
    if np.array_equal(centers, embedded):
        return "euclidean"
    if np.shape(embedded)[1] == np.shape(centers)[1]:
        return "cosine"
    return "latlon" if (np.abs(embedded) > 1).any() else "haversine"
