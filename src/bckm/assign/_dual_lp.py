"""What clusters bound, and the prices of it: the dual of an assignment step.

Sizes, sums and quotas, hard or soft, are bounds on *resources*: each item brings amounts of them to
its cluster. A price of each resource in each cluster makes items choose clusters on their own; the
best prices are found by trust-region steps: an LP over the few choices that prices within a radius
can change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray, Sparse
from bckm.assign._heaps import Heaps
from bckm.problem.columns import Columns
from bckm.problem.linear import sums_of
from bckm.problem.problem import Problem
from bckm.programs.highs import Model

DIGITS = 9  # of costs, whose mean is about 1
BUILT, WRITTEN = 1e3, 1e6  # work of a column while the LP is written, and of the LP
MOST = 3  # other clusters of an item that an LP looks at


def rounded(values: FloatArray) -> FloatArray:
    """Without round-off: the same data at another scale is to lead to the same LPs."""
    return np.round(values, DIGITS)


def paid(amount: FloatArray, prices: FloatArray) -> FloatArray:
    """What prices (k, r) pay for amounts (n, r) in each cluster, (n, k).

    Resources are few: a product by BLAS would wake its threads for nothing.
    """
    total = np.zeros((len(amount), len(prices)))
    for column, price in zip(amount.T, prices.T, strict=True):
        if price.any():
            total += np.multiply.outer(column, price)
    return total


@dataclass(frozen=True, eq=False)
class Resources:
    """Bounds on what items bring to clusters.

    Attributes
    ----------
    amount : array (m, r)
        What each item brings of each resource.
    lower, upper : arrays (k, r)
        Bounds in each cluster.
    lower_penalty, upper_penalty : arrays (k, r)
        Cost of each unit below or above them; infinite where a bound is hard.
    rows : sparse (q, m * k), by column
        Linear rows, which are hard,
    row_lower, row_upper : arrays (q,)
        and their bounds.
    """

    amount: FloatArray
    lower: FloatArray
    upper: FloatArray
    lower_penalty: FloatArray
    upper_penalty: FloatArray
    rows: Sparse
    row_lower: FloatArray
    row_upper: FloatArray

    @classmethod
    def of(cls, problem: Problem, cost_scale: float = 1.0) -> Resources:
        """Gather the resources of a problem; penalties are divided by `cost_scale`."""
        s, soft = problem.structure, problem.soft
        k = s.n_clusters
        hard = np.full((k, s.loads.number), np.inf)
        # wide bounds: prices prove what all labels cost that count as feasible
        parts = [(s.loads.amount, *s.loads.wide, hard, hard)]
        # rounded down: a bound is then worth no more than it is
        lower_penalty, upper_penalty = (
            np.floor(penalty / cost_scale * 10.0**DIGITS) / 10.0**DIGITS
            for penalty in (soft.lower_penalty, soft.upper_penalty)
        )
        loads = soft.loads
        parts.append((loads.amount, loads.lower, loads.upper, lower_penalty, upper_penalty))
        if (s.lower > 0).any() or (s.upper < s.item.size).any():
            lower = np.where(s.lower > 0, s.lower, -np.inf)[:, None]
            upper = np.where(s.upper < s.item.size, s.upper, np.inf)[:, None]
            hard = np.full((k, 1), np.inf)
            parts.append((s.count[:, None].astype(float), lower, upper, hard, hard))
        amount, lower, upper, lower_penalty, upper_penalty = (
            np.concatenate(part, axis=1) for part in zip(*parts, strict=True)
        )
        # no price where there is no bound
        return cls(
            amount,
            lower,
            upper,
            np.where(np.isfinite(lower), lower_penalty, 0.0),
            np.where(np.isfinite(upper), upper_penalty, 0.0),
            # without rows no columns either: already those would be many
            s.linear.by_column if s.linear.number else sp.csc_array((0, 0)),
            *s.linear.wide,
        )

    def part(
        self, items: IntArray, held: FloatArray | None = None, whole: FloatArray | None = None
    ) -> Resources:
        """The same bounds for some of the items, in proportion to what they bring.

        Where it is known what these items hold, (k, r), when all hold `whole`, the bounds ask for
        as much more or less.
        """
        amount = self.amount[items]
        total = np.abs(self.amount).sum(axis=0)
        share = np.where(total > 0, np.abs(amount).sum(axis=0) / np.maximum(total, 1e-300), 1.0)
        share = np.maximum(share, 1e-9)  # infinite bounds stay so
        more = 0.0 if held is None or whole is None else held - share * whole
        return self._without_rows(amount, self.lower * share + more, self.upper * share + more)

    def rest(self, items: IntArray, others: FloatArray) -> Resources:
        """Bounds of some of the items where the others hold so much, (k, r)."""
        return self._without_rows(self.amount[items], self.lower - others, self.upper - others)

    def _without_rows(self, amount: FloatArray, lower: FloatArray, upper: FloatArray) -> Resources:
        none, rows = np.empty(0), sp.csc_array((0, 0))
        return Resources(
            amount, lower, upper, self.lower_penalty, self.upper_penalty, rows, none, none
        )

    def none(self) -> Prices:
        """Prices of zero."""
        return Prices(np.zeros(self.lower.shape), np.zeros(self.row_lower.size))

    @cached_property
    def mean_amount(self) -> FloatArray:
        """Mean amount of each resource: what a price is multiplied with, about."""
        mean = np.abs(self.amount).sum(axis=0) / max(len(self.amount), 1)
        return np.where(mean > 0, mean, 1.0)

    def refunds(self, prices: Prices) -> FloatArray:
        """What the prices pay each item in each cluster, (m, k)."""
        refunds = paid(self.amount, prices.resources)
        if prices.rows.size:
            refunds += (self.rows.T @ prices.rows).reshape(refunds.shape)
        return refunds

    def refund_terms(self, prices: Prices) -> FloatArray:
        """The most that refunds of an item can be made of, whatever cancels in them, (m,)."""
        dearest = np.abs(prices.resources).max(axis=0, initial=0.0)
        terms: FloatArray = np.abs(self.amount) @ dearest
        if prices.rows.size:
            each = (abs(self.rows).T @ np.abs(prices.rows)).reshape(terms.size, -1)
            terms = terms + each.max(axis=1)
        return terms

    def constant(self, prices: Prices) -> float:
        """What bounds earn at prices: the part of the dual value without items."""
        up, down = np.maximum(prices.resources, 0), np.maximum(-prices.resources, 0)
        with np.errstate(invalid="ignore"):
            earned = np.where(up > 0, up * self.lower, 0) - np.where(down > 0, down * self.upper, 0)
        rows = prices.rows
        sides = np.where(rows > 0, self.row_lower, self.row_upper)
        return float(earned.sum() + (rows[rows != 0] * sides[rows != 0]).sum())

    def earned(self, prices: Prices) -> float:
        """The size of the terms of `constant`: what its rounding is relative to."""
        each, rows = prices.resources, prices.rows
        sides = np.where(each > 0, self.lower, self.upper)
        row_sides = np.where(rows > 0, self.row_lower, self.row_upper)
        earned = np.abs(each[each != 0] * sides[each != 0]).sum()
        return float(earned + np.abs(rows[rows != 0] * row_sides[rows != 0]).sum())

    def clipped(self, prices: Prices) -> Prices:
        """Prices that no bound backs, or more than a soft one is worth, are cut off."""
        rows = np.where((prices.rows > 0) & np.isinf(self.row_lower), 0.0, prices.rows)
        rows = np.where((rows < 0) & np.isinf(self.row_upper), 0.0, rows)
        return Prices(np.clip(prices.resources, -self.upper_penalty, self.lower_penalty), rows)

    def sums(self, labels: IntArray) -> FloatArray:
        """What is in each cluster, (k, r)."""
        return sums_of(self.amount, labels, len(self.lower))


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of resources (k, r) and linear rows (q,): what a unit is paid; charged below zero."""

    resources: FloatArray
    rows: FloatArray


