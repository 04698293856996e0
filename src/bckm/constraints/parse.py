"""Reading what a person states about single samples and clusters, and blocks of statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bckm.constraints.read_links import read_sample
from bckm.constraints.rules import ClusterNames
from bckm.constraints.statements import Capacity


class Frozen:
    """An object whose attributes do not change."""

    __slots__: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Constraints are immutable; add rules with & instead of {name}=.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Constraints are immutable; {name} cannot be deleted.")

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)


def read_fixed(pairs: Any, kind: Any, by: str, names: ClusterNames | None) -> tuple[Any, ...]:
    """Read pairs of a sample and a cluster, or a mapping from one to the other."""
    what = kind.__name__.lower()
    if pairs is None:
        return ()
    if hasattr(pairs, "to_numpy"):
        pairs = pairs.to_numpy()
    if isinstance(pairs, np.ndarray):
        pairs = pairs.tolist()
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise TypeError(f"{what} must contain pairs (sample, cluster); got {pairs!r}.")
    read = []
    labels = None if names is None else {name: at for at, name in enumerate(names)}
    for pair in pairs.items() if isinstance(pairs, Mapping) else pairs:
        if isinstance(pair, str | bytes) or not isinstance(pair, Iterable):
            raise ValueError(f"{what} must contain pairs (sample, cluster); got {pair!r}.")
        two = tuple(pair)
        if len(two) != 2:
            raise ValueError(f"{what} must contain pairs (sample, cluster); got {pair!r}.")
        cluster = _cluster(two[1], what, pair, labels)
        read.append(kind(read_sample(two[0], what, by, pair), cluster))
    return tuple(dict.fromkeys(read))


def _cluster(cluster: Any, what: str, pair: Any, labels: dict[str | int, int] | None) -> int:
    """The label of a cluster; where clusters have names, they are called by these alone."""
    if isinstance(cluster, np.generic):
        cluster = cluster.item()
    whole = isinstance(cluster, int) and not isinstance(cluster, bool)
    if labels is not None:
        if (whole or isinstance(cluster, str)) and cluster in labels:
            return labels[cluster]
        some = ", ".join(map(repr, list(labels)[:6])) + (", ..." if len(labels) > 6 else "")
        raise ValueError(
            f"{what} refers to cluster {cluster!r} in {pair!r}; cluster names are {some}."
        )
    if isinstance(cluster, str):
        raise ValueError(f"{what} refers to cluster {cluster!r}, but cluster_names is not given.")
    if not whole or cluster < 0:
        raise ValueError(f"{what} expects clusters of at least 0; got {cluster!r} in {pair!r}.")
    return int(cluster)


def read_cluster_names(names: Any) -> ClusterNames | None:
    """Read names of clusters: text or whole numbers, all different."""
    if names is None:
        return None
    if isinstance(names, str | bytes | Mapping) or not isinstance(names, Iterable):
        raise TypeError(f"cluster_names must be a list with one name per cluster; got {names!r}.")
    texts = tuple(name.item() if isinstance(name, np.generic) else name for name in names)
    for name in texts:
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise TypeError(f"cluster_names must be text or whole numbers; got {name!r}.")
    if len(set(texts)) < len(texts):
        twice = next(name for name in texts if texts.count(name) > 1)
        raise ValueError(f"cluster_names contains {twice!r} more than once; names must be unique.")
    if not texts:
        raise ValueError("cluster_names is empty; give one name per cluster.")
    return texts


def read_capacities(capacities: Any, by: str) -> tuple[Capacity, ...]:
    """Read capacities by name."""
    if capacities is None:
        return ()
    if not isinstance(capacities, Mapping):
        raise TypeError(
            "capacities must be a mapping of names to bckm.Capacity, as in "
            f'{{"kg": Capacity(kg, max=500)}}; got {capacities!r:.60}.'
        )
    for name, capacity in capacities.items():
        if not isinstance(name, str) or not isinstance(capacity, Capacity):
            raise TypeError(
                "capacities must be a mapping of names to bckm.Capacity; got "
                f"{name!r}: {capacity!r:.60}."
            )
    named = [capacity.named(name) for name, capacity in capacities.items()]
    return read_blocks(named, Capacity, "", by)


def read_blocks(blocks: Any, kind: Any, words: str, by: str) -> tuple[Any, ...]:
    """Read one statement or a list of them; keys of a mapping are ids, never positions."""
    if blocks is None:
        return ()
    listed = tuple(blocks) if isinstance(blocks, list | tuple) else (blocks,)
    for block in listed:
        if not isinstance(block, kind):
            raise TypeError(f"{words}, one or a list; got {block!r:.60}.")
        if by == "position" and getattr(block, "keyed", False) and block.ids is not None:
            raise ValueError(
                f"{block.what} of {block.name!r} are a mapping, whose keys are sample ids: use "
                "by='sample_id', or give a list in the order of the rows of X."
            )
    return listed
