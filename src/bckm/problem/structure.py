"""The combinatorial part of a problem: rules compiled to items, conflicts, bounds and rows.

Must-linked samples contract to one *item*; everything below this module works on items, and only
`Structure.expand` leads back. No data here: feasibility depends on the rules alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from bckm._core.types import BoolArray, FloatArray, IntArray, Sparse
from bckm.constraints.links import PART
from bckm.constraints.rule_list import LinkRules, Rules, SoftRules
from bckm.constraints.rules import (
    CapacityBound,
    Fixed,
    Forbidden,
    Moved,
    MovedMax,
    NonEmpty,
    RowBound,
    Rule,
    SizeMax,
    SizeMin,
    SoftRule,
)
from bckm.problem.cliques import Cliques, clique_cover
from bckm.problem.columns import Columns
from bckm.problem.conflicts import ConflictSets, lift, symmetric
from bckm.problem.linear import (
    Linear,
    Loads,
    compile_forbidden,
    compile_loads,
    compile_rows,
    tightened,
)


def contract(rules: Iterable[Rule], n_samples: int) -> IntArray:
    """Number the must-link components: the item of each sample.

    Items are numbered by their first sample, so the result does not depend on the order of rules.
    """
    small = n_samples < 1 << 31
    first: NDArray[np.integer] = np.arange(n_samples).astype(np.int32 if small else np.int64)
    for block in Rules.of(rules).must_links.blocks:
        for one, other in block.chained(max(PART, n_samples)):
            _join(first, first[one], first[other])
    item = np.cumsum(first == np.arange(n_samples, dtype=first.dtype))
    item -= 1
    return item if item[-1] == n_samples - 1 else item[first]


def _join(first: NDArray[np.integer], a: NDArray[np.integer], b: NDArray[np.integer]) -> None:
    """Join items, here named by their first samples; of many links most say nothing new."""
    fresh = a != b
    if not fresh.any():
        return
    a, b = a[fresh], b[fresh]
    named = np.zeros(first.size, bool)
    named[a] = named[b] = True
    names = np.flatnonzero(named)
    place = np.cumsum(named, dtype=first.dtype)
    place -= 1
    graph = sp.coo_array((np.ones(a.size), (place[a], place[b])), (names.size, names.size))
    group = connected_components(graph, directed=False)[1]
    least = np.empty(int(group.max()) + 1, first.dtype)
    least[group[::-1]] = names[::-1]
    place[names] = least[group]
    members = np.flatnonzero(named[first])
    first[members] = place[first[members]]


@dataclass(frozen=True, eq=False)
class BoundedRows:
    """Linear rows over the item x cluster indicator, (r, m * k), and their bounds, (r,)."""

    matrix: Sparse
    lower: FloatArray
    upper: FloatArray

    def joined(self, matrix: Sparse, lower: FloatArray, upper: FloatArray) -> BoundedRows:
        """These rows and some more."""
        return BoundedRows(
            sp.vstack([self.matrix, matrix], format="csr"),
            np.concatenate([self.lower, lower]),
            np.concatenate([self.upper, upper]),
        )


@dataclass(frozen=True, eq=False)
class Structure:
    """What labels of items must obey.

    Attributes
    ----------
    n_clusters : int
        k.
    item : array (n,)
        Item of each sample.
    count : array (m,)
        Samples in each item.
    lower, upper : arrays (k,)
        Bounds on the number of samples in each cluster.
    conflict_sets : ConflictSets
        Sets of items that must be pairwise apart, as stated, largest first.
    contradictions : LinkRules
        Cannot-links between samples of one item.
    loads : Loads
        Sums over the items of each cluster, with their bounds.
    forbidden : array of int
        Numbers of the `columns` that labels must not use, sorted.
    linear : Linear
        Further linear rows over the item x cluster indicator, with their bounds.
    cluster_class : array (k,)
        Clusters of one class are interchangeable: the same rules hold for them.
    cluster_order : array (k,)
        Clusters from small to large bounds; depends on the bounds, not on their order.
    """

    n_clusters: int
    item: IntArray
    count: IntArray
    lower: IntArray
    upper: IntArray
    conflict_sets: ConflictSets
    contradictions: LinkRules
    loads: Loads
    forbidden: IntArray
    linear: Linear
    cluster_class: IntArray
    cluster_order: IntArray

    @classmethod
    def compile(
        cls,
        rules: Iterable[Rule],
        item: IntArray,
        n_clusters: int,
        soft: SoftRules | None = None,
    ) -> Structure:
        """Compile rules, given the item of each sample (see `contract`).

        Soft rules ask nothing here, but may tell clusters apart.
        """
        listed = Rules.of(rules)
        others, priced = listed.others, [] if soft is None else soft.others
        lower, upper = size_bounds(others, item.size, n_clusters)
        sets, contradictions = lift(listed, item)
        return cls(
            n_clusters=n_clusters,
            item=item,
            count=np.bincount(item),
            lower=lower,
            upper=upper,
            conflict_sets=sets,
            contradictions=contradictions,
            loads=compile_loads(others, item, n_clusters),
            forbidden=compile_forbidden(others, item, n_clusters),
            linear=compile_rows(others, item, n_clusters),
            cluster_class=_cluster_classes(others, priced, lower, upper),
            cluster_order=_cluster_order(others, priced, lower, upper),
        )

    @cached_property
    def columns(self) -> Columns:
        """Numbers of the item x cluster indicator."""
        return Columns(self.n_clusters)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.count.size

    def samples(self, items: BoolArray) -> int:
        """Count the samples of some items."""
        if self.n_items == self.item.size:
            return int(np.count_nonzero(items))
        return int(self.count[items].sum())

    @cached_property
    def edges(self) -> IntArray:
        """Conflicts (e, 2): pairs of items that must be apart, each once, sorted."""
        return self._pairs.astype(np.int64)

    @cached_property
    def _pairs(self) -> NDArray[np.integer]:
        """The same in as few bytes as they need."""
        return self.conflict_sets.edges()

    @cached_property
    def cliques(self) -> Cliques:
        """Sets of items that are pairwise in conflict and together cover all edges."""
        return clique_cover(self.conflict_sets.sets, self.edges)

    @cached_property
    def neighbors(self) -> Sparse:
        """Symmetric conflict graph (m, m), in CSR."""
        a, b = self._pairs.T
        return symmetric(a, b, np.ones(a.size, np.int8), self.n_items)

    @cached_property
    def _few_rows(self) -> Linear:
        """The general rows, and forbidden clusters as one row."""
        if self.forbidden.size == 0:
            return self.linear
        at = (np.zeros(self.forbidden.size, np.int64), self.forbidden)
        row = sp.csr_array((np.ones(self.forbidden.size), at), (1, self.n_items * self.n_clusters))
        return Linear(
            sp.vstack([self.linear.matrix, row], format="csr"),
            np.append(self.linear.lower, -np.inf),
            np.append(self.linear.upper, 0.0),
            np.append(self.linear.rounding_slack, 0.0),
        )

    @cached_property
    def apart_from_loads(self) -> Linear:
        """All linear rules but loads; forbidden clusters are one row.

        Where there are none, they have no columns either: already those would be many.
        """
        few = self._few_rows
        return few if few.number else replace(few, matrix=sp.csr_array((0, 0)))

    @cached_property
    def _all_rows(self) -> BoundedRows:
        rows = BoundedRows(self._few_rows.matrix, *self._few_rows.wide)
        if self.loads.number:
            rows = rows.joined(*self.loads.rows())
        return BoundedRows(*tightened(rows.matrix, rows.lower, rows.upper))

    @property
    def rows(self) -> Sparse:
        """All linear rules as rows over the item x cluster indicator: large where loads are.

        Bounds are wide: whatever is `feasible` keeps them, but not the other way round. Numbers
        beyond their bound are cut off (see `tightened`).
        """
        return self._all_rows.matrix

    @property
    def row_lower(self) -> FloatArray:
        """Lower bounds of `rows`."""
        return self._all_rows.lower

    @property
    def row_upper(self) -> FloatArray:
        """Upper bounds of `rows`."""
        return self._all_rows.upper

    @property
    def has_rows(self) -> bool:
        """Whether there are any linear rules."""
        return bool(self.linear.number or self.forbidden.size or self.loads.number)

    @cached_property
    def rows_by_column(self) -> Sparse:
        """The rows, compressed by column."""
        return self.rows.tocsc()

    @property
    def interchangeable(self) -> bool:
        """True when no rule tells one cluster from another."""
        return bool((self.cluster_class == 0).all())

    def expand(self, labels: IntArray) -> IntArray:
        """Labels of samples from labels of items."""
        return labels[self.item]

    def sizes(self, labels: IntArray) -> IntArray:
        """Samples in each cluster."""
        return np.bincount(labels, self.count, self.n_clusters).astype(np.int64)

    def activity(self, labels: IntArray) -> FloatArray:
        """Value of each row."""
        if not self.has_rows:
            return np.empty(0)
        return np.asarray(self.rows_by_column[:, self.columns.used(labels)].sum(axis=1))

    def linear_activity(self, labels: IntArray) -> FloatArray:
        """Value of each row of `linear`."""
        return self.linear.of(self.columns.used(labels))

    def sums_hold(self, labels: IntArray) -> bool:
        """Whether all sums and general rows are within their bounds, by exact arithmetic."""
        return self.loads.hold(labels) and self.linear.hold(self.columns.used(labels))

    def feasible(self, labels: IntArray) -> bool:
        """Whether labels of items obey everything."""
        sizes = self.sizes(labels)
        if (sizes < self.lower).any() or (sizes > self.upper).any() or self.contradictions:
            return False
        if self._broken(labels):
            return False
        if self.forbidden.size and np.isin(self.columns.used(labels), self.forbidden).any():
            return False
        return self.sums_hold(labels)

    def _broken(self, labels: IntArray) -> bool:
        """Whether labels join what must be apart."""
        parts = (self._pairs[begin : begin + PART] for begin in range(0, len(self._pairs), PART))
        return any((labels[part[:, 0]] == labels[part[:, 1]]).any() for part in parts)


def size_bounds(rules: list[Rule], n_samples: int, k: int) -> tuple[IntArray, IntArray]:
    """Least and most samples of each of k clusters, by the rules about sizes."""
    lower, upper = np.zeros(k, np.int64), np.full(k, n_samples, np.int64)
    for rule in rules:
        match rule:
            case SizeMin(value, cluster):
                at = slice(None) if cluster is None else slice(cluster, cluster + 1)
                lower[at] = np.maximum(lower[at], value)
            case SizeMax(value, cluster):
                at = slice(None) if cluster is None else slice(cluster, cluster + 1)
                upper[at] = np.minimum(upper[at], value)
            case NonEmpty():
                lower = np.maximum(lower, 1)
    return lower, upper


def _cluster_classes(
    rules: list[Rule], soft: list[SoftRule], lower: IntArray, upper: IntArray
) -> IntArray:
    k = lower.size
    keys: list[list[object]] = [
        list(pair) for pair in zip(lower.tolist(), upper.tolist(), strict=True)
    ]
    priced: list[tuple[Rule, object]] = [(rule, None) for rule in rules]
    priced += [(soft_rule.rule, (soft_rule.weight, soft_rule.relative)) for soft_rule in soft]
    for rule, price in priced:
        # what may name any cluster: take none as equal
        if isinstance(rule, RowBound | Fixed | Forbidden | MovedMax | Moved):
            return np.arange(k)
        if isinstance(rule, CapacityBound) and rule.cluster is not None:
            keys[rule.cluster].append((id(rule.source), rule.side, rule.value, price))
        elif price is not None and isinstance(rule, SizeMin | SizeMax) and rule.cluster is not None:
            keys[rule.cluster].append((type(rule), rule.value, price))
    seen: dict[tuple[object, ...], int] = {}
    return np.array([seen.setdefault(tuple(key), len(seen)) for key in keys])


def _cluster_order(
    rules: list[Rule], soft: list[SoftRule], lower: IntArray, upper: IntArray
) -> IntArray:
    """Sort clusters by size bounds, then by the bounds of sums, then by soft ones."""
    bounds = zip((lower + upper).tolist(), lower.tolist(), strict=True)
    keys: list[list[float]] = [[float(both), float(least)] for both, least in bounds]
    for rule in [*rules, *(soft_rule.rule for soft_rule in soft)]:
        if isinstance(rule, CapacityBound | SizeMin | SizeMax) and rule.cluster is not None:
            keys[rule.cluster].append(float(rule.value))
    return np.array(sorted(range(lower.size), key=lambda i: keys[i]), dtype=np.int64)