@dataclass(frozen=True, eq=False)
class DualStep:
    """The best prices within the radius, and the choices of items that they leave open.

    `inside` says that the radius did not bind; item `items[c]` goes to cluster `to[c]` with
    `share[c]`; the LP had so many `columns`; `work` is what it took, see `Assigner.work`.
    """

    prices: Prices
    items: IntArray
    to: IntArray
    share: FloatArray
    inside: bool
    columns: int
    work: float


def trust_region_step(
    resources: Resources,
    cost: FloatArray,
    priced: FloatArray,
    labels: IntArray,
    radius: float,
    at: Prices,
    deadline: Deadline,
    linked: IntArray | None = None,
) -> DualStep | None:
    """Improve prices by at most `radius` (in cost per mean amount), by an LP.

    Parameters
    ----------
    resources : Resources
        What is bounded.
    cost : array (m, k)
        Costs.
    priced : array (m, k)
        Costs less refunds at the current prices.
    labels : array (m,)
        What items choose at these prices.
    radius : float
        Of the trust region.
    at : Prices
        The current prices.
    deadline : Deadline
        When to give up.
    linked : array of int, optional
        Items that do not choose alone: they stay.
    """
    heaps = Heaps.of(cost, resources.amount, linked)
    if heaps.items.size == 0 or resources.row_lower.size:
        return _program(resources, cost, priced, labels, radius, at, deadline, linked)
    others, number = heaps.others, heaps.first.size
    if linked is not None:
        linked = np.searchsorted(others, linked)
    priced = heaps.merged(priced)
    own = priced[others.size :].argmin(axis=1)
    step = _program(
        replace(resources, amount=heaps.merged(resources.amount)),
        heaps.merged(cost),
        priced,
        np.concatenate([labels[others], own]),
        radius * len(cost) / len(priced),  # a mean amount is as much larger
        at,
        deadline,
        linked,
        number,
    )
    if step is None:
        return None
    alone = step.items < others.size
    heap = step.items[~alone] - others.size
    to = heaps.divided(heap, step.to[~alone], step.share[~alone], own)
    return replace(
        step,
        items=np.concatenate([others[step.items[alone]], heaps.items]),
        to=np.concatenate([step.to[alone], to]),
        share=np.concatenate([step.share[alone], np.ones(to.size)]),
    )


