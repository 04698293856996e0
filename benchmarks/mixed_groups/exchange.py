"""The exchange method for mixed groups, from its description, and random assignment.

Papenberg and Klau (Psychological Methods, 2021; the R package anticlust): groups of equal size are
drawn at random; then each sample in turn is exchanged with that sample of another group for which
the sum of squares between groups becomes smallest, if that is better than no exchange. The method
"exchange" goes through all samples once; "local-maximum" again and again, until no exchange helps;
both can be repeated from other random groups, of which the best is kept.

All exchanges of a sample are judged at once with NumPy, from products that are kept up to date: of
groups of a few hundred samples and more, that is about as fast as compiled code.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

KEPT = 6_000  # samples up to which all products of two samples are kept


def drawn(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels at random, in groups as equal as possible."""
    return rng.permutation(np.arange(n) % k)


def between(X: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Sum of squares between groups: how far their means are from that of all, squared, by size."""
    centered = X - X.mean(axis=0)
    sums = np.zeros((k, X.shape[1]))
    np.add.at(sums, labels, centered)
    return float((np.square(sums).sum(axis=1) / np.bincount(labels, minlength=k)).sum())


class Exchange:
    """The exchange method on one data set."""

    def __init__(self, X: np.ndarray, k: int) -> None:
        self.points, self.k = X - X.mean(axis=0), k
        self.norm = np.square(self.points).sum(axis=1)
        self.products = self.points @ self.points.T if len(X) <= KEPT else None

    def improved(self, labels: np.ndarray, *, repeat: bool, over: Callable[[], bool]) -> np.ndarray:
        """Go through all samples once, or until nothing helps; end when time is `over`."""
        labels, n = labels.copy(), len(labels)
        size = np.bincount(labels, minlength=self.k).astype(float)
        sums = np.zeros((self.k, self.points.shape[1]))
        np.add.at(sums, labels, self.points)
        along = self.points @ sums.T  # of each sample with the sum of each group, (n, k)
        every = np.arange(n)
        while True:
            helped = False
            for j in range(n):
                if (j & 15) == 0 and over():
                    return labels
                a = labels[j]
                with_j = (
                    self.products[j] if self.products is not None else self.points @ self.points[j]
                )
                apart = self.norm + self.norm[j] - 2 * with_j  # |x_l - x_j|^2
                of_a = (2 * (along[:, a] - along[j, a]) + apart) / size[a]
                of_b = (2 * (along[j, labels] - along[every, labels]) + apart) / size[labels]
                change = np.where(labels == a, np.inf, of_a + of_b)
                best = int(np.argmin(change))
                if not change[best] < -1e-12 * apart[best]:
                    continue
                b = labels[best]
                step = self.points[best] - self.points[j]
                if self.products is None:
                    moved = self.points @ step
                else:
                    moved = self.products[best] - self.products[j]
                along[:, a] += moved
                along[:, b] -= moved
                labels[j], labels[best] = b, a
                helped = True
            if not (repeat and helped):
                return labels


def exchanged(
    X: np.ndarray,
    k: int,
    seconds: float,
    rng: np.random.Generator,
    *,
    repeat: bool = True,
) -> tuple[np.ndarray, int]:
    """The best labels of as many repetitions as CPU seconds allow, and their number."""
    began = time.process_time()

    def over() -> bool:
        return time.process_time() - began > seconds

    method = Exchange(X, k)
    best, least, number = None, np.inf, 0
    while best is None or not over():
        labels = method.improved(drawn(len(X), k, rng), repeat=repeat, over=over)
        value, number = between(X, labels, k), number + 1
        if value < least:
            best, least = labels, value
    assert best is not None
    return best, number
