"""Sums, sizes and links at any scale, without the matrix of all costs.

Prices of all that clusters bound are found by Newton steps on parts of the items, then on all of
them; a look at all items is one at distances (`_coordinates`). A small LP over the items that are
nearest to a border ends it: its prices give the bound, its labels are mended (`_mend`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bckm._core.arrays import squared_distances
from bckm._core.arrays import totals as find_totals
from bckm._core.deadline import Deadline, TimeUp
from bckm._core.rounding import UNIT
from bckm._core.types import FloatArray, IntArray
from bckm.assign._coordinates import Coordinates
from bckm.assign._dual_lp import Prices, Resources, paid, rounded, trust_region_step
from bckm.assign._listed import ListedItems, bound_items
from bckm.assign._mend import Mended, Mender
from bckm.assign._priced_level import Level, Look
from bckm.assign.base import STEP, Assigner, Assignment
from bckm.kernels import missing
from bckm.problem.linear import sums_of
from bckm.problem.problem import Problem

SMALL = 10_000  # costs up to which their matrix is no burden
LISTED = 0.5  # share of the items that links may tie
COARSER, SMALLEST = 8, 8  # each part is an eighth of the last; items per price in the smallest
ENOUGH = (1.0, 0.5)  # mean items per price that may be wrong after Newton steps; in parts of them
COLUMNS = 50  # items of an LP for each price
PASSES = 100.0  # work for each item that a step takes beyond looks
MOVABLE = (8, 60, None)  # items for each price that are moved to mend labels; then all
ROUNDS = 6  # LPs in a step, at most
CLOSE = 1e-5  # improvement of the bound, relative, that ends them
NOISE = 1e-9  # one that may be round-off
APART = 1e-7  # prices of a mean amount that are as good as the same; more than round-off
GOLDEN = 0.6180339887  # its multiples are spread evenly between whole numbers
AGAIN, GAP = 3, 5e-5  # where the gap is larger, and LPs were too small: so often with larger ones


@dataclass(frozen=True, eq=False)
class _Dual:
    """A look with the labels of all items."""

    look: Look
    labels: IntArray


class _End:
    """The end of a step: the best prices so far, labels near the bounds, and the size of LPs."""

    def __init__(self, dual: _Dual, number: int) -> None:
        self.dual, self.labels, self.number = dual, dual.labels, number
        self.inside = False  # whether the last LP found the best prices


def suits(problem: Problem) -> bool:
    """Whether this is the way for a problem: large, dense, most items without links."""
    s = problem.structure
    if missing or problem.sparse or s.linear.number or s.n_items * s.n_clusters <= SMALL:
        return False
    return int(np.count_nonzero(bound_items(problem))) <= LISTED * s.n_items


class SumsAssigner(Assigner):
    """See the module; prices are kept from step to step."""

    levels: list[Level]
    coordinates: Coordinates
    costless: IntArray  # places of listed items that cost nothing anywhere

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.levels = []

    def assign(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the module."""
        centers = np.ascontiguousarray(centers, np.float64)
        problem = self.problem
        total = problem.within(start, centers)
        best = Assignment(start, total, 0.0)
        if not self.levels:
            self._begin(centers)
        evaluated = sum(level.state.evaluated for level in self.levels)
        work = self.listed.work + sum(level.work for level in self.levels)
        try:
            self.listed.move(centers)
            look = self._approach(centers, deadline)
            end = _End(_Dual(look, self._labels(look)), COLUMNS * self._busy(look.prices))
            for _ in range(AGAIN):
                self._settle_prices(end, centers, deadline)
                self.prices = end.dual.look.prices
                bound = max(best.bound, self._bound(end.dual, centers))
                best = replace(best, bound=min(bound, best.cost))
                mended = self._mended(end.dual, end.labels, centers, deadline)
                if mended is not None:
                    self._learn(mended.labels)
                    if mended.cost < best.cost:
                        best = Assignment(mended.labels, mended.cost, min(bound, mended.cost))
                done = end.inside or end.number >= self.levels[0].items.size
                if done or best.cost - best.bound <= GAP * best.cost or deadline.passed:
                    break
                end.number *= 4
        except TimeUp:
            pass
        evaluated = sum(level.state.evaluated for level in self.levels) - evaluated
        k, d = len(centers), self.coordinates.data.shape[1]
        work = self.listed.work + sum(level.work for level in self.levels) - work
        self.work += STEP + evaluated * (0.15 * k * d + 10.0) + work + PASSES * len(start)
        self.counters["looked"] += evaluated
        return best

    def _begin(self, centers: FloatArray) -> None:
        """Gather what does not change between steps, in units of what items cost at first."""
        problem = self.problem
        each = problem.nearest(centers)[1]
        unit = float(each.mean()) or problem.variance * problem.points.shape[1] or 1.0
        amount = Resources.of(problem).amount
        self.coordinates = Coordinates(problem, amount, unit)
        self.resources = Resources.of(problem, self.coordinates.unit)
        self.listed = ListedItems(problem, np.flatnonzero(self.coordinates.odd))
        self.mender = Mender(problem, self.resources)
        k, r = self.resources.lower.shape
        self.prices = np.zeros((k, r))
        listed = np.zeros(len(amount), np.bool_)
        listed[self.listed.items] = True
        free = np.flatnonzero(~listed)
        bound = bound_items(problem)[self.listed.items]
        self.costless = np.flatnonzero(~bound & (problem.mass[self.listed.items] == 0))
        both = np.concatenate([free, self.listed.items])
        mean, threads = self.resources.mean_amount, problem.threads
        whole = self.resources.part(both)
        self.levels.append(Level(self.coordinates, free, whole, mean, threads, self.listed))
        step = COARSER
        while free[::step].size >= SMALLEST * k * max(r, 1):
            part = free[::step]
            bounds = self.resources.part(part)
            self.levels.append(Level(self.coordinates, part, bounds, mean, threads))
            step *= COARSER

    def _approach(self, centers: FloatArray, deadline: Deadline) -> Look:
        """Prices that few items are wrong at, coarse parts first."""
        prices = self.prices
        for depth, level in reversed(list(enumerate(self.levels))):
            look = level.look(centers, prices, deadline)
            if depth == len(self.levels) - 1 and prices.any():
                none = level.look(centers, np.zeros_like(prices), deadline)
                if level.infeasibility(none) <= level.infeasibility(look):
                    look = none
                else:
                    look = level.look(centers, prices, deadline)
            look = self._ascended(depth, look, centers, deadline)
            prices = look.prices
        return look

    def _ascended(self, depth: int, look: Look, centers: FloatArray, deadline: Deadline) -> Look:
        target = ENOUGH[depth > 0] * look.prices.size
        return self.levels[depth].ascend(look, centers, target, deadline)

    def _settle_prices(self, end: _End, centers: FloatArray, deadline: Deadline) -> None:
        """The best prices, by LPs over few items; and labels that nearly keep the bounds."""
        failed = 0
        for _ in range(ROUNDS):
            found = self._program(end.dual, max(end.number, 1), centers, deadline)
            if found is None:
                return
            prices, offered, end.inside = found
            look = self.levels[0].look(centers, prices, deadline)
            if not end.inside:
                end.number *= 2
                look = self._ascended(0, look, centers, deadline)
            before = end.dual.look.dual
            close = abs(look.dual - before) <= CLOSE * abs(before)
            better = look.dual > before + NOISE * abs(before)
            if better or close:
                end.labels = offered
            if better:
                end.dual = _Dual(look, self._labels(look))
            failed = 0 if better else failed + 1
            if close or failed > 1:
                return
            if failed:  # what the LP did not see was worth more: a shorter step
                end.number //= 4

    def _busy(self, prices: FloatArray) -> int:
        """Prices of resources that are not free everywhere."""
        return len(prices) * max(1, int(np.count_nonzero(prices.any(axis=0))))

    def _labels(self, look: Look) -> IntArray:
        level = self.levels[0]
        labels = np.empty(self.structure.n_items, np.int64)
        labels[level.items] = level.state.label
        if look.choice is not None:
            labels[self.listed.items] = look.choice.labels
        return labels

    def _program(
        self, dual: _Dual, number: int, centers: FloatArray, deadline: Deadline
    ) -> tuple[FloatArray, IntArray, bool] | None:
        """Prices and labels of an LP over the items nearest to a border; the others stay."""
        level, problem, unit = self.levels[0], self.problem, self.coordinates.unit
        if level.items.size == 0 or self.prices.size == 0 or deadline.passed:
            return None
        found, alone = level.nearest(number, deadline), self._nearest_alone(dual, number)
        alone = np.union1d(alone, self.costless)
        near, radius = level.items[found.places], found.depth
        items = np.concatenate([near, self.listed.items[alone]])
        amount = self.resources.amount[items]
        cost = squared_distances(problem.points[near], centers)
        cost *= problem.cost_weight[near, None]
        cost = rounded(np.concatenate([cost, self.listed.cost[alone]]) / unit)
        held = sums_of(self.resources.amount, dual.labels, len(centers))  # whole where amounts are
        held -= sums_of(amount, dual.labels[items], len(centers))
        part = self.resources.rest(items, held)
        mean = self.resources.mean_amount
        at = Prices(rounded(dual.look.prices * mean) / mean, np.empty(0))
        priced = cost - part.refunds(at)
        radius = float(rounded(np.array(radius / 2 * (1 + APART)))) + APART
        step = trust_region_step(part, cost, priced, dual.labels[items], radius, at, deadline)
        if step is None:
            return None
        self.counters["rounds"] += 1
        self.work += step.work
        labels = dual.labels.copy()
        most = step.share > 0.5
        labels[items[step.items[most]]] = step.to[most]
        return self._apart(step.prices.resources), labels, step.inside

    def _apart(self, prices: FloatArray) -> FloatArray:
        """Prices of an LP leave items undecided: a little off, each by its own, they decide."""
        off = APART * (np.arange(1, prices.size + 1).reshape(prices.shape) * GOLDEN % 1)
        prices = prices + np.sign(prices) * off / self.resources.mean_amount
        return self.resources.clipped(Prices(prices, np.empty(0))).resources

    def _nearest_alone(self, dual: _Dual, number: int) -> IntArray:
        """Places of listed items without links that have least to lose for what they bring."""
        alone, listed = self.listed.alone, self.listed
        if alone.size == 0:
            return alone
        amount = self.levels[0].listed_amount[alone]
        value = listed.cost[alone] / self.coordinates.unit - paid(amount, dual.look.prices)
        two = np.partition(value, min(1, value.shape[1] - 1), axis=1)[:, :2]
        size = np.abs(amount / self.resources.mean_amount).max(axis=1, initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.where(size > 0, (two[:, -1] - two[:, 0]) / size, np.inf)
        return np.sort(alone[np.argsort(loss, kind="stable")[:number]])

    def _mended(
        self, dual: _Dual, labels: IntArray, centers: FloatArray, deadline: Deadline
    ) -> Mended | None:
        """Labels that obey, with moves of few items; of more where these are not enough."""
        level, prices, work = self.levels[0], Prices(self.prices, np.empty(0)), self.mender.work
        for number in MOVABLE:
            items = None
            if number:
                number *= self._busy(self.prices)
                near = level.items[level.nearest(number, deadline).places]
                alone = self.listed.items[self._nearest_alone(dual, number)]
                items = np.sort(np.concatenate([near, alone]))
            mended = self.mender(labels, centers, prices, self.coordinates.unit, deadline, items)
            self.work += self.mender.work - work
            work = self.mender.work
            if mended is not None:
                return mended
        return None

    def _bound(self, dual: _Dual, centers: FloatArray) -> float:
        """The dual value, computed anew from the labels, less what rounding may have added."""
        problem, look, unit = self.problem, dual.look, self.coordinates.unit
        labels, listed, prices = dual.labels, self.listed, look.prices
        total = find_totals(problem.points, problem.cost_weight, labels, centers, problem.threads)
        value, amount = total.cost / unit, self.levels[0].listed_amount
        held = sums_of(self.resources.amount, labels, len(centers))
        if look.choice is not None and listed.items.size:
            rows = np.arange(listed.items.size)
            value -= float(listed.distance_cost[rows, look.choice.labels].sum()) / unit
            held -= sums_of(amount, look.choice.labels, len(centers))
            value += look.choice.value / unit
        value -= float((prices * held).sum())
        value += self.resources.constant(Prices(prices, np.empty(0)))
        both = Prices(prices, np.empty(0))
        ratio = self.coordinates.ratio
        terms = total.cost / unit + self.levels[0].squares / ratio
        terms += self.resources.earned(both) + 4 * float(self.resources.refund_terms(both).sum())
        level = self.coordinates.centers(centers, prices)[2]
        terms += float(np.abs(level).max() * problem.mass.sum()) / ratio
        steps = self.coordinates.data.shape[1] + labels.size / 1024 + 64
        lost = 4 * UNIT * steps * terms
        if listed.items.size:
            lost += listed.rounding(unit * paid(amount, prices)) / unit
        return float(value - lost) * unit

    def _learn(self, labels: IntArray) -> None:
        """Teach parts how they differ from all items, as `TransportAssigner` does."""
        k, whole = len(self.prices), self.resources
        held = sums_of(whole.amount, labels, k)
        step = 1
        free = self.levels[0].state.label
        for level in self.levels[1:]:
            step *= COARSER
            part = sums_of(level.resources.amount, free[::step].astype(np.int64), k)
            level.resources = whole.part(level.items, part, held)
