"""What labels cost beyond the distances, kept up to date move by move; see `bckm.problem.soft`.

Moves are given as in `State`: arrays `items`, `start` and `to`, all (n, h).
"""

from __future__ import annotations

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.fit.search._sums import Sums, entries, touched
from bckm.problem.soft import Soft


class Penalty:
    """Penalties of labels, which `State` hands over wherever they matter.

    Attributes
    ----------
    asks : bool
        Whether there are any.
    sums : Sums
        Those with soft bounds.
    """

    def __init__(self, soft: Soft) -> None:
        self.soft, self.asks = soft, soft.asks
        self.sums = Sums(soft.loads)
        self.n_clusters = int(soft.lean.shape[1])
        lean = soft.lean.tocoo()
        self._place = lean.coords[0].astype(np.int64) * self.n_clusters + lean.coords[1]
        self._lean = np.append(lean.data, 0.0)

    def change(self, labels: IntArray, items: IntArray, to: IntArray) -> FloatArray:
        """By how much each move changes the penalties, (n,)."""
        total, start = np.zeros(len(items)), labels[items]
        if self.soft.ties.nnz:
            total += self._of_ties(labels, items, start, to)
        if self.soft.lean.nnz:
            total += (self.lean(items, to) - self.lean(items, start)).sum(axis=1)
        if self.soft.loads.number:
            for cluster in touched(start, to):
                now = self.sums.now[cluster]
                after = self.sums.after(cluster, items, start, to)
                total += self.beyond(cluster, after) - self.beyond(cluster, now)
        return total

    def _of_ties(
        self, labels: IntArray, items: IntArray, start: IntArray, to: IntArray
    ) -> FloatArray:
        n, h = items.shape
        at, hop = entries(self.soft.ties.indptr, items.ravel())
        other, move = self.soft.ties.indices[at], hop // h
        where, share = labels[other], np.ones(other.size)
        before = where == start.ravel()[hop]
        for g in range(h):  # it may be on the move itself: then the pair is seen from both ends
            moves = other == items[move, g]
            where = np.where(moves, to[move, g], where)
            share[moves] = 0.5
        after = where == to.ravel()[hop]
        more = (before.astype(np.float64) - after) * self.soft.ties.data[at] * share
        total: FloatArray = np.bincount(move, more, n).astype(np.float64, copy=False)
        return total

    def lean(self, items: IntArray, clusters: IntArray) -> FloatArray:
        """What items cost in clusters, beyond their base; of any shape."""
        place = items * self.n_clusters + clusters
        at = np.searchsorted(self._place, place)
        at[np.append(self._place, -1)[at] != place] = self._place.size
        return np.asarray(self._lean[at])

    def alone(self, labels: IntArray, items: IntArray) -> FloatArray:
        """What each item costs in each cluster for itself, (n, k), up to a constant.

        Its leanings, and its ties to all others where they are.
        """
        found = np.zeros((items.size, self.n_clusters))
        if self.soft.lean.nnz:
            at, whose = entries(self.soft.lean.indptr, items)
            found[whose, self.soft.lean.indices[at]] = self.soft.lean.data[at]
        if self.soft.ties.nnz:
            at, whose = entries(self.soft.ties.indptr, items)
            place = whose * self.n_clusters + labels[self.soft.ties.indices[at]]
            price = np.bincount(place, self.soft.ties.data[at], found.size)
            found -= price.reshape(found.shape)
        return found

    def relocations(self, labels: IntArray, items: IntArray) -> FloatArray:
        """By how much it changes the penalties if each item goes to each cluster, (n, k)."""
        change, own = self.alone(labels, items), labels[items]
        change -= np.take_along_axis(change, own[:, None], axis=1)
        amount, now = self.soft.loads.amount[items], self.sums.now
        for q in range(self.soft.loads.number):
            here, column = np.arange(self.n_clusters), slice(q, q + 1)
            joined = now[:, column].T + amount[:, column]  # (n, k)
            change += self._one(here, q, joined) - self._one(here, q, now[:, q])
            left = now[own, q] - amount[:, q]
            change += (self._one(own, q, left) - self._one(own, q, now[own, q]))[:, None]
        return change

    def beyond(self, cluster: IntArray | int, sums: FloatArray) -> FloatArray:
        """What sums (..., r) of some clusters cost where they are beyond their bounds."""
        total = np.zeros(sums.shape[:-1])
        for q in range(self.soft.loads.number):
            total += self._one(cluster, q, sums[..., q])
        return total

    def _one(self, cluster: IntArray | int, q: int, sums: FloatArray) -> FloatArray:
        soft, at = self.soft, (cluster, q)
        below = np.maximum(soft.loads.lower[at] - sums, 0.0)
        above = np.maximum(sums - soft.loads.upper[at], 0.0)
        return np.asarray(soft.low[at] * below + soft.up[at] * above)

    def relief(self, cluster: int, first: FloatArray, last: FloatArray) -> FloatArray:
        """By how much sums can cost less at most if between `first` and `last` is added, (n,)."""
        now, loads, total = self.sums.now[cluster], self.soft.loads, np.zeros(len(first))
        for q in range(loads.number):
            ends = now[q] + first[:, q], now[q] + last[:, q]
            # convex, with a bend at each bound: least at an end or at a bend
            bends = [np.clip(side[cluster, q], *ends) for side in (loads.lower, loads.upper)]
            least = np.min([self._one(cluster, q, at) for at in (*ends, *bends)], axis=0)
            total += np.maximum(0.0, self._one(cluster, q, now[q]) - least)
        return total
