"""Sums of very different sizes, and what is true of them by exact arithmetic (`fractions`).

Written anew: of the library it uses the statements, and the definition in `docs/rules.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

import bckm
from tests.support.statements import stated

TOLERANCE, ROUNDING = Fraction(1, 10**9), Fraction(1, 2**49)


@dataclass
class Bound:
    """A sum, `values` of those with `places[p, i]`: at least or at most `value`."""

    values: list[Fraction]  # of each sample
    clusters: list[list[int]]  # where each sample counts
    side: str
    value: Fraction

    def beyond(self, labels) -> tuple[Fraction, Fraction]:
        """How far labels are beyond the bound, and how far they may be."""
        held = [
            value
            for value, counts, label in zip(self.values, self.clusters, labels, strict=True)
            if label in counts
        ]
        used = [abs(value) for value in self.values if value]
        least = min(used, default=Fraction(0))
        missed = self.value - sum(held) if self.side == "min" else sum(held) - self.value
        may = TOLERANCE * max(abs(self.value), least) + ROUNDING * sum(map(abs, held))
        return missed, may


@dataclass
class Drawn:
    X: np.ndarray
    k: int
    constraints: bckm.Constraints
    bounds: list[Bound]  # of all rules

    def all_labels(self) -> list[tuple[int, ...]]:
        """Labels without empty clusters."""
        every = product(range(self.k), repeat=len(self.X))
        return [labels for labels in every if len(set(labels)) == self.k]

    def kept(self, labels, share: Fraction | int = 1) -> bool:
        """Whether all bounds are kept, up to a share of what is allowed."""
        return all(missed <= share * may for missed, may in map(self._look(labels), self.bounds))

    def _look(self, labels):
        return lambda bound: bound.beyond(labels)

    def sharp(self, labels) -> bool:
        """Whether some bound is missed by so nearly what is allowed that rounding may decide."""
        looks = [bound.beyond(labels) for bound in self.bounds]
        return any(may and abs(missed / may - 1) < Fraction(1, 10**5) for missed, may in looks)


def draw(seed: int) -> Drawn:
    """Sums of amounts from 1e-12 to 1e16, of one sign or both, some bounds reached exactly."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, 2))
    planted = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    rng.shuffle(planted)
    rows, bounds = [], []
    for number in range(int(rng.integers(1, 3))):
        values = _amounts(rng, n)
        if rng.random() < 0.7:
            low, up = [-np.inf] * k, [np.inf] * k
            for i in range(k):
                held = [Fraction(v) for v in values[planted == i].tolist()]
                low[i], up[i] = _around(rng, sum(held), values)
            rows.append(bckm.Capacity(values, low, up))
            for i in range(k):
                exact = list(map(Fraction, values.tolist()))
                bounds += _both(exact, [[i]] * n, low[i], up[i])
        else:
            where = rng.integers(k, size=n)
            A = np.zeros((1, n * k))
            A[0, np.arange(n) * k + where] = values
            exact = list(map(Fraction, values.tolist()))
            held = sum(v for v, i, at in zip(exact, planted, where, strict=True) if i == at)
            low, up = _around(rng, held, values)
            rows.append(bckm.LinearRows(A, low, up, name=f"row {number}"))
            bounds += _both(exact, [[int(i)] for i in where], low, up)
    asked = {}
    if rng.random() < 0.3:
        p = int(rng.integers(n))
        asked["fixed"] = {p: int(planted[p])}
        one = [Fraction(0)] * n
        one[p] = Fraction(1)
        bounds.append(Bound(one, [[int(planted[p])]] * n, "min", Fraction(1)))
    if rng.random() < 0.3 and (together := np.flatnonzero(planted == planted[0])).size > 1:
        asked["must_link"] = [tuple(together[:2].tolist())]
        a, b = together[:2].tolist()
        for i in range(k):
            apart = [Fraction(0)] * n
            apart[a], apart[b] = Fraction(1), Fraction(-1)
            bounds += _both(apart, [[i]] * n, 0.0, 0.0)
    return Drawn(X, k, bckm.Constraints(**stated(rows), **asked), bounds)


def wishes(drawn: Drawn, price: float) -> tuple[bckm.Constraints, list[Bound]]:
    """The sums of a draw as soft rules of one price, without the others; and their bounds."""
    sums = drawn.constraints.capacities
    kept = bckm.Constraints(**stated(sums), size_min=0).soft(price=price)
    bounds = []
    for row in sums:
        values = list(map(Fraction, row.values.tolist()))
        for i in range(drawn.k):
            bounds += _both(values, [[i]] * len(values), row.min[i], row.max[i])
    return kept, bounds


def _amounts(rng: np.random.Generator, n: int) -> np.ndarray:
    values = 10 ** rng.uniform(-12, 16, n)
    kind = rng.integers(4)
    if kind == 0:
        values = np.where(rng.random(n) < 0.3, 1e16, rng.integers(1, 4, n))
    if kind == 1:
        values = np.round(values, 1)
    if rng.random() < 0.4:
        values = values * rng.choice([-1, 1], n)
    if rng.random() < 0.2:  # what cancels
        values[1] = -values[0]
    return values


def _around(rng: np.random.Generator, held: Fraction, values: np.ndarray) -> tuple[float, float]:
    """Bounds that a sum keeps, just keeps, or just does not."""
    reached = float(held)
    step = float(np.abs(values).min()) * float(rng.choice([0.0, 0.5, 1e-3, -0.5]))
    low, up = reached - step, reached + step
    if low > up:
        low, up = (low, np.inf) if rng.random() < 0.5 else (-np.inf, up)
    kind = rng.integers(3)
    return (low if kind != 1 else -np.inf), (up if kind != 2 else np.inf)


def _both(values, clusters, low: float, up: float) -> list[Bound]:
    sides = (("min", low), ("max", up))
    return [Bound(values, clusters, s, Fraction(v)) for s, v in sides if np.isfinite(v)]
