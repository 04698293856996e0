"""Items, or a part of them, that choose at prices of resources; and the ascent of their dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.arrays import blocks, squared_distances
from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign._coordinates import Coordinates
from bckm.assign._dual_lp import Prices, Resources
from bckm.assign._dual_lp import paid as paid_for
from bckm.assign._listed import Choice, ListedItems
from bckm.assign._price_newton import Border, newton_step
from bckm.assign.transport_state import SizeBounds, TransportState

PROGRESS = 0.75  # a step that leaves more than this share of the infeasibility is slow
RISE = 1e-4  # unless it raises the dual by this share
MOST, PATIENCE = 40, 2  # steps in all, and slow ones in a row
TRIES, SHORTER, LESS = 5, (0.05, 0.6), 0.8  # a step that lowers the dual is tried again, shorter
LOOK, NEWTON, PASSES = 3e5, 1e6, 20.0  # work of a look, a step, and of a step for each item
NEAR = 6.0  # items near borders that a step looks at, for each one in the wrong cluster
DEEPER, SHALLOW = 1e-3, 1e-6  # share that a hint is increased by, and the least one
FEWEST = 40  # such items for each cluster, at least


@dataclass(frozen=True, eq=False)
class Look:
    """What items of a level choose at prices; costs in units of the level's coordinates.

    Attributes
    ----------
    prices : array (k, r)
        Of each resource in each cluster.
    sums : array (k, r)
        What is in each cluster.
    dual : float
        Value of the dual.
    choice : Choice or None
        What listed items choose.
    """

    prices: FloatArray
    sums: FloatArray
    dual: float
    choice: Choice | None


@dataclass(frozen=True, eq=False)
class Near:
    """The free items of a level that have least to lose for what they bring.

    Attributes
    ----------
    places : array (n,)
        Their places in `Level.items`, ascending.
    runner : array (n,)
        Their second-best clusters,
    loss : array (n,)
        what these cost them more,
    depth : float
        and the most that is for a mean amount.
    """

    places: IntArray
    runner: IntArray
    loss: FloatArray
    depth: float


class Level:
    """Some items, their share of the bounds, and what is known of their best clusters.

    Attributes
    ----------
    items : array (n,)
        Items that choose freely.
    resources : Resources
        Bounds of this level; amounts are those of `items`, then those of the listed ones.
    mean : array (r,)
        Mean amounts of all items: what prices are measured in.
    """

    def __init__(
        self,
        coordinates: Coordinates,
        items: IntArray,
        resources: Resources,
        mean: FloatArray,
        threads: int,
        listed: ListedItems | None = None,
    ) -> None:
        self.coordinates, self.items, self.resources = coordinates, items, resources
        self.mean, self.listed = mean, listed
        k = len(resources.lower)
        nothing = SizeBounds(np.zeros(k), np.zeros(k))
        points, supply = coordinates.points(items), coordinates.supply(items)
        self.state = TransportState(points, supply, nothing, coordinates.extremes, threads)
        self.work = 0.0  # of looks, beyond distances, and Newton steps; see `Assigner.work`
        self.squares = coordinates.squares(items)
        free = resources.amount[: items.size] / mean
        self._amount, self._size = free, np.abs(free).max(axis=1, initial=0.0)
        self._bring = int(np.count_nonzero(self._size))  # items that bring anything
        with np.errstate(divide="ignore"):
            per = (1 if supply is None else supply) / self._size
        # what to multiply a loss with: of a sample in coordinates, to one for a mean amount
        self._per = np.where(self._size > 0, per, 0.0).astype(np.float32)
        self.listed_amount = resources.amount[items.size :]

    def look(self, centers: FloatArray, prices: FloatArray, deadline: Deadline) -> Look:
        """What items choose at these centers and prices."""
        coordinates, resources = self.coordinates, self.resources
        places, paid, level = coordinates.centers(centers, prices)
        self.state.evaluate(places, paid, deadline)
        totals = self.state.totals_at_centers()
        self.work += LOOK + self.items.size * (10.0 + coordinates.data.shape[1])
        sums = coordinates.sums(totals.sums, totals.mass)
        value = (totals.cost - self.squares + float(totals.mass @ level)) / coordinates.ratio
        choice = None
        if self.listed is not None:
            choice = self.listed.choose(coordinates.unit * paid_for(self.listed_amount, prices))
            value += choice.value / coordinates.unit
            for column, amount in enumerate(self.listed_amount.T):
                sums[:, column] += np.bincount(choice.labels, amount, len(sums))
        value += resources.constant(Prices(prices, np.empty(0)))
        return Look(prices, sums, value, choice)

    def nearest(self, number: int, deadline: Deadline) -> Near:
        """The free items that have least to lose for what they bring, at the last prices.

        Hints say how deep to look. All items that may lie so deep are measured; if as many do as
        are asked for, these are the nearest ones, whatever the hints were: round-off, which decides
        what hints there are, does not decide what is found.
        """
        number, more = min(number, self._bring), DEEPER
        while True:
            depth = np.inf if number == self._bring else self._hint(number) * (1 + more)
            maybe = self._within(depth)
            if np.isfinite(depth):
                self.state.measure(maybe, deadline)
                maybe = self._within(depth)
            runner, loss = self._second(maybe)
            each = loss / self._size[maybe]
            if np.count_nonzero(each <= depth) >= number:
                break
            more *= 4
        near = np.sort(np.argsort(each, kind="stable")[:number])
        far = each[near]
        far = float(far[np.isfinite(far)].max(initial=0.0)) / self.coordinates.ratio
        return Near(maybe[near], runner[near], loss[near] / self.coordinates.ratio, far)

    def _hint(self, number: int) -> float:
        """About how deep the last of so many items lies, in coordinates."""
        state = self.state
        paid = (state.prices[state.label] - state.prices[state.runner]).astype(np.float32)
        with np.errstate(over="ignore"):
            loss = np.maximum(state.margin + paid, state.slack) * self._per
        loss[self._size == 0] = np.inf
        return max(float(np.partition(loss, number)[number]), SHALLOW)

    def _within(self, depth: float) -> IntArray:
        """Places of items that may have no more to lose."""
        with np.errstate(over="ignore"):
            return np.flatnonzero((self.state.slack * self._per <= depth) & (self._size > 0))

    def _second(self, places: IntArray) -> tuple[IntArray, FloatArray]:
        """Second-best clusters of some items and what they cost more, in coordinates."""
        state, coordinates, items = self.state, self.coordinates, self.items[places]
        assert state.centers is not None
        runner, loss = np.empty(places.size, np.int64), np.empty(places.size)
        k, d = state.centers.shape
        self.work += places.size * k * (0.5 * d + 5.0)
        for part in blocks(places.size, k):
            value = squared_distances(coordinates.data[items[part]], state.centers)
            if not coordinates.even:
                value *= coordinates.weight[items[part], None]
            value -= state.prices
            rows, label = np.arange(len(value)), state.label[places[part]]
            own = value[rows, label]
            value[rows, label] = np.inf
            runner[part] = second = value.argmin(axis=1)
            loss[part] = value[rows, second] - own
        return runner, loss if state.supply is None else loss * state.supply[places]

    def _border(self, look: Look, number: int, deadline: Deadline) -> Border:
        near = self.nearest(number, deadline)
        label = self.state.label[near.places].astype(np.int64)
        parts = [(label, near.runner, near.loss, self._amount[near.places])]
        if self.listed is not None and look.choice is not None and self.listed.items.size:
            paid = paid_for(self.listed_amount, look.prices)
            value = self.listed.cost / self.coordinates.unit - paid
            own = np.arange(len(value)), look.choice.labels
            here = value[own]
            value[own] = np.inf
            second = value.argmin(axis=1)
            more = value[np.arange(len(value)), second] - here
            amount = self.listed_amount / self.mean
            size = np.abs(amount).max(axis=1, initial=0.0)
            # no further from a border than the others; one that links keep from its best cluster
            # is not at one
            close = np.flatnonzero((more >= 0) & (more <= near.depth * size))
            parts.append((look.choice.labels[close], second[close], more[close], amount[close]))
        return Border(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def gradient(self, look: Look) -> FloatArray:
        """Gradient of the dual in mean amounts, as `SizeBounds.gradient`; soft bounds end it."""
        resources, prices = self.resources, look.prices
        short, over = resources.lower - look.sums, resources.upper - look.sums
        at_zero = np.maximum(short, 0.0) + np.minimum(over, 0.0)
        gradient = np.where(prices > 0, short, np.where(prices < 0, over, at_zero))
        ends = ((gradient > 0) & (prices >= resources.lower_penalty)) | (
            (gradient < 0) & (prices <= -resources.upper_penalty)
        )
        return np.where(ends, 0.0, gradient) / self.mean

    def infeasibility(self, look: Look) -> float:
        """Mean items in the wrong cluster."""
        return float(np.abs(self.gradient(look)).sum()) / 2

    def ascend(self, look: Look, centers: FloatArray, target: float, deadline: Deadline) -> Look:
        """Raise the dual until at most `target` items are in the wrong cluster, or it gets slow."""
        slow = 0
        for _ in range(MOST):
            wrong = self.infeasibility(look)
            if wrong <= target or slow >= PATIENCE or deadline.passed:
                return look
            gradient = self.gradient(look)
            resources, prices = self.resources, look.prices
            active = (gradient != 0) | (prices != 0) | (resources.lower == resources.upper)
            number = int(FEWEST * len(prices) + NEAR * wrong)
            step = newton_step(self._border(look, number, deadline), gradient, active)
            self.work += NEWTON + PASSES * self.items.size + 300.0 * number
            if step is None:
                return look
            for _ in range(TRIES):
                after = self.look(centers, self._walk(prices, step, gradient), deadline)
                if after.dual > look.dual:
                    break
                # prices that went too far go where their derivative, now negative, was zero
                rising, falling = step * gradient, step * self.gradient(after)
                over = falling < 0
                with np.errstate(divide="ignore", invalid="ignore"):
                    share = np.where(rising > 0, rising / (rising - falling), 0.0)
                step = step * np.where(over, np.clip(share, *SHORTER), LESS)
            else:
                return self.look(centers, prices, deadline)
            rises = after.dual - look.dual > RISE * abs(after.dual)
            fewer = self.infeasibility(after) <= PROGRESS * wrong
            slow = 0 if rises or fewer else slow + 1
            look = after
        return look

    def _walk(self, prices: FloatArray, step: FloatArray, gradient: FloatArray) -> FloatArray:
        """Prices after a step; where the dual has its kink, no price jumps over zero."""
        resources = self.resources
        after = prices + step / self.mean
        side = np.where(prices != 0, prices, gradient)  # from zero, a price goes where it rises
        crosses = (after * side < 0) & (resources.lower < resources.upper)
        after = np.where(crosses, 0.0, after)
        after = np.clip(after, -resources.upper_penalty, resources.lower_penalty)
        return self._shifted(after)

    def _shifted(self, prices: FloatArray) -> FloatArray:
        """Prices moved by a constant where that changes no choice; see `SizeBounds.shifted`."""
        resources = self.resources
        moved = prices.copy()
        for column, amount in enumerate(resources.amount.T):
            hard = np.isinf(resources.lower_penalty[:, column]) & np.isinf(
                resources.upper_penalty[:, column]
            )
            if hard.all():
                bounds = SizeBounds(resources.lower[:, column], resources.upper[:, column])
                moved[:, column] = bounds.shifted(prices[:, column], float(amount.sum()))
        return moved
