"""Rules about sums, compiled to items: loads, forbidden clusters and general linear rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from bckm._core.tolerance import (
    ROUNDING,
    STRICT,
    TOLERANCE,
    exact_parts,
    group_sums,
    joined,
    part_sums,
    smallest,
)
from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.constraints.rules import (
    CapacityBound,
    Fixed,
    Forbidden,
    MovedMax,
    QuotaBound,
    RowBound,
    Rule,
)
from bckm.problem.columns import Columns


def sums_of(amount: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Sums of amounts (m, r) in each cluster, (k, r), to the nearest number."""
    sums = np.empty((k, amount.shape[1]))
    for good, column in enumerate(amount.T):
        sums[:, good] = group_sums(column, labels, k)
    return sums


@dataclass(frozen=True, eq=False)
class Loads:
    """Sums over the items of each cluster, and their bounds.

    Attributes
    ----------
    amount : array (m, r)
        What each item adds to each sum, divided by a power of two near the largest number.
    lower, upper : arrays (k, r)
        Bounds of the sums in each cluster, with the slack of `bckm._core.tolerance` that
        depends on them.
    rounding_slack : array (r,)
        The slack that depends on what a cluster holds, at most. None where all amounts have one
        sign: there it is a tiny share of the other.
    scale : array (r,)
        The powers of two.
    """

    amount: FloatArray
    lower: FloatArray
    upper: FloatArray
    rounding_slack: FloatArray
    scale: FloatArray

    @classmethod
    def none(cls, n_items: int, n_clusters: int) -> Loads:
        """No sums."""
        nothing = np.empty((n_clusters, 0))
        return cls(np.empty((n_items, 0)), nothing, nothing, np.empty(0), np.empty(0))

    @property
    def number(self) -> int:
        """How many sums each cluster has, r."""
        return int(self.amount.shape[1])

    @cached_property
    def _parts(self) -> list[list[FloatArray]]:
        return [exact_parts(column) for column in self.amount.T]

    def of(self, labels: IntArray) -> FloatArray:
        """Sums in each cluster, (k, r), to the nearest number."""
        sums = np.empty(self.lower.shape)
        for good, parts in enumerate(self._parts):
            sums[:, good] = joined(part_sums(parts, labels, len(sums)))
        return sums

    def hold(self, labels: IntArray) -> bool:
        """Whether all bounds hold."""
        if self.number == 0:
            return True
        sums, room = self.of(labels), np.zeros(self.lower.shape)
        mixed = np.flatnonzero(self.rounding_slack)
        if mixed.size:
            held = sums_of(np.abs(self.amount[:, mixed]), labels, len(sums))
            room[:, mixed] = np.minimum(STRICT * ROUNDING * held, self.rounding_slack[mixed])
        return bool((sums >= self.lower - room).all() and (sums <= self.upper + room).all())

    @property
    def wide(self) -> tuple[FloatArray, FloatArray]:
        """Bounds, (k, r), that all labels keep of which `hold` is true: what proofs may use."""
        return self.lower - self.rounding_slack, self.upper + self.rounding_slack

    def rows(self) -> tuple[Sparse, FloatArray, FloatArray]:
        """The same, with `wide` bounds, as rows over the item x cluster indicator."""
        (m, r), k = self.amount.shape, len(self.lower)
        lower, upper = (side.ravel() for side in self.wide)
        amount = sp.coo_array(self.amount)
        item, which = amount.coords
        clusters = np.arange(k)
        row = (clusters[:, None] * r + which).ravel()
        column = Columns(k).of(item, clusters[:, None]).ravel()
        values = np.broadcast_to(amount.data, (k, amount.data.size)).ravel()
        matrix = sp.csr_array((values, (row, column)), (k * r, m * k))
        bound = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        return matrix[bound], lower[bound], upper[bound]


@dataclass(frozen=True, eq=False)
class Sum:
    """A rule about sums: the vector it adds up (with a name to tell equal ones), and its bound."""

    key: tuple[object, ...]
    values: FloatArray
    bound: float


def as_sum(rule: CapacityBound | QuotaBound) -> Sum:
    """Read a rule as a bound on the sum of a vector over the samples of a cluster."""
    if isinstance(rule, CapacityBound):
        # one Capacity under several names is one sum
        return Sum((id(rule.source.values),), rule.source.values, rule.value)
    member = (rule.source.values == rule.category).astype(float)
    if rule.share:  # members - share * size, which has the bound zero
        return Sum((id(rule.source), rule.category, rule.value), member - rule.value, 0.0)
    return Sum((id(rule.source), rule.category), member, rule.value)


