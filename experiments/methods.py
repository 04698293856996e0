"""The methods of the comparison, each as a function from task and seed to labels."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from sklearn.cluster import KMeans

import bckm
from bckm.methods import METHODS
from experiments.objective import Fit, Task


def _links(task: Task) -> dict[str, object]:
    return {
        "must_link": task.constraints.must_link,
        "cannot_link": task.constraints.cannot_link,
    }


def _method(name: str, **options: object) -> Fit:
    def fit(task: Task, seed: int) -> np.ndarray:
        model = METHODS[name](task.n_clusters, random_state=seed, **options)
        return model.fit(task.X, **_links(task)).labels_

    return fit


def _hkc(task: Task, seed: int) -> np.ndarray:  # noqa: ARG001
    return METHODS["HKC"](task.n_clusters).fit(task.X).labels_


def _ckm(task: Task, seed: int) -> np.ndarray:
    size = task.y.size // task.n_clusters
    model = METHODS["CKM"](task.n_clusters, size_min=size, random_state=seed)
    return model.fit(task.X, **_links(task)).labels_


def _bckm(task: Task, seed: int) -> np.ndarray:
    """The paper's method: its pump, started from plain k-means (which is part of its time)."""
    first = KMeans(task.n_clusters, n_init=10, max_iter=100, random_state=seed).fit(task.X)
    result = bckm.kmeans(
        task.X,
        task.n_clusters,
        task.constraints,
        solver="pump",
        search="none",
        init=first.cluster_centers_,
        random_state=seed,
    )
    return result.labels


def _auto(task: Task, seed: int) -> np.ndarray:
    """The library as it comes, with no option set."""
    return bckm.kmeans(task.X, task.n_clusters, task.constraints, random_state=seed).labels


def _learned(task: Task, seed: int) -> np.ndarray:
    """The same, with the metric that it learns from the links."""
    result = bckm.kmeans(
        task.X, task.n_clusters, task.constraints, metric="learned", random_state=seed
    )
    return result.labels


FITS: dict[str, Fit] = {
    "KM": _method("KM"),
    "CKSC": _method("CKSC"),
    "HKC": _hkc,
    "BKM": _method("BKM"),
    "CKM": _ckm,
    "BCLS": _method("BCLS"),
    "COP": _method("COP"),
    "BCKM": _bckm,
    "auto": _auto,
    "learned": _learned,
}


def add(place: str) -> str:
    """Bring in somebody's own method, ``module:function``, under the function's name.

    The function takes a `Task` and a seed and returns labels; its time is that of the call.
    """
    module, _, name = place.partition(":")
    if not name:
        raise ValueError(f"{place!r} is not of the form module:function.")
    fit = getattr(import_module(module), name, None)
    if not callable(fit):
        raise ValueError(f"the module {module!r} has no function {name!r}.")
    if name in FITS:
        raise ValueError(f"there is already a method called {name!r}; name yours otherwise.")
    FITS[name] = fit
    return name
