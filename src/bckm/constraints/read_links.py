"""Reading what a person states about samples that are linked: pairs, sets, groups, labels.

Each door makes arrays in one pass. Only where something is wrong, or of an unusual type, is every
link read on its own, and the first offender named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import IntArray
from bckm.constraints.links import Block, Link, Links, narrow_samples, object_array, starts_of
from bckm.constraints.statements import categorize

_PLAIN = frozenset((list, tuple, set, frozenset, Link, range))  # may be read again and have lengths
_SETS = (set, frozenset)
_NAMES = frozenset((int, str, float, bool, bytes, type(None)))  # ids that need no look


def read_together(links: Any, by: str) -> Links:
    """Read must-links; a sample named twice counts once."""
    block = _read(links, "must_link", by)
    if block is None:
        return Links()
    if _first_repeated(block) is None:
        return Links([block])
    once = [tuple(dict.fromkeys(link)) for link in block]
    why = [link.why for link in block] if block.reason is not None else block.words
    length = np.fromiter(map(len, once), np.int64, len(once))
    return Links([Block.of(_members(chain.from_iterable(once)), length, why)])


def read_apart(links: Any, by: str) -> Links:
    """Read cannot-links; no sample can be apart from itself."""
    block = _read(links, "cannot_link", by)
    if block is None:
        return Links()
    at = _first_repeated(block)
    if at is not None:
        samples = block[at]
        twice = next(p for p in samples if samples.count(p) > 1)
        raise ValueError(f"cannot_link separates sample {twice!r} from itself.")
    return Links([block])


def _first_repeated(block: Block) -> int | None:
    """The first link that names a sample twice."""
    pairs, numbers = block.pairs()
    found = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    first = [] if not found.size else [int(found[0] if numbers is None else numbers[found[0]])]
    if block.starts is not None:
        sets, numbers = block.larger()
        if sets.samples.dtype == object:
            twice = [at for at, link in enumerate(sets) if len(set(link)) < len(link)]
        else:
            of = np.repeat(np.arange(len(sets)), sets.length)
            order = np.lexsort((sets.samples, of))
            same = (np.diff(sets.samples[order]) == 0) & (np.diff(of[order]) == 0)
            twice = [int(at) for at in of[order][1:][same][:1]]
        first += [int(numbers[at]) for at in twice[:1]]
    return min(first, default=None)


def _read(links: Any, what: str, by: str) -> Block | None:
    """Read pairs or sets of samples; nothing here depends on the number of samples."""
    if links is None:
        return None
    if hasattr(links, "to_numpy"):  # pandas and polars
        links = links.to_numpy()
    no_list = isinstance(links, str | bytes) or not isinstance(links, Iterable)
    if no_list or (isinstance(links, np.ndarray) and links.ndim == 0):
        raise TypeError(f"{what} must contain pairs or sets of sample indices; got {links!r}.")
    if isinstance(links, np.ndarray):
        if _whole(links, by):
            shape = links.shape
            return Block.of(narrow_samples(links).ravel(), np.broadcast_to(shape[1], shape[0]))
        links = links.tolist()
    elif isinstance(links, Links):
        links = tuple(links)
    elif not isinstance(links, list | tuple):
        links = list(links)
    return _quick(links, by) or _slow(links, what, by)


def _whole(links: NDArray[Any], by: str) -> bool:
    """Whether an array is made of links of whole numbers, all of them samples."""
    plain = type(links) is np.ndarray and links.dtype.kind in "iu" and links.ndim == 2
    if not plain or links.shape[1] == 0 or links.size == 0:
        return False
    return bool(links.max() <= np.iinfo(np.int64).max and (by != "position" or links.min() >= 0))


def _quick(links: Sequence[Any], by: str) -> Block | None:
    """Links of usual types, read at once; None where they are not, or not right."""
    kinds = set(map(type, links))
    if np.ndarray in kinds:
        links = [_listed(link) for link in links]
        kinds = set(map(type, links))
    if not kinds <= _PLAIN:
        return None
    lengths = set(map(len, links))
    if not lengths or 0 in lengths:
        return None
    one = len(lengths) == 1
    length = np.broadcast_to(lengths.pop(), len(links)) if one else None
    if length is None:
        length = np.fromiter(map(len, links), np.int64, len(links))
    total = int(length.sum())
    types = set(map(type, chain.from_iterable(links)))
    samples: NDArray[Any]
    if all(issubclass(each, int | np.integer) and each is not bool for each in types):
        try:
            samples = np.fromiter(chain.from_iterable(links), np.int64, total)
        except OverflowError:
            return None
        if by == "position" and samples.min() < 0:
            return None
        samples = narrow_samples(samples)
    elif by == "position" or not types <= _NAMES:
        return None
    else:
        samples = np.fromiter(chain.from_iterable(links), object, total)
    if not kinds.isdisjoint(_SETS):
        samples = _sorted_sets(samples, length, links)
    why = [getattr(link, "why", "") for link in links] if Link in kinds else ("",)
    return Block.of(samples, length, why)


def _listed(link: Any) -> Any:
    """A list, if it is an array of whole numbers."""
    plain = type(link) is np.ndarray and link.ndim == 1 and link.dtype.kind in "iu"
    return link.tolist() if plain else link


def _sorted_sets(samples: NDArray[Any], length: IntArray, links: Sequence[Any]) -> NDArray[Any]:
    """Sets have no order of their own; sorting makes messages and results repeatable."""
    starts = starts_of(length)
    if samples.dtype == object:
        for link, a, b in zip(links, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            if isinstance(link, _SETS):
                samples[a:b] = object_array(sorted(samples[a:b].tolist(), key=_key))
        return samples
    loose = np.fromiter((isinstance(link, _SETS) for link in links), bool, len(links))
    places = np.flatnonzero(np.repeat(loose, length))
    of = np.repeat(np.arange(len(links)), length)[places]
    ordered = samples.copy()
    ordered[places] = samples[places[np.lexsort((samples[places], of))]]
    return ordered


def _slow(links: Iterable[Any], what: str, by: str) -> Block | None:
    """Read links one by one, and refuse the first that is wrong."""
    read: list[list[Any]] = []
    why: list[str] = []
    for link in links:
        if isinstance(link, str | bytes) or not isinstance(link, Iterable):
            raise ValueError(
                f"{what} must contain pairs or sets of sample indices; got the single value "
                f"{link!r}. For one pair, write {what}=[(a, b)]."
            )
        members = [read_sample(p, what, by, link) for p in link]
        if not members:
            raise ValueError(f"{what} contains an empty link.")
        read.append(sorted(members, key=_key) if isinstance(link, _SETS) else members)
        why.append(link.why if isinstance(link, Link) else "")
    if not read:
        return None
    length = np.fromiter(map(len, read), np.int64, len(read))
    return Block.of(_members(chain.from_iterable(read)), length, why)


def _members(members: Iterable[Any]) -> NDArray[Any]:
    """Samples that were read, as an array; whole numbers as such."""
    listed = list(members)
    if all(type(p) is int and -(2**63) <= p < 2**63 for p in listed):
        return narrow_samples(np.array(listed, np.int64))
    return object_array(listed)


def _key(sample: Any) -> tuple[str, Any]:
    return (
        type(sample).__name__,
        sample if isinstance(sample, int | float | str) else repr(sample),
    )


def read_sample(p: Any, what: str, by: str, where: Any) -> Any:
    """One sample that a rule names: a position, or an id."""
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


def group_links(groups: Any, by: str) -> Links:
    """One link per group of several samples."""
    if groups is None:
        return Links()
    names: list[Any] = []
    if by == "sample_id":
        if not hasattr(groups, "items"):
            raise ValueError("with by='sample_id', groups must be a mapping of ids to groups.")
        pairs = list(groups.items())
        names, groups = [name for name, _ in pairs], [group for _, group in pairs]
    categories, number = categorize(groups, "groups")
    samples, length, held = _by_number(number, len(categories))
    why = [f"group {categories[at]!r}" for at in held]
    if by == "sample_id":
        called = object_array([names[p] for p in samples.tolist()])
        return Links([Block.of(called, length, why)])
    return Links([Block.of(narrow_samples(samples), length, why, among=number.size)])


def _by_number(number: IntArray, most: int) -> tuple[IntArray, IntArray, list[int]]:
    """Samples of equal numbers from 0, where there are several: which, how many, the numbers."""
    size = np.bincount(number[number >= 0], minlength=most)
    order = np.argsort(number, kind="stable")
    order = order[np.searchsorted(number[order], 0) :]
    held = size > 1
    return order[np.repeat(held, size)], size[held], np.flatnonzero(held).tolist()


def label_links(y: Any, every_pair: bool) -> tuple[Links, Links]:
    """Must-links and cannot-links of partial labels; -1 is unknown.

    Samples of one label are together, so one of each suffices to keep labels apart; unless these
    links may be violated, and every pair counts.
    """
    labels, number = categorize(y, "y")
    unknown = [
        at for at, label in enumerate(labels) if isinstance(label, int | float) and label == -1
    ]
    number = np.where(np.isin(number, unknown), -1, number)
    samples, length, held = _by_number(number, len(labels))
    why = [f"label {labels[at]!r}" for at in held]
    together = Links([Block.of(narrow_samples(samples), length, why, among=number.size)])
    known = np.flatnonzero(number >= 0)
    if every_pair:
        apart = _pairs_apart(known, number[known])
        return together, Links([Block(apart.ravel(), None, ("labels",), among=number.size)])
    first = narrow_samples(known[np.unique(number[known], return_index=True)[1]])
    if first.size < 2:
        return together, Links()
    return together, Links([Block.of(first, np.array([first.size]), ["labels"], among=number.size)])


def _pairs_apart(samples: IntArray, label: IntArray) -> NDArray[Any]:
    """All pairs of samples whose labels differ, by the first and then the second."""
    parts = [np.empty((0, 2), np.int32)]
    for at in range(samples.size - 1):
        other = samples[at + 1 :][label[at + 1 :] != label[at]]
        parts.append(np.empty((other.size, 2), np.int32))
        parts[-1][:, 0], parts[-1][:, 1] = samples[at], other
    return np.concatenate(parts)
