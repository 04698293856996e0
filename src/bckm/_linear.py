"""Rules about sums, compiled to items: loads, closed places and general linear rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._types import FloatArray, IntArray, Sparse
from bckm.rules import Fixed, Forbidden, MovedMax, QuotaBound, RowBound, Rule, SumBound

# Sums of decimals are not exact in binary. The checker tolerates 1e-9 of the bound or the smallest
# coefficient, and what rounding may add to a sum; here half of that counts as kept.
ROW_SLACK = 0.5e-9
ROUNDING = 4 * np.finfo(float).eps


def sums_of(amount: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Sums of amounts (m, r) in each cluster, (k, r)."""
    sums = np.empty((k, amount.shape[1]))
    for good, column in enumerate(amount.T):
        sums[:, good] = np.bincount(labels, column, k)
    return sums


@dataclass(frozen=True, eq=False)
class Loads:
    """Sums over the items of each cluster, and their bounds.

    Attributes
    ----------
    amount : array (m, r)
        What each item adds to each sum, divided by a power of two near the largest number.
    lower, upper : arrays (k, r)
        Bounds of the sums in each cluster.
    scale : array (r,)
        The powers of two.
    """

    amount: FloatArray
    lower: FloatArray
    upper: FloatArray
    scale: FloatArray

    @classmethod
    def none(cls, n_items: int, n_clusters: int) -> Loads:
        """No sums."""
        nothing = np.empty((n_clusters, 0))
        return cls(np.empty((n_items, 0)), nothing, nothing, np.empty(0))

    @property
    def number(self) -> int:
        """How many sums each cluster has, r."""
        return int(self.amount.shape[1])

    def of(self, labels: IntArray) -> FloatArray:
        """Sums in each cluster, (k, r)."""
        return sums_of(self.amount, labels, len(self.lower))

    def hold(self, labels: IntArray) -> bool:
        """Whether all bounds hold."""
        if self.number == 0:
            return True
        sums = self.of(labels)
        return bool((sums >= self.lower).all() and (sums <= self.upper).all())

    def rows(self) -> tuple[Sparse, FloatArray, FloatArray]:
        """The same as rows over the item x cluster indicator: those that have a bound."""
        (m, r), k = self.amount.shape, len(self.lower)
        amount = sp.coo_array(self.amount)
        item, which = amount.coords
        clusters = np.arange(k)
        row = (clusters[:, None] * r + which).ravel()
        column = (item * k + clusters[:, None]).ravel()
        values = np.broadcast_to(amount.data, (k, amount.data.size)).ravel()
        matrix = sp.csr_array((values, (row, column)), (k * r, m * k))
        bound = np.flatnonzero(np.isfinite(self.lower.ravel()) | np.isfinite(self.upper.ravel()))
        return matrix[bound], self.lower.ravel()[bound], self.upper.ravel()[bound]


@dataclass(frozen=True, eq=False)
class Sum:
    """A rule about sums: the vector it adds up (with a name to tell equal ones), and its bound."""

    key: tuple[object, ...]
    values: FloatArray
    bound: float


def as_sum(rule: SumBound | QuotaBound) -> Sum:
    """Read a rule as a bound on the sum of a vector over the samples of a cluster."""
    if isinstance(rule, SumBound):
        return Sum((id(rule.source),), rule.source.values, rule.value)
    member = (rule.source.values == rule.category).astype(float)
    if rule.share:  # members - share * size, which has the bound zero
        return Sum((id(rule.source), rule.category, rule.value), member - rule.value, 0.0)
    return Sum((id(rule.source), rule.category), member, rule.value)


def slack(bound: float, values: FloatArray) -> float:
    """How far beyond its bound a sum of such values still counts as kept."""
    used = np.abs(values[values != 0])
    smallest = float(used.min()) if used.size else 0.0
    return float(ROW_SLACK * max(abs(bound), smallest) + ROUNDING * used.sum())


def power_of_two(values: FloatArray) -> float:
    """A power of two near the largest value: whole numbers divided by it stay exact."""
    return float(2.0 ** np.floor(np.log2(float(np.abs(values).max(initial=0.0)) or 1.0)))


