"""Soft rules, compiled to items: what labels cost beyond the distances.

All links between two items come down to one number, their *tie*: what it costs to be apart, or,
below zero, to be together. What concerns single items is a cost of being in a cluster. Sizes, sums
and quotas are loads with a penalty per unit beyond their bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bckm._core.tolerance import ROUNDING, STRICT, group_sums
from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.constraints.rule_list import SoftRules
from bckm.constraints.rules import (
    CapacityBound,
    Fixed,
    Forbidden,
    Moved,
    MustLink,
    QuotaBound,
    Rule,
    SizeMax,
    SizeMin,
    SoftRule,
)
from bckm.problem.conflicts import symmetric
from bckm.problem.linear import Loads, as_sum, power_of_two, slack

# Penalties of one rule, in units of `Problem.cost` (where samples cost about 1) and in those of the
# inertia: what is larger may overflow where it is added up.
LARGEST, LARGEST_OUT = 1e250, 1e290


@dataclass(frozen=True, eq=False)
class Soft:
    """Penalties of labels of items, in units of `Problem.cost`; all of them at least zero.

    Attributes
    ----------
    ties : sparse array (m, m), symmetric, by row, sorted, without a diagonal
        Above zero what it costs when two items are apart; below zero, its absolute value, when they
        are together.
    base_cost : array (m,)
        What an item costs in any cluster,
    cluster_cost : sparse array (m, k), by row
        and beyond that in each one; below zero where it should be. Their sum is at least zero.
    loads : Loads
        Sums with soft bounds.
    lower_penalty, upper_penalty : arrays (k, r)
        Cost of each unit that a sum is below, or above, its bound (in units of `loads`).
    constant : float
        Penalties that all labels have.
    """

    ties: Sparse
    base_cost: FloatArray
    cluster_cost: Sparse
    loads: Loads
    lower_penalty: FloatArray
    upper_penalty: FloatArray
    constant: float

    @classmethod
    def compile(
        cls,
        rules: SoftRules,
        item: IntArray,
        n_clusters: int,
        confidence_price: float,
        unit_price: float,
    ) -> Soft:
        """Compile soft rules, given the item of each sample.

        A confidence of 1 costs `confidence_price`, a price of 1 `unit_price`.
        """
        if not rules:
            return cls.none(int(item.max()) + 1, n_clusters)
        m = int(item.max()) + 1
        together, apart = _Pairs(item), _Pairs(item)
        alone, sums = _ClusterCosts(item, n_clusters), _Sums(item, n_clusters)
        limit = min(LARGEST, LARGEST_OUT * unit_price)
        for block in rules.blocks:
            prices = block.weight * float(confidence_price if block.relative else unit_price)
            if not prices.max() <= limit:
                raise _too_dear(block[int(np.argmax(~(prices <= limit)))])
            pairs = together if block.kind is MustLink else apart
            pairs.add(block.links.samples.reshape(-1, 2), prices)
        for soft_rule in rules.others:
            unit = confidence_price if soft_rule.relative else unit_price
            price = float(soft_rule.weight) * float(unit)
            rule = soft_rule.rule
            if not price * _most(rule, item.size) <= limit:
                raise _too_dear(soft_rule)
            match rule:
                case Fixed(sample, cluster):
                    alone.prefer(np.array([sample]), np.array([cluster]), np.array([price]))
                case Forbidden(sample, cluster):
                    alone.avoid(sample, cluster, price)
                case Moved(stay):
                    held = np.flatnonzero(stay.paid)
                    alone.prefer(held, stay.values[held], price * stay.prices[held])
                case SizeMin() | SizeMax() | CapacityBound() | QuotaBound():
                    sums.add(rule, price)
                case _:  # pragma: no cover - refused by Constraints
                    raise AssertionError(rule)
        ties, unavoidable = _ties(together, apart, m)
        return cls(
            ties=ties,
            base_cost=alone.base_cost(),
            cluster_cost=alone.matrix(),
            loads=sums.loads(),
            lower_penalty=sums.penalties("lower_penalty"),
            upper_penalty=sums.penalties("upper_penalty"),
            constant=unavoidable,
        )

    @classmethod
    def none(cls, n_items: int, n_clusters: int) -> Soft:
        """No rule is soft."""
        empty = np.empty((n_clusters, 0))
        return cls(
            ties=sp.csr_array((n_items, n_items)),
            base_cost=np.zeros(n_items),
            cluster_cost=sp.csr_array((n_items, n_clusters)),
            loads=Loads.none(n_items, n_clusters),
            lower_penalty=empty,
            upper_penalty=empty,
            constant=0.0,
        )

    @property
    def has_ties(self) -> bool:
        """Whether items are tied by links."""
        return bool(self.ties.nnz)

    @cached_property
    def has_cluster_costs(self) -> bool:
        """Whether penalties of items depend on their own cluster alone."""
        return bool(self.cluster_cost.nnz or self.base_cost.any())

    @property
    def couples(self) -> bool:
        """Whether an item's penalty depends on the labels of others."""
        return bool(self.ties.nnz or self.loads.number)

    @cached_property
    def active(self) -> bool:
        """Whether labels can change any penalty."""
        return self.couples or self.has_cluster_costs

    def alone(self, labels: IntArray) -> float:
        """Penalties of items on their own: part of `Problem.cost`."""
        if not self.has_cluster_costs:
            return 0.0
        return float(self.base_cost.sum() + self.cluster_cost[np.arange(labels.size), labels].sum())

    def coupled(self, labels: IntArray) -> float:
        """Penalties of ties and loads."""
        total = 0.0
        if self.ties.nnz:
            tie = self.ties.tocoo()
            a, b = tie.coords
            same = labels[a] == labels[b]
            # each pair stands twice
            total += float(np.where(same == (tie.data < 0), np.abs(tie.data), 0.0).sum()) / 2
        if self.loads.number:
            total += float(self.beyond(self.loads.of(labels)).sum())
        return total

    def beyond(self, sums: FloatArray) -> FloatArray:
        """What sums (k, r) cost where they are beyond their soft bounds."""
        with np.errstate(invalid="ignore"):  # 0 * inf: no price where there is no bound
            below = self.lower_penalty * np.maximum(self.loads.lower - sums, 0)
            above = self.upper_penalty * np.maximum(sums - self.loads.upper, 0)
        below = np.where(self.lower_penalty > 0, below, 0)
        return np.asarray(below + np.where(self.upper_penalty > 0, above, 0))

    @property
    def rounding_penalty(self) -> float:
        """What rounding of sums may cost, in all: so much may penalties differ from exact ones."""
        held = np.abs(self.loads.amount).sum(axis=0)
        return float(2 * ROUNDING * ((self.lower_penalty + self.upper_penalty).sum(axis=0) @ held))

    def add_to(self, cost: FloatArray) -> None:
        """Add what items pay on their own to a matrix of costs, in place."""
        if self.has_cluster_costs:
            cost += self.base_cost[:, None]
            beyond = self.cluster_cost.tocoo()
            cost[beyond.coords] += beyond.data


