"""Local search in NumPy, for installations without the compiled kernels.

The moves are those of kernels/moves.cpp, and this is the plain way to read them; see also
`bckm.fit.search.local`. The two routes look at moves in another order and may end in other labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from bckm._core import arrays
from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.fit.search._exchange import Side, changes, promising
from bckm.fit.search._state import MASS_ROUNDING, State
from bckm.problem.problem import Problem

ROUNDING = 1e-12  # changes below this share of the objective are none
HEADS = 4  # items of each pair of clusters tried in chains
LARGEST = 64  # items of a flip or a group
CHAINS = 300_000  # chains looked at in one pass
PART = 1024  # moves of which the best are made before the others are judged again
BLOCK = 2**18  # numbers in an array of changes
KINDS: Final = ("passes", "relocated", "swapped", "chained", "flipped", "grouped")


@dataclass(frozen=True, eq=False)
class Descent:
    """Labels after local search.

    Attributes
    ----------
    labels : array (m,)
        Cluster of each item.
    counts : Counter
        Looks at all items (``passes``) and moves made, by their kind.
    work : float
        Numbers looked at, about.
    finished : bool
        Whether these labels are proven a local optimum: no relocation, swap, flip or move of a
        group (of at most 64 items) that keeps the rules lowers the objective by more than
        round-off.
    """

    labels: IntArray
    counts: Counter[str]
    work: float
    finished: bool


def descend(
    problem: Problem,
    labels: IntArray,
    centers: FloatArray,
    deadline: Deadline,
    effort: float = np.inf,
    *,
    fixed: bool = False,
) -> Descent:
    """Make moves that lower the inertia and penalties until there are none.

    Parameters
    ----------
    problem : Problem
        What to solve.
    labels : array (m,)
        Feasible labels of items; they stay as they are.
    centers : array (k, d)
        Where the center of a cluster without mass is.
    deadline : Deadline
        When to return what was found so far.
    effort : float
        How much work to do, about; see `Descent`.
    fixed : bool
        Whether all centers stay where they are: then this is a search for an assignment.
    """
    return _Search(State(problem, labels, centers, fixed=fixed), deadline, effort).run()


class _Search:
    def __init__(self, state: State, deadline: Deadline, effort: float) -> None:
        self.state, self.deadline, self.effort, self.work = state, deadline, effort, 0.0
        self.counts = Counter(dict.fromkeys(KINDS, 0))
        k = state.structure.n_clusters
        self.clock = 0  # moves made
        self.changed = np.zeros(k, np.int64)  # when each cluster changed last
        self.barren = np.full((k, k), -1)  # when a pair was last seen to have no swap
        self.skipped = False  # whether such a pair was not looked at again

    @property
    def over(self) -> bool:
        """Whether the time or the work is spent."""
        return self.work >= self.effort or self.deadline.passed

    def run(self) -> Descent:
        state, finished = self.state, False
        while not self.over:
            self.counts["passes"] += 1
            before, cost = state.labels.copy(), state.cost
            self.least_change = ROUNDING * cost
            # the longer moves only where the shorter ones are exhausted
            better = self.relocate()
            better |= self.swap()
            better = better or self.flip()
            better = better or self.group()
            whole = not self.over
            better = better or self.push() or self.chain()
            if better:
                state.refresh()
                if state.cost < cost:
                    continue
                state.restart(before)  # what seemed a gain was round-off
                break
            if not (whole and self.skipped):
                finished = whole
                break
            # look at all pairs again: a smaller gain may count now, and rows may give way
            self.barren[:] = -1
        return Descent(state.labels, self.counts, self.work, finished)

    def make(self, kind: str, items: IntArray, to: IntArray) -> bool:
        """Make the best of some moves (n, h), then the next best that still helps, and so on."""
        before = self.clock
        start = self.state.labels[items]
        change = self._change(items, to)
        best = np.flatnonzero(change < -self.least_change)
        best = best[np.argsort(change[best], kind="stable")]
        for part in arrays.blocks(best.size, 1, PART):
            last, some = self.clock, best[part]
            # an item that went elsewhere meanwhile would make another move of it
            some = some[(self.state.labels[items[some]] == start[some]).all(axis=1)]
            some = some[self._helps(items[some], to[some])]
            moved: set[int] = set()
            for q, those in zip(some, items[some].tolist(), strict=True):
                if self.over:
                    break
                # after a move, the others have to be judged again
                if moved.isdisjoint(those) and (not moved or self._helps(items[[q]], to[[q]])[0]):
                    self._apply(kind, items[q], to[q])
                    moved.update(those)
            if self.over or before < last == self.clock:
                break
        return self.clock > before

    def _helps(self, items: IntArray, to: IntArray) -> BoolArray:
        good = self._change(items, to) < -self.least_change
        good[good] = self.state.admits(items[good], to[good])
        return good

    def _change(self, items: IntArray, to: IntArray) -> FloatArray:
        width = items.shape[1] * self.state.points.shape[1]
        self.work += float(len(items) * width)
        parts = list(arrays.blocks(len(items), width, BLOCK))
        return np.concatenate(
            [np.empty(0), *(self.state.change(items[part], to[part]) for part in parts)]
        )

    def _apply(self, kind: str, items: IntArray, to: IntArray) -> None:
        self.clock += 1
        self.changed[self.state.labels[items]] = self.changed[to] = self.clock
        self.counts[kind] += 1
        self.state.apply(items, to)

    def _squares(self, some: FloatArray, other: FloatArray) -> FloatArray:
        self.work += float(some.size * len(other))
        return arrays.squared_distances(some, other)

    def relocate(self) -> bool:
        """One item to another cluster."""
        state, before = self.state, self.clock
        for rows in arrays.blocks(state.labels.size, state.size.size, BLOCK):
            if self.over:
                break
            items, to = self._relocations(np.arange(rows.start, rows.stop))
            self.make("relocated", items[:, None], to[:, None])
        return self.clock > before

    def _relocations(self, items: IntArray) -> tuple[IntArray, IntArray]:
        """Items and clusters where they would lower the objective, if sizes permit."""
        state, s = self.state, self.state.structure
        mass, start, count = state.mass[items, None], state.labels[items], state.count[items, None]
        cost = mass * self._squares(state.points[items], state.centers)
        here = np.take_along_axis(cost, start[:, None], axis=1)
        if not state.fixed:
            # means follow: see State.change for a single item that joins or leaves
            there, own = np.broadcast_to(state.weight, cost.shape), state.weight[start, None]
            share = np.divide(there, there + mass, np.zeros(cost.shape), where=there > 0)
            cost = cost * share
            rest = np.maximum(own - mass, MASS_ROUNDING * own)
            others = state.heavy[start, None] > 1
            here = here * np.divide(own, rest, np.ones(own.shape), where=others)
        change = cost - here
        if state.penalty.asks:
            change += state.penalty.relocations(state.labels, items)
        good = change < -self.least_change / 2  # judged exactly by `make`
        good &= (state.size - s.lower)[start, None] >= count
        good &= s.upper - state.size >= count
        good[np.arange(items.size), start] = False
        which, to = np.nonzero(good)
        free = state.free(items[which], to)
        return items[which][free], to[free]

    def swap(self) -> bool:
        """Two items of two clusters, each to the other's."""
        before, members, self.skipped = self.clock, self._members(), False
        for a, b in np.argwhere(np.tri(len(members), k=-1).T):
            if self.over:
                break
            if self.barren[a, b] >= max(self.changed[a], self.changed[b]):
                self.skipped = True
                continue
            now = self.clock
            if not self._swap_between(a, b, members[a], members[b]):
                self.barren[a, b] = now
        self._swap_tied()
        return self.clock > before

    def _swap_tied(self) -> None:
        """Two items that should be apart, and are: their gains do not know of each other."""
        ties, labels = self.state.penalty.soft.ties.tocoo(), self.state.labels
        pairs = np.stack(ties.coords, axis=1)[ties.data < 0].astype(np.int64)
        pairs = pairs[(pairs[:, 0] < pairs[:, 1]) & (labels[pairs[:, 0]] != labels[pairs[:, 1]])]
        self.make("swapped", pairs, labels[pairs[:, ::-1]])

    def _swap_between(self, a: int, b: int, mine: IntArray, yours: IntArray) -> bool:
        state, labels, before = self.state, self.state.labels, self.clock
        mine, yours = mine[labels[mine] == a], yours[labels[yours] == b]
        # two items in conflict with each other alone are a flip; others must be in none
        mine, yours = mine[state.free(mine, b)], yours[state.free(yours, a)]
        if mine.size == 0 or yours.size == 0:
            return False
        one, other = self._side(mine, a, b), self._side(yours, b, a)
        mine, yours = promising(state, one, other), promising(state, other, one)
        other = self._side(yours, b, a)
        for rows in arrays.blocks(mine.size, max(1, yours.size), BLOCK):
            self.work += float(2 * (rows.stop - rows.start) * yours.size * state.points.shape[1])
            change = changes(state, self._side(mine[rows], a, b), other)
            p, q = np.nonzero(change < -self.least_change / 2)  # judged exactly by `make`
            items = np.stack([mine[rows][p], yours[q]], axis=1)
            stay = (labels[items] == (a, b)).all(axis=1)
            items = items[stay]
            self.make("swapped", items, np.broadcast_to((b, a), items.shape))
        return self.clock > before

    def _side(self, items: IntArray, own: int, other: int) -> Side:
        self.work += float(2 * items.size * self.state.points.shape[1])
        return Side(self.state, items, own, other)

    def group(self) -> bool:
        """All items of a cluster that hang together by ties above zero go to another one.

        At need those come back that are best off.
        """
        state, before = self.state, self.clock
        ties = state.penalty.soft.ties.tocoo()
        pull = np.stack(ties.coords, axis=1)[ties.data > 0].astype(np.int64)
        pull = pull[state.labels[pull[:, 0]] == state.labels[pull[:, 1]]]
        if len(pull) == 0:
            return False
        heads = self._heads()
        for items in _connected(pull):
            start, h = state.labels[items], items.shape[1]
            for b in range(state.size.size):
                here = (state.labels[items] == start).all(axis=1) & (start[:, 0] != b)
                own, to = items[here], np.full((here.sum(), h), b)
                if self.over or self.make("grouped", own, to) or h > HEADS:
                    continue
                back = heads[b, start[here, 0], :h]
                own, to = np.hstack([own, back]), np.hstack([to, start[here]])
                there = (back >= 0).all(axis=1) & (state.labels[back] == b).all(axis=1)
                self.make("grouped", own[there], to[there])
        return self.clock > before

    def flip(self) -> bool:
        """All items of two clusters that hang together by conflicts change sides."""
        state, before = self.state, self.clock
        edges = state.structure.edges
        ends = np.sort(state.labels[edges], axis=1)
        pair = ends @ (state.size.size, 1)
        order = np.argsort(pair, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
            if group.size == 0 or self.over:
                break
            a, b = ends[group[0]]
            between = edges[group]
            stay = (np.sort(state.labels[between], axis=1) == (a, b)).all(axis=1)
            for items in _connected(between[stay]):
                start = state.labels[items]
                self.make("flipped", items, a + b - start)
        return self.clock > before

    def push(self) -> bool:
        """Where one item wants to go, the only one in conflict is pushed on to a third cluster.

        From there, at need, another one comes to where the first was.
        """
        state, before = self.state, self.clock
        edges = state.structure.edges
        if len(edges) == 0:
            return False
        pairs = np.concatenate([edges, edges[:, ::-1]])
        heads = self._heads()
        for d in range(state.size.size):
            if self.over:
                break
            a, b = state.labels[pairs].T
            _, place, number = np.unique(
                pairs[:, 0] * state.size.size + b, return_inverse=True, return_counts=True
            )
            use = (number[place] == 1) & (a != d) & (b != d)
            items, to = pairs[use], np.stack([b[use], np.full(use.sum(), d)], axis=1)
            if self.make("chained", items, to):
                continue
            third = heads[d, a[use]].ravel()
            items = np.column_stack([np.repeat(items, HEADS, axis=0), third])
            to = np.column_stack([np.repeat(to, HEADS, axis=0), np.repeat(a[use], HEADS)])
            there = (third >= 0) & (state.labels[third] == d)
            self.make("chained", items[there], to[there])
        return self.clock > before

    def chain(self) -> bool:
        """Three items around a cycle of clusters, or two along a path whose middle keeps its size.

        Of each pair of clusters only the items that are best off.
        """
        state, s, before = self.state, self.state.structure, self.clock
        heads, left, k = self._heads(), CHAINS, self.state.size.size
        for a, b in np.argwhere(heads[:, :, 0] >= 0):
            d = np.setdiff1d(np.arange(k), (a, b))
            around = d[d > a] if b > a else d[:0]  # each cycle once
            along = d[(state.size < s.upper)[d]] if state.size[a] > s.lower[a] else d[:0]
            one = heads[a, b][:, None, None, None]
            two = heads[b][:, :, None]
            three = heads[:, a][:, None, :]
            for items, to in (
                _all((one[..., 0], b), (two[along, :, 0], along[:, None])),
                _all((one, b), (two[around], around[:, None, None]), (three[around], a)),
            ):
                stay = (items >= 0).all(axis=1)
                left -= int(stay.sum())
                self.make("chained", items[stay], to[stay])
            if left < 0 or self.over:
                break
        return self.clock > before

    def _heads(self) -> IntArray:
        """Of the items of each cluster those best off in each other one, (k, k, HEADS); or -1."""
        state = self.state
        heads = np.full((*self.barren.shape, HEADS), -1)
        for a, mine in enumerate(self._members()):
            mine = mine[state.mass[mine] > 0]
            best, gain = np.empty((0, len(heads)), np.int64), np.empty((0, len(heads)))
            for rows in arrays.blocks(mine.size, len(heads), BLOCK):
                square = self._squares(state.points[mine[rows]], state.centers)
                some = state.mass[mine[rows], None] * (square - square[:, [a]])
                if state.penalty.asks:
                    alone = state.penalty.alone(state.labels, mine[rows])
                    some += alone - alone[:, [a]]
                gain = np.concatenate([gain, some])
                best = np.concatenate([best, np.tile(mine[rows, None], len(heads))])
                order = np.argsort(gain, axis=0, kind="stable")[:HEADS]
                gain = np.take_along_axis(gain, order, axis=0)
                best = np.take_along_axis(best, order, axis=0)
            heads[a, :, : len(best)] = best.T
            heads[a, a] = -1
        return heads

    def _members(self) -> list[IntArray]:
        order = np.argsort(self.state.labels, kind="stable")
        held = np.bincount(self.state.labels, minlength=self.state.size.size)
        return np.split(order, np.cumsum(held)[:-1])


def _connected(edges: IntArray) -> Iterator[IntArray]:
    """Items that hang together by edges: all sets of h items at once, (n, h), unless too large."""
    items, ends = np.unique(edges, return_inverse=True)
    ends = ends.reshape(edges.shape).T
    graph = sp.coo_array((np.ones(len(edges)), tuple(ends)), (items.size, items.size))
    number, component = connected_components(graph, directed=False)
    size = np.bincount(component, minlength=number)
    order = np.argsort(component, kind="stable")
    for h in np.unique(size[size <= LARGEST]):
        yield items[order[size[component[order]] == h]].reshape(-1, h)


def _all(*hops: tuple[IntArray, IntArray | int]) -> tuple[IntArray, IntArray]:
    """Moves from broadcast arrays: for each hop the items, and the clusters they go to."""
    flat = [part.ravel() for part in np.broadcast_arrays(*chain.from_iterable(hops))]
    return np.stack(flat[::2], axis=1), np.stack(flat[1::2], axis=1)
