"""COP order with repair: place items one by one, then mend what does not fit.

COP-k-means (Wagstaff et al. 2001) takes samples in the order given and fails when none of the
clusters is left. Here the items with the fewest choices come first, and a tabu search mends the
rest; when even that fails, the labels at hand stay. The same construction, with costs of zero,
looks for feasible labels before a fit.
"""

from __future__ import annotations

import heapq

import numpy as np

from bckm._types import BoolArray, FloatArray, IntArray
from bckm.assign.base import Assignment, Deadline, Engine, MatrixAssigner
from bckm.problem import Feature, Problem
from bckm.structure import Structure


def construct(
    structure: Structure,
    cost: FloatArray,
    deadline: Deadline,
    rng: np.random.Generator | None = None,
) -> IntArray | None:
    """Build feasible labels of low cost, or return None when the repair gives up.

    Parameters
    ----------
    structure : Structure
        What to obey.
    cost : array (m, k)
        Cost of each item in each cluster.
    deadline : Deadline
        When to give up.
    rng : Generator, optional
        Shuffles ties, for repeated tries.
    """
    labels = repair(structure, cost, place(structure, cost, rng), deadline, rng)
    return labels if structure.feasible(labels) else None


def place(
    s: Structure, cost: FloatArray | None, rng: np.random.Generator | None = None
) -> IntArray:
    """Put every item into its cheapest cluster that has room, hardest items first.

    Without costs every cluster is as cheap as the first, and the many items that ask nothing but
    room for one sample are placed at once.
    """
    m, k = s.n_items, s.n_clusters
    labels = np.full(m, -1)
    sizes = np.zeros(k, np.int64)
    indptr, indices = s.neighbours.indptr, s.neighbours.indices
    degree = np.diff(indptr)
    blocked = np.zeros((m, k), bool)  # a neighbour of the item is in the cluster
    saturation = np.zeros(m, np.int64)  # blocked clusters of each item
    if rng is not None:
        regret = rng.permutation(m) / m
    else:
        regret = np.zeros(m) if cost is None else _regret(cost)
    remaining = int(s.count.sum())

    # items in conflict: fewest choices first (DSATUR)
    hard = np.flatnonzero(degree > 0)
    hard = hard[np.lexsort((-regret[hard], -s.count[hard], -degree[hard]))]
    rank = dict(zip(hard.tolist(), range(hard.size), strict=True))
    heap = [(0, at, j) for j, at in rank.items()]  # sorted, hence a heap
    while heap:
        fewer, _, j = heapq.heappop(heap)
        if labels[j] >= 0 or -fewer < saturation[j]:  # an entry from before it was blocked more
            continue
        remaining = _put(s, cost, j, labels, sizes, blocked[j], remaining)
        around = indices[indptr[j] : indptr[j + 1]]
        fresh = around[~blocked[around, labels[j]]]
        blocked[fresh, labels[j]] = True
        saturation[fresh] += 1
        for other in fresh[labels[fresh] < 0].tolist():
            heapq.heappush(heap, (-int(saturation[other]), rank[other], other))

    # then large items, which need most room; then costly ones
    free = degree == 0
    at_once = free & (s.count == 1) if cost is None else np.zeros(m, bool)
    rest = np.flatnonzero(free & ~at_once)
    for j in rest[np.lexsort((-regret[rest], -s.count[rest]))].tolist():
        remaining = _put(s, cost, j, labels, sizes, None, remaining)
    labels[at_once] = _fill(s, sizes, int(at_once.sum()))
    return labels


def _fill(s: Structure, sizes: IntArray, number: int) -> IntArray:
    """Clusters for so many single samples: each takes what fits and the later ones can spare."""
    taken = np.zeros(s.n_clusters, np.int64)
    missing = np.maximum(s.lower - sizes, 0)
    room = np.maximum(s.upper - sizes, missing)
    later, left = int(missing.sum()), number
    for i in range(s.n_clusters):
        later -= int(missing[i])
        taken[i] = min(room[i], left, max(left - later, missing[i]))
        left -= int(taken[i])
    # what fits nowhere is left to the repair
    return np.concatenate([np.repeat(np.arange(s.n_clusters), taken), np.arange(left) % taken.size])


def _put(
    s: Structure,
    cost: FloatArray | None,
    j: int,
    labels: IntArray,
    sizes: IntArray,
    blocked: BoolArray | None,
    remaining: int,
) -> int:
    """Place item j; where nothing is allowed, in the cluster that breaks least."""
    size = int(s.count[j])
    missing = np.maximum(s.lower - sizes, 0)
    filled = np.minimum(missing, size)
    # what is left must still be enough to fill every cluster to its lower bound
    broken = np.maximum(sizes + size - s.upper, 0) + np.maximum(
        missing.sum() - filled - (remaining - size), 0
    )
    if blocked is not None:
        broken = broken + blocked * s.item.size
    choices = np.flatnonzero(broken == broken.min())
    i = int(choices[0 if cost is None else cost[j, choices].argmin()])
    labels[j] = i
    sizes[i] += size
    return remaining - size


def _regret(cost: FloatArray) -> FloatArray:
    """What an item loses in its second-best cluster, of the largest such loss."""
    if cost.shape[1] < 2:
        return np.zeros(cost.shape[0])
    two = np.partition(cost, 1, axis=1)[:, :2]
    regret = two[:, 1] - two[:, 0]
    # centres often lie on items, and then regrets tie: round-off must not order them
    return np.asarray(np.round(regret / (float(regret.max()) or 1.0), 9), dtype=np.float64)


