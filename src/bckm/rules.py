"""Single rules: the atoms that a person states and a conflict names.

A rule says what it asks in words (`str(rule)`). It neither solves nor checks anything: the compiler
of `bckm.structure` and the checker of `bckm.verify` each read rules in their own way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bckm.constraints import AttributeSum, LinearRows

_SHOWN = 6  # samples named in a sentence before it is shortened


def name_samples(samples: tuple[int, ...]) -> str:
    """Name samples in a sentence: 'samples 3, 5 and 9'."""
    if len(samples) > _SHOWN:
        head = ", ".join(map(str, samples[: _SHOWN - 1]))
        return f"samples {head} and {len(samples) - _SHOWN + 1} more"
    if len(samples) == 1:
        return f"sample {samples[0]}"
    return f"samples {', '.join(map(str, samples[:-1]))} and {samples[-1]}"


def plural(number: int, noun: str) -> str:
    """Count in words: '1 cluster', '3 clusters'."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _where(cluster: int | None) -> str:
    return "every cluster" if cluster is None else f"cluster {cluster}"


@dataclass(frozen=True, slots=True)
class MustLink:
    """These samples share one cluster."""

    samples: tuple[int, ...]

    def __str__(self) -> str:
        return f"must-link: {name_samples(self.samples)} together"


@dataclass(frozen=True, slots=True)
class CannotLink:
    """No two of these samples share a cluster."""

    samples: tuple[int, ...]

    def __str__(self) -> str:
        return f"cannot-link: {name_samples(self.samples)} apart"


@dataclass(frozen=True, slots=True)
class SizeMin:
    """A cluster (or each, when `cluster` is None) holds at least `value` samples."""

    value: int
    cluster: int | None = None

    def __str__(self) -> str:
        return f"size_min: at least {plural(self.value, 'sample')} in {_where(self.cluster)}"


@dataclass(frozen=True, slots=True)
class SizeMax:
    """A cluster (or each, when `cluster` is None) holds at most `value` samples."""

    value: int
    cluster: int | None = None

    def __str__(self) -> str:
        return f"size_max: at most {plural(self.value, 'sample')} in {_where(self.cluster)}"


@dataclass(frozen=True, slots=True)
class NonEmpty:
    """No cluster is empty; implied unless `size_min` is stated."""

    def __str__(self) -> str:
        return "no cluster may be empty (implied; size_min=0 allows empty clusters)"


@dataclass(frozen=True, slots=True, eq=False)
class SumBound:
    """One side of an `AttributeSum`, in one cluster or in each."""

    source: AttributeSum
    side: Literal["min", "max"]
    value: float
    cluster: int | None = None

    def __str__(self) -> str:
        word = "at least" if self.side == "min" else "at most"
        return f"sum of {self.source.name}: {word} {self.value:.15g} in {_where(self.cluster)}"


@dataclass(frozen=True, slots=True, eq=False)
class RowBound:
    """One side of one row of `LinearRows`."""

    source: LinearRows
    side: Literal["min", "max"]
    value: float
    row: int

    def __str__(self) -> str:
        word = "at least" if self.side == "min" else "at most"
        return f"{self.source.name}[{self.row}]: {word} {self.value:.15g}"


Rule = MustLink | CannotLink | SizeMin | SizeMax | NonEmpty | SumBound | RowBound
