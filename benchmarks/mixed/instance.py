"""An instance with rules of several kinds, and a checker that shares no code with the library."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import bckm

ROUNDING = 1e-9  # of all amounts together: what a sum may be beyond its bound


@dataclass(frozen=True, eq=False)
class Load:
    """Amounts whose sum in each cluster is bounded; of whole numbers if they count a category."""

    amount: np.ndarray
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Category:
    """A category of each sample, and how many of each a cluster may hold."""

    of: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, eq=False)
class Instance:
    """What is clustered, and under which rules.

    Attributes
    ----------
    name : str
        Unique among all families.
    X : array (n, d)
        Data.
    k : int
        Number of clusters.
    sizes : tuple of int
        Fewest and most samples of a cluster.
    loads, categories : tuple
        Bounded sums.
    together, apart : tuple of tuple of int
        Groups of samples in one cluster; pairs of samples in two.
    """

    name: str
    X: np.ndarray
    k: int
    sizes: tuple[int, int] | None = None
    loads: tuple[Load, ...] = ()
    categories: tuple[Category, ...] = ()
    together: tuple[tuple[int, ...], ...] = ()
    apart: tuple[tuple[int, int], ...] = ()

    def constraints(self) -> bckm.Constraints:
        """The rules as this library reads them."""
        capacities = {
            f"load {at}": bckm.Capacity(
                load.amount, min=load.lower if load.lower > 0 else None, max=load.upper
            )
            for at, load in enumerate(self.loads)
        }
        quotas = [
            bckm.Quota(
                category.of,
                count_min=dict(enumerate(category.lower)),
                count_max=dict(enumerate(category.upper)),
                name=f"category {at}",
            )
            for at, category in enumerate(self.categories)
        ]
        least, most = self.sizes or (None, None)
        return bckm.Constraints(
            list(self.together) or None,
            np.array(self.apart) if self.apart else None,
            size_min=least,
            size_max=most,
            capacities=capacities or None,
            quotas=quotas or None,
        )

    def broken(self, labels: np.ndarray) -> list[str]:
        """Kinds of rules that labels break."""
        if labels.shape != (len(self.X),) or labels.min() < 0 or labels.max() >= self.k:
            return ["labels"]
        least, most = self.sizes or (1, len(self.X))
        bounded = [("size", np.ones(len(self.X)), least, most)]
        bounded += [("load", load.amount, load.lower, load.upper) for load in self.loads]
        for category in self.categories:
            for at, bounds in enumerate(zip(category.lower, category.upper, strict=True)):
                bounded.append(("category", (category.of == at).astype(float), *bounds))
        said = []
        for kind, amount, lower, upper in bounded:
            sums = np.bincount(labels, amount, self.k)
            spare = ROUNDING * max(1.0, np.abs(amount).sum())
            if (sums < lower - spare).any() or (sums > upper + spare).any():
                said.append(kind)
        if any(np.ptp(labels[list(group)]) for group in self.together):
            said.append("together")
        if self.apart:
            first, second = labels[np.array(self.apart).T]
            if (first == second).any():
                said.append("apart")
        return said

    def inertia(self, labels: np.ndarray) -> float:
        """Squared distances to the means of the labels."""
        parts = [self.X[labels == label] for label in np.unique(labels)]
        return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))
