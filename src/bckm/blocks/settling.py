"""The exact end of a step: labels of the rows near borders, and prices that prove all labels.

A look tells the least gap of all rows that it did not return, for each pair of clusters. As long as
no two prices move apart by more, these rows keep their cluster: so they are one constraint for each
pair, and only rows that were returned have to be settled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bckm._core.arrays import blocks, squared_distances
from bckm._core.deadline import Deadline
from bckm._core.rounding import UNIT, Rounding
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.assign import ENGINES
from bckm.assign.transport_state import ROUNDING, SizeBounds, TransportState, newton
from bckm.blocks import price_range, whole_sums
from bckm.blocks.answer import Answer
from bckm.blocks.look import best_labels, see
from bckm.blocks.pairs import Pairs
from bckm.blocks.question import Question
from bckm.constraints import Constraints
from bckm.kernels import missing, native
from bckm.problem.problem import Problem

ENOUGH = 0.5  # samples per cluster that may be wrong before shortest paths begin
MANY = 16.0  # so many wrong ones are not worth settling: there will be another look
TIED = 1e-9  # slack of samples that are at a border
ROUNDS, NO_LIMIT = 16, 2**62  # of shortest paths, for each cluster and sample that is wrong
ROWS = 8  # points per cluster whose exact costs are computed for the shortest paths
BYTES = 2**27  # at most this much for exact costs
EXACT, AGAIN = 1e-13, 4  # of the cost: labels whose prices prove less are settled again
PROOF = 1e-10  # of the cost: more is no proof, unless there are no other rows


@dataclass(frozen=True, eq=False)
class Parts:
    """Which samples of the returned rows are where: those of one row may be divided.

    Attributes
    ----------
    row, cluster, units : arrays (m,)
        Place in `Taken.rows`, cluster, and number of samples; by row, then by cluster.
    """

    row: IntArray
    cluster: IntArray
    units: IntArray

    @classmethod
    def of(cls, row: IntArray, cluster: IntArray, units: IntArray) -> Parts:
        """Put parts in order."""
        order = np.lexsort((cluster, row))
        return cls(row[order], cluster[order], units[order])

    @classmethod
    def none(cls) -> Parts:
        """No rows."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty)

    def held(self, k: int) -> IntArray:
        """Samples in each cluster."""
        held = np.zeros(k, np.int64)
        np.add.at(held, self.cluster, self.units)
        return held


@dataclass(frozen=True, eq=False)
class Settled:
    """Proven optimal labels; costs and prices are in the units of the frame.

    Attributes
    ----------
    prices : array (k,)
        Prices that prove it.
    cost, bound : float
        What labels cost, and what none can cost less than.
    gap : float
        Cost less bound, but for rounding.
    sizes, means : arrays (k,), (k, d)
        Samples of each cluster, and their mean (the center, where there are none).
    parts : Parts
        Labels of the rows that the look returned, or that were asked for after it.
    best : array (u,)
        The best cluster of these rows at the prices.
    """

    prices: FloatArray
    cost: float
    bound: float
    gap: float
    sizes: IntArray
    means: FloatArray
    parts: Parts
    best: IntArray


@dataclass(frozen=True, eq=False)
class Short:
    """More rows are needed.

    Attributes
    ----------
    prices : array (k,) or None
        Where the rows at hand would lead, beyond what the others permit; None: nowhere, there are
        too few.
    excess : float
        How far beyond, as a share of what they permit.
    parts : Parts or None
        Labels within the bounds, but perhaps not the best ones.
    """

    prices: FloatArray | None = None
    excess: float = np.inf
    parts: Parts | None = None


def rounding_of_gaps(centers: FloatArray, prices: FloatArray) -> float:
    """More than the rounding of gaps of rows can be: as much is taken off what they permit."""
    return ROUNDING * float(np.abs(prices).max() + 4.0 * (1.0 + np.abs(centers).max()))


