"""Soft rules, compiled to items: what labels cost beyond the distances.

All links between two items come down to one number, their *tie*: what it costs to be apart, or,
below zero, to be together. What concerns single items is *lean*, a cost of being in a cluster.
Sizes, sums and quotas are loads with a price per unit beyond their bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from bckm._core.tolerance import ROUNDING, STRICT, group_sums
from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.constraints.rules import (
    CannotLink,
    Fixed,
    Forbidden,
    Moved,
    MustLink,
    QuotaBound,
    Rule,
    SizeMax,
    SizeMin,
    SoftRule,
    SumBound,
)
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
    base : array (m,)
        What an item costs in any cluster,
    lean : sparse array (m, k), by row
        and beyond that in each one; below zero where it is at home. Their sum is at least zero.
    loads : Loads
        Sums with soft bounds.
    low, up : arrays (k, r)
        Price of each unit that a sum is below, or above, its bound (in units of `loads`).
    constant : float
        What is paid whatever the labels.
    """

    ties: Sparse
    base: FloatArray
    lean: Sparse
    loads: Loads
    low: FloatArray
    up: FloatArray
    constant: float

    @classmethod
    def compile(
        cls,
        rules: Sequence[SoftRule],
        item: IntArray,
        n_clusters: int,
        relative: float,
        unit: float,
    ) -> Soft:
        """Compile soft rules, given the item of each sample.

        A confidence costs `relative` for each one, a price `unit`.
        """
        if not rules:
            return cls.none(int(item.max()) + 1, n_clusters)
        m = int(item.max()) + 1
        together, apart = _Pairs(item), _Pairs(item)
        places, sums = _Places(item, n_clusters), _Sums(item, n_clusters)
        limit = min(LARGEST, LARGEST_OUT * unit)
        for one in rules:
            price = float(one.weight) * float(relative if one.relative else unit)
            rule = one.rule
            if not price * _most(rule, item.size) <= limit:
                raise ValueError(
                    f"the price of a soft rule is so large that no distance counts beside it: "
                    f"{one}; lower it, or pass infinity, which makes the rule hard."
                )
            match rule:
                case MustLink(samples):
                    together.add(samples[0], samples[1], price)
                case CannotLink(samples):
                    apart.add(samples[0], samples[1], price)
                case Fixed(sample, cluster):
                    places.home(np.array([sample]), np.array([cluster]), np.array([price]))
                case Forbidden(sample, cluster):
                    places.dear(sample, cluster, price)
                case Moved(stay):
                    held = np.flatnonzero(stay.paid)
                    places.home(held, stay.values[held], price * stay.prices[held])
                case SizeMin() | SizeMax() | SumBound() | QuotaBound():
                    sums.add(rule, price)
                case _:  # pragma: no cover - refused by Constraints
                    raise AssertionError(rule)
        pull, push = together.matrix(m), apart.matrix(m)
        # a pair that is to be together and apart breaks one of the two, whatever the labels
        both = pull.minimum(push)
        ties = (pull - push).tocsr()
        ties.setdiag(0)
        ties.eliminate_zeros()
        ties.sort_indices()
        inside = float(push.diagonal().sum())
        crossed = float(both.sum() - both.diagonal().sum()) / 2
        return cls(
            ties=ties,
            base=places.base(),
            lean=places.matrix(),
            loads=sums.loads(),
            low=sums.prices("low"),
            up=sums.prices("up"),
            constant=inside + crossed,
        )

    @classmethod
    def none(cls, n_items: int, n_clusters: int) -> Soft:
        """Nothing is soft."""
        nothing = np.empty((n_clusters, 0))
        return cls(
            ties=sp.csr_array((n_items, n_items)),
            base=np.zeros(n_items),
            lean=sp.csr_array((n_items, n_clusters)),
            loads=Loads.none(n_items, n_clusters),
            low=nothing,
            up=nothing,
            constant=0.0,
        )

    @property
    def has_ties(self) -> bool:
        """Whether items are tied by links."""
        return bool(self.ties.nnz)

    @property
    def has_lean(self) -> bool:
        """Whether items are tied to clusters."""
        return bool(self.lean.nnz or self.base.any())

    @property
    def couples(self) -> bool:
        """Whether an item's penalty depends on the labels of others."""
        return bool(self.ties.nnz or self.loads.number)

    @property
    def asks(self) -> bool:
        """Whether there is anything here that labels can change."""
        return self.couples or self.has_lean

    def alone(self, labels: IntArray) -> float:
        """Penalties of items on their own: part of `Problem.cost`."""
        if not self.has_lean:
            return 0.0
        return float(self.base.sum() + self.lean[np.arange(labels.size), labels].sum())

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
            below = np.where(self.low > 0, self.low * np.maximum(self.loads.lower - sums, 0), 0)
            above = np.where(self.up > 0, self.up * np.maximum(sums - self.loads.upper, 0), 0)
        return np.asarray(below + above)

    @property
    def dust(self) -> float:
        """What rounding of sums may cost, in all: so much may penalties differ from exact ones."""
        held = np.abs(self.loads.amount).sum(axis=0)
        return float(2 * ROUNDING * ((self.low + self.up).sum(axis=0) @ held))

    def add_to(self, cost: FloatArray) -> None:
        """Add what items pay on their own to a matrix of costs, in place."""
        if self.has_lean:
            cost += self.base[:, None]
            lean = self.lean.tocoo()
            cost[lean.coords] += lean.data


