"""Linked items without the kernels: best labels of a spanning forest, by dynamic programming.

The labels of least cost are found from the leaves to the roots and back: what a branch costs
depends on the label of one item. Each branch passes a message of k numbers to its parent, so an
edge takes k steps. Links outside the forest are left out: then the least cost is a bound, and
labels may break such links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from bckm._core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class _Level:
    """Nodes of equal depth, and the edge of each to its parent."""

    node: IntArray
    parent: IntArray
    tie: FloatArray  # above zero: cost of being apart; below: of being together, at most infinite


class SpanningForest:
    """A spanning forest of links; hard ones first, then the dearest.

    Attributes
    ----------
    complete : bool
        Whether every link is in the forest.
    """

    def __init__(self, number: int, ends: IntArray, tie: FloatArray) -> None:
        self._levels: list[_Level] = []
        self._number = number
        self._roots = np.empty(0, np.int64)
        self.complete = True
        if number:
            self._grow(ends, tie)

    def _grow(self, ends: IntArray, tie: FloatArray) -> None:
        number = self._number
        rank = np.empty(tie.size)
        rank[np.argsort(-np.abs(tie), kind="stable")] = np.arange(1, tie.size + 1)
        graph = sp.csr_array((rank, ends.T), (number, number))
        tree = minimum_spanning_tree(graph).tocoo()
        self.complete = tree.nnz == len(ends)
        edge = tie[np.argsort(rank)][tree.data.astype(np.int64) - 1]
        a, b = tree.coords
        # one more node above a root of each tree
        parts, which = sp.csgraph.connected_components(tree, directed=False)
        self._roots = np.empty(parts, np.int64)
        self._roots[which[::-1]] = np.arange(number)[::-1]
        top = np.full(parts, number)
        both = sp.csr_array(
            (
                np.ones(a.size + parts),
                (np.concatenate([a, top]), np.concatenate([b, self._roots])),
            ),
            (number + 1, number + 1),
        )
        order, parent = breadth_first_order(both, number, directed=False)
        depth = np.zeros(number + 1, np.int64)
        for node in order[1:]:
            depth[node] = depth[parent[node]] + 1
        value = sp.csr_array((np.arange(1, a.size + 1), (a, b)), (number, number))
        value = value + value.T
        for level in range(2, int(depth.max()) + 1):
            node = np.flatnonzero(depth[:number] == level)
            above = parent[node].astype(np.int64)
            at = np.asarray(value[node, above]).ravel() - 1
            self._levels.append(_Level(node, above, edge[at]))

    def solve(self, cost: FloatArray) -> tuple[IntArray, float]:
        """Labels of least cost, and that; `cost` (t, k) is changed on the way."""
        choices: list[tuple[FloatArray, IntArray, FloatArray, IntArray]] = []
        for level in reversed(self._levels):
            own = cost[level.node]
            rows = np.arange(level.node.size)
            first = own.argmin(axis=1)
            least = own[rows, first]
            others = own.copy()
            others[rows, first] = np.inf
            second = others.argmin(axis=1)
            other = others[rows, second]
            choices.append((own, first, other, second))
            message = np.repeat(least[:, None], own.shape[1], axis=1)
            together = level.tie > 0
            message[together] = np.minimum(own[together], (least + level.tie)[together, None])
            apart = ~together
            message[apart, first[apart]] = np.minimum(least - level.tie, other)[apart]
            np.add.at(cost, level.parent, message)
        labels = np.zeros(self._number, np.int64)
        labels[self._roots] = cost[self._roots].argmin(axis=1)
        total = float(cost[self._roots, labels[self._roots]].sum())
        for level, (own, first, other, second) in zip(self._levels, reversed(choices), strict=True):
            rows, above = np.arange(level.node.size), labels[level.parent]
            least = own[rows, first]
            joined = own[rows, above] <= least + level.tie
            joining = np.where(joined, above, first)
            moves = (first == above) & (other < least - level.tie)
            leaving = np.where(moves, second, first)
            labels[level.node] = np.where(level.tie > 0, joining, leaving)
        return labels, total
