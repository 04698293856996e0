"""Items that links tie to each other: best labels of trees, exactly, by dynamic programming.

Conflicts and ties between items form a graph. On a spanning forest of it the labels of least cost
are found from the leaves to the roots and back: what a branch costs depends on the label of one
item. Each branch passes a message of k numbers to its parent, so an edge takes k steps. Links
outside the forest are left out: then the least cost is a bound, and labels may break such links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from bckm._core.types import FloatArray, IntArray
from bckm.assign._dual_lp import rounded
from bckm.problem.soft import Soft
from bckm.problem.structure import Structure


@dataclass(frozen=True, eq=False)
class _Level:
    """Nodes of equal depth, and the edge of each to its parent."""

    node: IntArray
    parent: IntArray
    tie: FloatArray  # above zero: cost of being apart; below: of being together, at most infinite


@dataclass(frozen=True, eq=False)
class ForestLabels:
    """Labels of the linked items, and what they cost with the edges of the forest."""

    labels: IntArray
    cost: float


class Forest:
    """A spanning forest of the links of a problem; hard ones first, then the dearest.

    Costs are divided by `cost_scale`.

    Attributes
    ----------
    items : array (t,)
        Items that have links.
    complete : bool
        Whether every link is in the forest.
    """

    def __init__(self, structure: Structure, soft: Soft, cost_scale: float = 1.0) -> None:
        pairs, tie = _links(structure, soft)
        tie = rounded(tie / cost_scale)
        self.items, ends = np.unique(pairs, return_inverse=True)
        ends = ends.reshape(pairs.shape)
        self._levels: list[_Level] = []
        self._roots = np.empty(0, np.int64)
        self.complete = True
        if self.items.size:
            self._grow(ends, tie)

    def _grow(self, ends: IntArray, tie: FloatArray) -> None:
        number = self.items.size
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

    def solve(self, cost: FloatArray) -> ForestLabels:
        """Least cost of the linked items; `cost` (t, k) is changed on the way."""
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
        labels = np.zeros(self.items.size, np.int64)
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
        return ForestLabels(labels, total)


def _links(structure: Structure, soft: Soft) -> tuple[IntArray, FloatArray]:
    """Pairs of items with what ties them; a conflict is an infinite cost of being together."""
    edges = structure.edges
    tie = sp.triu(soft.ties, 1).tocoo()
    soft_pairs = np.stack(tie.coords, axis=1).astype(np.int64)
    if len(edges) and len(soft_pairs):  # a conflict outweighs what is soft between the same items
        m = structure.n_items
        hard = np.isin(soft_pairs @ (m, 1), edges @ (m, 1))
        soft_pairs, values = soft_pairs[~hard], tie.data[~hard]
    else:
        values = tie.data
    pairs = np.concatenate([edges, soft_pairs])
    return pairs, np.concatenate([np.full(len(edges), -np.inf), values])