def _program(
    resources: Resources,
    cost: FloatArray,
    priced: FloatArray,
    labels: IntArray,
    radius: float,
    at: Prices,
    deadline: Deadline,
    linked: IntArray | None = None,
    heaps: int = 0,
) -> DualStep | None:
    """As `trust_region_step`; the last items are `heaps`, which may go anywhere."""
    k, r = priced.shape[1], resources.amount.shape[1]
    items, to = _choices(resources, priced, labels, radius, linked, heaps)
    columns, own = np.arange(items.size), labels[items]
    number, change, activity = Columns(k), sp.coo_array((0, items.size)), np.empty(0)
    if resources.row_lower.size:
        rows = resources.rows
        change = (rows[:, number.of(items, to)] - rows[:, number.of(items, own)]).tocoo()
        activity = np.asarray(rows[:, number.used(labels)].sum(axis=1)).ravel()
    held = np.concatenate([resources.sums(labels).ravel(), activity])
    lower = np.concatenate([resources.lower.ravel(), resources.row_lower]) - held
    upper = np.concatenate([resources.upper.ravel(), resources.row_upper]) - held
    # what is beyond a bound costs the last price within the radius, or what a soft bound is worth
    before = np.concatenate([at.resources.ravel(), at.rows])
    per_resource = np.broadcast_to(radius / resources.mean_amount, (k, r))
    widths = np.concatenate([per_resource.ravel(), np.full(activity.size, radius)])
    most = np.concatenate(
        [resources.lower_penalty.ravel(), np.where(np.isfinite(resources.row_lower), np.inf, 0)]
    )
    least = np.concatenate(
        [resources.upper_penalty.ravel(), np.where(np.isfinite(resources.row_upper), np.inf, 0)]
    )
    bound = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    several, once = _once(items)
    # rows: cluster * r + resource, then linear rows, as far as there are bounds; then items once
    place = np.full(lower.size, -1)
    place[bound] = np.arange(bound.size)
    value, resource, rest = resources.amount[items], np.arange(r), np.arange(bound.size)
    ones = np.ones(bound.size)
    parts = [
        (place[to[:, None] * r + resource], columns[:, None], value),
        (place[own[:, None] * r + resource], columns[:, None], -value),
        (place[k * r + change.coords[0]], change.coords[1], change.data),
        (bound.size + once, several, np.ones(several.size)),
        (rest, columns.size + rest, ones),
        (rest, columns.size + bound.size + rest, -ones),
    ]
    row, column, entry = (
        np.concatenate([np.broadcast_to(part[at], part[2].shape).ravel() for part in parts])
        for at in range(3)
    )
    used = (row >= 0) & (entry != 0)
    limits = int(once.max(initial=-1)) + 1
    shape = (bound.size + limits, columns.size + 2 * bound.size)
    model = Model(
        sp.csc_array((entry[used], (row[used], column[used])), shape),
        np.concatenate([lower[bound], np.full(limits, -np.inf)]),
        np.concatenate([upper[bound], np.ones(limits)]),
        column_upper=np.concatenate([np.ones(columns.size), np.full(2 * bound.size, np.inf)]),
        presolve=False,  # few rows, many bounded columns: it takes longer than the simplex
    )
    costs = np.concatenate(
        [
            cost[items, to] - cost[items, own],
            np.minimum(before + widths, most)[bound],
            np.minimum(widths - before, least)[bound],
        ]
    )
    solution = model.solve(costs, deadline)
    if solution.values is None or solution.duals is None:
        return None
    after = np.zeros(lower.size)
    after[bound] = solution.duals[: bound.size]
    return DualStep(
        resources.clipped(Prices(after[: k * r].reshape(k, r), after[k * r :])),
        items,
        to,
        solution.values[: columns.size],
        inside=not (np.abs(after - before) >= 0.999 * widths).any(),
        columns=columns.size,
        work=solution.work + WRITTEN + BUILT * columns.size,
    )


