"""Lagrangian relaxation of everything that clusters bound: labels with a bound, at any scale.

Sizes, sums and quotas get prices, their multipliers (`_dual_lp`), at which items choose clusters on
their own; items in links choose together (`_link_trees`). The dual value of the prices bounds what
any labels cost. What the choices still break is mended where that costs least (`_mend`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign._dual_lp import DIGITS, Prices, Resources, rounded, trust_region_step
from bckm.assign._link_trees import Forest
from bckm.assign._linked_transport import LinkedTransportAssigner, few_links, links_alone
from bckm.assign._mend import Mender
from bckm.assign._staying import StayAssigner, few_may_leave
from bckm.assign._sums import SumsAssigner, suits
from bckm.assign.base import Assigner, Assignment, Engine, MatrixAssigner
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem

SAMPLE = 10_000  # items from which first prices are found
CHOICES = 20_000  # columns of an LP, about
ROUNDS = 12
CANDIDATES = 3  # of the last LPs whose labels are mended, at most
GOOD = 1e-4  # gap, relative, that needs no further ones
CLOSE = 1e-5  # improvement of the bound, relative, that ends the search for prices
FAR = 1e-3  # improvement from which on prices are first looked for among some of the items


@dataclass(frozen=True, eq=False)
class _DualPoint:
    """What items choose at prices, and the dual value."""

    prices: Prices
    priced: FloatArray
    labels: IntArray
    value: float


class LagrangianAssigner(MatrixAssigner):
    """See the module."""

    resources: Resources
    forest: Forest
    free: IntArray  # items without links
    linked: IntArray | None  # items that stay where an LP moves others
    prices: Prices
    mender: Mender
    centers: FloatArray
    cost_scale = 0.0  # zero before the first call
    radius = 0.0

    def assign(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; mending computes costs from the centers."""
        self.centers = centers
        return super().assign(centers, start, deadline)

    def from_cost(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the module."""
        if self.cost_scale == 0:
            self._begin(cost)
        s, soft, items = self.structure, self.problem.soft, np.arange(start.size)
        scaled = rounded(cost / self.cost_scale)
        if s.forbidden.size:
            scaled.ravel()[s.forbidden] = np.inf
        if self.radius == 0:
            self.radius = _first_radius(scaled)
            self.prices = self._sampled_prices(scaled, self.prices, deadline)
        point, candidates = self._ascend(scaled, self.prices, deadline)
        self.prices = point.prices
        best, total = start, float(cost[items, start].sum()) + soft.coupled(start)
        before = self.mender.work
        for labels in candidates[: -CANDIDATES - 1 : -1]:
            if total - point.value * self.cost_scale <= GOOD * total:
                break
            mended = self.mender(labels, self.centers, point.prices, self.cost_scale, deadline)
            if mended is not None and mended.cost < total:
                best, total = mended.labels, mended.cost
        self.work += self.mender.work - before
        terms = float(np.abs(point.priced.min(axis=1)).sum())
        terms += self.resources.earned(point.prices)
        terms += 4 * float(self.resources.refund_terms(point.prices).sum())
        # costs were rounded, and sums round
        rounding = 10.0**-DIGITS * (items.size + len(soft.ties.data)) + 1e-14 * terms
        return Assignment(best, total, min((point.value - rounding) * self.cost_scale, total))

    def _begin(self, cost: FloatArray) -> None:
        problem, m = self.problem, len(cost)
        self.cost_scale = float(cost.min(axis=1).mean()) or float(cost.mean()) or 1.0
        self.resources = Resources.of(problem, self.cost_scale)
        self.forest = Forest(problem.structure, problem.soft, self.cost_scale, problem.threads)
        self.free = np.setdiff1d(np.arange(m), self.forest.items)
        # where most items have links, the others alone cannot keep the bounds
        self.linked = self.forest.items if self.free.size > self.forest.items.size else None
        self.prices = self.resources.none()
        self.mender = Mender(problem, self.resources)

    def _sampled_prices(self, cost: FloatArray, prices: Prices, deadline: Deadline) -> Prices:
        """Prices from some of the items, with bounds in proportion: large steps are cheap there."""
        some = np.arange(0, len(cost), max(1, len(cost) // SAMPLE))
        resources, part = self.resources.part(some), cost[some]
        current, best = Prices(prices.resources, np.empty(0)), -np.inf
        radius = self.radius
        for _ in range(2 * ROUNDS):
            priced = part - resources.refunds(current)
            labels = priced.argmin(axis=1)
            value = float(priced[np.arange(len(part)), labels].sum()) + resources.constant(current)
            if deadline.passed or value <= best + CLOSE * abs(best):
                break
            best = value
            step = trust_region_step(resources, part, priced, labels, radius, current, deadline)
            if step is None:
                break
            self.work += step.work
            current = step.prices
            if step.inside:
                break
            radius *= 2
        return Prices(current.resources, prices.rows)

    def _ascend(
        self, cost: FloatArray, prices: Prices, deadline: Deadline
    ) -> tuple[_DualPoint, list[IntArray]]:
        """Improve prices while the dual value rises; labels are those of each LP."""
        best = self._dual_at(cost, prices)
        candidates, sampled = [best.labels], False
        for _ in range(ROUNDS):
            if deadline.passed:
                break
            step = trust_region_step(
                self.resources,
                cost,
                best.priced,
                best.labels,
                self.radius,
                best.prices,
                deadline,
                self.linked,
            )
            if step is None:
                break
            self.work += step.work
            self.counters["rounds"] += 1
            candidate = best.labels.copy()
            most = step.share > 0.5
            candidate[step.items[most]] = step.to[most]
            if not (candidate == candidates[-1]).all():
                candidates.append(candidate)
            point = self._dual_at(cost, step.prices)
            rise = point.value - best.value
            best = point if rise > 0 else best
            if step.inside and rise <= CLOSE * abs(best.value):
                break
            if not step.inside and not sampled and rise > FAR * abs(best.value):
                sampled = True
                point = self._dual_at(cost, self._sampled_prices(cost, best.prices, deadline))
                best = point if point.value > best.value else best
            elif rise <= 0:
                self.radius /= 4
            elif not step.inside and step.columns < CHOICES:
                self.radius *= 2
            if step.columns > 2 * CHOICES:
                self.radius /= 2
        return best, candidates

    def _dual_at(self, cost: FloatArray, prices: Prices) -> _DualPoint:
        priced = cost - self.resources.refunds(prices)
        labels = priced.argmin(axis=1)
        least = priced[self.free, labels[self.free]].sum()
        value = float(least) + self.resources.constant(prices)
        if self.forest.items.size:
            before = self.forest.work
            chosen = self.forest.solve(priced[self.forest.items])
            self.work += self.forest.work - before
            labels[self.forest.items] = chosen.labels
            value += chosen.cost
        return _DualPoint(prices, priced, labels, value)


def _first_radius(cost: FloatArray) -> float:
    """About half of what items lose in their second-best cluster."""
    if cost.shape[1] < 2:
        return 1.0
    two = np.partition(cost, 1, axis=1)[:, :2]
    loss = two[:, 1] - two[:, 0]
    loss = loss[np.isfinite(loss)]
    return float(np.round(loss.mean() / 4, 6)) if loss.size and loss.mean() > 1e-5 else 1.0


class Lagrangian(Engine):
    """Labels with a bound under any rules, at any scale; no promise of the optimum."""

    name = "lagrangian"
    handles = ~Feature.NONE
    cheap_bound = True

    def adapted(self, problem: Problem) -> Lagrangian:
        """Under sizes and links, or few moves, a step costs little more than a look at items."""
        engine, kind = Lagrangian(), _kind(problem)
        engine.cheap_step = kind in (LinkedTransportAssigner, StayAssigner)
        engine.quick_step = kind is not LagrangianAssigner
        return engine

    def prepare(self, problem: Problem) -> Assigner:
        """Prepare; resources are gathered with the first costs."""
        return _kind(problem)(problem)


def _kind(problem: Problem) -> type[Assigner]:
    """The first that suits a problem; the last always does."""
    if few_links(problem) or links_alone(problem):
        return LinkedTransportAssigner
    if few_may_leave(problem):
        return StayAssigner
    return SumsAssigner if suits(problem) else LagrangianAssigner
