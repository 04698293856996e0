"""`ConstrainedKMeans` as a tree: its parameters, and what `predict` and `assign` need."""

from __future__ import annotations

from typing import Any

import numpy as np

from bckm._fields import Fields, mapping_of, narrow, scalar
from bckm._scaling import Bounds, _Total
from bckm.archive._result import read_result, result_tree
from bckm.archive._statements import Pool
from bckm.estimators import ConstrainedKMeans
from bckm.metric import read_metric

_SIDES = ("size_min", "size_max")
_OUTPUT = "_sklearn_output_config"  # what `set_output` leaves


def model_tree(model: ConstrainedKMeans, pool: Pool) -> dict[str, Any]:
    """Parameters, and the fit if there was one."""
    params = {name: _param(one) for name, one in model.get_params(deep=False).items()}
    tree = {"params": params, "output": getattr(model, _OUTPUT, None), "fit": None}
    if not hasattr(model, "result_"):
        return tree
    names = getattr(model, "feature_names_in_", None)
    tree["fit"] = {
        "result": result_tree(model.result_, pool),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(one) for one in names],
        "dropped": list(model.dropped_rules_),
        "metric": model._space.name,
        "weight": model._weight,
        "bounds": _bounds_tree(model._bounds),
    }
    return tree


def read_model(fields: Fields, pool: Pool) -> ConstrainedKMeans:
    """A `ConstrainedKMeans` from a file."""
    params = mapping_of(fields["params"], "params")
    known = set(ConstrainedKMeans().get_params(deep=False))
    if unknown := set(params) - known:
        raise ValueError(f"there is no parameter {min(unknown)!r:.60}")
    model = ConstrainedKMeans(**params)
    if fields["output"] is not None:
        setattr(model, _OUTPUT, dict(mapping_of(fields["output"], "output")))
    if fields["fit"] is not None:
        _fit(model, fields.of("fit"), pool)
    return model


def _param(value: Any) -> Any:
    """Parameters as they are; frames and the like as arrays; a generator not at all."""
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy())
    return value


def _fit(model: ConstrainedKMeans, fields: Fields, pool: Pool) -> None:
    """Set what `fit` sets."""
    result = read_result(fields.of("result"), pool)
    d = fields.whole("n_features")
    if result.centres.shape[1] != d:
        raise ValueError(f"centres have {result.centres.shape[1]} features instead of {d}")
    names = None if fields["feature_names"] is None else fields.texts("feature_names")
    if names is not None and len(names) != d:
        raise ValueError(f"there are {len(names)} names for {d} features")
    space = read_metric(fields.text("metric"))
    if space.embedded(result.centres).shape != result.embedded.shape:
        raise ValueError(f"embedded centres do not fit the metric {space.name!r}")
    model.n_features_in_ = d
    if names is not None:
        model.feature_names_in_ = np.array(names, object)
    model.dropped_rules_ = tuple(fields.texts("dropped"))
    model.n_dropped_ = len(model.dropped_rules_)
    model._space = space
    model._weight = fields.number("weight")
    model._bounds = _bounds(fields.of("bounds"), len(result.centres))
    model._copy(result)


def _bounds_tree(bounds: Bounds) -> dict[str, Any]:
    sizes = {side: None if one is None else narrow(one) for side, one in bounds._sizes.items()}
    totals = [
        {
            "name": scalar(name, "the name"),
            **{side: None if one is None else np.asarray(one, float) for side, one in sides},
            "total": total.total,
            "whole": total.whole,
        }
        for name, total in bounds._totals.items()
        for sides in [total.bounds.items()]
    ]
    return {"sizes": sizes, "samples": bounds._n, "totals": totals}


def _bounds(fields: Fields, n_clusters: int) -> Bounds:
    bounds: Bounds = object.__new__(Bounds)
    sizes = fields.of("sizes")
    bounds._sizes = {side: sizes.bound(side, whole=True) for side in _SIDES}
    bounds._n = fields.whole("samples")
    bounds._totals = {}
    for tree in fields.all("totals"):
        one = Fields(tree, "a demand")
        sides = {side: one.bound(side) for side in _SIDES}
        bounds._totals[one["name"]] = _Total(sides, one.number("total"), one.flag("whole"))
        _check_sizes(sides, n_clusters)
    _check_sizes(bounds._sizes, n_clusters)
    if bounds._n < 1:
        raise ValueError("the fit had no samples")
    return bounds


def _check_sizes(sides: dict[str, Any], n_clusters: int) -> None:
    for side, one in sides.items():
        if one is not None and one.ndim and one.size != n_clusters:
            raise ValueError(f"{side} has {one.size} values for {n_clusters} clusters")