def _too_dear(soft_rule: SoftRule) -> ValueError:
    return ValueError(
        f"the price of a soft rule is so large that distances become negligible: "
        f"{soft_rule}; lower it, or pass infinity to make the rule hard."
    )


def _most(rule: Rule, n_samples: int) -> float:
    """How many units a rule can be violated by, at most."""
    match rule:
        case Moved(stay):
            return float(stay.prices[stay.paid].max(initial=0.0))
        case CapacityBound(source, side, value):
            reach = float(np.abs(source.values).sum())
            return max(reach + value if side == "min" else reach - value, 0.0)
        case QuotaBound() if not rule.share and rule.side == "min":
            return rule.value
        case SizeMin(value):
            return float(value)
        case SizeMax() | QuotaBound():
            return float(n_samples)
    return 1.0


class _Pairs:
    """Prices of pairs of items."""

    def __init__(self, item: IntArray) -> None:
        self.item = item
        self.pairs: list[NDArray[Any]] = []
        self.price: list[FloatArray] = []

    def add(self, pairs: NDArray[Any], price: FloatArray) -> None:
        self.pairs.append(pairs)
        self.price.append(price)

    def summed(self, m: int) -> tuple[IntArray, FloatArray]:
        """Each pair once, as the smaller item times m plus the larger, rising; and its price."""
        if not self.pairs:
            return np.empty(0, np.int64), np.empty(0)
        a, b = (np.concatenate([self.item[p[:, side]] for p in self.pairs]) for side in (0, 1))
        code, which = np.unique(np.minimum(a, b) * m + np.maximum(a, b), return_inverse=True)
        price = np.bincount(which, np.concatenate(self.price))
        return code, price.astype(np.float64, copy=False)