def compile_loads(rules: Iterable[Rule], item: IntArray, k: int) -> Loads:
    """Sums that rules bound; both sides of one sum share its amounts."""
    m = int(item.max()) + 1
    columns: dict[tuple[object, ...], tuple[FloatArray, FloatArray, FloatArray, float]] = {}
    for rule in rules:
        if not isinstance(rule, SumBound | QuotaBound):
            continue
        asked = as_sum(rule)
        if asked.key not in columns:
            amount = np.bincount(item, asked.values, m).astype(np.float64, copy=False)
            scale = power_of_two(amount)
            free = np.full(k, np.inf)
            columns[asked.key] = (amount / scale, -free, free, scale)
        _, lower, upper, scale = columns[asked.key]
        cluster = rule.cluster if isinstance(rule, SumBound) else None
        at = slice(None) if cluster is None else slice(cluster, cluster + 1)
        if rule.side == "min":
            bound = (asked.bound - slack(asked.bound, asked.values)) / scale
            lower[at] = np.maximum(lower[at], bound)
        else:
            bound = (asked.bound + slack(asked.bound, asked.values)) / scale
            upper[at] = np.minimum(upper[at], bound)
    if not columns:
        return Loads.none(m, k)
    amounts, lowers, uppers, scales = zip(*columns.values(), strict=True)
    return Loads(
        np.stack(amounts, axis=1),
        np.stack(lowers, axis=1),
        np.stack(uppers, axis=1),
        np.array(scales),
    )


def compile_closed(rules: Iterable[Rule], item: IntArray, k: int) -> IntArray:
    """Columns (item * k + cluster) that no labels may use, sorted."""
    closed: set[int] = set()
    for rule in rules:
        if isinstance(rule, Forbidden):
            closed.add(int(item[rule.sample]) * k + rule.cluster)
        elif isinstance(rule, Fixed):
            first = int(item[rule.sample]) * k
            closed.update(first + i for i in range(k) if i != rule.cluster)
    return np.array(sorted(closed), np.int64)


def compile_rows(
    rules: Iterable[Rule], item: IntArray, k: int
) -> tuple[Sparse, FloatArray, FloatArray]:
    """General rows over items, each divided by a power of two near its largest number."""
    bounds: dict[tuple[int, int], list[float]] = {}
    source: dict[tuple[int, int], tuple[IntArray, FloatArray]] = {}
    for rule in rules:
        if isinstance(rule, MovedMax):
            held = np.flatnonzero(rule.source.values >= 0)
            key = (id(rule.source), 0)
            # those that stay: all but at most so many
            source[key] = (item[held] * k + rule.source.values[held], np.ones(held.size))
            bounds[key] = [float(held.size - rule.value), np.inf]
        elif isinstance(rule, RowBound):
            key = (id(rule.source), rule.row)
            start, end = rule.source.A.indptr[rule.row : rule.row + 2]
            columns = rule.source.A.indices[start:end].astype(np.int64)
            source[key] = (item[columns // k] * k + columns % k, rule.source.A.data[start:end])
            low_up = bounds.setdefault(key, [-np.inf, np.inf])
            if rule.side == "min":
                low_up[0] = max(low_up[0], rule.value)
            else:
                low_up[1] = min(low_up[1], rule.value)
    m = int(item.max()) + 1
    if not source:
        return sp.csr_array((0, m * k)), np.empty(0), np.empty(0)
    parts, low, up = [], [], []
    for key, (at, values) in source.items():
        row = sp.coo_array((values, (np.zeros(at.size, np.int64), at)), (1, m * k)).tocsr()
        row.sum_duplicates()
        row.eliminate_zeros()
        scale = power_of_two(row.data)
        parts.append(row / scale)
        low.append((bounds[key][0] - slack(bounds[key][0], values)) / scale)
        up.append((bounds[key][1] + slack(bounds[key][1], values)) / scale)
    return sp.vstack(parts, format="csr"), np.array(low), np.array(up)
