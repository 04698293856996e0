"""The combinatorial part of a problem: rules compiled to items, conflicts, bounds and rows.

Must-linked samples contract to one *item*; everything below this module works on items, and only
`Structure.expand` leads back. No data here: feasibility depends on the rules alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from bckm._types import BoolArray, FloatArray, IntArray, Sparse
from bckm.rules import CannotLink, MustLink, NonEmpty, RowBound, Rule, SizeMax, SizeMin, SumBound

# Sums of decimals are not exact in binary. The checker tolerates 1e-9 of the bound or the smallest
# coefficient, and what rounding may add to a sum; here half of that counts as kept.
ROW_SLACK = 0.5e-9
ROUNDING = 4 * np.finfo(float).eps


def contract(rules: Iterable[Rule], n_samples: int) -> IntArray:
    """Number the must-link components: the item of each sample.

    Items are numbered by their first sample, so the result does not depend on the order of rules.
    """
    links = [rule.samples for rule in rules if isinstance(rule, MustLink)]
    if not links:
        return np.arange(n_samples)
    lengths = np.fromiter(map(len, links), np.int64, len(links))
    members = np.fromiter(chain.from_iterable(links), np.int64, int(lengths.sum()))
    first = np.repeat(members[np.cumsum(lengths) - lengths], lengths)
    graph = sp.coo_array((np.ones(members.size), (first, members)), (n_samples, n_samples))
    return renumber(connected_components(graph, directed=False)[1])


def renumber(group: IntArray) -> IntArray:
    """Number groups in the order of their first member."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse]


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
    conflict_sets : tuple of tuples of int
        Sets of items that must be pairwise apart, as stated, largest first.
    contradictions : tuple of CannotLink
        Cannot-links between samples of one item.
    rows : sparse array (r, m * k)
        Linear rows over the item x cluster indicator, each divided by a power of two near its
        largest number.
    row_lower, row_upper : arrays (r,)
        Their bounds, widened by `ROW_SLACK`.
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
    conflict_sets: tuple[tuple[int, ...], ...]
    contradictions: tuple[CannotLink, ...]
    rows: Sparse
    row_lower: FloatArray
    row_upper: FloatArray
    cluster_class: IntArray
    cluster_order: IntArray

    @classmethod
    def compile(cls, rules: list[Rule], item: IntArray, n_clusters: int) -> Structure:
        """Compile rules, given the item of each sample (see `contract`)."""
        lower, upper = _size_bounds(rules, item.size, n_clusters)
        sets, contradictions = _lift(rules, item)
        rows, row_lower, row_upper = _rows(rules, item, n_clusters)
        return cls(
            n_clusters=n_clusters,
            item=item,
            count=np.bincount(item),
            lower=lower,
            upper=upper,
            conflict_sets=sets,
            contradictions=contradictions,
            rows=rows,
            row_lower=row_lower,
            row_upper=row_upper,
            cluster_class=_cluster_classes(rules, lower, upper),
            cluster_order=_cluster_order(rules, lower, upper),
        )

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
        return _edges(self.conflict_sets)

    @cached_property
    def cliques(self) -> tuple[IntArray, ...]:
        """Sets of items that are pairwise in conflict and together cover all edges."""
        return _clique_cover(self.conflict_sets, self.edges)

    @cached_property
    def neighbours(self) -> Sparse:
        """Symmetric conflict graph (m, m), in CSR."""
        a, b = self.edges.T
        ones = np.ones(2 * a.size, np.int64)
        where = (np.concatenate([a, b]), np.concatenate([b, a]))
        return sp.csr_array((ones, where), (self.n_items, self.n_items))

    @cached_property
    def columns(self) -> Sparse:
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
        if self.rows.shape[0] == 0:
            return np.empty(0)
        held: IntArray = np.arange(self.n_items) * self.n_clusters + labels
        return np.asarray(self.columns[:, held].sum(axis=1))

    def feasible(self, labels: IntArray) -> bool:
        """Whether labels of items obey everything."""
        sizes = self.sizes(labels)
        if (sizes < self.lower).any() or (sizes > self.upper).any() or self.contradictions:
            return False
        if (labels[self.edges[:, 0]] == labels[self.edges[:, 1]]).any():
            return False
        if self.rows.shape[0] == 0:
            return True
        activity = self.activity(labels)
        return bool((activity >= self.row_lower).all() and (activity <= self.row_upper).all())


def _size_bounds(rules: list[Rule], n_samples: int, k: int) -> tuple[IntArray, IntArray]:
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


def _lift(
    rules: list[Rule], item: IntArray
) -> tuple[tuple[tuple[int, ...], ...], tuple[CannotLink, ...]]:
    """Cannot-links between items: sorted sets of items, and the links that contradict."""
    sets: set[tuple[int, ...]] = set()
    contradictions = []
    for rule in rules:
        if isinstance(rule, CannotLink):
            items = {int(item[p]) for p in rule.samples}
            if len(items) < len(rule.samples):
                contradictions.append(rule)
            if len(items) > 1:
                sets.add(tuple(sorted(items)))
    return tuple(sorted(sets, key=lambda s: (-len(s), s))), tuple(contradictions)