class _Repair:
    """Labels with their violations, kept up to date move by move."""

    def __init__(self, s: Structure, labels: IntArray) -> None:
        self.s, self.labels = s, labels.copy()
        k = s.n_clusters
        self.sizes = s.sizes(labels)
        self.clash = np.zeros((s.n_items, k), np.int64)  # neighbours of an item in a cluster
        for a, b in ((0, 1), (1, 0)):
            np.add.at(self.clash, (s.edges[:, a], labels[s.edges[:, b]]), 1)
        self.activity = s.activity(labels)
        self.items = np.arange(s.n_items)

    @property
    def clashing(self) -> BoolArray:
        return np.asarray(self.clash[self.items, self.labels] > 0)

    def row_excess(self, activity: FloatArray, rows: IntArray | slice) -> FloatArray:
        low, up = self.s.row_lower[rows], self.s.row_upper[rows]
        return np.maximum(low - activity, 0) + np.maximum(activity - up, 0)

    @property
    def violation(self) -> float:
        clashes = self.clash[self.items, self.labels].sum() / 2
        sizes = np.maximum(self.s.lower - self.sizes, 0) + np.maximum(self.sizes - self.s.upper, 0)
        rows = self.row_excess(self.activity, slice(None)).sum() if self.activity.size else 0.0
        return float(clashes + sizes.sum() + rows)

    def candidates(self) -> IntArray:
        """Items whose move may help."""
        chosen = self.clashing | (self.sizes > self.s.upper)[self.labels]
        if (self.sizes < self.s.lower).any() or (
            self.activity.size and self.row_excess(self.activity, slice(None)).any()
        ):
            chosen[:] = True
        return np.flatnonzero(chosen)

    def change(self, items: IntArray) -> FloatArray:
        """How the violation changes when an item moves to a cluster, (items, k)."""
        s, here = self.s, self.labels[items]
        count = s.count[items][:, None]
        delta = (self.clash[items] - self.clash[items, here][:, None]).astype(float)

        def excess(sizes: IntArray) -> IntArray:
            return np.asarray(np.maximum(s.lower - sizes, 0) + np.maximum(sizes - s.upper, 0))

        now = excess(self.sizes)
        delta += excess(self.sizes + count) - now
        left = self.sizes[here] - count[:, 0]
        delta += (
            np.maximum(s.lower[here] - left, 0) + np.maximum(left - s.upper[here], 0) - now[here]
        )[:, None]
        if self.activity.size:
            delta += self._row_change(items)
        delta[np.arange(items.size), here] = np.inf
        return delta

    def _row_change(self, items: IntArray) -> FloatArray:
        """Rows: exact unless a row holds an item in both clusters of a move."""
        s, k = self.s, self.s.n_clusters
        columns = (items[:, None] * k + np.arange(k)).ravel()
        part = s.columns[:, columns].tocoo()
        r, c, a = part.coords[0], part.coords[1], part.data
        now = self.row_excess(self.activity, slice(None))
        add = np.bincount(
            c, self.row_excess(self.activity[r] + a, r) - now[r], columns.size
        ).reshape(-1, k)
        drop = np.bincount(
            c, self.row_excess(self.activity[r] - a, r) - now[r], columns.size
        ).reshape(-1, k)
        return np.asarray(add + drop[np.arange(items.size), self.labels[items]][:, None])

    def move(self, j: int, i: int) -> None:
        s, old = self.s, self.labels[j]
        around = s.neighbours.indices[s.neighbours.indptr[j] : s.neighbours.indptr[j + 1]]
        self.clash[around, old] -= 1
        self.clash[around, i] += 1
        self.sizes[old] -= s.count[j]
        self.sizes[i] += s.count[j]
        self.labels[j] = i
        if self.activity.size:
            self.activity = s.activity(self.labels)


def repair(
    s: Structure,
    cost: FloatArray,
    labels: IntArray,
    deadline: Deadline,
    rng: np.random.Generator | None = None,
) -> IntArray:
    """Mend labels by tabu search on what they violate; return the least violating ones seen."""
    if s.feasible(labels):
        return labels
    state = _Repair(s, labels)
    m, k = cost.shape
    scale = float(cost.max()) or 1.0
    tabu = np.zeros((m, k), np.int64)
    best, best_labels = state.violation, labels
    since_gain, patience = 0, 100 + min(m, 400)
    for number in range(100 * patience):
        items = state.candidates()
        change = state.change(items)
        score = change + 1e-3 * (cost[items] - cost[items, state.labels[items]][:, None]) / scale
        if rng is not None:
            score = score + 1e-2 * rng.random(score.shape)
        score[(tabu[items] > number) & (state.violation + change >= best)] = np.inf
        at = int(score.argmin())
        if np.isfinite(score.ravel()[at]):
            j, i = int(items[at // k]), at % k
            tabu[j, state.labels[j]] = number + 7 + int(0.6 * state.clashing.sum())
            state.move(j, i)
            if s.feasible(state.labels):
                return state.labels
        since_gain += 1
        if state.violation < best:
            best, best_labels, since_gain = state.violation, state.labels.copy(), 0
        if since_gain > patience or deadline.passed:
            break
    return best_labels


class GreedyAssigner(MatrixAssigner):
    """See the module."""

    def from_cost(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; keeps `start` when nothing better is found."""
        items = np.arange(start.size)
        coupled = self.problem.soft.coupled
        best, total = start, float(cost[items, start].sum()) + coupled(start)
        labels = construct(self.structure, cost, deadline)
        if labels is not None:
            found = float(cost[items, labels].sum()) + coupled(labels)
            if found < total:
                best, total = labels, found
        return Assignment(best, total, float(cost.min(axis=1).sum()))


class Greedy(Engine):
    """Fast and feasible, without any promise of quality."""

    name = "greedy"
    handles = ~Feature.NONE

    def prepare(self, problem: Problem) -> GreedyAssigner:
        """Compile nothing."""
        return GreedyAssigner(problem)