def _most(rule: Rule, n_samples: int) -> float:
    """How many units a rule can be violated by, at most."""
    match rule:
        case Moved(stay):
            return float(stay.prices[stay.paid].max(initial=0.0))
        case SumBound(source, side, value):
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
        self.a: list[int] = []
        self.b: list[int] = []
        self.price: list[float] = []

    def add(self, p: int, q: int, price: float) -> None:
        self.a.append(p)
        self.b.append(q)
        self.price.append(price)

    def matrix(self, m: int) -> Sparse:
        """Symmetric; the diagonal holds pairs inside items, once."""
        a = self.item[np.array(self.a, np.int64)]
        b = self.item[np.array(self.b, np.int64)]
        price = np.array(self.price)
        one = sp.coo_array((price, (a, b)), (m, m)).tocsr()
        return (one + one.T - sp.diags_array(one.diagonal())).tocsr()


class _Places:
    """Prices of items in clusters."""

    def __init__(self, item: IntArray, k: int) -> None:
        self.item, self.k, self.m = item, k, int(item.max()) + 1
        self._base = np.zeros(self.m)
        self._lean: Sparse = sp.csr_array((self.m, k))

    def home(self, samples: IntArray, clusters: IntArray, price: FloatArray) -> None:
        """Samples that pay in every cluster but their own."""
        items = self.item[samples]
        self._base += np.bincount(items, price, self.m)
        self._lean = self._lean + sp.csr_array((-price, (items, clusters)), (self.m, self.k))

    def dear(self, sample: int, cluster: int, price: float) -> None:
        """A sample that pays in one cluster."""
        at = ([self.item[sample]], [cluster])
        self._lean = self._lean + sp.csr_array(([price], at), (self.m, self.k))

    def base(self) -> FloatArray:
        return self._base

    def matrix(self) -> Sparse:
        lean = self._lean.tocsr()
        lean.eliminate_zeros()
        lean.sort_indices()
        return lean


class _Column:
    """One sum with soft bounds; each side of each cluster once."""

    def __init__(self, values: FloatArray, item: IntArray, k: int) -> None:
        m = int(item.max()) + 1
        self.amount = group_sums(values, item, m)
        self.scale = power_of_two(self.amount)
        self.lower, self.upper = np.full(k, -np.inf), np.full(k, np.inf)
        self.low, self.up = np.zeros(k), np.zeros(k)


class _Sums:
    """Soft bounds on sums, gathered to columns."""

    def __init__(self, item: IntArray, k: int) -> None:
        self.item, self.k = item, k
        self.columns: dict[tuple[object, ...], list[_Column]] = {}

    def add(self, rule: SizeMin | SizeMax | SumBound | QuotaBound, price: float) -> None:
        if isinstance(rule, SizeMin | SizeMax):
            key: tuple[object, ...] = ("size",)
            values, bound = np.ones(self.item.size), float(rule.value)
            low = isinstance(rule, SizeMin)
        else:
            asked = as_sum(rule)
            key, values, bound, low = asked.key, asked.values, asked.bound, rule.side == "min"
        cluster = None if isinstance(rule, QuotaBound) else rule.cluster
        at = slice(None) if cluster is None else slice(cluster, cluster + 1)
        columns = self.columns.setdefault(key, [])
        for column in columns:
            prices = column.low if low else column.up
            if not prices[at].any():
                break
        else:
            column = _Column(values, self.item, self.k)
            columns.append(column)
        # what rounding adds to a sum costs nothing; the slack of hard bounds would be paid for
        free = min(STRICT * ROUNDING * float(np.abs(values).sum()), slack(bound, values))
        if low:
            column.lower[at] = (bound - free) / column.scale
            column.low[at] = price * column.scale
        else:
            column.upper[at] = (bound + free) / column.scale
            column.up[at] = price * column.scale

    def _all(self) -> list[_Column]:
        return [column for columns in self.columns.values() for column in columns]

    def loads(self) -> Loads:
        found, m = self._all(), int(self.item.max()) + 1
        if not found:
            return Loads.none(m, self.k)
        return Loads(
            np.stack([column.amount / column.scale for column in found], axis=1),
            np.stack([column.lower for column in found], axis=1),
            np.stack([column.upper for column in found], axis=1),
            np.zeros(len(found)),
            np.array([column.scale for column in found]),
        )

    def prices(self, side: str) -> FloatArray:
        found = self._all()
        if not found:
            return np.empty((self.k, 0))
        return np.stack([getattr(column, side) for column in found], axis=1)
