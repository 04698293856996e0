"""Prices under which samples, each choosing its best cluster, respect the size bounds.

The dual of the assignment under l <= size <= u has one unknown per cluster, its price:

    max over prices of  sum_j min_i (c_ji - price_i) + sum_i (l_i price_i+ - u_i price_i-)

A positive price is a subsidy that draws samples to a cluster that would be too small.
`TransportState` knows the best cluster of each point at the present prices and brings that up to
date when prices or centers move; `newton` raises the dual by Newton steps until few samples are in
the wrong cluster. The exact end is `kernels.native.settle`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import Totals
from bckm._core.deadline import Deadline, TimeUp
from bckm._core.rounding import UNIT
from bckm._core.types import FloatArray, IntArray
from bckm.kernels import native

PROGRESS = 0.75  # a step that leaves more than this share of the infeasibility is slow
MOST = 40  # steps: from prices that are far too large it would take forever
ROUNDING = 1e-12  # of prices and of products of d terms, more than it can be
MANY = 2**15  # numbers that a look reads for each point, from which a list of clusters pays off
KEPT_VALUES = 2**28  # at most so many values of points in clusters are kept,
TIMES = 4  # and no more than so many for each number of the data
EACH = 2**-51  # of a difference of costs and prices, for each feature, more than rounding can be
CAREFUL = 4e-7  # more than float32 rounds by
LINE = 64  # bytes of a line of the cache
UNKNOWN = -3e38  # slack of a point that must be evaluated, whatever the drift
QUICK = 0.5  # a step that leaves less than this share is quick
FORGET = 0.9  # what is left of the pace of the last step when none is taken
PATIENCE = 2  # slow steps before Newton gives way to exact paths
TRIES, SHORTER = 2, (0.1, 0.6)  # a step that lowers the dual is tried again, shorter


@dataclass(frozen=True, eq=False)
class SizeBounds:
    """How many samples each cluster may hold."""

    lower: FloatArray
    upper: FloatArray

    def scaled(self, share: float) -> SizeBounds:
        """Bounds for a part of the samples."""
        return SizeBounds(self.lower * share, self.upper * share)

    def moved(self, units: FloatArray) -> SizeBounds:
        """Bounds that ask for so many more samples."""
        return SizeBounds(self.lower + units, self.upper + units)

    def whole(self, units: int) -> tuple[IntArray, IntArray]:
        """Whole bounds near these that admit so many samples."""
        # cumulated, so that what is rounded off here is added there
        below = np.floor(np.cumsum(np.maximum(self.lower, 0.0)) + 1e-9)
        lower = np.diff(below, prepend=0).astype(np.int64)
        upper = np.diff(np.ceil(np.cumsum(self.upper) - 1e-9), prepend=0).astype(np.int64)
        upper = np.maximum(lower, upper)
        short = units - int(upper.sum())
        if short > 0:
            upper[np.argsort(-upper, kind="stable")[: short % upper.size]] += 1
            upper += short // upper.size
        return lower, upper

    def gradient(self, units: FloatArray, prices: FloatArray) -> FloatArray:
        """Gradient of the dual; zero where samples and prices are in balance.

        Where a price is zero the dual has a kink: there it is the smallest subgradient.
        """
        short, over = self.lower - units, self.upper - units
        at_zero = np.maximum(short, 0.0) + np.minimum(over, 0.0)
        return np.where(prices > 0, short, np.where(prices < 0, over, at_zero))

    def complementary_slack(self, units: FloatArray, prices: FloatArray) -> float:
        """What the prices of bounds that do not bind cost: the gap of complementary slackness."""
        return float(prices @ self.unused(units, prices))

    def unused(self, units: FloatArray, prices: FloatArray) -> FloatArray:
        """How far each size is beyond the bound that its price belongs to."""
        return np.asarray(units - np.where(prices > 0, self.lower, self.upper))

    def shifted(self, prices: FloatArray, units: float) -> FloatArray:
        """Prices moved by a constant to where the dual is largest: no sample changes its mind.

        Along the constant the dual is concave and piecewise linear with kinks at the prices of
        clusters that have room, so one of these becomes zero. Where one is zero, the others find
        their prices from there.
        """
        loose = np.flatnonzero(self.lower < self.upper)
        if loose.size == 0 or not prices[loose].all():
            return prices
        order = loose[np.argsort(-prices[loose], kind="stable")]
        # with the dearest subsidies removed one by one, ever fewer clusters may hold their upper
        held = self.upper.sum() - np.cumsum((self.upper - self.lower)[order])
        where = min(int(np.searchsorted(-held, -units, side="left")), order.size - 1)
        zero = float(prices[order[where]])
        return prices - zero


def lines(shape: tuple[int, int]) -> FloatArray:
    """An empty array that begins at a line of the cache, so that no register reads two."""
    size = shape[0] * shape[1]
    room = np.empty(size + LINE // 8)
    first = -room.ctypes.data % LINE // 8
    return room[first : first + size].reshape(shape)


def kept_values(points: int, features: int, clusters: int) -> int:
    """How many values of points in clusters a state keeps, in float32."""
    number = points * clusters
    if clusters * features < MANY or clusters > TIMES * features or number > KEPT_VALUES:
        return 0
    return number


class TransportState:
    """Points, and what is known about the best cluster of each at the last centers and prices.

    Attributes
    ----------
    label, runner, margin, slack : arrays (n,)
        Best and second best cluster, their difference, and a proven bound; see
        `kernels/distance/sweep.hpp`.
    units : array (k,)
        Samples in each cluster.
    evaluated : int
        Points whose distances had to be computed, in total.
    """

    def __init__(
        self,
        points: native.Points,
        supply: IntArray | None,
        bounds: SizeBounds,
        weights: tuple[float, float],
        threads: int,
    ) -> None:
        self.points = points
        self.supply = supply  # samples at each point; None: one
        self.bounds = bounds
        self.threads = threads
        self.k = bounds.lower.size
        self.weights = sorted(set(weights))  # extremes of the weights of points in the cost
        self.label = np.zeros(points.n, np.int32)
        self.runner = np.zeros(points.n, np.int32)
        self.margin = np.zeros(points.n, np.float32)
        self.slack = np.full(points.n, UNKNOWN, np.float32)
        self.radius: NDArray[np.float32] | None = None  # |x - c_label| when it was measured
        self.radii_current = False  # whether that is at the last centers and labels
        self.reach = np.zeros(self.k)  # largest radius in each cluster
        self.centers: FloatArray | None = None
        self.prices = np.zeros(self.k)
        self.units = np.zeros(self.k)
        self.units[0] = points.n if supply is None else supply.sum()  # all labels are 0 at first
        self.evaluated = 0
        # where there are many features, looks at the same centers read lists of contenders
        many = self.k * points.n_features >= MANY
        kept = self.k if kept_values(points.n, points.n_features, self.k) else 0
        self.contenders = native.Contenders(points.n, kept) if many else None
        self.idle = False  # whether the last prices left few samples wrong at the last centers
        self.pace = 0.0  # share of wrong samples that the last Newton step has left
        self.cost = 0.0  # of the labels, but for a constant, while the centers stay
        self._table: tuple[FloatArray, FloatArray] | None = None

    def table(self) -> tuple[FloatArray, FloatArray]:
        """All costs, in rows of whole blocks of eight, and the centers for which they are known."""
        if self._table is None:
            costs = lines((self.points.n, -(-self.k // 8) * 8))
            self._table = costs, np.full((self.k, self.points.n_features), np.nan)
        return self._table

    @property
    def dual(self) -> float:
        """Value of the dual at the last prices, but for a constant, while the centers stay."""
        return self.cost - self.bounds.complementary_slack(self.units, self.prices)

    @property
    def gradient(self) -> FloatArray:
        """Gradient of the dual."""
        return self.bounds.gradient(self.units, self.prices)

    @property
    def infeasibility(self) -> float:
        """Samples in the wrong cluster."""
        return float(np.abs(self.gradient).sum()) / 2

    def evaluate(
        self, centers: FloatArray, prices: FloatArray, deadline: Deadline, *, keep: bool = False
    ) -> float:
        """Bring what is known to these centers and prices; return the regret of kept labels.

        With `keep`, labels stay as they are, and the regret is what they cost above the best ones.
        If the deadline passes in the middle, it raises `TimeUp`, and all has to be evaluated again.
        """
        constant, slope = self._drift(centers, prices)
        if self.centers is None or not np.array_equal(centers, self.centers):
            self.cost = 0.0
        try:
            swept = native.sweep(
                self.points,
                centers,
                prices,
                self.label,
                self.runner,
                self.margin,
                self.slack,
                self.radius if slope.any() else None,
                constant,
                slope,
                keep,
                self.threads,
                deadline.left,
                self.contenders,
            )
        except native.Stopped:
            self.units = np.bincount(self.label, self.supply, self.k).astype(np.float64)
            self.centers = None
            raise TimeUp from None
        self.centers, self.prices = centers, prices
        self.units = self.units + swept.gained
        self.evaluated += swept.evaluated
        self.cost += swept.change
        self.radii_current = self.radii_current and keep  # radii belong to labels
        return float(swept.regret)

    def measure(self, points: IntArray, deadline: Deadline) -> None:
        """Evaluate some points anew where they are: hints get right, slacks as large as proven."""
        assert self.centers is not None
        self.slack[points] = UNKNOWN
        self.evaluate(self.centers, self.prices, deadline, keep=True)

    def relabel(self, before: NDArray[np.int32]) -> None:
        """Take note of labels that were changed from outside."""
        moved = np.flatnonzero(self.label != before)
        weight = None if self.supply is None else self.supply[moved]
        self.units = self.units + np.bincount(self.label[moved], weight, self.k)
        self.units -= np.bincount(before[moved], weight, self.k)
        self.slack[moved] = UNKNOWN
        self.radii_current = False

    def take_prices(self, prices: FloatArray, least_moves: FloatArray) -> bool:
        """Take prices at which no label has any regret, if the least moves prove that.

        Least moves are what any sample of each cluster would cost more elsewhere, (k,) or empty.
        Rounding may have added a little to the differences that they are made of.
        """
        if least_moves.size == 0 or not self.radii_current:
            return False
        assert self.centers is not None
        held = self.units > 0
        least = np.where(held, least_moves, 0.0)
        own = max(self.weights) * np.square(self.reach) + 4 * float(np.abs(prices).max())
        surely = least - EACH * (self.points.n_features + 8) * (least + own)
        if not (surely > 0).all(where=held):
            return False
        fixed = self._drift(self.centers, prices)[0].astype(np.float32)[self.label]
        slack = self.slack - fixed
        slack -= CAREFUL * (np.abs(self.slack) + np.abs(fixed))
        floor = (surely * (1 - CAREFUL)).astype(np.float32)
        np.maximum(slack, floor[self.label], out=self.slack)
        self.prices = prices
        return True

    def direction(self) -> FloatArray | None:
        """Newton step; None where no sample is near enough to a border to measure a curvature."""
        bounds, prices, gradient = self.bounds, self.prices, self.gradient
        active = (gradient != 0) | (prices != 0) | (bounds.lower == bounds.upper)
        step: FloatArray | None = native.newton_step(
            self.points,
            prices,
            self.label,
            self.runner,
            self.margin,
            gradient,
            active,
            self.threads,
        )
        return step

    def totals_at_centers(self) -> Totals:
        """Totals of the labels at the last centers; makes the next change of centers cheaper."""
        if self.radius is None:
            self.radius = np.empty(self.points.n, np.float32)
        assert self.centers is not None
        totals = native.totals(self.points, self.label, self.centers, self.radius, self.threads)
        self.reach, self.radii_current = totals.reach, True
        return Totals(totals.sums, totals.mass, totals.cost)

    def _drift(self, centers: FloatArray, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """By how much slacks may have shrunk: constant + slope * radius, for each label.

        For a point x with label a, in any other cluster i, the difference of values changes by

            w (T_ai - 2 (x - c_a) (m_i - m_a)) - dprice_i + dprice_a

        where m are the moves of the centers and T_ai = 2 (c_i - c_a) m_i + |m_i|^2 - |m_a|^2. The
        product is at most radius |m_i - m_a|. The worst case over i is convex in the radius, so it
        lies below the chord from 0 to the largest radius of the cluster.
        """
        none = np.zeros(self.k)
        still = self.centers is not None and np.array_equal(centers, self.centers)
        if self.centers is None or not (still or self.radii_current):
            self.slack.fill(UNKNOWN)
            return none, none
        rise = prices - self.prices
        if still:
            others = np.full(self.k, rise.max())
            if self.k > 1:
                others[rise.argmax()] = np.partition(rise, -2)[-2]
            return others - rise + ROUNDING * float(np.abs(rise).max()), none
        old, move = self.centers - self.centers.mean(axis=0), centers - self.centers
        square = np.square(move).sum(axis=1)
        apart = _upper_distances(move, square)
        turn = 2 * (np.einsum("id,id->i", old, move) - old @ move.T) + square - square[:, None]
        ends = []
        for change in (turn, turn - 2 * self.reach[:, None] * apart):
            worst = [_largest_other(rise - weight * change) for weight in self.weights]
            ends.append(np.max(worst, axis=0) - rise)  # linear in the weight: that is all of them
        slope = (ends[1] - ends[0]) / np.maximum(self.reach, 1e-300)
        # rounding of all this, from the size of the terms: they may cancel
        far = float(np.sqrt(np.square(old).sum(axis=1).max())) + float(self.reach.max())
        scale = max(self.weights) * (far * float(np.sqrt(square.max())) + float(square.max()))
        return ends[0] + ROUNDING * (scale + float(np.abs(rise).max())), slope


def _upper_distances(rows: FloatArray, square: FloatArray) -> FloatArray:
    """Distances between rows, rounded up, from their squared norms."""
    sums = square[:, None] + square
    apart = sums - 2 * (rows @ rows.T)
    apart += 2 * (rows.shape[1] + 4) * UNIT * sums
    return np.asarray(np.sqrt(np.maximum(apart, 0.0, out=apart), out=apart))


def _largest_other(table: FloatArray) -> FloatArray:
    """Largest entry of each row but for the one on the diagonal, which is lost."""
    if len(table) == 1:
        return np.zeros(1)
    np.fill_diagonal(table, -np.inf)
    largest: FloatArray = table.max(axis=1)
    return largest


def newton(
    state: TransportState,
    centers: FloatArray,
    target: float,
    deadline: Deadline,
    tolerable: float = 0.0,
) -> None:
    """Raise the dual until at most `target` samples are in the wrong cluster, or it gets slow.

    `tolerable` are so many that a step is taken only if the last one was quick.

    The curvature comes from the samples at the borders: how many would change cluster when a price
    moves by their slack.
    """
    total, slow = float(state.units.sum()), 0
    for _ in range(MOST):
        if state.infeasibility <= target or slow >= PATIENCE or deadline.passed:
            return
        if state.infeasibility <= tolerable and state.pace > QUICK:
            state.pace *= FORGET
            return
        step, gradient = state.direction(), state.gradient
        if step is None:
            return
        before, dual, infeasibility = state.prices, state.dual, state.infeasibility
        for _ in range(TRIES):
            prices = state.bounds.shifted(walk(state.bounds, before, step, gradient), total)
            state.evaluate(centers, prices, deadline)
            if state.dual > dual:
                break
            # where the derivative along the step, now negative, was zero
            rising, falling = float(step @ gradient), float(step @ state.gradient)
            share = rising / (rising - falling) if rising > falling else 0.0
            step *= np.clip(share, *SHORTER)
        else:
            state.evaluate(centers, before, deadline)
            state.pace = 1.0
            return
        state.pace = state.infeasibility / infeasibility
        slow = slow + 1 if state.infeasibility > PROGRESS * infeasibility else 0


def walk(
    bounds: SizeBounds, prices: FloatArray, step: FloatArray, gradient: FloatArray
) -> FloatArray:
    """Prices after a step; where the dual has its kink, no price jumps over zero."""
    after = prices + step
    side = np.where(prices != 0, prices, gradient)  # from zero, a price goes where the dual rises
    crosses = (after * side < 0) & (bounds.lower < bounds.upper)
    return np.where(crosses, 0.0, after)
