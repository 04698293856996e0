"""Single rules: the atoms that a person states and a conflict names.

A rule says what it asks in words (`str(rule)`). It neither solves nor checks anything: the compiler
of `bckm.problem.structure` and the checker of `bckm.verify` each read rules in their own way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from bckm.constraints.statements import Capacity, LinearRows, Quota, Stay

ClusterNames = tuple[str | int, ...]
_SHOWN = 6  # samples named in a sentence before it is shortened


def name_samples(samples: tuple[int, ...], ids: tuple[object, ...] | None = None) -> str:
    """Name samples in a sentence, by their ids if they have any: 'samples 3, 5 and 9'."""
    names = [repr(name) for name in (samples if ids is None else ids)]
    if len(names) > _SHOWN:
        head = ", ".join(names[: _SHOWN - 1])
        return f"samples {head} and {len(names) - _SHOWN + 1} more"
    if len(names) == 1:
        return f"sample {names[0]}"
    return f"samples {', '.join(names[:-1])} and {names[-1]}"


def plural(number: int, noun: str) -> str:
    """Count in words: '1 cluster', '3 clusters'."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def name_cluster(cluster: int, names: ClusterNames | None) -> str:
    """Name a cluster in a sentence, by its label unless it has a name: 'cluster 3'."""
    return f"cluster {int(cluster) if names is None else names[cluster]!r}"


def names_in(rules: Iterable[Any]) -> ClusterNames | None:
    """The names of clusters, from rules that know them."""
    return next((rule.clusters for rule in rules if getattr(rule, "clusters", None)), None)


def _where(cluster: int | None, names: ClusterNames | None) -> str:
    return "every cluster" if cluster is None else name_cluster(cluster, names)


def _limit(side: str, value: float | str) -> str:
    return f"{'at least' if side == 'min' else 'at most'} {value}"


@dataclass(frozen=True, slots=True)
class MustLink:
    """These samples go to the same cluster; `why` names the group or label behind it."""

    samples: tuple[int, ...]
    why: str = "must-link"
    ids: tuple[object, ...] | None = None

    def __str__(self) -> str:
        return f"{self.why}: {name_samples(self.samples, self.ids)} together"


@dataclass(frozen=True, slots=True)
class CannotLink:
    """These samples go to different clusters."""

    samples: tuple[int, ...]
    why: str = "cannot-link"
    ids: tuple[object, ...] | None = None

    def __str__(self) -> str:
        return f"{self.why}: {name_samples(self.samples, self.ids)} apart"


@dataclass(frozen=True, slots=True)
class SizeMin:
    """A cluster (or each, if `cluster` is None) has at least `value` samples."""

    value: int
    cluster: int | None = None
    clusters: ClusterNames | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        where = _where(self.cluster, self.clusters)
        return f"size_min: at least {plural(self.value, 'sample')} in {where}"


@dataclass(frozen=True, slots=True)
class SizeMax:
    """A cluster (or each, if `cluster` is None) has at most `value` samples."""

    value: int
    cluster: int | None = None
    clusters: ClusterNames | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        where = _where(self.cluster, self.clusters)
        return f"size_max: at most {plural(self.value, 'sample')} in {where}"


@dataclass(frozen=True, slots=True)
class NonEmpty:
    """No cluster is empty; the default unless `size_min` is given."""

    clusters: ClusterNames | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return "no cluster may be empty (default; size_min=0 allows empty clusters)"


@dataclass(frozen=True, slots=True)
class Fixed:
    """A sample and its fixed cluster; rules about ids name samples by id."""

    sample: Any
    cluster: int
    ids: tuple[object, ...] | None = None
    clusters: ClusterNames | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        where = name_cluster(self.cluster, self.clusters)
        return f"fixed: {name_samples((self.sample,), self.ids)} in {where}"


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A sample and a cluster forbidden for it; rules about ids name samples by id."""

    sample: Any
    cluster: int
    ids: tuple[object, ...] | None = None
    clusters: ClusterNames | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        where = name_cluster(self.cluster, self.clusters)
        return f"forbidden: {name_samples((self.sample,), self.ids)} not in {where}"


@dataclass(frozen=True, slots=True, eq=False)
class CapacityBound:
    """One side of a `Capacity`, in one cluster or in each."""

    source: Capacity
    side: Literal["min", "max"]
    value: float
    cluster: int | None = None
    clusters: ClusterNames | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        words = _limit(self.side, f"{self.value:.15g}")
        return f"capacity {self.source.name}: {words} in {_where(self.cluster, self.clusters)}"


@dataclass(frozen=True, slots=True, eq=False)
class QuotaBound:
    """One side of a `Quota` for one category: a number of samples, or a share of each cluster."""

    source: Quota
    category: int
    side: Literal["min", "max"]
    value: float
    share: bool

    def __str__(self) -> str:
        shown = f"{100 * self.value:.6g} %" if self.share else f"{self.value:.15g}"
        which = repr(self.source.categories[self.category])
        return f"quota of {self.source.name}: {_limit(self.side, shown)} {which} in every cluster"


@dataclass(frozen=True, slots=True, eq=False)
class RowBound:
    """One side of one row of `LinearRows`."""

    source: LinearRows
    side: Literal["min", "max"]
    value: float
    row: int

    def __str__(self) -> str:
        if self.source.rule is not None:
            return f"{self.source.rule.name}: {self.source.rule.describe(self.row)}"
        return f"{self.source.name}[{self.row}]: {_limit(self.side, f'{self.value:.15g}')}"


@dataclass(frozen=True, slots=True, eq=False)
class MovedMax:
    """At most `value` samples leave their previous cluster."""

    source: Stay
    value: int

    def __str__(self) -> str:
        return f"stay: at most {plural(self.value, 'sample')} may change cluster"


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """No sample leaves its previous cluster; only as a soft rule, with a price per sample."""

    source: Stay

    def __str__(self) -> str:
        return "stay: samples keep their previous cluster"


Rule = (
    MustLink
    | CannotLink
    | SizeMin
    | SizeMax
    | NonEmpty
    | Fixed
    | Forbidden
    | CapacityBound
    | QuotaBound
    | RowBound
    | MovedMax
    | Moved
)


@dataclass(frozen=True, slots=True, eq=False)
class SoftRule:
    """A rule that may be violated for a penalty.

    Attributes
    ----------
    rule : Rule
        The rule; for links, a single pair.
    weight : float
        Price per unit of violation: a pair, a sample beyond a size, a unit of load.
    relative : bool
        Whether the price is in units of inertia (False) or of the mean squared distance of a
        weighted sample from the center of all data (True: a confidence, independent of scale).
    """

    rule: Rule
    weight: float
    relative: bool

    def __str__(self) -> str:
        kind = "confidence" if self.relative else "price"
        return f"{self.rule} (soft, {kind} {self.weight:.6g})"
