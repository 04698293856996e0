"""Few items may leave their cluster: a step is a look at all items and one more distance of each.

A row that counts items in their own cluster ("home") has one price: what staying is paid. An item
stays if that is worth more than its way to the nearest center, so those stay that lose least, as
many as it takes. Where all count alike these labels are optimal.
"""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline, TimeUp
from bckm._core.rounding import UNIT
from bckm._core.types import FloatArray, IntArray
from bckm.assign._dual_lp import Prices, Resources
from bckm.assign._mend import Mender
from bckm.assign.base import STEP, Assigner, Assignment
from bckm.assign.transport_state import SizeBounds, TransportState
from bckm.kernels import missing, native
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem


def few_may_leave(problem: Problem) -> bool:
    """Whether one row that counts items in one cluster of each is all there is, on dense data."""
    if missing or problem.sparse or problem.features & ~(Feature.NONEMPTY | Feature.ROWS):
        return False
    s = problem.structure
    if s.loads.number or s.linear.number != 1 or np.isfinite(s.linear.upper[0]):
        return False
    row = s.linear.matrix.tocoo()
    item = row.coords[1] // s.n_clusters
    return bool((row.data > 0).all()) and np.unique(item).size == item.size


class StayAssigner(Assigner):
    """See the module."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        s = self.structure
        row = s.linear.matrix.tocoo()
        self.items, self.home = np.divmod(row.coords[1].astype(np.int64), s.n_clusters)
        self.worth: FloatArray = row.data
        self.least = float(s.linear.wide[0][0])
        unit = float(self.worth.min(initial=np.inf))
        if (np.mod(self.worth, unit) == 0).all():  # so are sums of it: less is as good as more
            self.least = float(unit * np.ceil(self.least / unit))
        weight = problem.cost_weight
        extremes = (float(weight.min()), float(weight.max()))
        points = native.Points(problem.points, None, None if extremes == (1.0, 1.0) else weight)
        none = SizeBounds(np.zeros(s.n_clusters), np.zeros(s.n_clusters))
        self.state = TransportState(points, None, none, extremes, problem.threads)
        self.resources = Resources.of(problem)
        self.mender: Mender | None = None  # made where it is needed

    def assign(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the module."""
        centers = np.ascontiguousarray(centers, np.float64)
        problem, state = self.problem, self.state
        best = Assignment(start, problem.within(start, centers), 0.0)
        evaluated = state.evaluated
        try:
            state.evaluate(centers, np.zeros(len(centers)), deadline)
        except TimeUp:
            return best
        least = state.totals_at_centers().cost
        labels = state.label.astype(np.int64)
        away = np.flatnonzero(labels[self.items] != self.home)
        loss = self._losses(away, labels, centers)
        missing_worth = self.least - float(self.worth.sum() - self.worth[away].sum())
        price, cost, bound = 0.0, least, least
        if missing_worth > 0:
            order = np.argsort(loss / self.worth[away], kind="stable")
            held = np.cumsum(self.worth[away[order]])
            last = min(int(np.searchsorted(held, missing_worth)), order.size - 1)
            stay = order[: last + 1]
            price = float(loss[order[last]] / self.worth[away[order[last]]])
            labels[self.items[away[stay]]] = self.home[away[stay]]
            cost += float(loss[stay].sum())
            bound += float(np.minimum(loss - price * self.worth[away], 0.0).sum())
            bound += price * missing_worth
        k, d = centers.shape
        self.work += STEP + (state.evaluated - evaluated) * (0.15 * k * d + 10.0)
        self.work += problem.points.size + 60.0 * labels.size + away.size * (3.0 * d + 150.0)
        terms = cost + float(loss.sum()) + 2 * price * float(self.worth.sum())
        bound -= 4 * UNIT * (d + 64 + labels.size / 1024) * terms
        if self.structure.feasible(labels):
            found = Assignment(labels, cost, bound)
        else:  # a cluster was left empty
            found = self._mended(labels, centers, price, bound, deadline) or best
        best = found if found.cost < best.cost else best
        return Assignment(best.labels, best.cost, min(bound, best.cost))

    def _losses(self, away: IntArray, labels: IntArray, centers: FloatArray) -> FloatArray:
        """What items that are not at home would lose there, at least zero."""
        problem, items = self.problem, self.items[away]
        x = problem.points[items]
        there, here = x - centers[self.home[away]], x - centers[labels[items]]
        loss = np.einsum("jd,jd->j", there, there) - np.einsum("jd,jd->j", here, here)
        return np.asarray(np.maximum(problem.cost_weight[items] * loss, 0.0))

    def _mended(
        self,
        labels: IntArray,
        centers: FloatArray,
        price: float,
        bound: float,
        deadline: Deadline,
    ) -> Assignment | None:
        if self.mender is None:
            self.mender = Mender(self.problem, self.resources)
        none, work = self.resources.none(), self.mender.work
        prices = Prices(none.resources, np.full(none.rows.size, price))
        mended = self.mender(labels, centers, prices, 1.0, deadline)
        self.work += self.mender.work - work
        return None if mended is None else Assignment(mended.labels, mended.cost, bound)
