"""What clusters bound, and the prices of it: the dual of an assignment step.

Sizes, sums and quotas, hard or soft, are *goods*: each item brings amounts of them to its cluster.
A price of each good in each cluster makes items choose clusters on their own; the best prices are
found by steps in a box: an LP over the few choices that prices inside the box can change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.problem.linear import sums_of
from bckm.problem.problem import Problem
from bckm.programs.highs import Model

DIGITS = 9  # of costs, whose mean is about 1
MOST = 3  # other clusters of an item that an LP looks at


def rounded(values: FloatArray) -> FloatArray:
    """Without round-off: the same data at another scale is to lead to the same LPs."""
    return np.round(values, DIGITS)


@dataclass(frozen=True, eq=False)
class Goods:
    """Bounds on what items bring to clusters.

    Attributes
    ----------
    amount : array (m, r)
        What each item brings of each good.
    lower, upper : arrays (k, r)
        Bounds in each cluster.
    low, up : arrays (k, r)
        Price of each unit below or above them; infinite where a bound is hard.
    rows : sparse (q, m * k), by column
        Linear rows, which are hard,
    row_lower, row_upper : arrays (q,)
        and their bounds.
    """

    amount: FloatArray
    lower: FloatArray
    upper: FloatArray
    low: FloatArray
    up: FloatArray
    rows: Sparse
    row_lower: FloatArray
    row_upper: FloatArray

    @classmethod
    def of(cls, problem: Problem, unit: float = 1.0) -> Goods:
        """Gather the goods of a problem; prices in a unit of costs."""
        s, wish = problem.structure, problem.soft
        k = s.n_clusters
        hard = np.full((k, s.loads.number), np.inf)
        # wide bounds: prices prove what all labels cost that count as feasible
        parts = [(s.loads.amount, *s.loads.wide, hard, hard)]
        # rounded down: a bound is then worth no more than it is
        low, up = (
            np.floor(price / unit * 10.0**DIGITS) / 10.0**DIGITS for price in (wish.low, wish.up)
        )
        parts.append((wish.loads.amount, wish.loads.lower, wish.loads.upper, low, up))
        if (s.lower > 0).any() or (s.upper < s.item.size).any():
            lower = np.where(s.lower > 0, s.lower, -np.inf)[:, None]
            upper = np.where(s.upper < s.item.size, s.upper, np.inf)[:, None]
            hard = np.full((k, 1), np.inf)
            parts.append((s.count[:, None].astype(float), lower, upper, hard, hard))
        amount, lower, upper, low, up = (
            np.concatenate(part, axis=1) for part in zip(*parts, strict=True)
        )
        # no price where there is no bound
        low, up = np.where(np.isfinite(lower), low, 0.0), np.where(np.isfinite(upper), up, 0.0)
        return cls(amount, lower, upper, low, up, s.linear.columns, *s.linear.wide)

    def part(self, items: IntArray) -> Goods:
        """The same bounds for some of the items, in proportion to what they bring."""
        amount = self.amount[items]
        whole = np.abs(self.amount).sum(axis=0)
        share = np.where(whole > 0, np.abs(amount).sum(axis=0) / np.maximum(whole, 1e-300), 1.0)
        share = np.maximum(share, 1e-9)  # infinite bounds stay so
        k = len(self.lower)
        return Goods(
            amount,
            self.lower * share,
            self.upper * share,
            self.low,
            self.up,
            sp.csc_array((0, items.size * k)),
            np.empty(0),
            np.empty(0),
        )

    def none(self) -> Prices:
        """Prices of zero."""
        return Prices(np.zeros(self.lower.shape), np.zeros(self.row_lower.size))

    @cached_property
    def size(self) -> FloatArray:
        """The largest amounts of each good, about: what a price is multiplied with."""
        return np.asarray(np.abs(self.amount).mean(axis=0) + 1e-300)

    def refund(self, prices: Prices) -> FloatArray:
        """What the prices pay each item in each cluster, (m, k)."""
        paid: FloatArray = self.amount @ prices.goods.T
        if prices.rows.size:
            paid += (self.rows.T @ prices.rows).reshape(paid.shape)
        return paid

    def paid(self, prices: Prices) -> FloatArray:
        """The most that refunds of an item can be made of, whatever cancels in them, (m,)."""
        paid: FloatArray = np.abs(self.amount) @ np.abs(prices.goods).max(axis=0, initial=0.0)
        if prices.rows.size:
            each = (abs(self.rows).T @ np.abs(prices.rows)).reshape(paid.size, -1)
            paid = paid + each.max(axis=1)
        return paid

    def constant(self, prices: Prices) -> float:
        """What bounds earn at prices: the part of the dual value without items."""
        up, down = np.maximum(prices.goods, 0), np.maximum(-prices.goods, 0)
        with np.errstate(invalid="ignore"):
            goods = np.where(up > 0, up * self.lower, 0) - np.where(down > 0, down * self.upper, 0)
        rows = prices.rows
        sides = np.where(rows > 0, self.row_lower, self.row_upper)
        return float(goods.sum() + (rows[rows != 0] * sides[rows != 0]).sum())

    def turnover(self, prices: Prices) -> float:
        """The size of the terms of `constant` and of all refunds: what rounding is relative to."""
        sides = np.where(prices.goods > 0, self.lower, self.upper)
        rows = np.where(prices.rows > 0, self.row_lower, self.row_upper)
        goods = np.abs(prices.goods[prices.goods != 0] * sides[prices.goods != 0]).sum()
        goods += np.abs(prices.rows[prices.rows != 0] * rows[prices.rows != 0]).sum()
        paid = np.abs(self.amount) @ np.abs(prices.goods).T
        if prices.rows.size:
            paid += (abs(self.rows).T @ np.abs(prices.rows)).reshape(paid.shape)
        return float(goods + paid.max(axis=1).sum())

    def sane(self, prices: Prices) -> Prices:
        """Prices that no bound backs, or more than a soft one is worth, are cut off."""
        rows = np.where((prices.rows > 0) & np.isinf(self.row_lower), 0.0, prices.rows)
        rows = np.where((rows < 0) & np.isinf(self.row_upper), 0.0, rows)
        return Prices(np.clip(prices.goods, -self.up, self.low), rows)

    def sums(self, labels: IntArray) -> FloatArray:
        """What is in each cluster, (k, r)."""
        return sums_of(self.amount, labels, len(self.lower))


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of goods (k, r) and of linear rows (q,): what a unit is paid; charged below zero."""

    goods: FloatArray
    rows: FloatArray