def slack(bound: float, values: FloatArray) -> float:
    """How far beyond its bound a sum of such values still counts as kept, whatever is held."""
    return STRICT * TOLERANCE * max(abs(bound), smallest(values))


def rounding_slack(amounts: FloatArray) -> float:
    """How much further some of the amounts may be: only where they cancel is it worth counting."""
    if (amounts >= 0).all() or (amounts <= 0).all():
        return 0.0
    return float(STRICT * ROUNDING * np.abs(amounts).sum())


def power_of_two(values: FloatArray) -> float:
    """A power of two near the largest value: whole numbers divided by it stay exact."""
    return float(2.0 ** np.floor(np.log2(float(np.abs(values).max(initial=0.0)) or 1.0)))


def compile_loads(rules: Iterable[Rule], item: IntArray, k: int) -> Loads:
    """Sums that rules bound; both sides of one sum share its amounts."""
    m = int(item.max()) + 1
    columns: dict[tuple[object, ...], tuple[FloatArray, FloatArray, FloatArray, float]] = {}
    for rule in rules:
        if not isinstance(rule, CapacityBound | QuotaBound):
            continue
        total = as_sum(rule)
        if total.key not in columns:
            amount = group_sums(total.values, item, m)
            scale = power_of_two(amount)
            free = np.full(k, np.inf)
            columns[total.key] = (amount / scale, -free, free, scale)
        _, lower, upper, scale = columns[total.key]
        cluster = rule.cluster if isinstance(rule, CapacityBound) else None
        at = slice(None) if cluster is None else slice(cluster, cluster + 1)
        if rule.side == "min":
            bound = (total.bound - slack(total.bound, total.values)) / scale
            lower[at] = np.maximum(lower[at], bound)
        else:
            bound = (total.bound + slack(total.bound, total.values)) / scale
            upper[at] = np.minimum(upper[at], bound)
    if not columns:
        return Loads.none(m, k)
    amounts, lowers, uppers, scales = zip(*columns.values(), strict=True)
    whole = np.array([2 * np.abs(amount).sum() for amount in amounts])
    lower, upper = np.stack(lowers, axis=1), np.stack(uppers, axis=1)
    return Loads(
        np.stack(amounts, axis=1),
        np.where(lower < -whole, -np.inf, lower),  # bounds that nothing reaches are none
        np.where(upper > whole, np.inf, upper),
        np.array([rounding_slack(amount) for amount in amounts]),
        np.array(scales),
    )


def compile_forbidden(rules: Iterable[Rule], item: IntArray, k: int) -> IntArray:
    """`Columns` that no labels may use, sorted."""
    columns = Columns(k)
    forbidden: set[int] = set()
    for rule in rules:
        if isinstance(rule, Forbidden):
            forbidden.add(columns.of(int(item[rule.sample]), rule.cluster))
        elif isinstance(rule, Fixed):
            others = (i for i in range(k) if i != rule.cluster)
            forbidden.update(columns.of(int(item[rule.sample]), i) for i in others)
    return np.array(sorted(forbidden), np.int64)


@dataclass(frozen=True, eq=False)
class Linear:
    """General rows over the item x cluster indicator, (r, m * k), and their bounds, as `Loads`.

    Each row is divided by a power of two near its largest number.
    """

    matrix: Sparse
    lower: FloatArray
    upper: FloatArray
    rounding_slack: FloatArray

    @property
    def number(self) -> int:
        """How many rows there are."""
        return int(self.lower.size)

    @cached_property
    def by_column(self) -> Sparse:
        """The rows, compressed by column."""
        return self.matrix.tocsc()

    @cached_property
    def _parts(self) -> list[Sparse]:
        rows = self.by_column
        return [
            sp.csc_array((values, rows.indices, rows.indptr), rows.shape)
            for values in exact_parts(rows.data)
        ]

    def of(self, held: IntArray) -> FloatArray:
        """Value of each row, to the nearest number, given the columns that labels use."""
        if self.number == 0:
            return np.empty(0)
        return joined([np.asarray(part[:, held].sum(axis=1)).ravel() for part in self._parts])

    def hold(self, held: IntArray) -> bool:
        """Whether all bounds hold."""
        if self.number == 0:
            return True
        values, room = self.of(held), np.zeros(self.number)
        if self.rounding_slack.any():
            used = abs(self.by_column[:, held]).sum(axis=1)
            room = np.minimum(STRICT * ROUNDING * np.asarray(used).ravel(), self.rounding_slack)
        return bool((values >= self.lower - room).all() and (values <= self.upper + room).all())

    @property
    def wide(self) -> tuple[FloatArray, FloatArray]:
        """Bounds, (r,), that all labels keep of which `hold` is true: what proofs may use."""
        return self.lower - self.rounding_slack, self.upper + self.rounding_slack


