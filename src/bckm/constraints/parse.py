"""Reading what a person states about samples: links, groups, labels, capacities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from bckm.constraints.rules import ClusterNames
from bckm.constraints.statements import Capacity, categorize


class Link(tuple[Any, ...]):
    """Samples that a link names; `why` says in which words, `ids` what they were called.

    One that comes from values per sample knows of how many: it is `among` these.
    """

    why: str
    ids: tuple[Any, ...] | None
    among: int | None

    def __new__(
        cls,
        samples: Iterable[Any],
        why: str = "",
        ids: tuple[Any, ...] | None = None,
        among: int | None = None,
    ) -> Link:
        """Name samples."""
        link = super().__new__(cls, samples)
        link.why, link.ids, link.among = why, ids, among
        return link

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (tuple(self), self.why, self.ids, self.among)


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


def read_links(links: Any, what: str, by: str) -> tuple[Link, ...]:
    """Read pairs or sets of samples; nothing here depends on the number of samples."""
    if links is None:
        return ()
    if hasattr(links, "to_numpy"):  # pandas and polars
        links = links.to_numpy()
    no_list = isinstance(links, str | bytes) or not isinstance(links, Iterable)
    if no_list or (isinstance(links, np.ndarray) and links.ndim == 0):
        raise TypeError(f"{what} must contain pairs or sets of sample indices; got {links!r}.")
    read: list[Link] = []
    for link in links.tolist() if isinstance(links, np.ndarray) else links:
        if isinstance(link, str | bytes) or not isinstance(link, Iterable):
            raise ValueError(
                f"{what} must contain pairs or sets of sample indices; got the single value "
                f"{link!r}. For one pair, write {what}=[(a, b)]."
            )
        members = [_sample(p, what, by, link) for p in link]
        if not members:
            raise ValueError(f"{what} contains an empty link.")
        # sets have no order of their own; sorting makes messages and results repeatable
        ordered = sorted(members, key=_key) if isinstance(link, set | frozenset) else members
        read.append(Link(ordered, link.why) if isinstance(link, Link) else Link(ordered))
    return tuple(read)


def read_together(links: Any, by: str) -> tuple[Link, ...]:
    """Read must-links; a sample named twice counts once."""
    read = read_links(links, "must_link", by)
    return tuple(Link(dict.fromkeys(link), link.why) for link in read)


def read_apart(links: Any, by: str) -> tuple[Link, ...]:
    """Read cannot-links; no sample can be apart from itself."""
    read = read_links(links, "cannot_link", by)
    for samples in read:
        if len(set(samples)) < len(samples):
            twice = next(p for p in samples if samples.count(p) > 1)
            raise ValueError(f"cannot_link separates sample {twice!r} from itself.")
    return read


def _key(sample: Any) -> tuple[str, Any]:
    return (
        type(sample).__name__,
        sample if isinstance(sample, int | float | str) else repr(sample),
    )


def _sample(p: Any, what: str, by: str, where: Any) -> Any:
    if by == "sample_id":
        p = p.item() if isinstance(p, np.generic) else p
        try:
            hash(p)
        except TypeError:
            raise ValueError(f"{what} expects sample ids; {p!r} cannot be one.") from None
        return p
    if isinstance(p, bool | np.bool_) or not isinstance(p, int | np.integer):
        raise ValueError(
            f"{what} expects sample indices (integers); got {p!r} in {where!r}. "
            "Use by='sample_id' for rules about ids."
        )
    if p < 0:
        raise ValueError(
            f"{what} expects sample indices of at least 0; got {p} (negative indices do not count "
            f"from the end)."
        )
    return int(p)


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
        read.append(kind(_sample(two[0], what, by, pair), cluster))
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


def group_links(groups: Any, by: str) -> tuple[Link, ...]:
    """One link per group of several samples."""
    if groups is None:
        return ()
    names: list[Any] | range
    if by == "sample_id":
        if not hasattr(groups, "items"):
            raise ValueError("with by='sample_id', groups must be a mapping of ids to groups.")
        pairs = list(groups.items())
        names, groups = [name for name, _ in pairs], [group for _, group in pairs]
    categories, number = categorize(groups, "groups")
    names = names if by == "sample_id" else range(number.size)
    order = np.argsort(number, kind="stable")
    cuts = np.searchsorted(number[order], np.arange(len(categories) + 1))
    members = [order[a:b] for a, b in pairwise(cuts)]
    among = None if by == "sample_id" else number.size
    return tuple(
        Link([names[p] for p in part], f"group {name!r}", among=among)
        for name, part in zip(categories, members, strict=True)
        if part.size > 1
    )


def label_links(y: Any, every_pair: bool) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
    """Must-links and cannot-links of partial labels; -1 is unknown.

    Samples of one label are together, so one of each suffices to keep labels apart; unless these
    links may be violated, and every pair counts.
    """
    labels, number = categorize(y, "y")
    unknown = [
        at for at, label in enumerate(labels) if isinstance(label, int | float) and label == -1
    ]
    number = np.where(np.isin(number, unknown), -1, number)
    members = [np.flatnonzero(number == at).tolist() for at in range(len(labels))]
    together = tuple(
        Link(samples, f"label {labels[at]!r}", among=number.size)
        for at, samples in enumerate(members)
        if len(samples) > 1
    )
    if every_pair:
        known = np.flatnonzero(number >= 0)
        a, b = (known[side] for side in np.triu_indices(known.size, 1))
        differ = number[a] != number[b]
        pairs = zip(a[differ].tolist(), b[differ].tolist(), strict=True)
        return together, tuple(Link(pair, "labels", among=number.size) for pair in pairs)
    first = [samples[0] for samples in members if samples]
    return together, (Link(first, "labels", among=number.size),) if len(first) > 1 else ()
