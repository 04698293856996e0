"""Sizes on single samples: an exact assignment step that needs k prices, not an N x k matrix.

min sum_j c[j, y_j] subject to l_i <= #{j : y_j = i} <= u_i is a transportation problem. Each step
evaluates the points at the last prices, raises the dual by Newton steps (`transport_state`; first
on parts of the points where the prices are far off), finishes exactly along shortest paths between
clusters (`kernels/transport/settle.hpp`) and proves it: evaluated at the final prices, the points
give the dual value, which equals the cost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import Totals, squared_distances
from bckm._core.arrays import totals as find_totals
from bckm._core.deadline import Deadline, TimeUp
from bckm._core.memory import require
from bckm._core.rounding import UNIT
from bckm._core.types import FloatArray, IntArray
from bckm.assign._groups import Groups, Settled
from bckm.assign._patch import patched
from bckm.assign._sparse_transport import SparseTransportAssigner
from bckm.assign._transport_highs import HighsTransportAssigner
from bckm.assign.base import STEP, Assigner, Assignment, Engine
from bckm.assign.few_points import are_few, work_of_few
from bckm.assign.soft_newton import soft_newton
from bckm.assign.transport_state import SizeBounds, TransportState, kept_values, newton
from bckm.kernels import missing, native
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem

COARSER = 8  # each part of the points is an eighth of the one before
SMALLEST = 8  # points per cluster in the smallest part
ROWS = 4  # points per cluster whose exact costs are computed for the shortest paths
FEW = 0.06  # share of samples in the wrong cluster below which Newton steps are trusted
# Share of samples that may be wrong after Newton steps, but at least and at most so many for each
# cluster; in parts of them. A path costs less than a look at many points.
WRONG, ENOUGH = 0.002, ((2.0, 20.0), (1.0, 3.0))
LISTED = 0.5  # of them where looks are at lists of contenders, and cheap
AT_MOST = 12.0  # wrong samples for each cluster that are left to paths where Newton steps do little
KEPT = 2**26  # numbers that shortest paths may keep, in float32
EXACT, AGAIN = 1e-13, 5  # steps whose cost and bound differ more are settled again
# work of a call beyond `STEP`, of a shortest path, of a point, and of one that is looked at
CALL, PATH, POINT, LOOK = 3e5, 6e3, 40.0, 20.0
EVEN = 7e5  # work of any step beyond looks, where all steps count the same
COSTS = 2**23  # at most so many exact costs before the first path


class TransportAssigner(Assigner):
    """Prices, labels and slacks from step to step: each begins where the last one ended."""

    def __init__(self, problem: Problem, groups: Groups | None = None) -> None:
        super().__init__(problem)
        s = self.structure
        require(
            200 * s.n_items
            + 4 * min(KEPT, problem.points.size)
            + 5 * kept_values(s.n_items, problem.points.shape[1], s.n_clusters)  # also of parts
            + 100 * s.n_clusters**2,
            f"the prices of {s.n_clusters:,} clusters for {s.n_items:,} samples",
            "Use fewer samples or clusters.",
        )
        self.groups = self._grouped() if groups is None else groups
        supply = self.groups.supply  # items count once where sizes do not matter
        self.n_units = s.n_items if supply is None else int(supply.sum())
        self.upper = np.minimum(s.upper, self.n_units)
        self.lower = np.minimum(s.lower, self.upper)
        self.levels = self._levels()
        self._n_steps = 0

    def _grouped(self) -> Groups:
        return Groups.of(self.problem.points, self.problem.cost_weight)

    def assign(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the module."""
        centers = np.ascontiguousarray(centers, np.float64)
        try:
            return self._assigned(centers, start, deadline)
        except TimeUp:
            return self._time_cut(centers, start)

    def _time_cut(self, centers: FloatArray, start: IntArray, bound: float = 0.0) -> Assignment:
        """What is known when time is up: labels that are nearly right, or those at hand."""
        state, problem = self.levels[0], self.problem
        label, slack = self.groups.expand(state.label), state.slack
        if self.groups.members is not None:
            slack = np.repeat(slack, self.groups.members)
        quick = patched(problem.points, centers, label, slack, self.lower, self.upper)
        best = Assignment(start, self._totals(start, centers).cost, bound)
        if quick is not None and (less := self._totals(quick, centers).cost) < best.cost:
            return Assignment(quick, less, bound)
        return best

    def _assigned(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        state = self.levels[0]
        evaluated, paths = state.evaluated, self.counters["paths"]
        self._approach(0, centers, state.prices, deadline)
        assignment = self._finish(state, centers, start, deadline)
        rounding = self._rounding(state, assignment.cost - assignment.bound)
        for _ in range(AGAIN):  # prices that were very large leave rounding behind: from here again
            gap = assignment.cost - assignment.bound
            if assignment.prices is None or gap <= EXACT * assignment.cost:
                break
            state.evaluate(centers, assignment.prices, deadline)
            again = self._finish(state, centers, start, deadline)
            if again.prices is None or again.cost - again.bound >= gap:
                break
            assignment, rounding = again, self._rounding(state, again.cost - again.bound)
        self._count(state.evaluated - evaluated, self.counters["paths"] - paths)
        return replace(assignment, bound=assignment.bound - rounding)

    @property
    def effort(self) -> float:
        """The same for each step: how many points it looks at depends on how slacks are rounded."""
        m, d = self.problem.points.shape
        return float(self._n_steps * (EVEN + m * self.structure.n_clusters * (1.0 + 0.2 * d)))

    def _count(self, evaluated: int, paths: int) -> None:
        self._n_steps += 1
        k, (m, d) = self.structure.n_clusters, self.problem.points.shape
        self.counters["looked"] += evaluated
        self.work += STEP + CALL + PATH * paths + m * (POINT + d) + evaluated * (LOOK + 0.2 * k * d)

    def _levels(self) -> list[TransportState]:
        """All points, every 8th, every 64th and so on; items stand in an order along the data."""
        problem, groups, k = self.problem, self.groups, self.structure.n_clusters
        extremes = (float(groups.weight.min()), float(groups.weight.max()))
        weights = None if extremes == (1.0, 1.0) else groups.weight
        bounds = SizeBounds(self.lower.astype(np.float64), self.upper.astype(np.float64))
        levels: list[TransportState] = []
        step = 1
        while True:
            supply = None if groups.supply is None else groups.supply[::step]
            points = native.Points(problem.points, groups.first, weights, groups.supply, step)
            units = points.n if supply is None else supply.sum()
            share = float(units / self.n_units)
            state = TransportState(points, supply, bounds.scaled(share), extremes, problem.threads)
            levels.append(state)
            if state.points.n // COARSER < SMALLEST * k:
                return levels
            step *= COARSER

    def _approach(
        self, depth: int, centers: FloatArray, prices: FloatArray, deadline: Deadline
    ) -> None:
        """Bring a level to prices under which few samples are in the wrong cluster.

        Coarser levels first: they are cheap, and `_learn` makes their prices those of all points.
        """
        state = self.levels[depth]
        last = depth + 1 == len(self.levels)
        per_cluster = float(state.units.sum()) / prices.size
        enough = float(np.clip(WRONG * per_cluster, *ENOUGH[depth > 0])) * prices.size
        # where looks are dear, parts that found nothing to do the last time are left out
        left_out = not last and state.contenders is not None and self.levels[depth + 1].idle
        if not last and not left_out:
            self._approach(depth + 1, centers, prices, deadline)
            prices = self.levels[depth + 1].prices
        state.evaluate(centers, prices, deadline)
        if left_out and state.infeasibility > FEW * state.units.sum():
            self._approach(depth + 1, centers, prices, deadline)
            state.evaluate(centers, self.levels[depth + 1].prices, deadline)
        state.idle = state.infeasibility <= enough
        if last and state.infeasibility > enough and prices.any():
            self._better_than_none(state, centers, deadline)
        if state.contenders is not None:
            soft_newton(state, centers, LISTED * enough, deadline)
        if depth > 0 and last and state.infeasibility > FEW * state.units.sum():
            self._solve_part(state, centers, deadline)
        if state.contenders is None:
            few = min(AT_MOST * prices.size, FEW * float(state.units.sum()))
            newton(state, centers, enough, deadline, enough if depth > 0 else few)
            if depth > 0 and state.infeasibility > enough:
                self._solve_part(state, centers, deadline)

    def _better_than_none(
        self, state: TransportState, centers: FloatArray, deadline: Deadline
    ) -> None:
        """Forget prices that do no better than none: after large moves they are worse."""
        prices, wrong = state.prices, state.infeasibility
        state.evaluate(centers, np.zeros_like(prices), deadline)
        if state.infeasibility > wrong:
            state.evaluate(centers, prices, deadline)

    def _learn(self, labels: NDArray[np.int32], units: FloatArray) -> None:
        """Teach coarser levels how their points differ from all points.

        With the right labels, a part of the points has a little more or less than its share in each
        cluster. Asked for exactly that, it leads to the right prices here, and to nearly the right
        ones when the centers have moved a little.
        """
        for depth, state in enumerate(self.levels[1:], start=1):
            part = np.bincount(labels[:: COARSER**depth], state.supply, units.size)
            share = part.sum() / units.sum()
            state.bounds = self.levels[0].bounds.scaled(share).moved(part - units * share)

    def _solve_part(self, state: TransportState, centers: FloatArray, deadline: Deadline) -> None:
        """Prices of a part, exactly."""
        units = round(float(state.units.sum()))
        lower, upper = state.bounds.whole(units)
        if state.supply is None and are_few(state.points.n, state.points.n_features, state.k):
            before = state.label.copy()
            settled = self._few_paths(state, centers, lower, upper, deadline)
            state.relabel(before)
            if settled.stopped:
                raise TimeUp
        else:
            settled = self._paths(state, centers, lower, upper, self._budget(units), deadline)
        state.evaluate(centers, settled.prices, deadline)

    def _few_paths(
        self,
        state: TransportState,
        centers: FloatArray,
        lower: IntArray,
        upper: IntArray,
        deadline: Deadline,
    ) -> native.SettleResult:
        settled = native.settle_few(
            state.points,
            centers,
            state.prices,
            state.label,
            state.slack,
            *state.table(),
            lower,
            upper,
            min(deadline.left, 1e9),
            state.threads,
        )
        self.counters["paths"] += settled.paths
        return settled

    def _paths(
        self,
        state: TransportState,
        centers: FloatArray,
        lower: IntArray,
        upper: IntArray,
        rows: int,
        deadline: Deadline,
        *,
        exact_prices: bool = False,
    ) -> native.SettleResult:
        before = state.label.copy()
        left = min(deadline.left, 1e9)
        settled = native.settle(
            state.points,
            centers,
            state.prices,
            state.label,
            state.slack,
            lower,
            upper,
            rows,
            left,
            state.threads,
            exact_prices,
            state.contenders,
        )
        state.relabel(before)
        self.counters["paths"] += settled.paths
        return settled

    def _budget(self, rows: int) -> int:
        """So many points with exact costs, or as many as `COSTS` permits; ties may double it."""
        k = self.structure.n_clusters
        return min(rows, max(2 * k, COSTS // k))

    def _finish(
        self, state: TransportState, centers: FloatArray, start: IntArray, deadline: Deadline
    ) -> Assignment:
        k = self.structure.n_clusters
        budget = self._budget(ROWS * k + 4 * int(state.infeasibility))
        settled = self._paths(state, centers, self.lower, self.upper, budget, deadline)
        if settled.stopped:
            bound = state.totals_at_centers().cost - state.bounds.complementary_slack(
                state.units, state.prices
            )
            return self._time_cut(centers, start, bound)
        prices = self._charged(settled.prices)
        totals = state.totals_at_centers()
        regret, cost = 0.0, totals.cost
        if not state.take_prices(prices, settled.least_moves):
            regret = state.evaluate(centers, prices, deadline, keep=True)
        labels = self.groups.expand(state.label, settled)
        units = state.units
        if settled.split_point.size:  # some samples of a point went elsewhere
            regret += self._split_regret(centers, prices, settled)
            totals = self._totals(labels, centers)
            cost = totals.cost
            units = np.bincount(labels, minlength=k).astype(np.float64)
        self._learn(state.label, units)
        bound = cost - regret - state.bounds.complementary_slack(units, prices)
        known = totals if self.problem.cost_weight is self.problem.mass else None
        return Assignment(labels, cost, min(bound, cost), prices, known)

    def _charged(self, prices: FloatArray) -> FloatArray:
        """No subsidy for a cluster that need not hold anything: an empty one might get any."""
        return prices if self.lower.all() else np.where(self.lower, prices, np.minimum(prices, 0.0))

    def _rounding(self, state: TransportState, gap: float) -> float:
        """What rounding may have added to a bound that is `gap` below the cost.

        Points with slack are proven to be in their best cluster. The others were evaluated in
        float64: there a value rounds by (d + 4) units of what it is made of, the cost and a price.
        Sizes are whole numbers: a bound that binds adds nothing, however large its price. Sums of
        what others and regrets add, none below zero, round by a share of them for each term.
        """
        assert state.radius is not None
        dearest = float(np.abs(state.prices).max())
        close = np.flatnonzero(~(state.slack > 0))
        units = 1.0 if state.supply is None else state.supply[close]
        rows = close if self.groups.first is None else self.groups.first[close]
        cost = self.groups.weight[rows] * np.square(state.radius[close].astype(np.float64))
        # the best value is below that of the label, and its cost by no more than two prices
        steps = self.problem.points.shape[1] + 8
        values = float(steps * (units * (2 * cost + 4 * dearest)).sum())
        sides = float(np.abs(state.prices * state.bounds.unused(state.units, state.prices)).sum())
        return float(2 * UNIT * (values + (state.k + 8) * sides + (state.k + close.size + 8) * gap))

    def _totals(self, labels: IntArray, centers: FloatArray) -> Totals:
        problem = self.problem
        return find_totals(problem.points, problem.cost_weight, labels, centers, problem.threads)

    def _split_regret(
        self,
        centers: FloatArray,
        prices: FloatArray,
        settled: native.SettleResult | Settled,
        points: IntArray | None = None,
    ) -> float:
        """What samples that left the others of their point cost above their best cluster.

        `points` are those that were settled, else all. Those that were split have no slack left.
        """
        problem, first, slack = self.problem, self.groups.first, self.levels[0].slack
        assert first is not None
        which = settled.split_point if points is None else points[settled.split_point]
        slack[which] = np.minimum(slack[which], 0.0)
        rows = first[which]
        squares = squared_distances(problem.points[rows], centers)
        value = squares * self.groups.weight[rows, None] - prices
        here = value[np.arange(rows.size), settled.split_cluster]
        return float(settled.split_units @ (here - value.min(axis=1)))


class SmallTransportAssigner(TransportAssigner):
    """Where points are few: all costs, and shortest paths from the last prices.

    Each cluster holds so few samples that Newton steps have little to go by, and that its cheapest
    moves are found sooner from all costs than from bounds.
    """

    def _levels(self) -> list[TransportState]:
        return super()._levels()[:1]

    @property
    def effort(self) -> float:
        """The same for each step: paths depend on how prices are rounded."""
        (m, d), k = self.problem.points.shape, self.structure.n_clusters
        return float(self._n_steps * work_of_few(m, k, k, d))

    def _count(self, evaluated: int, paths: int) -> None:
        self._n_steps += 1
        self.counters["looked"] += evaluated
        shape = self.structure.n_clusters, self.problem.points.shape[1]
        self.work += work_of_few(evaluated, paths, *shape)

    def _approach(
        self, depth: int, centers: FloatArray, prices: FloatArray, deadline: Deadline
    ) -> None:
        """Nothing: paths begin at the last prices, or at none where these are worse."""

    def _finish(
        self, state: TransportState, centers: FloatArray, start: IntArray, deadline: Deadline
    ) -> Assignment:
        settled = self._few_paths(state, centers, self.lower, self.upper, deadline)
        state.centers = centers
        state.units = np.bincount(state.label, minlength=state.k).astype(np.float64)
        if settled.stopped:
            state.centers = None
            return self._time_cut(centers, start)
        # a price that falls makes no other label better
        state.prices = self._charged(settled.prices)
        state.evaluated += state.points.n
        totals = state.totals_at_centers()
        bound = totals.cost - settled.regret
        bound -= state.bounds.complementary_slack(state.units, state.prices)
        known = totals if self.problem.cost_weight is self.problem.mass else None
        labels = self.groups.expand(state.label)
        return Assignment(labels, totals.cost, min(bound, totals.cost), state.prices, known)

    def _rounding(self, state: TransportState, gap: float) -> float:
        if state.centers is None:  # it was stopped: the bound is that of no prices at all
            return 0.0
        return super()._rounding(state, gap)


class Transport(Engine):
    """Engine for problems that ask for sizes only; without the compiled kernels, by HiGHS."""

    name = "transport"
    handles = Feature.NONEMPTY | Feature.SIZES
    cheap_step = True

    def prepare(self, problem: Problem) -> Assigner:
        """Find equal points and make the levels."""
        if missing:
            return HighsTransportAssigner(problem)
        if problem.sparse:
            return SparseTransportAssigner(problem, self)
        groups = Groups.of(problem.points, problem.cost_weight)
        few = are_few(len(problem.points), problem.points.shape[1], problem.structure.n_clusters)
        if few and groups.supply is None:
            return SmallTransportAssigner(problem, groups)
        return TransportAssigner(problem, groups)