def compile_rows(rules: Iterable[Rule], item: IntArray, k: int) -> Linear:
    """General rows over items."""
    columns = Columns(k)
    bounds: dict[tuple[int, int], list[float]] = {}
    source: dict[tuple[int, int], tuple[IntArray, FloatArray]] = {}
    for rule in rules:
        if isinstance(rule, MovedMax):
            held = np.flatnonzero(rule.source.values >= 0)
            key = (id(rule.source), 0)
            # those that stay: all but at most so many
            previous = columns.of(item[held], rule.source.values[held])
            source[key] = (previous, np.ones(held.size))
            bounds[key] = [float(held.size - rule.value), np.inf]
        elif isinstance(rule, RowBound):
            key = (id(rule.source), rule.row)
            start, end = rule.source.A.indptr[rule.row : rule.row + 2]
            sample, cluster = columns.split(rule.source.A.indices[start:end].astype(np.int64))
            source[key] = (columns.of(item[sample], cluster), rule.source.A.data[start:end])
            low_up = bounds.setdefault(key, [-np.inf, np.inf])
            if rule.side == "min":
                low_up[0] = max(low_up[0], rule.value)
            else:
                low_up[1] = min(low_up[1], rule.value)
    m = int(item.max()) + 1
    if not source:
        return Linear(sp.csr_array((0, m * k)), np.empty(0), np.empty(0), np.empty(0))
    parts, low, up, room = [], [], [], []
    for key, (at, values) in source.items():
        column, place = np.unique(at, return_inverse=True)
        total = group_sums(values, place, column.size)
        scale = power_of_two(total)
        row = sp.csr_array((total / scale, (np.zeros(column.size, np.int64), column)), (1, m * k))
        row.eliminate_zeros()
        parts.append(row)
        low.append((bounds[key][0] - slack(bounds[key][0], values)) / scale)
        up.append((bounds[key][1] + slack(bounds[key][1], values)) / scale)
        room.append(rounding_slack(row.data))
    return Linear(sp.vstack(parts, format="csr"), np.array(low), np.array(up), np.array(room))


def tightened(
    matrix: Sparse, lower: FloatArray, upper: FloatArray
) -> tuple[Sparse, FloatArray, FloatArray]:
    """Rows that the same labels keep, without numbers far beyond their bounds.

    Where all numbers of a row have one sign, more than its lower bound is as good as that bound,
    and more than twice its upper bound as bad as twice. What is left may be of one size, where a
    solver would have taken it for nothing beside the largest.
    """
    if not matrix.nnz:
        return matrix, lower, upper
    least, most = (np.asarray(side.todense()).ravel() for side in (matrix.min(1), matrix.max(1)))
    sign = np.where(most > 0, 1.0, -1.0)
    low, up = np.where(sign > 0, lower, -upper), np.where(sign > 0, upper, -lower)
    top = np.where(low > 0, low, np.inf)
    top = np.where(np.isfinite(up), np.where(up > 0, 2 * up, np.inf), top)
    top[(least < 0) & (most > 0)] = np.inf
    cut = np.maximum(most, -least) > top
    if not cut.any():
        return matrix, lower, upper
    unit = np.ones(cut.size)
    unit[cut] = 2.0 ** np.floor(np.log2(top[cut]))
    row = np.repeat(np.arange(cut.size), np.diff(matrix.indptr))
    data = sign[row] * np.minimum(np.abs(matrix.data), top[row]) / unit[row]
    data = np.where(cut[row], data, matrix.data)
    return (
        sp.csr_array((data, matrix.indices, matrix.indptr), matrix.shape),
        lower / unit,
        upper / unit,
    )
