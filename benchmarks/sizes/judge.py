"""Judging labels from the outside: the same arithmetic for every method, none of it theirs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

CHUNK = 1 << 16  # samples at a time, so that judging needs no copy of the data
ROUNDING = 1e-9  # how far a bound may be above the cost that it bounds, relative to the cost


def _chunks(n: int) -> Iterator[slice]:
    return (slice(at, min(at + CHUNK, n)) for at in range(0, n, CHUNK))


def means(
    X: np.ndarray, labels: np.ndarray, k: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Means of the clusters in double precision; zero for one that is empty or without weight."""
    each = np.ones(len(X)) if weight is None else weight
    total = np.column_stack(
        [np.bincount(labels, weights=each * feature, minlength=k) for feature in X.T]
    )
    mass = np.bincount(labels, weights=each, minlength=k)
    return total / np.where(mass > 0, mass, 1)[:, None]


def cost(
    X: np.ndarray, labels: np.ndarray, centers: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Sum of squared distances to the centers, in double precision and without expansion."""
    centers = centers.astype(np.float64)
    total = 0.0
    for part in _chunks(len(X)):
        squares = np.square(X[part] - centers[labels[part]])
        total += float((squares if weight is None else weight[part, None] * squares).sum())
    return total


def inertia(X: np.ndarray, labels: np.ndarray, k: int, weight: np.ndarray | None = None) -> float:
    """Cost at the exact means, whatever centers the method stopped at."""
    return cost(X, labels, means(X, labels, k, weight), weight)


def largest_gap(X: np.ndarray, proofs: tuple[tuple[float, float], ...]) -> float | None:
    """Largest (cost - bound) / cost over all steps; None without proofs.

    Where the cost is nothing but rounding (all samples on their centers), it is compared with
    1e-12 of the sum of squares of the data. A bound that is not a number, or above the cost of
    labels that exist, proves nothing: the gap is then infinite.
    """
    if not proofs:
        return None
    squares = sum(float(np.square(X[part], dtype=np.float64).sum()) for part in _chunks(len(X)))
    gaps = [
        (assigned - bound) / max(assigned, 1e-12 * squares, 1e-300) for assigned, bound in proofs
    ]
    return max(max(gap, 0.0) if -ROUNDING <= gap < np.inf else np.inf for gap in gaps)


def sizes_kept(sizes: np.ndarray, low: int, high: int) -> bool:
    """Whether every cluster is within the bounds."""
    return bool(((sizes >= low) & (sizes <= high)).all())
