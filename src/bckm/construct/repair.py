"""Mending labels that break rules, by tabu search on what they violate."""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.problem.structure import Structure

LOOK = 4_000  # items looked at for one move; of more, every second, third, ... in turn


class _Repair:
    """Labels with their violations, kept up to date move by move."""

    def __init__(self, s: Structure, labels: IntArray) -> None:
        self.s, self.labels = s, labels.copy()
        m, k = s.n_items, s.n_clusters
        self.sizes = s.sizes(labels)
        # neighbors of an item in a cluster; a forbidden cluster counts as one that never leaves
        self.clash = np.zeros((m, k), np.int32)
        for a, b in ((0, 1), (1, 0)):
            np.add.at(self.clash, (s.edges[:, a], labels[s.edges[:, b]]), 1)
        self.clash.ravel()[s.forbidden] += 2  # as much as a conflict, which both ends count
        self.sums = s.loads.of(labels)
        # sums count in items of mean size, rows in units near their largest number
        mean = np.abs(s.loads.amount).mean(axis=0)
        self.unit = 1 / np.where(mean > 0, mean, 1.0)
        self.activity = s.linear_activity(labels)
        self.items = np.arange(m)

    @property
    def clashing(self) -> BoolArray:
        return np.asarray(self.clash[self.items, self.labels] > 0)

    def size_excess(self, sizes: IntArray, at: IntArray | slice = slice(None)) -> IntArray:
        low, up = self.s.lower[at], self.s.upper[at]
        return np.asarray(np.maximum(low - sizes, 0) + np.maximum(sizes - up, 0))

    def sum_excess(self, sums: FloatArray, at: IntArray | slice = slice(None)) -> FloatArray:
        low, up = self.s.loads.lower[at], self.s.loads.upper[at]
        return np.asarray((np.maximum(low - sums, 0) + np.maximum(sums - up, 0)) @ self.unit)

    def row_excess(self, activity: FloatArray, at: IntArray | slice = slice(None)) -> FloatArray:
        low, up = self.s.linear.lower[at], self.s.linear.upper[at]
        return np.asarray(np.maximum(low - activity, 0) + np.maximum(activity - up, 0))

    @property
    def violation(self) -> float:
        clashes = self.clash[self.items, self.labels].sum() / 2
        others = self.size_excess(self.sizes).sum() + self.sum_excess(self.sums).sum()
        return float(clashes + others + self.row_excess(self.activity).sum())

    def candidates(self, number: int) -> IntArray:
        """Items whose move may help."""
        s = self.s
        full = (self.sizes > s.upper) | (self.sums > s.loads.upper).any(axis=1)
        low = (self.sizes < s.lower).any() or (self.sums < s.loads.lower).any()
        if low or self.row_excess(self.activity).any():
            candidates = self.items
        else:
            candidates = np.flatnonzero(self.clashing | full[self.labels])
        step = -(-candidates.size // LOOK)
        return candidates if step <= 1 else candidates[number % step :: step]

    def change(self, items: IntArray) -> FloatArray:
        """How the violation changes when an item moves to a cluster, (items, k)."""
        s, here = self.s, self.labels[items]
        count = s.count[items][:, None]
        delta = (self.clash[items] - self.clash[items, here][:, None]).astype(float)
        now = self.size_excess(self.sizes)
        delta += self.size_excess(self.sizes + count) - now
        delta += (self.size_excess(self.sizes[here] - count[:, 0], here) - now[here])[:, None]
        if s.loads.number:
            amount = s.loads.amount[items]
            beyond = self.sum_excess(self.sums)
            delta += self.sum_excess(self.sums + amount[:, None]) - beyond
            delta += (self.sum_excess(self.sums[here] - amount, here) - beyond[here])[:, None]
        if self.activity.size:
            delta += self._row_change(items)
        delta[np.arange(items.size), here] = np.inf
        return delta

    def _row_change(self, items: IntArray) -> FloatArray:
        """Rows: exact unless a row holds an item in both clusters of a move."""
        s, k = self.s, self.s.n_clusters
        columns = s.columns.all_of(items)
        part = s.linear.by_column[:, columns].tocoo()
        r, c, a = part.coords[0], part.coords[1], part.data
        now = self.row_excess(self.activity)
        add = np.bincount(c, self.row_excess(self.activity[r] + a, r) - now[r], columns.size)
        drop = np.bincount(c, self.row_excess(self.activity[r] - a, r) - now[r], columns.size)
        left = drop.reshape(-1, k)[np.arange(items.size), self.labels[items]]
        return np.asarray(add.reshape(-1, k) + left[:, None])

    def move(self, j: int, i: int) -> None:
        s, old = self.s, self.labels[j]
        around = s.neighbors.indices[s.neighbors.indptr[j] : s.neighbors.indptr[j + 1]]
        self.clash[around, old] -= 1
        self.clash[around, i] += 1
        self.sizes[old] -= s.count[j]
        self.sizes[i] += s.count[j]
        self.labels[j] = i
        if s.loads.number:
            # both anew: what differences would leave behind must not add up
            for cluster in (old, i):
                self.sums[cluster] = s.loads.amount[self.labels == cluster].sum(axis=0)
        if self.activity.size:
            self.activity = s.linear_activity(self.labels)


def repair(
    s: Structure,
    cost: FloatArray | None,
    labels: IntArray,
    deadline: Deadline,
    rng: np.random.Generator | None = None,
) -> IntArray:
    """Mend labels by tabu search on what they violate; return the least violating ones seen.

    Costs, if there are any, decide between moves that mend as much.
    """
    if s.feasible(labels):
        return labels
    state = _Repair(s, labels)
    m, k = s.n_items, s.n_clusters
    scale = 1.0 if cost is None else float(cost.max()) or 1.0
    tabu = np.zeros((m, k), np.int32)
    best = now = state.violation
    best_labels = labels
    since_gain, patience = 0, 100 + min(m, 400)
    for number in range(100 * patience):
        items = state.candidates(number)
        change = state.change(items)
        score = change
        if cost is not None:
            dearer = cost[items] - cost[items, state.labels[items]][:, None]
            score = score + 1e-3 * dearer / scale
        if rng is not None:
            score = score + 1e-2 * rng.random(score.shape)
        score = np.where((tabu[items] > number) & (now + change >= best), np.inf, score)
        at = int(score.argmin()) if score.size else -1
        if at >= 0 and np.isfinite(score.ravel()[at]):
            j, i = int(items[at // k]), at % k
            tabu[j, state.labels[j]] = number + 7 + int(0.6 * state.clashing.sum())
            state.move(j, i)
            if s.feasible(state.labels):
                return state.labels
        now = state.violation
        since_gain += 1
        if now < best:
            best, best_labels, since_gain = now, state.labels.copy(), 0
        if since_gain > patience or deadline.passed:
            break
    return best_labels
