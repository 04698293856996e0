"""Sizes and links: a step that costs little more than one under sizes alone.

Prices of the sizes are found as in `transport`, as if no item had links. At these, linked items
choose together (`_listed`) and stay, while all others are settled exactly in the room that is left;
items of several samples that were split by that are joined, and single samples settle once more.
The dual value at the prices of this settling bounds what any labels cost. Linked items choose again
at these prices until nothing changes or the gap is small.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bckm._core.deadline import Deadline, TimeUp
from bckm._core.types import FloatArray, IntArray
from bckm.assign._dual_lp import Prices, Resources
from bckm.assign._groups import Groups, Settled
from bckm.assign._listed import Choice, ListedItems, bound_items
from bckm.assign._mend import Mender
from bckm.assign.base import Assignment
from bckm.assign.transport import EVEN, ROWS, TransportAssigner
from bckm.kernels import missing, native
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem

HANDLES = (
    Feature.NONEMPTY
    | Feature.SIZES
    | Feature.CONFLICTS
    | Feature.MUST_LINKS_AND_SIZES
    | Feature.FIXED
    | Feature.SOFT_LINKS
)
FREE = 0.5  # share of samples that must be single and without links: they settle the sizes
ROUNDS, CLOSE = 4, 2e-5  # steps whose gap is larger are settled again, at most so often
ROUND, PASSES = 5e5, 20.0  # work of a round, and for each point, beyond looks and paths
EACH = 60.0  # the same where all settlings count the same, beyond what a step of sizes alone counts
SAME = 1e-9  # relative difference of prices that is rounding
DAMPED = 0.75  # share of the way to the prices of a settling that the next one starts from


def few_links(problem: Problem) -> bool:
    """Whether sizes and links are all, on dense data, and most samples have no links."""
    if missing or problem.sparse or problem.features & ~HANDLES:
        return False
    s = problem.structure
    free = ~bound_items(problem) & (s.count == 1)
    return int(np.count_nonzero(free)) >= FREE * s.item.size


def links_alone(problem: Problem) -> bool:
    """Whether links are all, on dense data: no sample has to give way to others, only to links."""
    beyond = problem.features & (~HANDLES | Feature.SIZES)
    return not (missing or problem.sparse or beyond)


class _Part:
    """Some of the points, to be settled in the room that the others leave."""

    def __init__(self, problem: Problem, groups: Groups, points: IntArray) -> None:
        self.which = points
        rows = points if groups.first is None else groups.first[points]
        supply = None if groups.supply is None else groups.supply[points]
        weight = None if (groups.weight == 1.0).all() else groups.weight
        self.points = native.Points(problem.points, rows, weight, supply, 1)
        self.units = points.size if supply is None else int(supply.sum())


class LinkedTransportAssigner(TransportAssigner):
    """See the module."""

    def __init__(self, problem: Problem) -> None:
        self.listed = ListedItems(problem)
        self.mender: Mender | None = None  # made where it is needed
        self._n_settled = 0
        super().__init__(problem)
        groups, several = self.groups, self.structure.count > 1
        listed = np.zeros(several.size, bool)
        listed[self.listed.items] = True
        rows = np.arange(several.size) if groups.first is None else groups.first
        self.several = np.flatnonzero((several & ~listed)[rows])  # points that must stay whole
        self.free = _Part(problem, groups, np.flatnonzero(~listed[rows]))
        self.single = self.free
        if self.several.size:
            self.single = _Part(problem, groups, np.flatnonzero(~(listed | several)[rows]))
        self.place = groups.point(self.listed.items)
        self.bounds = self.levels[0].bounds  # what the levels are asked for moves

    def _grouped(self) -> Groups:
        s = self.structure
        single = s.count == 1
        single[self.listed.items] = False
        count = s.count if s.n_items < s.item.size else None
        return Groups.of(self.problem.points, self.problem.cost_weight, count, single)

    @property
    def effort(self) -> float:
        """The same for each settling, as in `TransportAssigner`, and what links take beyond."""
        m, d = self.problem.points.shape
        settling = EVEN + EACH * m + m * self.structure.n_clusters * (1.0 + 0.2 * d)
        mended = 0.0 if self.mender is None else self.mender.work
        return float(self._n_settled * settling + self.listed.work + mended)

    def _time_cut(self, centers: FloatArray, start: IntArray, bound: float = 0.0) -> Assignment:
        return Assignment(start, self._cost(start, self._totals(start, centers).cost), bound)

    def _cost(self, labels: IntArray, distances: float) -> float:
        return distances + self.problem.penalty(labels)

    def _assigned(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        state, listed = self.levels[0], self.listed
        evaluated, paths, work = state.evaluated, self.counters["paths"], listed.work
        listed.move(centers)
        best = self._time_cut(centers, start)
        try:
            self._approach(0, centers, state.prices, deadline)
            prices = state.prices if listed.items.size == 0 else self._free(centers, deadline)
            for _ in range(ROUNDS):
                self._n_settled += 1
                self.work += ROUND + PASSES * state.points.n
                state.evaluate(centers, prices, deadline)
                choice = listed.choose(self._paid(prices))
                found = self._settled(choice, centers, deadline)
                if found is None:
                    break
                dual = found if found.bound > best.bound else best
                if not self.structure.feasible(found.labels):
                    found = self._mended(found.labels, start, centers, found, deadline)
                if found.cost < best.cost:
                    best = found
                best = replace(best, bound=dual.bound, prices=dual.prices)
                close = best.cost - best.bound <= CLOSE * best.cost
                way = state.prices - prices
                if close or deadline.passed or np.abs(way).max() <= SAME * np.abs(prices).max():
                    break
                prices = prices + DAMPED * way
        except TimeUp:
            pass
        self._count(state.evaluated - evaluated, self.counters["paths"] - paths)
        self.work += listed.work - work
        # what weightless items add to a bound is known only where they are free
        known = bool((self.problem.mass[listed.items] > 0).all())
        prices_known = best.prices if known else None
        return replace(best, bound=min(best.bound, best.cost), prices=prices_known)

    def _mended(
        self,
        labels: IntArray,
        start: IntArray,
        centers: FloatArray,
        found: Assignment,
        deadline: Deadline,
    ) -> Assignment:
        """Labels that obey, from those of linked items that do not; or from those at hand."""
        if self.mender is None:
            self.mender = Mender(self.problem, Resources.of(self.problem))
        assert found.prices is not None
        number = self.mender.resources.lower.shape[1]
        prices = Prices(np.repeat(found.prices[:, None], number, axis=1), np.empty(0))
        unit = found.cost / max(1, labels.size) or 1.0
        prices = Prices(prices.resources / unit, prices.rows)
        best, work = Assignment(start, np.inf, 0.0), self.mender.work
        for offered in (labels, start):
            mended = self.mender(offered, centers, prices, unit, deadline, self.listed.items)
            if mended is not None and mended.cost < best.cost:
                best = Assignment(mended.labels, mended.cost, 0.0)
        self.work += self.mender.work - work
        return best

    def _free(self, centers: FloatArray, deadline: Deadline) -> FloatArray:
        """Prices at which all items, free of links, have the sizes that they last had so.

        These follow from the data alone; those of Newton steps also from rounding on the way there.
        """
        state, k = self.levels[0], self.structure.n_clusters
        budget = self._budget(ROWS * k + 4 * int(state.infeasibility))
        lower, upper = (side.astype(np.int64) for side in (state.bounds.lower, state.bounds.upper))
        settled = self._paths(state, centers, lower, upper, budget, deadline, exact_prices=True)
        if settled.stopped:
            raise TimeUp
        return self._charged(settled.prices)

    def _paid(self, prices: FloatArray) -> FloatArray:
        return np.asarray(self.listed.count[:, None] * prices)

    def _settled(
        self, choice: Choice, centers: FloatArray, deadline: Deadline
    ) -> Assignment | None:
        """Labels where listed items stay as they chose, and the bound at their prices."""
        state, part = self.levels[0], self.free
        before = state.label.copy()
        state.label[self.place] = choice.labels
        settled = self._settle(part, centers, before, deadline, exact_prices=True)
        if settled is None:
            return None
        prices = self._charged(settled.prices)
        whole = self._joined(settled)
        if whole is not None:  # items of several samples stay whole, the others settle again
            state.evaluate(centers, prices, deadline)
            before = state.label.copy()
            state.label[self.place], state.label[self.several] = choice.labels, whole
            part = self.single
            settled = self._settle(part, centers, before, deadline)
            if settled is None:
                return None
        regret = state.evaluate(centers, prices, deadline, keep=True)
        totals = state.totals_at_centers()
        labels = self.groups.expand(state.label, settled, part.which)
        units = state.units
        if settled.split_point.size:
            regret += self._split_regret(centers, prices, settled, part.which)
            totals = self._totals(labels, centers)
            units = self.structure.sizes(labels).astype(np.float64)
        here = self.listed.choose(self._paid(prices))
        gap = regret + self.bounds.complementary_slack(units, prices)
        bound = totals.cost - gap + (here.value - here.free_value)
        bound -= self._rounding(state, gap) + self.listed.rounding(self._paid(prices))
        self._ask(here.free_labels, units)
        known = totals if self.problem.cost_weight is self.problem.mass else None
        return Assignment(labels, self._cost(labels, totals.cost), bound, prices, known)

    def _ask(self, free_labels: IntArray, units: FloatArray) -> None:
        """Teach all levels which sizes lead to the right prices where links are left out."""
        state, k = self.levels[0], self.structure.n_clusters
        free = state.label.copy()
        free[self.place] = free_labels
        count = self.listed.count
        more = np.bincount(free_labels, count, k) - np.bincount(state.label[self.place], count, k)
        state.bounds = self.bounds
        self._learn(free, units)
        if (self.bounds.lower + more >= 0).all():
            state.bounds = self.bounds.moved(more.astype(np.float64))

    def _settle(
        self,
        part: _Part,
        centers: FloatArray,
        before: NDArray[np.int32],
        deadline: Deadline,
        *,
        exact_prices: bool = False,
    ) -> native.SettleResult | Settled | None:
        """Settle some points while all others stay; None if these leave no room for them.

        `before` are the labels that the state knows of.
        """
        state, which = self.levels[0], part.which
        k = state.k
        held = np.bincount(state.label, state.supply, k).astype(np.float64)
        supply = None if state.supply is None else state.supply[which]
        own = np.bincount(state.label[which], supply, k)
        others = (held - own).astype(np.int64)
        lower, upper = np.maximum(self.lower - others, 0), self.upper - others
        settled: native.SettleResult | Settled | None = None
        room = bool((upper >= 0).all()) and lower.sum() <= part.units <= upper.sum()
        if room and part.units == 0:
            settled = Settled.still(state.prices)
        elif room:
            wrong = np.abs(self.bounds.gradient(held, state.prices)).sum() / 2
            label = state.label[which]
            found = native.settle(
                part.points,
                centers,
                state.prices,
                label,
                state.slack[which],
                lower,
                upper,
                self._budget(ROWS * k + 4 * int(wrong)),
                min(deadline.left, 1e9),
                state.threads,
                exact_prices,
            )
            self.counters["paths"] += found.paths
            state.label[which] = label
            if found.stopped:
                state.relabel(before)
                raise TimeUp
            settled = found
        state.relabel(before)
        return settled

    def _joined(self, settled: native.SettleResult | Settled) -> NDArray[np.int32] | None:
        """Labels of points that must stay whole, if some were split: where most samples are."""
        point = self.free.which[settled.split_point]
        split = np.flatnonzero(np.isin(point, self.several))
        if split.size == 0:
            return None
        state = self.levels[0]
        assert state.supply is not None
        label = state.label[self.several]
        for which in np.unique(point[split]):
            mine = split[point[split] == which]
            units = settled.split_units[mine]
            at = int(units.argmax())
            if 2 * units[at] > state.supply[which] or units[at] > state.supply[which] - units.sum():
                label[np.searchsorted(self.several, which)] = settled.split_cluster[mine[at]]
        return label