def _choices(
    resources: Resources,
    priced: FloatArray,
    labels: IntArray,
    radius: float,
    linked: IntArray | None,
    heaps: int,
) -> tuple[IntArray, IntArray]:
    """Items and other clusters that prices within the radius may lead them to."""
    m, k = priced.shape
    gap = priced - priced[np.arange(m), labels][:, None]
    # An item changes its mind only for less than two price changes are worth to it; several
    # resources seldom change their prices the same way. What is overlooked makes a step too long,
    # not wrong.
    reach = 2 * radius * (np.abs(resources.amount) / resources.mean_amount).max(axis=1, initial=0.0)
    if resources.row_lower.size:
        reach = reach + 2 * radius
    near = (gap <= reach[:, None]) & (gap >= 0)  # one that links keep from its best stays
    near[np.arange(m), labels] = False
    if linked is not None:
        near[linked] = False
    crowded = np.flatnonzero(near[: m - heaps].sum(axis=1) > MOST)
    if crowded.size:
        few = np.argpartition(np.where(near[crowded], gap[crowded], np.inf), MOST - 1, axis=1)
        keep = np.zeros((crowded.size, k), bool)
        np.put_along_axis(keep, few[:, :MOST], True, axis=1)
        near[crowded] &= keep
    items, to = np.nonzero(near)
    return items, to


def _once(items: IntArray) -> tuple[IntArray, IntArray]:
    """Places of items with several choices, of which they take at most one, and their number."""
    _, inverse, times = np.unique(items, return_inverse=True, return_counts=True)
    at = np.flatnonzero(times[inverse] > 1)
    return at, np.unique(items[at], return_inverse=True)[1]
