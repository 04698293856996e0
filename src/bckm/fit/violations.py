"""Which soft rules labels break, what that costs, and what it saved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bckm._core import arrays
from bckm._core.types import FloatArray, IntArray
from bckm.constraints import Constraints
from bckm.constraints.rules import (
    CannotLink,
    CapacityBound,
    Fixed,
    Forbidden,
    Moved,
    MustLink,
    QuotaBound,
    SizeMax,
    SizeMin,
    SoftRule,
)
from bckm.fit.result import SoftViolation
from bckm.problem.linear import as_sum
from bckm.problem.problem import Problem
from bckm.verification import Violation, verify

_Bound = SizeMin | SizeMax | CapacityBound | QuotaBound


def soft_violations(moves: Moves, constraints: Constraints) -> tuple[SoftViolation, ...]:
    """Soft rules that labels break, as the independent checker sees them.

    Parameters
    ----------
    moves : Moves
        The labels, and what it costs to move items.
    constraints : Constraints
        What was asked.
    """
    problem = moves.problem
    s = problem.structure
    broken = verify(s.expand(moves.labels), s.n_clusters, constraints, soft=True)
    if not broken:
        return ()
    saved = _saved(moves, [_rule_of(violation) for violation in broken], broken)
    violations = []
    for violation, much in zip(broken, saved.tolist(), strict=True):
        assert isinstance(violation.rule, SoftRule)
        price = problem.price_out(violation.rule.weight, relative=violation.rule.relative)
        gain = max(much, 0.0) * problem.scale
        penalty = price * violation.amount
        violations.append(SoftViolation(violation.rule, violation.message, penalty, gain))
    return tuple(violations)


def _rule_of(violation: Violation) -> object:
    assert isinstance(violation.rule, SoftRule)
    return violation.rule.rule


def _saved(moves: Moves, rules: Sequence[object], broken: Sequence[Violation]) -> FloatArray:
    """By how much the cost would rise if each violation were mended, in units of `cost`."""
    item = moves.problem.structure.item
    saved = np.zeros(len(rules))
    together = [(at, *rule.samples) for at, rule in enumerate(rules) if isinstance(rule, MustLink)]
    apart = [(at, *rule.samples) for at, rule in enumerate(rules) if isinstance(rule, CannotLink)]
    if together:
        at, p, q = np.array(together).T
        a, b = item[p], item[q]
        to_b, to_a = moves.rise(a, moves.labels[b]), moves.rise(b, moves.labels[a])
        saved[at] = np.minimum(to_b, to_a)
    if apart:
        at, p, q = np.array(apart).T
        a, b = item[p], item[q]
        least = np.minimum(moves.least(a), moves.least(b))
        saved[at] = np.where(a == b, np.inf, least)  # hard links leave no way
    for at, rule in enumerate(rules):
        if isinstance(rule, Fixed):
            where = np.array([rule.cluster])
            saved[at] = moves.rise(item[[rule.sample]], where)[0]
        elif isinstance(rule, Forbidden):
            saved[at] = moves.least(item[[rule.sample]])[0]
        elif isinstance(rule, Moved):
            saved[at] = moves.back(rule)
        elif isinstance(rule, _Bound):
            cluster = broken[at].cluster
            assert cluster is not None
            saved[at] = moves.mended(rule, cluster, broken[at].amount)
    return saved


class Moves:
    """What it costs to move single items; centers follow, unless they are to be `still`.

    The cost is the inertia; for `mixed` clusters it is what is between them, which falls by as much
    as the inertia rises.

    Parameters
    ----------
    problem : Problem
        What was asked.
    labels : array (m,)
        Of items.
    centers : array (k, d)
        Of the labels, in the units of the problem.
    still, mixed : bool
        See above.
    """

    def __init__(
        self,
        problem: Problem,
        labels: IntArray,
        centers: FloatArray,
        *,
        still: bool = False,
        mixed: bool = False,
    ) -> None:
        self.problem, self.labels, self.centers, self.still = problem, labels, centers, still
        self._sign = -1.0 if mixed else 1.0
        self.k = problem.structure.n_clusters
        self.held = np.bincount(labels, problem.mass, self.k)
        self._out: dict[int, FloatArray] = {}

    def rise(self, items: IntArray, clusters: IntArray) -> FloatArray:
        """Rise of the cost when each item moves to its cluster."""
        here = self.labels[items]
        near, far = self._square(items, here), self._square(items, clusters)
        mass = self.problem.mass[items]
        found = self._enter(mass, far, clusters) - self._leave(mass, near, here)
        return np.where(here == clusters, 0.0, self._sign * found)

    def _square(self, items: IntArray, clusters: IntArray) -> FloatArray:
        """Squared distance of each item to the center of its cluster; points may be sparse."""
        square = np.empty(items.size)
        for i in np.unique(clusters):
            at = np.flatnonzero(clusters == i)
            points = self.problem.points[items[at]]
            square[at] = arrays.squared_distances(points, self.centers[[i]])[:, 0]
        return square

    def _enter(self, mass: FloatArray, square: FloatArray, clusters: IntArray) -> FloatArray:
        """What an item adds to a cluster whose mean it pulls."""
        if self.still:
            return mass * square
        held = self.held[clusters]
        return np.asarray(mass * square * held / np.maximum(held + mass, 1e-300))

    def _leave(self, mass: FloatArray, square: FloatArray, clusters: IntArray) -> FloatArray:
        """What a cluster saves when an item leaves it; one that is alone costs nothing there."""
        if self.still:
            return mass * square
        held = self.held[clusters]
        rest = held - mass
        alone = rest <= 1e-12 * held
        return np.where(alone, 0.0, mass * square * held / np.where(alone, 1.0, rest))

    def least(self, items: IntArray) -> FloatArray:
        """Least rise when each item moves to any other cluster; infinite where there is none."""
        unique, inverse = np.unique(items, return_inverse=True)
        found = np.full(unique.size, np.inf)
        if self.k > 1:
            for part in arrays.blocks(unique.size, self.k):
                found[part] = self._least(unique[part])
        return found[inverse]

    def _least(self, items: IntArray) -> FloatArray:
        here, points = self.labels[items], self.problem.points[items]
        square = arrays.squared_distances(points, self.centers)
        mass, at = self.problem.mass[items], np.arange(items.size)
        every = np.broadcast_to(np.arange(self.k), square.shape)
        far = self._sign * self._enter(mass[:, None], square, every)
        leave = self._sign * self._leave(mass, square[at, here], here)
        far[at, here] = np.inf
        return np.asarray(far.min(axis=1) - leave)

    def out_of(self, cluster: int) -> FloatArray:
        """Least rise when each item of a cluster leaves it."""
        if cluster not in self._out:
            self._out[cluster] = self.least(np.flatnonzero(self.labels == cluster))
        return self._out[cluster]

    def back(self, rule: Moved) -> float:
        """Rise when all that moved go back."""
        previous, item = rule.source.values, self.problem.structure.item
        gone = np.flatnonzero(rule.source.paid & (previous != self.labels[item]))
        before = self.labels.copy()
        before[item[gone]] = previous[gone]
        return self._sign * (self._inertia(before) - self._inertia(self.labels))

    def _inertia(self, labels: IntArray) -> float:
        centers = self.centers if self.still else self.problem.means(labels, self.centers)
        p = self.problem
        return arrays.totals(p.points, p.mass, labels, centers, p.threads).cost

    def mended(self, rule: _Bound, cluster: int, amount: float) -> float:
        """Rise of the cheapest moves, per unit, that bring a sum back to its bound."""
        s = self.problem.structure
        inside = self.labels == cluster
        if isinstance(rule, SizeMin | SizeMax):
            values, side = s.count.astype(float), "min" if isinstance(rule, SizeMin) else "max"
        else:
            values, side = np.bincount(s.item, as_sum(rule).values, s.n_items), rule.side
        gain = np.where(inside, -values, values) * (1 if side == "min" else -1)
        rise = np.full(s.n_items, np.inf)
        helps = np.flatnonzero(~inside & (gain > 0))
        rise[helps] = self.rise(helps, np.full(helps.size, cluster))
        if (inside & (gain > 0)).any():
            rise[inside] = self.out_of(cluster)
        helps = np.flatnonzero((gain > 0) & np.isfinite(rise))
        order = helps[np.argsort(rise[helps] / gain[helps], kind="stable")]
        reached = np.cumsum(gain[order])
        if not order.size or reached[-1] < amount * (1 - 1e-9):
            return np.inf
        enough = int(np.searchsorted(reached, amount * (1 - 1e-9))) + 1
        return float(np.maximum(rise[order[:enough]], 0.0).sum())
