"""Custom rules: their linear rows, and a check that does not need them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from bckm.constraints.statements import LinearRows
from bckm.exceptions import UnsupportedError


class LinearRule(ABC):
    """Base class for custom rules, for ``Constraints(linear=...)``.

    Each row of its linear form is one rule: a minimal conflict, `bckm.verify` and reports name rows
    one by one. Engines obey the rows; `verify` checks both the rows and `broken`, and raises an
    error if they disagree.

    Attributes
    ----------
    name : str
        Name of the rule in messages.

    Examples
    --------
    At most `most` of some samples in each cluster:

    >>> import numpy as np, bckm
    >>> class AtMost(bckm.LinearRule):
    ...     name = "at most"
    ...     def __init__(self, samples, most):
    ...         self.samples, self.most = samples, most
    ...     def rows(self, n_samples, n_clusters):
    ...         A = np.zeros((n_clusters, n_samples, n_clusters))
    ...         for cluster in range(n_clusters):
    ...             A[cluster, self.samples, cluster] = 1
    ...         return bckm.LinearRows(A.reshape(n_clusters, -1), upper=self.most)
    ...     def broken(self, labels, n_clusters):
    ...         counts = np.bincount(labels[self.samples], minlength=n_clusters)
    ...         return np.flatnonzero(counts > self.most)
    ...     def describe(self, row):
    ...         return f"at most {self.most} of the samples {self.samples} in cluster {row}"
    >>> rules = bckm.Constraints(linear=AtMost([0, 1, 2], 1))
    >>> len(set(bckm.kmeans([[0.0], [1.0], [2.0], [9.0]], 3, rules).labels[:3]))
    3
    >>> print(bckm.verify([0, 0, 1, 2], 3, rules)[0])
    at most 1 of the samples [0, 1, 2] in cluster 0: the sum is 2, above 1.
    """

    name: str = "rule"

    @abstractmethod
    def rows(self, n_samples: int, n_clusters: int) -> LinearRows:
        """Return the linear form for this number of samples and clusters."""

    @abstractmethod
    def broken(self, labels: Any, n_clusters: int) -> Iterable[int]:
        """Return the rows that labels violate, found without the linear form."""

    def describe(self, row: int) -> str:
        """Describe what a row requires, without a period."""
        return f"{self.name}[{row}]"

    def to_tree(self) -> dict[str, Any]:
        """Raise: code cannot be saved."""
        raise UnsupportedError(
            f"{self.name!r} is a custom rule, whose code cannot be saved; save the result instead, "
            "or express the rule as LinearRows."
        )

    def compiled(self, n_samples: int, n_clusters: int) -> LinearRows:
        """The rows, which speak as this rule does."""
        rows = self.rows(n_samples, n_clusters)
        if not isinstance(rows, LinearRows):
            raise TypeError(f"rows() of {self.name!r} must return LinearRows; got {rows!r:.60}.")
        rows.rule, rows.name = self, self.name
        return rows
