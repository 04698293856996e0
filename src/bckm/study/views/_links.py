"""`links`: pairs of samples to draw a line between, and `shown`: samples to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from bckm._core.types import BoolArray, IntArray
from bckm.constraints import Constraints
from bckm.constraints.links import Links as StatedLinks
from bckm.study import Study

_FEW = 100  # lines that may be strong


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """Two samples that a rule requires to be together or apart.

    Attributes
    ----------
    a, b : int
        Positions of the samples.
    kind : {"together", "apart"}
        Kind of the link.
    soft : bool
        Whether it is soft.
    kept : bool
        Whether the labels meet it.
    """

    a: int
    b: int
    kind: str
    soft: bool
    kept: bool


@dataclass(frozen=True)
class Links(Sequence[DrawnLink]):
    """Links to draw, as a sequence, and how many were omitted.

    Attributes
    ----------
    drawn : tuple of DrawnLink
        Violated links come first.
    left_out : int
        Number of omitted pairs.

    Examples
    --------
    >>> from bckm.study.views import DrawnLink, Links
    >>> found = Links((DrawnLink(0, 1, "together", False, True),), left_out=7)
    >>> len(found), found[0].kind, found.left_out
    (1, 'together', 7)
    """

    drawn: tuple[DrawnLink, ...] = ()
    left_out: int = 0

    @overload
    def __getitem__(self, at: int) -> DrawnLink: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[DrawnLink, ...]: ...
    def __getitem__(self, at: int | slice) -> DrawnLink | tuple[DrawnLink, ...]:
        return self.drawn[at]

    def __len__(self) -> int:
        return len(self.drawn)

    def crowded(self, *, kept: bool) -> bool:
        """Return whether there are so many met (or violated) links that strong lines hide the rest.

        Examples
        --------
        >>> from bckm.study.views import DrawnLink, Links
        >>> found = Links((DrawnLink(0, 1, "together", False, True),) * 101)
        >>> found.crowded(kept=True), found.crowded(kept=False)
        (True, False)
        """
        return sum(one.kept == kept for one in self.drawn) > _FEW


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Some pairs of one kind, and how many there are."""

    pairs: IntArray  # (p, 2)
    kept: BoolArray
    kind: str
    soft: bool
    total: int


def links(study: Study, most: int = 2_000) -> Links:
    """Return the pairs of samples that rules require to be together or apart.

    A set of must-linked samples (or a group) becomes a path through them, a set of cannot-linked
    samples all its pairs.

    Parameters
    ----------
    study : Study
        What to show.
    most : int
        Maximum number of links: violated ones first, then an evenly spread selection of the
        others.

    Returns
    -------
    Links
        A sequence of `DrawnLink`; ``left_out`` is the number of others.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> rules = bckm.Constraints(must_link=[(0, 1)])
    >>> rules &= bckm.Constraints(cannot_link=[(2, 3)]).soft(price=0.1)
    >>> for one in views.links(bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)):
    ...     print(one)
    DrawnLink(a=2, b=3, kind='apart', soft=True, kept=False)
    DrawnLink(a=0, b=1, kind='together', soft=False, kept=True)
    """
    found = list(_of(study.constraints, study.result.labels, most))
    broken = _choose([(one, one.pairs[~one.kept]) for one in found], most, kept=False)
    kept = [(one, one.pairs[one.kept]) for one in found]
    drawn = broken + _choose(kept, most - len(broken), kept=True)
    return Links(tuple(drawn), sum(one.total for one in found) - len(drawn))


def _choose(groups: list[tuple[_Pairs, IntArray]], most: int, *, kept: bool) -> list[DrawnLink]:
    number = sum(len(pairs) for _, pairs in groups)
    chosen = np.unique(np.linspace(0, number - 1, min(most, number)).astype(np.int64))
    found, start = [], 0
    for one, pairs in groups:
        mine = chosen[(chosen >= start) & (chosen < start + len(pairs))] - start
        start += len(pairs)
        found += [DrawnLink(a, b, one.kind, one.soft, kept) for a, b in pairs[mine].tolist()]
    return found


def _of(c: Constraints, labels: IntArray, most: int, soft: bool = False) -> Iterator[_Pairs]:
    yield from _together(c.must_link, labels, soft)
    yield from _apart(c.cannot_link, labels, most, soft)
    for part in c.softened:
        inner = part.constraints
        price = np.broadcast_to(part.weight, len(inner.must_link) + len(inner.cannot_link))
        for wish, those in ((False, price == np.inf), (True, (price > 0) & (price < np.inf))):
            at = len(inner.must_link)
            yield from _together(_where(inner.must_link, those[:at]), labels, wish)
            yield from _apart(_where(inner.cannot_link, those[at:]), labels, most, wish)


