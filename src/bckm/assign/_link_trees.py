"""Items that links tie to each other choose together: conflicts and ties form a graph.

Its connected parts are solved one by one (`kernels/links`): trees by dynamic programming, cliques
of conflicts as an assignment problem, small parts with cycles by a search. Of other parts only
trees and disjoint cliques are in the bound; their labels are repaired until they break no conflict,
where moves of one or two items lead there. Without the kernels all parts are spanning forests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.types import FloatArray, IntArray
from bckm.assign._dual_lp import rounded
from bckm.assign._spanning_forest import SpanningForest
from bckm.kernels import missing, native
from bckm.problem.soft import Soft
from bckm.problem.structure import Structure

LOOK = 20.0  # work of a cost without the kernels


@dataclass(frozen=True, eq=False)
class ForestLabels:
    """Labels of the linked items.

    Attributes
    ----------
    labels : array (t,)
        One per item.
    cost : float
        No labels of these items cost less, links included.
    obeys : bool
        Whether the labels break no conflict.
    """

    labels: IntArray
    cost: float
    obeys: bool


class Forest:
    """The links of a problem, mostly trees. Costs are divided by `cost_scale`.

    Attributes
    ----------
    items : array (t,)
        Items that have links.
    complete : bool
        Whether every link is in the bound.
    work : float
        What all calls took; see `Assigner.work`.
    """

    def __init__(
        self, structure: Structure, soft: Soft, cost_scale: float = 1.0, threads: int = 1
    ) -> None:
        pairs, tie = _links(structure, soft)
        tie = rounded(tie / cost_scale)
        pairs, tie = pairs[tie != 0], tie[tie != 0]
        self.items, ends = np.unique(pairs, return_inverse=True)
        ends = np.ascontiguousarray(ends.reshape(pairs.shape))
        self.work, self._threads = 0.0, threads
        self._parts: native.Linked | None = None
        if missing:
            self._forest = SpanningForest(self.items.size, ends, tie)
            self.complete = self._forest.complete
            self._ends = ends[np.isinf(tie)]
        else:
            self._parts = native.Linked(self.items.size, ends, tie)
            self.complete = self._parts.complete

    def solve(self, cost: FloatArray) -> ForestLabels:
        """Labels of the linked items, and a bound; `cost` (t, k) is changed on the way."""
        if self._parts is not None:
            found = self._parts.solve(cost, self._threads)
            self.work += found.work
            return ForestLabels(found.label, found.bound, found.obeys)
        labels, least = self._forest.solve(cost)
        self.work += LOOK * cost.size
        obeys = bool((labels[self._ends[:, 0]] != labels[self._ends[:, 1]]).all())
        return ForestLabels(labels, least, obeys)


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