def _ties(together: _Pairs, apart: _Pairs, m: int) -> tuple[Sparse, float]:
    """The ties of items, and what all labels have to pay for links."""
    (pulled, pull_price), (pushed, push_price) = together.summed(m), apart.summed(m)
    code = np.sort(np.concatenate([pulled, pushed]), kind="stable")
    code = code[np.append(True, np.diff(code) > 0)[: code.size]]
    pull, push = np.zeros(code.size), np.zeros(code.size)
    pull[np.searchsorted(code, pulled)] = pull_price
    push[np.searchsorted(code, pushed)] = push_price
    a, b = np.divmod(code, m)
    within = a == b
    # a pair that is to be together and apart breaks one of the two, whatever the labels
    unavoidable = push[within].sum() + np.minimum(pull, push)[~within].sum()
    tied = np.flatnonzero(~within & (pull != push))
    return symmetric(a[tied], b[tied], (pull - push)[tied], m), float(unavoidable)


class _ClusterCosts:
    """Penalties of items in clusters, whatever the others do."""

    def __init__(self, item: IntArray, k: int) -> None:
        self.item, self.k, self.m = item, k, int(item.max()) + 1
        self._base_cost = np.zeros(self.m)
        self._cluster_cost: Sparse = sp.csr_array((self.m, k))

    def prefer(self, samples: IntArray, clusters: IntArray, price: FloatArray) -> None:
        """Samples that pay in every cluster but their own."""
        items = self.item[samples]
        self._base_cost += np.bincount(items, price, self.m)
        self._add(-price, items, clusters)

    def avoid(self, sample: int, cluster: int, price: float) -> None:
        """A sample that pays in one cluster."""
        self._add([price], [self.item[sample]], [cluster])

    def _add(self, price: Any, items: Any, clusters: Any) -> None:
        more = sp.csr_array((price, (items, clusters)), (self.m, self.k))
        self._cluster_cost = self._cluster_cost + more

    def base_cost(self) -> FloatArray:
        return self._base_cost

    def matrix(self) -> Sparse:
        cluster_cost = self._cluster_cost.tocsr()
        cluster_cost.eliminate_zeros()
        cluster_cost.sort_indices()
        return cluster_cost


class _Column:
    """One sum with soft bounds; each side of each cluster once."""

    def __init__(self, values: FloatArray, item: IntArray, k: int) -> None:
        m = int(item.max()) + 1
        self.amount = group_sums(values, item, m)
        self.scale = power_of_two(self.amount)
        self.lower, self.upper = np.full(k, -np.inf), np.full(k, np.inf)
        self.lower_penalty, self.upper_penalty = np.zeros(k), np.zeros(k)


class _Sums:
    """Soft bounds on sums, gathered to columns."""

    def __init__(self, item: IntArray, k: int) -> None:
        self.item, self.k = item, k
        self.columns: dict[tuple[object, ...], list[_Column]] = {}

    def add(self, rule: SizeMin | SizeMax | CapacityBound | QuotaBound, price: float) -> None:
        if isinstance(rule, SizeMin | SizeMax):
            key: tuple[object, ...] = ("size",)
            values, bound = np.ones(self.item.size), float(rule.value)
            is_lower = isinstance(rule, SizeMin)
        else:
            total = as_sum(rule)
            key, values, bound, is_lower = total.key, total.values, total.bound, rule.side == "min"
        cluster = None if isinstance(rule, QuotaBound) else rule.cluster
        at = slice(None) if cluster is None else slice(cluster, cluster + 1)
        columns = self.columns.setdefault(key, [])
        for column in columns:
            penalty = column.lower_penalty if is_lower else column.upper_penalty
            if not penalty[at].any():
                break
        else:
            column = _Column(values, self.item, self.k)
            columns.append(column)
        # what rounding adds to a sum costs nothing; the slack of hard bounds would be paid for
        free = min(STRICT * ROUNDING * float(np.abs(values).sum()), slack(bound, values))
        if is_lower:
            column.lower[at] = (bound - free) / column.scale
            column.lower_penalty[at] = price * column.scale
        else:
            column.upper[at] = (bound + free) / column.scale
            column.upper_penalty[at] = price * column.scale

    def _all(self) -> list[_Column]:
        return [column for columns in self.columns.values() for column in columns]

    def loads(self) -> Loads:
        columns, m = self._all(), int(self.item.max()) + 1
        if not columns:
            return Loads.none(m, self.k)
        return Loads(
            np.stack([column.amount / column.scale for column in columns], axis=1),
            np.stack([column.lower for column in columns], axis=1),
            np.stack([column.upper for column in columns], axis=1),
            np.zeros(len(columns)),
            np.array([column.scale for column in columns]),
        )

    def penalties(self, side: str) -> FloatArray:
        columns = self._all()
        if not columns:
            return np.empty((self.k, 0))
        return np.stack([getattr(column, side) for column in columns], axis=1)
