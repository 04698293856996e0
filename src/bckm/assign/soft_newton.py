"""Prices by Newton's method on a softened dual, where a look at the points is dear.

Few samples decide where the dual bends, and in clustered data they come in crowds: the curvature
that is measured at one place is wrong at the next. So each sample is shared among its best clusters
by exp(-value / temperature), which has a curvature everywhere, and the temperature falls. Steps are
damped (Levenberg, Marquardt): clusters that hardly any sample connects do not run away from each
other. All this happens in a model, what the contenders of each point tell; then points are looked
at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import BoolArray, FloatArray
from bckm.assign.transport_state import SizeBounds, TransportState, newton, walk
from bckm.kernels import native

LOOKS, PROGRESS = 8, 0.75  # at most; a look that leaves more than this share is the last
TRIES, SHORTER = 3, 0.3  # prices that lower the dual are tried again, nearer to the last ones
NEAR, NEAREST, FARTHEST = 2.0, 1e-3, 0.2  # share of points below the first temperature, from those
# that are in the wrong cluster
HOTTER, ONE = (1.0, 10.0, 100.0), 1.0  # the same again, so many times more, until one for each
# cluster is left
SOME = 20_000  # points from which temperatures are told
STAGES, COOLER = 10, 3.0  # temperatures, and by how much they fall,
FEWER, STALE = 0.9, 2  # until so many in a row left more than this share of the wrong samples
STEPS, DAMPED = 6, 8  # steps at a temperature; trials of a step
DAMPING, STRONGER, WEAKEST = 1e-3, 8.0, 1e-6
GOOD, FAIR = 0.6, 0.1  # share of the promised rise for which damping falls; that is accepted


def approach(state: TransportState, centers: FloatArray, target: float, deadline: Deadline) -> None:
    """Raise the dual: so if points have lists of contenders, else by Newton's method as it is.

    Where many samples stay in the wrong cluster, it is done again from higher temperatures:
    samples that are far from all borders must leave a cluster.
    """
    if state.contenders is None:
        newton(state, centers, target, deadline)
        return
    for hotter in HOTTER:
        soft_newton(state, centers, target, deadline, NEAR * hotter)
        if state.infeasibility <= max(target, ONE * state.k):
            return


def soft_newton(
    state: TransportState,
    centers: FloatArray,
    target: float,
    deadline: Deadline,
    near: float = NEAR,
) -> None:
    """Raise the dual until at most `target` samples are in the wrong cluster, or it gets slow.

    `near` times the samples in the wrong cluster are nearer to a border than the first temperature.
    """
    for _ in range(LOOKS):
        if state.infeasibility <= target or deadline.passed:
            return
        before, dual, wrong = state.prices, state.dual, state.infeasibility
        after = _Model(state, near).best_prices(0.5 * target, deadline)
        for _ in range(TRIES):
            state.evaluate(centers, after, deadline)
            if state.dual > dual:
                break
            after = before + SHORTER * (after - before)  # the model knew too little
        else:
            state.evaluate(centers, before, deadline)
            return
        if state.infeasibility > PROGRESS * wrong:
            return


class _Model:
    """The dual, as far as the last look knows the points."""

    def __init__(self, state: TransportState, near: float) -> None:
        self.state, self.bounds, self.near = state, state.bounds, near
        self.total = float(state.units.sum())

    def best_prices(self, target: float, deadline: Deadline) -> FloatArray:
        """The best prices found until at most `target` samples are in the wrong cluster."""
        prices, best = self.state.prices, self.state.prices
        temperature, damping = self._first_temperature(), DAMPING
        highest, fewest, stale = -np.inf, np.inf, 0
        for _ in range(STAGES):
            if deadline.passed:
                break
            prices, damping, soft = ascend(
                self._soft,
                self.bounds,
                self.total,
                prices,
                self._soft(prices, temperature),
                temperature,
                damping,
            )
            if (dual := soft.hard + sides(self.bounds, prices)) > highest:
                highest, best = dual, prices
            wrong = float(np.abs(self.bounds.gradient(soft.units, prices)).sum()) / 2
            stale = stale + 1 if wrong > FEWER * fewest else 0
            fewest = min(fewest, wrong)
            if wrong <= target or stale == STALE:
                break
            temperature /= COOLER
        return best

    def _first_temperature(self) -> float:
        state = self.state
        some = slice(None, None, max(1, state.points.n // SOME))
        label, runner = state.label[some], state.runner[some]
        gap = np.abs(state.margin[some] + (state.prices[label] - state.prices[runner]))
        share = float(np.clip(self.near * state.infeasibility / self.total, NEAREST, FARTHEST))
        return max(float(np.quantile(gap, share)), 1e-12 * float(gap.max()), 1e-300)

    def _soft(self, prices: FloatArray, temperature: float) -> _Listed:
        state = self.state
        assert state.contenders is not None
        found = native.soft_dual(
            state.points,
            state.contenders,
            state.prices,
            state.label,
            state.slack,
            prices,
            temperature,
            state.threads,
        )
        return _Listed(found)


class Softened(Protocol):
    """The softened dual at some prices, but for the terms of the bounds.

    Attributes
    ----------
    soft, hard : float
        Sums of softened minima, and of minima.
    shared, units : arrays (k,)
        Samples of each cluster, shared and undivided.
    """

    soft: float
    hard: float
    shared: FloatArray
    units: FloatArray

    def step(self, gradient: FloatArray, active: BoolArray, damping: float) -> FloatArray | None:
        """Solution of (L + damping (D + mean of D)) step = gradient; L is the curvature.

        Zero for clusters that are not active; None where no sample is near a border.
        """

    def pull(self, moved: FloatArray) -> FloatArray:
        """L times how far prices have moved."""


class _Listed:
    """The same as lists of contenders tell."""

    def __init__(self, found: native.SoftDual) -> None:
        self.soft, self.hard = found.soft, found.hard
        self.shared, self.units, self._edge = found.shared, found.units, found.edge

    def step(self, gradient: FloatArray, active: BoolArray, damping: float) -> FloatArray | None:
        step: FloatArray | None = native.damped_step(self._edge, gradient, active, damping)
        return step

    def pull(self, moved: FloatArray) -> FloatArray:
        return np.asarray(self._edge.sum(axis=1) * moved - self._edge @ moved)


def ascend(
    soften: Callable[[FloatArray, float], Softened],
    bounds: SizeBounds,
    total: float,
    prices: FloatArray,
    soft: Softened,
    temperature: float,
    damping: float,
    target: float = np.inf,
    within: Callable[[FloatArray], FloatArray] | None = None,
) -> tuple[FloatArray, float, Softened]:
    """Steps at a temperature, until one is as good as promised and `target` samples are left.

    `soft` is what there is at the prices where it begins; `within` keeps prices where it is known.
    """
    for _ in range(STEPS):
        gradient = bounds.gradient(soft.shared, prices)
        active = (gradient != 0) | (prices != 0) | (bounds.lower == bounds.upper)
        for _ in range(DAMPED):
            step = soft.step(gradient, active, damping)
            if step is None:
                return prices, damping, soft
            there = walk(bounds, prices, step, gradient)
            there = bounds.shifted(there if within is None else within(there), total)
            moved = there - prices
            promised = float(moved @ gradient - moved @ soft.pull(moved) / 2)
            after = soften(there, temperature)
            rise = after.soft - soft.soft + (sides(bounds, there) - sides(bounds, prices))
            if rise > max(FAIR * promised, 0.0):
                break
            damping *= STRONGER
        else:
            return prices, damping, soft
        prices, soft = there, after
        if rise > GOOD * promised:
            damping = max(damping / STRONGER, WEAKEST)
            left = float(np.abs(bounds.gradient(soft.shared, prices)).sum()) / 2
            if left <= target:
                break
    return prices, damping, soft


def sides(bounds: SizeBounds, prices: FloatArray) -> float:
    """The terms of the bounds in the dual."""
    subsidy, tax = np.maximum(prices, 0.0), np.maximum(-prices, 0.0)
    return float(subsidy @ bounds.lower - tax @ bounds.upper)
