"""The 0/1 variables "item j in cluster i", which linear programs number j * k + i."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from bckm._core.types import IntArray

Numbers = TypeVar("Numbers", int, IntArray)


@dataclass(frozen=True)
class Columns:
    """Columns of k clusters: from items and clusters to their numbers, and back.

    Examples
    --------
    >>> import numpy as np
    >>> from bckm.problem.columns import Columns
    >>> columns = Columns(3)
    >>> columns.of(2, 1), columns.item(7), columns.cluster(7)
    (7, 2, 1)
    >>> columns.all_of(np.array([0, 2])).tolist(), columns.used(np.array([2, 0])).tolist()
    ([0, 1, 2, 6, 7, 8], [2, 3])
    """

    k: int

    def of(self, item: Numbers, cluster: Numbers) -> Numbers:
        """Numbers of the columns; arrays are broadcast."""
        return item * self.k + cluster

    def item(self, column: Numbers) -> Numbers:
        """Items of columns."""
        return column // self.k

    def cluster(self, column: Numbers) -> Numbers:
        """Clusters of columns."""
        return column % self.k

    def split(self, column: IntArray) -> tuple[IntArray, IntArray]:
        """Items and clusters of columns."""
        item, cluster = np.divmod(column, self.k)
        return item, cluster

    def all_of(self, items: IntArray) -> IntArray:
        """All columns of items, item by item."""
        return (items[..., None] * self.k + np.arange(self.k)).ravel()

    def used(self, labels: IntArray) -> IntArray:
        """The column of each item with its label."""
        return np.arange(labels.size) * self.k + labels
