"""A complete search for feasible labels that owes nothing to a solver: the second opinion.

Depth first over the items that are not free single samples, in a fixed order. Of labels that differ
only by exchanging clusters or items that no rule tells apart, the lexicographically first is
looked at: an empty cluster is opened only if no equal one before it is empty, and equal items go
into clusters of rising number. Free single samples are counted, not searched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.feasibility._reduced import Reduced

LARGEST_TABLE = 10_000_000  # numbers in the table of rows; larger problems are left to the solver


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """`labels` of items if some were found; `complete` if the search saw everything."""

    labels: IntArray | None
    complete: bool


def search(reduced: Reduced, deadline: Deadline, max_nodes: int) -> SearchOutcome:
    """Search until labels are found, all possibilities are seen, or a limit is reached."""
    rows, k = reduced.structure.rows.shape[0], reduced.structure.n_clusters
    if rows * k * reduced.weight.sum() > LARGEST_TABLE:
        return SearchOutcome(None, complete=False)
    return _Search(reduced, deadline, max_nodes).run()


class _Search:
    def __init__(self, reduced: Reduced, deadline: Deadline, max_nodes: int) -> None:
        self.reduced, self.deadline, self.max_nodes = reduced, deadline, max_nodes
        s = reduced.structure
        self.s, self.k = s, s.n_clusters
        self.bounds = list(zip(s.lower.tolist(), s.upper.tolist(), strict=True))
        constrained = np.zeros(s.n_items, bool)
        constrained[s.edges.ravel()] = True
        in_rows = np.zeros(s.n_items, bool)
        in_rows[s.columns.item(s.rows.tocoo().coords[1])] = True
        constrained |= in_rows
        single = ~constrained & (s.count == 1)
        self.n_single = int(reduced.weight[single].sum())
        types = np.flatnonzero(~single)
        # a type of weight w is searched as w equal items in a row
        self.order = [t for t in self._sequence(types) for _ in range(int(reduced.weight[t]))]
        self.count = [int(s.count[t]) for t in self.order]
        self.remaining = (
            np.concatenate([np.cumsum(self.count[::-1])[::-1], [0]]).astype(int).tolist()
        )
        smallest: list[float] = [float("inf")]
        for c in reversed(self.count):
            smallest.append(min(c, smallest[-1]))
        self.smallest = smallest[::-1]
        self.row_low, self.row_up, self.row_change = self._row_tables()
        self.row_rounding, self.rounding = self._rounding()

    def _sequence(self, types: IntArray) -> list[int]:
        """Most conflicts with earlier items first: contradictions show early."""
        neighbors, count = self.s.neighbors, self.s.count
        degree = np.diff(neighbors.indptr).astype(np.int64)
        # one number per item: earlier neighbors before degree before count
        unit = int(count.max(initial=0)) + 1
        weight = unit * (int(degree.max(initial=0)) + 1)
        score = np.full(self.s.n_items, -1, np.int64)
        score[types] = degree[types] * unit + count[types]
        order = []
        for _ in range(types.size):
            t = int(score.argmax())
            order.append(t)
            score[t] = -1
            around = neighbors.indices[neighbors.indptr[t] : neighbors.indptr[t + 1]]
            score[around[score[around] >= 0]] += weight
        return order

    def _row_tables(self) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """What the items from a depth on add to each row, at least and at most."""
        s, depth = self.s, len(self.order)
        rows = s.rows.shape[0]
        low, up = np.zeros((depth + 1, rows)), np.zeros((depth + 1, rows))
        change = [s.rows_by_column[:, s.columns.all_of(np.array(t))].toarray() for t in self.order]
        for at in range(depth - 1, -1, -1):
            low[at] = low[at + 1] + change[at].min(axis=1, initial=np.inf)
            up[at] = up[at + 1] + change[at].max(axis=1, initial=-np.inf)
        return low, up, change

    def _rounding(self) -> tuple[FloatArray, float]:
        """What sums of rows may have lost: so much of each, and such a share of the sum at hand.

        Where all numbers of a row have one sign, the second is enough.
        """
        share = 4.0 * (len(self.order) + 2) * float(np.finfo(float).eps)
        if not self.row_change:
            return np.zeros(self.s.rows.shape[0]), share
        least = np.min([change.min(axis=1) for change in self.row_change], axis=0)
        most = np.max([change.max(axis=1) for change in self.row_change], axis=0)
        reach = np.sum([np.abs(change).max(axis=1) for change in self.row_change], axis=0)
        return np.where((least < 0) & (most > 0), share * reach, 0.0), share

    def run(self) -> SearchOutcome:
        if self.s.contradictions:
            return SearchOutcome(None, complete=True)
        depth, nodes = 0, 0
        n = len(self.order)
        labels = [-1] * n
        sizes = [0] * self.k
        held = [0] * self.k  # items in each cluster
        activity = np.zeros((n + 1, self.s.rows.shape[0]))
        where: dict[int, int] = {}  # cluster of each placed type that has conflicts
        neighbors = self.s.neighbors
        around = [
            neighbors.indices[neighbors.indptr[t] : neighbors.indptr[t + 1]].tolist()
            for t in self.order
        ]
        if not self._promising(0, sizes, activity[0]):
            return SearchOutcome(None, complete=True)
        while True:
            nodes += 1
            if nodes > self.max_nodes or (nodes % 256 == 0 and self.deadline.passed):
                return SearchOutcome(None, complete=False)
            advanced, choices = False, range(0)
            if depth < n:
                taken = {where[t] for t in around[depth] if t in where}
                choices = range(labels[depth] + 1, self.k)
            else:
                filled = self._fill(labels, sizes)
                if filled is not None and self.reduced.full.feasible(filled):
                    return SearchOutcome(filled, complete=True)
                # sums were promising only as far as rounding tells: these labels are none
                if filled is None or self.reduced.full.sums_hold(filled):
                    return SearchOutcome(None, complete=False)  # cannot happen
            for i in choices:
                if i in taken or not self._lexicographic(depth, i, labels, held):
                    continue
                size = self.count[depth]
                sizes[i] += size
                activity[depth + 1] = activity[depth] + self.row_change[depth][:, i]
                if sizes[i] <= self.bounds[i][1] and self._promising(
                    depth + 1, sizes, activity[depth + 1]
                ):
                    labels[depth] = i
                    held[i] += 1
                    where[self.order[depth]] = i
                    depth += 1
                    advanced = True
                    break
                sizes[i] -= size
            if advanced:
                continue
            if depth < n:
                labels[depth] = -1
            if depth == 0:
                return SearchOutcome(None, complete=True)
            depth -= 1
            i = labels[depth]
            sizes[i] -= self.count[depth]
            held[i] -= 1
            where.pop(self.order[depth], None)

    def _lexicographic(self, depth: int, i: int, labels: list[int], held: list[int]) -> bool:
        same_type = depth > 0 and self.order[depth] == self.order[depth - 1]
        if same_type and i < labels[depth - 1]:
            return False
        if held[i]:
            return True
        of_class = self.s.cluster_class[:i] == self.s.cluster_class[i]
        return not any(held[e] == 0 for e in np.flatnonzero(of_class))

    def _promising(self, depth: int, sizes: list[int], activity: FloatArray) -> bool:
        """Whether sizes and rows can still come out right; False is a proof that they cannot."""
        left = self.remaining[depth] + self.n_single
        room = missing = stuck = 0
        for size, (low, up) in zip(sizes, self.bounds, strict=True):
            room += up - size
            if size < low:
                missing += low - size
                if self.smallest[depth] > up - size:  # only single samples can fill this cluster
                    stuck += low - size
        if missing > left or room < left or stuck > self.n_single:
            return False
        if activity.size == 0:
            return True
        most, least = activity + self.row_up[depth], activity + self.row_low[depth]
        most += self.row_rounding + self.rounding * np.abs(most)
        least -= self.row_rounding + self.rounding * np.abs(least)
        return bool((most >= self.s.row_lower).all() and (least <= self.s.row_upper).all())

    def _fill(self, labels: list[int], sizes: list[int]) -> IntArray | None:
        """Give the single samples to the clusters that miss them, then to those with room."""
        amounts = np.zeros((self.s.n_items, self.k), np.int64)
        for t, i in zip(self.order, labels, strict=True):
            amounts[t, i] += 1
        if self.n_single:
            extra = np.maximum(self.s.lower - sizes, 0)
            spare = self.n_single - int(extra.sum())
            for i in range(self.k):
                more = min(spare, int(self.s.upper[i]) - sizes[i] - int(extra[i]))
                extra[i] += more
                spare -= more
            single = np.flatnonzero(amounts.sum(axis=1) == 0)
            amounts[single[0]] = extra
        return self.reduced.expand(amounts)
