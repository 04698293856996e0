"""`ConstrainedKMeans` as a tree: its parameters, and what `predict` and `assign` need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bckm._core.validation import (
    read_cluster_count,
    read_numbers,
    read_sizes,
)
from bckm._storage.fields import Fields, mapping_of
from bckm.archive._result import read_result, result_tree
from bckm.constraints.tree import Pool
from bckm.estimator import ConstrainedKMeans
from bckm.estimator.fitted_bounds import FittedBounds
from bckm.fit.parameters import SETTINGS, read_setting
from bckm.metric.embedding import Metric
from bckm.metric.named import is_learned, read_metric
from bckm.metric.tree import metric_tree, read_metric_tree

_OUTPUT = "_sklearn_output_config"  # what `set_output` leaves
_OUTPUTS = ("default", "pandas", "polars")


def model_tree(model: ConstrainedKMeans, pool: Pool) -> dict[str, Any]:
    """Parameters, and the fit if there was one."""
    if callable(model.init):
        raise TypeError("init is a callable, which cannot be saved; set it to centers or a name.")
    params = {name: _param(value) for name, value in model.get_params(deep=False).items()}
    _check_params(params)
    if isinstance(params["metric"], Metric):
        params["metric"] = metric_tree(params["metric"])
    tree = {"params": params, "output": getattr(model, _OUTPUT, None), "fit": None}
    if not hasattr(model, "result_"):
        return tree
    names = getattr(model, "feature_names_in_", None)
    tree["fit"] = {
        "result": result_tree(model.result_, pool),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "dropped": list(model.dropped_rules_),
        "weight": model._weight,
        "bounds": model._bounds.to_tree(),
    }
    return tree


def read_model(fields: Fields, pool: Pool) -> ConstrainedKMeans:
    """A `ConstrainedKMeans` from a file."""
    params = dict(mapping_of(fields["params"], "params"))
    if isinstance(params.get("metric"), dict):
        params["metric"] = read_metric_tree(Fields(params["metric"], "the metric"))
    if unknown := set(params) - set(_PARAMS):
        raise ValueError(f"unknown parameter {min(unknown)!r:.60}")
    _check_params(params)
    model = ConstrainedKMeans(**params)
    if fields["output"] is not None:
        output = fields.of("output")
        if any(output.text(key) not in _OUTPUTS for key in output.tree):
            raise ValueError("the output has an unknown kind")
        setattr(model, _OUTPUT, dict(output.tree))
    if fields["fit"] is not None:
        _fit(model, fields.of("fit"), pool)
    return model


def _capacity(value: Any, what: str) -> None:
    """Bounds on the load of each resource."""
    if isinstance(value, Mapping):
        for name, bound in value.items():
            _capacity(bound, f"{what} of {name!r:.60}")
    elif value is not None and read_numbers(value, what, finite=False).ndim > 2:
        raise ValueError(f"{what} must be one number, or one per cluster.")


def _metric(value: Any, _: str) -> None:
    if not is_learned(value):
        read_metric(value)


def _verbose(value: Any, what: str) -> None:
    if not isinstance(value, int | np.integer | np.bool_):
        raise ValueError(f"{what} must be a whole number; got {value!r:.60}.")


# what a file may hold of each parameter: what a fit would not refuse whatever the data are
_PARAMS: dict[str, Callable[[Any, str], object]] = {
    "n_clusters": lambda value, _: read_cluster_count(value),
    "size_min": read_sizes,
    "size_max": read_sizes,
    "capacity_min": _capacity,
    "capacity_max": _capacity,
    **{setting.name: lambda value, name: read_setting(name, value) for setting in SETTINGS},
    "metric": _metric,
    "verbose": _verbose,
}


def _check_params(params: Mapping[str, Any]) -> None:
    for name, value in params.items():
        _PARAMS[name](value, name)


def _param(value: Any) -> Any:
    """Parameters as they are; frames and the like as arrays; a generator not at all.

    Of a fitted `bckm.LearnedMetric` its metric.
    """
    if isinstance(found := getattr(value, "metric_", None), Metric):
        return found
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy())
    return value


def _fit(model: ConstrainedKMeans, fields: Fields, pool: Pool) -> None:
    """Set what `fit` sets."""
    result = read_result(fields.of("result"), pool)
    d = fields.whole("n_features")
    if result.centers.shape[1] != d:
        raise ValueError(f"centers have {result.centers.shape[1]} features instead of {d}")
    names = None if fields["feature_names"] is None else fields.texts("feature_names")
    if names is not None and len(names) != d:
        raise ValueError(f"there are {len(names)} names for {d} features")
    model.n_features_in_ = d
    if names is not None:
        model.feature_names_in_ = np.array(names, object)
    model.dropped_rules_ = tuple(fields.texts("dropped"))
    model.n_dropped_ = len(model.dropped_rules_)
    model._space = result.metric
    model._weight = fields.amount("weight")
    if not model._weight:
        raise ValueError("all weights of the fit are 0")
    model._bounds = FittedBounds.from_tree(fields.of("bounds"), len(result.centers))
    model._copy(result)