@dataclass(frozen=True, eq=False)
class Step:
    """The best prices inside a box, and the choices of items that they leave open.

    `inside` says that the box was not in the way; item `items[c]` goes to cluster `to[c]` with
    `share[c]`.
    """

    prices: Prices
    items: IntArray
    to: IntArray
    share: FloatArray
    inside: bool


def box_step(
    goods: Goods,
    cost: FloatArray,
    priced: FloatArray,
    labels: IntArray,
    radius: float,
    at: Prices,
    deadline: Deadline,
    tied: IntArray | None = None,
) -> Step | None:
    """Improve prices by at most `radius` (in cost per mean amount), by an LP.

    Parameters
    ----------
    goods : Goods
        What is bounded.
    cost : array (m, k)
        Costs.
    priced : array (m, k)
        Costs less refunds at the current prices.
    labels : array (m,)
        What items choose at these prices.
    radius : float
        Size of the box.
    at : Prices
        The current prices.
    deadline : Deadline
        When to give up.
    tied : array of int, optional
        Items that do not choose alone: they stay.
    """
    (m, k), r = priced.shape, goods.amount.shape[1]
    items, to = _choices(goods, priced, labels, radius, tied)
    columns, own, every = np.arange(items.size), labels[items], np.arange(m)
    # rows: cluster * r + good, then linear rows
    good = np.arange(r)[:, None]
    value = goods.amount[items].T
    matrix = sp.csr_array(
        (
            np.concatenate([value.ravel(), -value.ravel()]),
            (
                np.concatenate([(to * r + good).ravel(), (own * r + good).ravel()]),
                np.tile(columns, 2 * r),
            ),
        ),
        (k * r, columns.size),
    )
    change = goods.rows[:, items * k + to] - goods.rows[:, items * k + own]
    activity = np.asarray(goods.rows[:, every * k + labels].sum(axis=1)).ravel()
    held = np.concatenate([goods.sums(labels).ravel(), activity])
    lower = np.concatenate([goods.lower.ravel(), goods.row_lower]) - held
    upper = np.concatenate([goods.upper.ravel(), goods.row_upper]) - held
    # what is beyond a bound costs the last price in the box, or what a soft bound is worth
    before = np.concatenate([at.goods.ravel(), at.rows])
    box = np.concatenate(
        [np.broadcast_to(radius / goods.size, (k, r)).ravel(), np.full(activity.size, radius)]
    )
    most = np.concatenate([goods.low.ravel(), np.where(np.isfinite(goods.row_lower), np.inf, 0)])
    least = np.concatenate([goods.up.ravel(), np.where(np.isfinite(goods.row_upper), np.inf, 0)])
    bound = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    limit = _once(items)
    beyond = sp.hstack([sp.eye_array(bound.size), -sp.eye_array(bound.size)])
    free = sp.csr_array((limit.shape[0], 2 * bound.size))
    model = Model(
        sp.vstack(
            [
                sp.hstack([sp.vstack([matrix, change], format="csr")[bound], beyond]),
                sp.hstack([limit, free]),
            ],
            format="csc",
        ),
        np.concatenate([lower[bound], np.full(limit.shape[0], -np.inf)]),
        np.concatenate([upper[bound], np.ones(limit.shape[0])]),
        column_upper=np.concatenate([np.ones(columns.size), np.full(2 * bound.size, np.inf)]),
        presolve=False,  # few rows, many bounded columns: it takes longer than the simplex
    )
    costs = np.concatenate(
        [
            cost[items, to] - cost[items, own],
            np.minimum(before + box, most)[bound],
            np.minimum(box - before, least)[bound],
        ]
    )
    solution = model.solve(costs, deadline)
    if solution.values is None or solution.duals is None:
        return None
    after = np.zeros(lower.size)
    after[bound] = solution.duals[: bound.size]
    return Step(
        goods.sane(Prices(after[: k * r].reshape(k, r), after[k * r :])),
        items,
        to,
        solution.values[: columns.size],
        inside=not (np.abs(after - before) >= 0.999 * box).any(),
    )


