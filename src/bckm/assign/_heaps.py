"""Items that cost nothing, or the same everywhere: an LP moves them by the heap.

They go wherever bounds need them, so any cluster may be the right one for each of them. A choice
of a few clusters would leave bounds to others that cannot be kept; a column for each cluster would
be too many. Items that bring about the same are therefore one heap, which an LP may divide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.types import FloatArray, IntArray

COLUMNS, FEWEST = 4000, 16  # choices of all heaps, about; heaps, at least


@dataclass(frozen=True, eq=False)
class Heaps:
    """Items that cost the same everywhere, those that bring about the same together.

    Attributes
    ----------
    others : array
        All other items, ascending.
    items : array
        Items, heap by heap.
    first : array (heaps,)
        Where in `items` each heap begins.
    """

    others: IntArray
    items: IntArray
    first: IntArray

    @classmethod
    def of(cls, cost: FloatArray, amount: FloatArray, linked: IntArray | None) -> Heaps:
        """Of items with costs (m, k) and amounts (m, r); `linked` ones do not choose alone."""
        same = np.isfinite(cost[:, 0]) & (cost[:, 0] == cost[:, -1])
        some = np.flatnonzero(same)
        same[some] = (cost[some] == cost[some, :1]).all(axis=1)
        if linked is not None:
            same[linked] = False
        items = np.flatnonzero(same)
        items = items[np.lexsort((items, *amount[items].T[::-1]))]
        number = min(items.size, max(COLUMNS // cost.shape[1], FEWEST))
        return cls(np.flatnonzero(~same), items, np.arange(number) * items.size // max(number, 1))

    def merged(self, values: FloatArray) -> FloatArray:
        """Rows of all other items, then the sums of each heap's."""
        return np.concatenate(
            [values[self.others], np.add.reduceat(values[self.items], self.first)]
        )

    def divided(self, heap: IntArray, to: IntArray, share: FloatArray, own: IntArray) -> IntArray:
        """Clusters of `items` where shares of a heap leave its own cluster, one per heap."""
        size = np.diff(np.append(self.first, self.items.size))
        rest = np.maximum(1.0 - np.bincount(heap, share, own.size), 0.0)
        heap = np.concatenate([heap, np.arange(own.size)])
        to, share = np.concatenate([to, own]), np.concatenate([share, rest])
        order = np.lexsort((to, heap))
        heap, to = heap[order], to[order]
        # clusters side by side, heap after heap: each item goes to the one that holds its middle
        ends = np.cumsum(share[order] * size[heap])
        at = np.searchsorted(ends, np.arange(self.items.size) + 0.5)
        return to[np.minimum(at, to.size - 1)]
