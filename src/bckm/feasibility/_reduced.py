"""A structure without its repetitions: items that no rule tells apart become one type.

Whether rules can be obeyed depends neither on the data nor on which of a thousand free samples goes
where. Items that take part in a conflict or a general row stay as they are; of the others those of
equal count and sums, with the same clusters open, merge into a type with a weight. Where only
conflicts matter, items with fewer conflicts than clusters are set aside: they find a cluster
whatever the others do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bckm._core.types import IntArray
from bckm.problem.structure import Structure


@dataclass(frozen=True, eq=False)
class Reduced:
    """A smaller structure that is feasible exactly when the whole one is.

    Attributes
    ----------
    full : Structure
        Where it comes from.
    structure : Structure
        One item per type; its sizes and rows count each type once.
    weight : array (t,)
        Items of each type.
    members : list of arrays
        The items of each type.
    aside : list of int
        Items to be placed last, in this order.
    """

    full: Structure
    structure: Structure
    weight: IntArray
    members: list[IntArray]
    aside: list[int]

    @classmethod
    def of(cls, s: Structure) -> Reduced:
        """Reduce a structure."""
        coloring = _only_conflicts(s)
        aside = _peel(s) if coloring else []
        kept = np.setdiff1d(np.arange(s.n_items), aside)
        constrained = np.zeros(s.n_items, bool)
        constrained[s.edges.ravel()] = True
        constrained[s.columns.item(s.linear.matrix.tocoo().coords[1])] = True
        members = [np.array([j]) for j in kept[constrained[kept]]]
        members += _types(s, kept[~constrained[kept]])
        first = np.array([group[0] for group in members], np.int64)
        position = np.full(s.n_items, -1)
        position[first] = np.arange(first.size)
        structure = replace(
            s,
            count=s.count[first],
            lower=np.zeros_like(s.lower) if coloring else s.lower,
            conflict_sets=s.conflict_sets.among(position),
            loads=replace(s.loads, amount=s.loads.amount[first]),
            forbidden=_moved(position, s),
            linear=replace(
                s.linear,
                matrix=s.linear.by_column[:, s.columns.all_of(first)].tocsr(),
            ),
        )
        weight = np.array([group.size for group in members], np.int64)
        return cls(s, structure, weight, members, aside)

    def expand(self, amounts: IntArray) -> IntArray | None:
        """Labels of all items from the number of each type in each cluster, (t, k).

        None when there are more or fewer than items. They keep the rules if the amounts do, which
        is for `Structure.feasible` to say: a solver may be mistaken, and sums may be rounded.
        """
        s = self.full
        labels = np.full(s.n_items, -1)
        for group, amount in zip(self.members, amounts, strict=True):
            if amount.sum() != group.size:
                return None
            labels[group] = np.repeat(np.arange(s.n_clusters), amount)
        for j in self.aside:
            around = s.neighbors.indices[s.neighbors.indptr[j] : s.neighbors.indptr[j + 1]]
            taken = set(labels[around].tolist())
            labels[j] = next(i for i in range(s.n_clusters) if i not in taken)
        if _only_conflicts(s):
            _spread(labels, s)
        return labels


def _types(s: Structure, free: IntArray) -> list[IntArray]:
    """Items that nothing tells apart, large ones first."""
    if not free.size:
        return []
    shut = np.zeros(s.n_items, np.int64)  # a number for each set of forbidden clusters
    if s.forbidden.size:
        item, cluster = s.columns.split(s.forbidden)
        known: dict[bytes, int] = {}
        starts = np.flatnonzero(np.diff(item, prepend=-1))
        for j, part in zip(item[starts].tolist(), np.split(cluster, starts[1:]), strict=True):
            shut[j] = known.setdefault(part.tobytes(), len(known) + 1)
    alike = np.column_stack([-s.count[free], s.loads.amount[free], shut[free]])
    number = np.unique(alike, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(number, kind="stable")
    return np.split(free[order], np.flatnonzero(np.diff(number[order])) + 1)


def _moved(position: IntArray, s: Structure) -> IntArray:
    """Forbidden columns of the items that are left, by their new positions."""
    item, cluster = s.columns.split(s.forbidden)
    at = position[item]
    return np.sort(s.columns.of(at, cluster)[at >= 0])


def _only_conflicts(s: Structure) -> bool:
    """Conflicts decide alone: a proper coloring of m >= k items can always use all k colors."""
    loose = (s.lower <= 1).all() and (s.upper >= s.item.size).all()
    return bool(loose and not s.has_rows and s.n_items >= (s.lower > 0).sum())


def _peel(s: Structure) -> list[int]:
    """Set aside items with fewer than k conflicts, again and again; last ones out come first."""
    indptr, indices = s.neighbors.indptr, s.neighbors.indices
    degree = np.diff(indptr)
    out = degree < s.n_clusters
    stack = np.flatnonzero(out).tolist()
    order = []
    while stack:
        j = stack.pop()
        order.append(j)
        for other in indices[indptr[j] : indptr[j + 1]]:
            degree[other] -= 1
            if degree[other] < s.n_clusters and not out[other]:
                out[other] = True
                stack.append(int(other))
    return order[::-1]


def _spread(labels: IntArray, s: Structure) -> None:
    """Fill clusters that must not be empty from clusters with more than one item."""
    items = np.bincount(labels, minlength=s.n_clusters)
    for i in np.flatnonzero((items == 0) & (s.lower > 0)):
        j = int(np.flatnonzero(items[labels] - (s.lower[labels] > 0) > 0)[0])
        items[labels[j]] -= 1
        items[i] += 1
        labels[j] = i