def _choices(
    goods: Goods, priced: FloatArray, labels: IntArray, radius: float, tied: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Items and other clusters that prices in the box may lead them to."""
    m, k = priced.shape
    gap = priced - priced[np.arange(m), labels][:, None]
    # An item changes its mind only for less than two price changes are worth to it; several goods
    # seldom change their prices the same way. What is overlooked makes a step too long, not wrong.
    reach = 2 * radius * (np.abs(goods.amount) / goods.size).max(axis=1, initial=0.0)
    if goods.row_lower.size:
        reach = reach + 2 * radius
    near = (gap <= reach[:, None]) & (gap >= 0)  # one that links keep from its best stays
    near[np.arange(m), labels] = False
    if tied is not None:
        near[tied] = False
    crowded = np.flatnonzero(near.sum(axis=1) > MOST)
    if crowded.size:
        few = np.argpartition(np.where(near[crowded], gap[crowded], np.inf), MOST - 1, axis=1)
        keep = np.zeros((crowded.size, k), bool)
        np.put_along_axis(keep, few[:, :MOST], True, axis=1)
        near[crowded] &= keep
    items, to = np.nonzero(near)
    return items, to


def _once(items: IntArray) -> Sparse:
    """Rows that let an item of several choices take at most one."""
    number, times = np.unique(items, return_counts=True)
    several = number[times > 1]
    at = np.flatnonzero(np.isin(items, several))
    row = np.searchsorted(several, items[at])
    return sp.csr_array((np.ones(at.size), (row, at)), (several.size, items.size))
