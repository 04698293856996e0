"""Everything that a result, model or study holds, as JSON values: for comparisons."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import bckm
from bckm.constraints.links import Link, Links
from bckm.constraints.relabel import Dropped


def tell(thing):
    if isinstance(thing, Enum):
        return thing.value
    if thing is None or isinstance(thing, bool | int | str):
        return thing
    if isinstance(thing, float):
        return repr(thing)
    if isinstance(thing, np.generic):
        return [str(thing.dtype), tell(thing.item())]
    if isinstance(thing, np.ndarray):
        return [str(thing.dtype), list(thing.shape), [tell(one) for one in thing.ravel().tolist()]]
    if sp.issparse(thing):
        return ["sparse", tell(thing.toarray())]
    if isinstance(thing, Link):
        return ["Link", [tell(one) for one in thing], thing.why, tell(thing.ids), thing.among]
    if isinstance(thing, Links | Dropped):
        return tell(tuple(thing))
    if isinstance(thing, list | tuple):
        return [type(thing).__name__, *(tell(one) for one in thing)]
    if isinstance(thing, dict):
        return {str(key): tell(thing[key]) for key in sorted(thing, key=str)}
    if isinstance(thing, np.random.Generator | np.random.RandomState):
        return None  # not kept
    if is_dataclass(thing):
        found = {one.name: tell(getattr(thing, one.name)) for one in fields(thing)}
        if isinstance(thing, bckm.Study):  # once a field
            found["metric"] = thing.metric
        return {"is": type(thing).__name__, **found}
    if isinstance(thing, bckm.Constraints):
        return {
            "is": "Constraints",
            **{name: tell(getattr(thing, name)) for name in thing.__slots__},
        }
    if isinstance(thing, BaseEstimator):
        learned = {k: v for k, v in vars(thing).items() if k not in thing.get_params()}
        return {"is": "model", "params": tell(thing.get_params()), "learned": tell(learned)}
    values = {"called": None, **vars(thing)} if hasattr(thing, "called") else vars(thing)
    return {"is": type(thing).__name__, **tell(values)}


def told(thing) -> str:
    return json.dumps(tell(thing), indent=1, sort_keys=True) + "\n"
