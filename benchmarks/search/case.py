"""One clustering task, and labels for it judged by code that no method shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import bckm
from benchmarks.sizes import judge

AGREE = 1e-9  # how far a claimed inertia may be from the judge's, relative to it


@dataclass(frozen=True, eq=False)
class Case:
    """What is clustered, and under which rules.

    Attributes
    ----------
    name : str
        Shown in the tables; unique within a mode.
    X : array (n, d)
        Data.
    k : int
        Number of clusters.
    rules : Constraints
        What labels must obey.
    weight : array (n,), optional
        Weights in the objective.
    """

    name: str
    X: np.ndarray
    k: int
    rules: bckm.Constraints
    weight: np.ndarray | None = None

    @property
    def linked(self) -> bool:
        """Whether more than sizes is asked."""
        return bool(self.rules.must_link or self.rules.cannot_link or self.rules.statements)

    @property
    def free(self) -> bool:
        """Whether nothing is asked: then any k-means is a peer."""
        return not self.linked and self.rules.size_min is None and self.rules.size_max is None

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The same two size bounds for all clusters, if these and nothing else are asked."""
        low, high = self.rules.size_min, self.rules.size_max
        if self.linked or self.weight is not None or low is None or high is None:
            return None
        if np.unique(low).size > 1 or np.unique(high).size > 1:
            return None
        return int(np.max(low)), int(np.max(high))


@dataclass(frozen=True)
class Verdict:
    """What labels are worth.

    Attributes
    ----------
    inertia : float
        Computed from data and labels alone; infinite for what are no labels at all.
    broken : tuple of str
        Rules that the labels break, and a claim that is not true; empty if all is well.
    """

    inertia: float
    broken: tuple[str, ...]


def verdict(case: Case, labels: np.ndarray, claimed: float | None = None) -> Verdict:
    """Judge labels: the same arithmetic for every method, and the independent checker."""
    labels = np.asarray(labels)
    if labels.shape != (len(case.X),) or labels.dtype.kind not in "iu":
        said = f"labels are {labels.dtype} of shape {labels.shape}"
        return Verdict(np.inf, (f"{said}; {len(case.X)} whole numbers are needed",))
    if labels.min() < 0 or labels.max() >= case.k:
        said = f"labels are from {labels.min()} to {labels.max()}"
        return Verdict(np.inf, (f"{said}; 0 to {case.k - 1} are allowed",))
    labels = labels.astype(np.intp)
    inertia = judge.inertia(case.X, labels, case.k, case.weight)
    broken = [str(one) for one in bckm.verify(labels, case.k, case.rules)]
    # a cost of nothing but rounding has no digits to agree on
    squares = judge.cost(case.X, labels, np.zeros((case.k, case.X.shape[1])), case.weight)
    if claimed is not None and not abs(claimed - inertia) <= AGREE * max(inertia, 1e-6 * squares):
        broken.append(f"claims inertia {claimed!r}, it is {inertia!r}")
    return Verdict(inertia, tuple(broken))


def ratio(value: float, other: float) -> float:
    """One inertia in another, also where all samples are on their centers."""
    return value / other if other > 0 else 1.0 if value <= 0 else np.inf
