"""Prices for everything that clusters bound: labels with a bound, at any scale.

Sizes, sums and quotas get prices (`_goods`), at which items choose clusters on their own; items
tied by links choose together (`_forest`). The dual value of the prices bounds what any labels cost.
What the choices still break is mended where that costs least (`_mend`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign._dual_lp import DIGITS, Goods, Prices, box_step, rounded
from bckm.assign._link_trees import Forest
from bckm.assign._mend import mend
from bckm.assign.base import Assignment, Engine, MatrixAssigner
from bckm.problem.problem import Feature, Problem

SAMPLE = 10_000  # items from which first prices are found
CHOICES = 20_000  # columns of an LP, about
ROUNDS = 12
CLOSE = 1e-5  # improvement of the bound, relative, that ends the search for prices
FAR = 1e-3  # improvement from which on prices are first looked for among some of the items
COLUMN = 2e3  # work of a column in an LP


@dataclass(frozen=True, eq=False)
class _View:
    """What items choose at prices, and the dual value."""

    prices: Prices
    priced: FloatArray
    labels: IntArray
    value: float


class PricesAssigner(MatrixAssigner):
    """See the module."""

    goods: Goods
    forest: Forest
    loose: IntArray  # items without links
    tied: IntArray | None  # items that stay where an LP moves others
    prices: Prices
    unit = 0.0  # of costs; zero before the first call
    radius = 0.0

    def from_cost(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the module."""
        if self.unit == 0:
            self._begin(cost)
        s, soft, items = self.structure, self.problem.soft, np.arange(start.size)
        seen = rounded(cost / self.unit)
        if s.closed.size:
            seen.ravel()[s.closed] = np.inf
        if self.radius == 0:
            self.radius = _first_radius(seen)
            self.prices = self._sampled(seen, self.prices, deadline)
        view, offer = self._climb(seen, self.prices, deadline)
        self.prices = view.prices
        best, total = start, float(cost[items, start].sum()) + soft.coupled(start)
        found = mend(s, self.goods, view.priced, offer, deadline)
        if found is not None:
            value = float(cost[items, found].sum()) + soft.coupled(found)
            if value < total:
                best, total = found, value
        terms = float(np.abs(view.priced.min(axis=1)).sum()) + self.goods.turnover(view.prices)
        terms += 3 * float(self.goods.paid(view.prices).sum())
        # costs were rounded, and sums round
        rounding = 10.0**-DIGITS * (items.size + len(soft.ties.data)) + 1e-14 * terms
        return Assignment(best, total, min((view.value - rounding) * self.unit, total))

    def _begin(self, cost: FloatArray) -> None:
        problem, m = self.problem, len(cost)
        self.unit = float(cost.min(axis=1).mean()) or float(cost.mean()) or 1.0
        self.goods = Goods.of(problem, self.unit)
        self.forest = Forest(problem.structure, problem.soft, self.unit)
        self.loose = np.setdiff1d(np.arange(m), self.forest.items)
        # where most items are tied, the others alone cannot keep the bounds
        self.tied = self.forest.items if self.loose.size > self.forest.items.size else None
        self.prices = self.goods.none()

    def _sampled(self, cost: FloatArray, prices: Prices, deadline: Deadline) -> Prices:
        """Prices from some of the items, with bounds in proportion: large steps are cheap there."""
        some = np.arange(0, len(cost), max(1, len(cost) // SAMPLE))
        goods, part = self.goods.part(some), cost[some]
        found, best = Prices(prices.goods, np.empty(0)), -np.inf
        radius = self.radius
        for _ in range(2 * ROUNDS):
            priced = part - goods.refund(found)
            labels = priced.argmin(axis=1)
            value = float(priced[np.arange(len(part)), labels].sum()) + goods.constant(found)
            if deadline.passed or value <= best + CLOSE * abs(best):
                break
            best = value
            step = box_step(goods, part, priced, labels, radius, found, deadline)
            if step is None:
                break
            self.work += COLUMN * step.items.size
            found = step.prices
            if step.inside:
                break
            radius *= 2
        return Prices(found.goods, prices.rows)

    def _climb(
        self, cost: FloatArray, prices: Prices, deadline: Deadline
    ) -> tuple[_View, IntArray]:
        """Improve prices while the dual value rises; labels are those of the last LP."""
        best = self._view(cost, prices)
        offer, sampled = best.labels, False
        for _ in range(ROUNDS):
            if deadline.passed:
                break
            step = box_step(
                self.goods,
                cost,
                best.priced,
                best.labels,
                self.radius,
                best.prices,
                deadline,
                self.tied,
            )
            if step is None:
                break
            self.work += COLUMN * step.items.size
            self.counters["rounds"] += 1
            offer = best.labels.copy()
            most = step.share > 0.5
            offer[step.items[most]] = step.to[most]
            view = self._view(cost, step.prices)
            rise = view.value - best.value
            best = view if rise > 0 else best
            if step.inside and rise <= CLOSE * abs(best.value):
                break
            if not step.inside and not sampled and rise > FAR * abs(best.value):
                sampled = True
                view = self._view(cost, self._sampled(cost, best.prices, deadline))
                best = view if view.value > best.value else best
            elif rise <= 0:
                self.radius /= 4
            elif not step.inside and step.items.size < CHOICES:
                self.radius *= 2
            if step.items.size > 2 * CHOICES:
                self.radius /= 2
        return best, offer

    def _view(self, cost: FloatArray, prices: Prices) -> _View:
        priced = cost - self.goods.refund(prices)
        labels = priced.argmin(axis=1)
        least = priced[self.loose, labels[self.loose]].sum()
        value = float(least) + self.goods.constant(prices)
        if self.forest.items.size:
            tied = self.forest.solve(priced[self.forest.items])
            labels[self.forest.items] = tied.labels
            value += tied.cost
        return _View(prices, priced, labels, value)


def _first_radius(cost: FloatArray) -> float:
    """About half of what items lose in their second-best cluster."""
    if cost.shape[1] < 2:
        return 1.0
    two = np.partition(cost, 1, axis=1)[:, :2]
    loss = two[:, 1] - two[:, 0]
    loss = loss[np.isfinite(loss)]
    return float(np.round(loss.mean() / 4, 6)) if loss.size and loss.mean() > 1e-5 else 1.0


class PriceEngine(Engine):
    """Labels with a bound under any rules, at any scale; no promise of the optimum."""

    name = "lagrangian"
    handles = ~Feature.NONE
    bounds_cheaply = True

    def prepare(self, problem: Problem) -> PricesAssigner:
        """Gather what is bounded and what is tied."""
        return PricesAssigner(problem)
