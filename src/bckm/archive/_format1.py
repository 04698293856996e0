"""Files of format 1 as trees of format 2: other words, and a demand changed what sizes meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_SIDES = ("min", "max")
_METRICS = {"haversine": "latlon"}
_SOLVERS = {"prices": "lagrangian"}


def upgraded(content: dict[str, Any]) -> dict[str, Any]:
    """What a file of format 1 holds, in the words of format 2."""
    new = {**content, "statements": [_statement(one) for one in content["statements"]]}
    if "result" in new:
        new["result"] = _result(new["result"])
    if "study" in new:
        study = new["study"]
        new["study"] = {
            **study,
            "result": _result(study["result"]),
            "constraints": _constraints(study["constraints"]),
            "metric": _METRICS.get(study["metric"], study["metric"]),
        }
    if "model" in new:
        new["model"] = _model(new["model"])
    return new


def _statement(tree: dict[str, Any]) -> dict[str, Any]:
    if tree["kind"] != "AttributeSum":
        return tree
    sides = {"min": tree["lower"], "max": tree["upper"]}
    return {**tree, **sides, "kind": "Capacity", "name": str(tree["name"])}


def _result(tree: dict[str, Any]) -> dict[str, Any]:
    return {
        **tree,
        "centers": tree["centres"],
        "solver": _SOLVERS.get(tree["solver"], tree["solver"]),
        "assignment_status": tree["assignment"],
        "violated": [{**one, "rule": _rule(one["rule"])} for one in tree["given_up"]],
        "cluster_names": None,
    }


def _rule(tree: dict[str, Any]) -> dict[str, Any]:
    return {**tree, "rule": "CapacityBound"} if tree["rule"] == "SumBound" else tree


def _constraints(tree: dict[str, Any]) -> dict[str, Any]:
    softened = [
        {**part, "constraints": _constraints(part["constraints"])} for part in tree["softened"]
    ]
    return {**tree, "statements": tree["rows"], "softened": softened, "cluster_names": None}


def _model(tree: dict[str, Any]) -> dict[str, Any]:
    """Sizes that bounded the sum of a demand are capacities."""
    params, fit = dict(tree["params"]), tree["fit"]
    label_bounds = params.pop("bounds", "matched")
    params["label_bounds"] = "given" if label_bounds == "fixed" else label_bounds
    for name, words in (("metric", _METRICS), ("solver", _SOLVERS)):
        if isinstance(params.get(name), str):
            params[name] = words.get(params[name], params[name])
    sides = [params.get(f"size_{side}") for side in _SIDES]
    of_demand = bool(fit["bounds"]["totals"]) if fit else any(map(_no_sizes, sides))
    if of_demand:
        for side in _SIDES:
            params[f"capacity_{side}"] = params.pop(f"size_{side}", None)
        if params["capacity_min"] is not None:  # it allowed empty clusters
            params["size_min"] = 0
    if fit:
        totals = [
            {**one, **{f"capacity_{side}": one[f"size_{side}"] for side in _SIDES}}
            for one in fit["bounds"]["totals"]
        ]
        bounds = {**fit["bounds"], "totals": totals}
        metric = _METRICS.get(fit["metric"], fit["metric"])
        fit = {**fit, "result": _result(fit["result"]), "bounds": bounds, "metric": metric}
    return {**tree, "params": params, "fit": fit}


def _no_sizes(bound: Any) -> bool:
    if bound is None or isinstance(bound, Mapping):
        return bound is not None
    return bool((np.asarray(bound) % 1 != 0).any())