def _where(stated: StatedLinks, those: BoolArray) -> StatedLinks:
    return stated if those.all() else stated.take(np.flatnonzero(those))


def _together(stated: StatedLinks, labels: IntArray, soft: bool) -> Iterator[_Pairs]:
    steps = [np.array([link[:-1], link[1:]], np.int64).T for link in _larger(stated)]
    steps.append(_twos(stated))
    pairs = np.concatenate(steps)
    if len(pairs):
        kept = labels[pairs[:, 0]] == labels[pairs[:, 1]]
        yield _Pairs(pairs, kept, "together", soft, len(pairs))


def _twos(stated: StatedLinks) -> IntArray:
    return np.concatenate(
        [np.empty((0, 2), np.int32), *(block.pairs()[0] for block in stated.blocks)]
    )


def _larger(stated: StatedLinks) -> Iterator[IntArray]:
    for block in stated.blocks:
        sets = block.larger()[0]
        if sets.starts is not None:
            yield from np.split(sets.samples, sets.starts[1:-1])


def _apart(stated: StatedLinks, labels: IntArray, most: int, soft: bool) -> Iterator[_Pairs]:
    pairs = _twos(stated)
    if len(pairs):
        kept = labels[pairs[:, 0]] != labels[pairs[:, 1]]
        yield _Pairs(pairs, kept, "apart", soft, len(pairs))
    for link in _larger(stated):
        yield _clique(link, labels, most, soft)


def _clique(samples: IntArray, labels: IntArray, most: int, soft: bool) -> _Pairs:
    """All pairs of a set, or enough of them: a set of thousands has millions."""
    order = samples[np.argsort(labels[samples], kind="stable")]
    sizes = np.bincount(labels[samples])
    wrong = [_ring(own, most) for own in np.split(order, np.cumsum(sizes)[:-1]) if own.size > 1]
    right = _ring(samples, most)
    right = right[labels[right[:, 0]] != labels[right[:, 1]]]
    pairs = np.concatenate([*wrong, right])
    kept = np.arange(len(pairs)) >= len(pairs) - len(right)
    return _Pairs(pairs, kept, "apart", soft, samples.size * (samples.size - 1) // 2)


def _ring(samples: IntArray, most: int) -> IntArray:
    """Pairs at distance 1, 2, ... in this order, so that the first few meet every sample."""
    found, number, n = [], 0, samples.size
    for step in range(1, n):
        if number > most:
            break
        found.append(np.stack([samples[:-step], samples[step:]], axis=1))
        number += n - step
    return np.concatenate(found)


def shown(study: Study, most: int = 20_000) -> IntArray:
    """Select the samples to draw if there are too many for a figure.

    All samples if there are at most `most`. Otherwise the samples of links (up to half of `most`)
    and the same share of the rest of every cluster, at least ten; the selection depends only on
    positions, so that the same data give the same figure.

    Parameters
    ----------
    study : Study
        What to show.
    most : int
        Approximate maximum number of samples.

    Returns
    -------
    array of int
        Positions in ascending order.

    Examples
    --------
    >>> import numpy as np, bckm
    >>> from bckm.study import views
    >>> X = np.arange(1000.0)[:, None]
    >>> rules = bckm.Constraints(must_link=[(0, 999)])
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    >>> found = views.shown(study, most=100)
    >>> 80 <= found.size <= 120, found[0].item(), found[-1].item()
    (True, 0, 999)
    """
    n, labels = study.n_samples, study.result.labels
    if n <= most:
        return np.arange(n)
    chosen = np.zeros(n, bool)
    linked = links(study, most // 4)
    chosen[[one.a for one in linked] + [one.b for one in linked]] = True
    share = max(most - int(chosen.sum()), 0) / n
    order = np.lexsort((_scattered(n), labels))
    sizes = np.bincount(labels, minlength=study.n_clusters)
    starts = np.cumsum(sizes) - sizes
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n) - np.repeat(starts, sizes)
    chosen |= rank < np.maximum(np.ceil(share * sizes), 10)[labels]
    return np.flatnonzero(chosen)


def _scattered(n: int) -> Any:
    """A number for each position that looks random and is the same everywhere."""
    mixed = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(27))