def _edges(sets: tuple[tuple[int, ...], ...]) -> IntArray:
    if not sets:
        return np.empty((0, 2), np.int64)
    parts = []
    for length in sorted({len(s) for s in sets}):
        members = np.array([s for s in sets if len(s) == length])
        a, b = np.triu_indices(length, 1)
        parts.append(np.stack([members[:, a].ravel(), members[:, b].ravel()], axis=1))
    return np.unique(np.concatenate(parts), axis=0)


def _clique_cover(sets: tuple[tuple[int, ...], ...], edges: IntArray) -> tuple[IntArray, ...]:
    """Cover the edges with cliques: stated sets first, then grown greedily from bare edges."""
    adjacent: dict[int, set[int]] = {}
    for a, b in edges.tolist():
        adjacent.setdefault(a, set()).add(b)
        adjacent.setdefault(b, set()).add(a)
    covered: set[tuple[int, int]] = set()
    cliques = []
    for seed in sets:  # largest first; a set inside an earlier clique adds nothing
        pairs = [(a, b) for n, a in enumerate(seed) for b in seed[n + 1 :]]
        if all(pair in covered for pair in pairs):
            continue
        clique = list(seed)
        common = set.intersection(*(adjacent[v] for v in seed))
        while common:
            # the vertex that keeps most candidates, the first one on ties
            best = min(common, key=lambda v: (-len(common & adjacent[v]), v))
            clique.append(best)
            common &= adjacent[best]
        clique.sort()
        covered.update((a, b) for n, a in enumerate(clique) for b in clique[n + 1 :])
        cliques.append(np.array(clique))
    return tuple(cliques)


def _rows(rules: list[Rule], item: IntArray, k: int) -> tuple[Sparse, FloatArray, FloatArray]:
    """Rows over items; both sides of one row share its coefficients."""
    bounds: dict[tuple[int, int], list[float]] = {}
    source: dict[tuple[int, int], tuple[SumBound | RowBound, int]] = {}
    for rule in rules:
        if isinstance(rule, RowBound):
            where = [rule.row]
        elif isinstance(rule, SumBound):
            where = list(range(k)) if rule.cluster is None else [rule.cluster]
        else:
            continue
        for r in where:
            key = (id(rule.source), r)
            source[key] = (rule, r)
            low_up = bounds.setdefault(key, [-np.inf, np.inf])
            if rule.side == "min":
                low_up[0] = max(low_up[0], rule.value)
            else:
                low_up[1] = min(low_up[1], rule.value)
    m = int(item.max()) + 1
    if not source:
        return sp.csr_array((0, m * k)), np.empty(0), np.empty(0)
    parts, low, up = [], [], []
    for key, (rule, r) in source.items():
        at, values = _coefficients(rule, r, item, k)
        row = sp.coo_array((values, (np.zeros(at.size, np.int64), at)), (1, m * k)).tocsr()
        row.sum_duplicates()
        row.eliminate_zeros()
        # a power of two: whole numbers stay exact
        scale = 2.0 ** np.floor(np.log2(float(np.abs(row.data).max(initial=0.0)) or 1.0))
        used = np.abs(values[values != 0])
        smallest = float(used.min()) if used.size else 0.0
        slack = [
            ROW_SLACK * max(abs(bound), smallest) + ROUNDING * used.sum() for bound in bounds[key]
        ]
        parts.append(row / scale)
        low.append((bounds[key][0] - slack[0]) / scale)
        up.append((bounds[key][1] + slack[1]) / scale)
    return sp.vstack(parts, format="csr"), np.array(low), np.array(up)


def _coefficients(
    rule: SumBound | RowBound, r: int, item: IntArray, k: int
) -> tuple[IntArray, FloatArray]:
    """Columns (item * k + cluster) and coefficients of a row; columns may repeat."""
    if isinstance(rule, SumBound):
        return item * k + r, rule.source.values
    start, end = rule.source.A.indptr[r : r + 2]
    columns = rule.source.A.indices[start:end].astype(np.int64)
    return item[columns // k] * k + columns % k, rule.source.A.data[start:end]


def _cluster_classes(rules: list[Rule], lower: IntArray, upper: IntArray) -> IntArray:
    k = lower.size
    keys: list[list[object]] = [[int(lower[i]), int(upper[i])] for i in range(k)]
    for rule in rules:
        if isinstance(rule, RowBound):
            return np.arange(k)  # a general row may name any cluster: take none as equal
        if isinstance(rule, SumBound) and rule.cluster is not None:
            keys[rule.cluster].append((id(rule.source), rule.side, rule.value))
    seen: dict[tuple[object, ...], int] = {}
    return np.array([seen.setdefault(tuple(key), len(seen)) for key in keys])


def _cluster_order(rules: list[Rule], lower: IntArray, upper: IntArray) -> IntArray:
    """Sort clusters by size bounds, then by the bounds of sums."""
    keys: list[list[float]] = [[float(a + b), float(a)] for a, b in zip(lower, upper, strict=True)]
    for rule in rules:
        if isinstance(rule, SumBound) and rule.cluster is not None:
            keys[rule.cluster].append(rule.value)
    return np.array(sorted(range(lower.size), key=lambda i: keys[i]), dtype=np.int64)
