"""Sums of squares as fractions: what costs are, without any rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tests.support.oracle import Truth, owed
from tests.support.rule_instances import Drawn

Rows = list[list[Fraction]]


def fractions(array: Any) -> Rows:
    """The numbers of a matrix, as they are."""
    return [[Fraction(value) for value in row] for row in np.asarray(array, float).tolist()]


def weights(weight: Any, n: int) -> list[Fraction]:
    """Weights of samples; ones without any."""
    return (
        [Fraction(1)] * n if weight is None else [Fraction(w) for w in np.asarray(weight).tolist()]
    )


def to_centers(X: Rows, centers: Rows, labels: Any, weight: list[Fraction]) -> Fraction:
    """Cost of labels at given centers."""
    total = Fraction(0)
    for row, label, w in zip(X, labels, weight, strict=True):
        if w:
            center = centers[int(label)]
            total += w * sum((a - b) ** 2 for a, b in zip(row, center, strict=True))
    return total


def inertia(X: Rows, labels: Any, weight: list[Fraction]) -> Fraction:
    """Cost of labels at their means: squares less the square of sums."""
    total = Fraction(0)
    for cluster in set(map(int, labels)):
        held = [at for at, label in enumerate(labels) if label == cluster]
        mass = sum(weight[at] for at in held)
        for column in range(len(X[0])):
            first = sum(weight[at] * X[at][column] for at in held)
            total += sum(weight[at] * X[at][column] ** 2 for at in held)
            total -= first**2 / mass if mass else 0
    return total


class Drawing:
    """A drawn instance with all that brute force knows about it."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn, self.truth = drawn, Truth.of(drawn)
        self.X = fractions(drawn.X)
        self.weight = weights(drawn.weight, len(drawn.X))
        self.feasible = bool(self.truth.obeys.any())
        whole = inertia(self.X, [0] * len(self.X), self.weight)
        squares = to_centers(
            self.X, [[Fraction(0)] * drawn.X.shape[1]], [0] * len(self.X), self.weight
        )
        flat = whole <= Fraction(1e-25) * squares  # all alike: a confidence is a price
        self.confidence = Fraction(1) if flat else whole / len(self.X)
        # what rounding is relative to where an optimum is zero
        heavy = 1.0 if drawn.weight is None else drawn.weight.max()
        self.scale = float(heavy * np.square(np.ptp(drawn.X, axis=0)).sum())

    def penalty(self, labels: np.ndarray) -> Fraction:
        """What the soft rules cost that labels break."""
        total = Fraction(0)
        for ask in self.drawn.soft:
            kind, number = ask.price
            unit = self.confidence if kind == "confidence" else 1
            amount = Fraction(float(owed(ask, labels[None], self.drawn.k)[0]))
            # amounts are tenths and the like, drawn as whole numbers
            total += amount.limit_denominator(100_000) * Fraction(number) * unit
        return total

    def obeys(self, labels: np.ndarray) -> bool:
        """Whether labels obey every hard rule."""
        return bool(self.truth.obeys[self.truth.at(labels)])

    def step_optimum(self, centers: np.ndarray) -> Fraction:
        """Least cost of labels that obey, at these centers, with penalties."""
        square = np.square(self.drawn.X[:, None] - centers).sum(axis=2)
        if self.drawn.weight is not None:
            square = square * self.drawn.weight[:, None]
        labels = self.truth.labels[self.truth.obeys]
        cost = (
            square[np.arange(len(square)), labels].sum(axis=1)
            + self.truth.penalty[self.truth.obeys]
        )
        # several may be least, but for rounding
        near = np.flatnonzero(cost <= cost.min() + 1e-13 * (self.scale + cost.min()))[:6]
        rows = fractions(centers)
        return min(
            to_centers(self.X, rows, labels[at], self.weight) + self.penalty(labels[at])
            for at in near
        )