class Settling:
    """One attempt to settle the rows of an answer."""

    def __init__(
        self,
        question: Question,
        answer: Answer,
        lower: IntArray,
        upper: IntArray,
        pairs: Pairs,
    ) -> None:
        self.question, self.answer, self.threads = question, answer, pairs.threads
        self.pairs = pairs
        self.lower, self.upper, self.k = lower, upper, question.k
        self.bounds = SizeBounds(lower.astype(np.float64), upper.astype(np.float64))
        taken = answer.taken
        self.points = question.frame.inside(taken.rows)
        self.number, self.before = taken.number, taken.label.astype(np.int64)
        held = np.bincount(self.before, self.number, self.k).astype(np.int64)
        self.rest: IntArray = answer.counts - held
        # what rows that were not returned permit: so much may prices differ more than before
        assert question.wide is not None
        self.reach = pairs.reach(
            question.prices,
            answer.farthest,
            (answer.minima, question.wide),
            self.rest,
            rounding_of_gaps(question.centers, question.prices),
        )

    @property
    def tied(self) -> int:
        """How many of the returned samples are at a border."""
        question = self.question
        tied = 0
        for part in blocks(len(self.points), self.k):  # what they take together would add up
            points = self.points[part]
            gap = see(points, question.centers, question.prices, self.threads).gap
            tied += int(self.number[part] @ (gap <= TIED))
        return tied

    def settled(self, prices: FloatArray, deadline: Deadline) -> Settled | Short:
        """Settle, beginning with given prices."""
        best: Settled | None = None
        for _ in range(AGAIN):  # prices that were very large leave rounding behind: once more
            found = self._settled(prices, deadline)
            if isinstance(found, Short):
                return found if best is None else best
            if best is not None and found.gap >= best.gap:
                break
            best = found
            if found.gap <= EXACT * found.cost:
                break
            prices = found.prices
        assert best is not None
        if best.gap > PROOF * best.cost and self.rest.any():
            return self._short(best.prices)
        return best

    def _settled(self, prices: FloatArray, deadline: Deadline) -> Settled | Short:
        k = self.k
        lower, upper = np.maximum(self.lower - self.rest, 0), self.upper - self.rest
        units = int(self.number.sum())
        if (upper < 0).any() or lower.sum() > units or upper.sum() < units:
            return Short()
        if units:
            found = self._labels(prices, lower, upper, deadline)
            if isinstance(found, Short):
                return found
            prices, parts = found
        else:
            parts = Parts.none()
        sizes = self.rest + parts.held(k)
        p, bounds = self.question.prices, self.bounds
        move = np.minimum(self._moves(parts), p - p[:, None] + self.reach)
        lengths = price_range.arcs(move, sizes, bounds)
        free = bool((self.lower < self.upper).any())
        middle = price_range.middle(lengths, np.append(prices, 0.0), self.threads, free=free)
        if middle is not None:
            prices = middle
        elif self.rest.any():
            return self._short(prices, parts)
        # else no more can be known: labels are optimal but for rounding
        prices = np.where(self.lower == 0, np.minimum(prices, 0.0), prices)
        if self.beyond(prices) > 0:
            return self._short(prices, parts)
        return self._proven(prices, parts, sizes)

    def unproven(self, parts: Parts, dual: float) -> Settled:
        """Labels within the bounds, where prices prove no more than the dual value of the look."""
        prices, sizes = self.question.prices, self.rest + parts.held(self.k)
        found = self._proven(prices, parts, sizes, self.before)
        every = np.arange(self.number.size)
        rounding = self._rounding(prices, found.cost, sizes.astype(np.float64), every)
        bound = max(min(dual, found.cost) - rounding, 0.0)
        return replace(found, bound=bound, gap=found.cost - dual)

    def anyhow(self, dual: float, deadline: Deadline) -> Settled:
        """The best labels of the returned rows within the bounds, whatever other rows permit."""
        lower, upper = np.maximum(self.lower - self.rest, 0), self.upper - self.rest
        found = self._labels(self.question.prices, lower, upper, deadline, anyhow=True)
        assert not isinstance(found, Short)
        return self.unproven(found[1], dual)

    def beyond(self, prices: FloatArray) -> float:
        """How far prices are beyond what rows that were not returned permit; see `Short`."""
        return self.pairs.beyond(prices - self.question.prices, self.reach)

    def _short(self, prices: FloatArray, parts: Parts | None = None) -> Short:
        return Short(prices, self.beyond(prices), parts)

    def _labels(
        self,
        prices: FloatArray,
        lower: IntArray,
        upper: IntArray,
        deadline: Deadline,
        *,
        anyhow: bool = False,
    ) -> tuple[FloatArray, Parts] | Short:
        """Optimal labels of the rows alone, within bounds less the rest, with prices.

        `anyhow`: also if that takes long, or other rows are needed for a proof.
        """
        if missing:
            return self._labels_by_highs(lower, upper, deadline)
        k, centers, number = self.k, self.question.centers, self.number
        supply = None if (number == 1).all() else number
        points = native.Points(self.points, None, None, supply)
        bounds = SizeBounds(
            (self.lower - self.rest).astype(np.float64), (self.upper - self.rest).astype(np.float64)
        )
        state = TransportState(points, supply, bounds, (1.0, 1.0), self.threads)
        state.contenders = None
        state.evaluate(centers, prices, deadline)
        tied = number @ (state.slack <= TIED)
        # where many are at a border, Newton's method, which goes by densities, is lost
        if tied < state.infeasibility / 2 and state.infeasibility > ENOUGH * k:
            newton(state, centers, ENOUGH * k, deadline)
            far = state.infeasibility > MANY * k and self.beyond(state.prices) > 0
            if far and not anyhow:
                return self._short(state.prices)
        # other rows may be needed: paths that take long are not worth their time
        hurry = self.rest.any() and not anyhow
        rounds = ROUNDS * int(k + state.infeasibility) if hurry else NO_LIMIT
        budget = min(ROWS * k + 4 * int(state.infeasibility), max(2 * k, BYTES // (16 * k)))
        settled = native.settle(
            points,
            centers,
            state.prices,
            state.label,
            state.slack,
            lower,
            upper,
            max(1, budget),
            min(deadline.left, 1e9),
            self.threads,
            most_rounds=rounds,
        )
        deadline.check()
        if settled.stopped:
            return self._short(settled.prices)
        units = number.copy()
        np.subtract.at(units, settled.split_point, settled.split_units)
        row = np.concatenate([np.arange(number.size), settled.split_point])
        cluster = np.concatenate([state.label.astype(np.int64), settled.split_cluster])
        parts = Parts.of(row, cluster, np.concatenate([units, settled.split_units]))
        return settled.prices.copy(), parts

    def _labels_by_highs(
        self, lower: IntArray, upper: IntArray, deadline: Deadline
    ) -> tuple[FloatArray, Parts]:
        """The same without the kernels, sample by sample."""
        each = np.repeat(np.arange(self.number.size), self.number)
        rules = Constraints(size_min=lower.tolist(), size_max=upper.tolist())
        problem = Problem.build(self.points[each], self.k, rules, few=True)
        least = np.repeat(np.arange(self.k), lower)
        more = np.repeat(np.arange(self.k), upper - lower)[: each.size - least.size]
        start = np.concatenate([least, more])
        assigner = ENGINES["transport"]().prepare(problem)
        found = assigner.assign(problem.centers_in(self.question.centers), start, deadline)
        deadline.check()
        labels = problem.structure.expand(found.labels)
        pair, units = np.unique(each * self.k + labels, return_counts=True)
        row, cluster = np.divmod(pair, self.k)
        prices = np.zeros(self.k) if found.prices is None else problem.prices_out(found.prices)
        return prices, Parts.of(row, cluster, units)

    def _moves(self, parts: Parts) -> FloatArray:
        """What the cheapest move of a returned row between two clusters costs, (k, k)."""
        k, centers = self.k, self.question.centers
        move = np.full((k, k), np.inf)
        if not missing:
            points = native.Points(self.points)
            native.cheapest_moves(points, centers, parts.row, parts.cluster, move, self.threads)
            return move
        squares = np.einsum("id,id->i", centers, centers)
        order = np.argsort(parts.cluster, kind="stable")
        ends = np.searchsorted(parts.cluster[order], np.arange(k + 1))
        for a in range(k):
            rows = self.points[parts.row[order[ends[a] : ends[a + 1]]]]
            if len(rows):
                # |x - c_b|^2 - |x - c_a|^2 around c_a, so that far origins do not cancel
                apart = centers - centers[a]
                squares = np.einsum("id,id->i", apart, apart)
                move[a] = (squares - 2 * ((rows - centers[a]) @ apart.T)).min(axis=0)
        return move

    def _proven(
        self,
        prices: FloatArray,
        parts: Parts,
        sizes: IntArray,
        best: IntArray | None = None,
    ) -> Settled:
        """Cost, bound and means of labels that are optimal but for rounding."""
        question, centers, bounds = self.question, self.question.centers, self.bounds
        unsure = np.zeros(self.number.size, bool)
        if best is None:
            best, unsure = self._best(prices)
        # other rows than these have their best cluster
        odd = np.flatnonzero(parts.cluster != best[parts.row])
        unsure[parts.row[odd]] = True
        points = self.points[parts.row[odd]]
        value = squared_distances(points, centers) - prices
        here = value[np.arange(odd.size), parts.cluster[odd]]
        regret = float(parts.units[odd] @ (here - value.min(axis=1)))
        scale = question.cost_scale
        total, high, low = self._totals(parts, scale)
        # rows that have moved may round in another order than in the look: zero stays zero
        cost = max(whole_sums.as_float(total, scale), 0.0)
        units = sizes.astype(np.float64)
        gap = regret + bounds.complementary_slack(units, prices)
        means = np.where(sizes[:, None] > 0, whole_sums.as_means(high, low, sizes), centers)
        rounding = self._rounding(prices, cost, units, np.flatnonzero(unsure))
        rounding += 2 * UNIT * odd.size * regret
        bound = max(cost - gap - rounding, 0.0)
        return Settled(prices, cost, min(bound, cost), gap, sizes, means, parts, best)

    def _best(self, prices: FloatArray) -> tuple[IntArray, BoolArray]:
        """The best cluster of each returned row, by the very pass that labels blocks.

        And where rounding might have chosen it.
        """
        question = Question(self.question.frame, self.question.centers, prices)
        best, unsure = np.empty(len(self.points), np.int64), np.empty(len(self.points), bool)
        for part, seen in best_labels(self.answer.taken.rows, question, self.threads):
            best[part], unsure[part] = seen.label, ~(seen.slack > 0)
        return best, unsure

    def _totals(self, parts: Parts, scale: float) -> tuple[int, IntArray, IntArray]:
        """Cost and sums of the answer, with rows that have moved where they are now."""
        answer, k = self.answer, self.k
        total, high, low = answer.cost, answer.high.copy(), answer.low.copy()
        moved = np.flatnonzero(parts.cluster != self.before[parts.row])
        points, units = self.points[parts.row[moved]], parts.units[moved]
        for sign, cluster in ((1, parts.cluster[moved]), (-1, self.before[parts.row[moved]])):
            apart = points - self.question.centers[cluster]
            total += whole_sums.cost_of(np.square(apart).sum(axis=1), scale, sign * units)
            more = whole_sums.sums_of(points, cluster, k, sign * units)
            high += more[0]
            low += more[1]
        return total, high, low

    def _rounding(
        self, prices: FloatArray, cost: float, units: FloatArray, unsure: IntArray
    ) -> float:
        """What rounding may have added to the bound, with these rows without slack."""
        # those were evaluated in float64, where a value rounds by (d + 4) units of what it is made
        # of, the cost and a price
        d = self.points.shape[1]
        values = 6 * float(np.abs(prices).max()) * float(self.number[unsure].sum())
        for part in blocks(unsure.size, d):
            rows = unsure[part]
            apart = self.points[rows] - self.question.centers[self.before[rows]]
            values += 2 * float(self.number[rows] @ np.einsum("id,id->i", apart, apart))
        sums = rounding_of_sums(self.question.centers, prices, cost, units, self.bounds)
        return float(2 * UNIT * (d + 8) * values + sums)


def rounding_of_sums(
    centers: FloatArray, prices: FloatArray, cost: float, units: FloatArray, bounds: SizeBounds
) -> float:
    """What rounding may have added to a bound where each row has slack: that of sums and data."""
    k, d = centers.shape
    # sizes are whole numbers: a bound that binds adds nothing, however large its price
    sides = float(np.abs(prices) @ np.abs(bounds.unused(units, prices)))
    # costs are summed up exactly, but points and costs were rounded one by one
    moment = 2 * (cost + float(units @ np.square(centers).sum(axis=1)))
    data = Rounding(UNIT * (d + 8), 3 * UNIT * float(np.sqrt(moment)), moment, 0.0, 0.0)
    return float(2 * UNIT * (k + 8) * sides + data.of_bound(cost))
