"""Drawn instances and brute force: the reference that owes nothing to the library's engines."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

import bckm
from tests.support.statements import stated


@dataclass
class Drawn:
    X: np.ndarray
    k: int
    constraints: bckm.Constraints
    weight: np.ndarray | None


def draw(seed: int) -> Drawn:
    """Draw a small instance (N <= 9, k <= 3) that mixes all kinds of rules, ties and duplicates."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    k = min(k, n)
    d = int(rng.integers(1, 4))
    kind = rng.integers(4)
    if kind == 0:
        X = rng.integers(0, 3, (n, d)).astype(float)  # ties and duplicates
    elif kind == 1:
        X = np.repeat(rng.normal(size=(1, d)), n, axis=0)  # all alike
    else:
        X = rng.normal(size=(n, d))
    asked: dict[str, object] = {}
    if rng.random() < 0.5:
        asked["must_link"] = [
            tuple(rng.choice(n, rng.integers(2, min(n, 3) + 1), replace=False).tolist())
            for _ in range(rng.integers(1, 4))
        ]
    if rng.random() < 0.6:
        asked["cannot_link"] = [
            tuple(rng.choice(n, rng.integers(2, min(n, 3) + 1), replace=False).tolist())
            for _ in range(rng.integers(1, 4))
        ]
    asked.update(_draw_sizes(rng, n, k))
    rows = []
    if rng.random() < 0.3:
        values = rng.integers(-1, 4, n)
        low = int(rng.integers(-4, 3))
        up = low + int(rng.integers(4, 14))
        if rng.random() < 0.5:
            rows.append(bckm.Capacity(values, low, up))
        else:
            rows.append(bckm.Capacity(values, None, [up + i for i in range(k)]))
    if rng.random() < 0.3:
        A = rng.integers(-1, 2, (int(rng.integers(1, 3)), n * k))
        up = rng.integers(0, 4, A.shape[0])
        rows.append(bckm.LinearRows(A, up - rng.integers(1, 6), up))
    weight = rng.integers(0, 4, n).astype(float) if rng.random() < 0.3 else None
    if weight is not None and not weight.any():
        weight = None
    return Drawn(X, k, bckm.Constraints(**asked, **stated(rows)), weight)


def _draw_sizes(rng: np.random.Generator, n: int, k: int) -> dict[str, object]:
    kind = rng.integers(6)
    if kind == 0:
        return {"size_min": n // k, "size_max": -(-n // k)}
    if kind == 1:
        return {"size_min": 0}
    if kind == 2:
        return {"size_max": int(rng.integers(1, n + 1))}
    if kind == 3:
        low = rng.integers(0, 3, k)
        return {"size_min": low.tolist(), "size_max": (low + rng.integers(0, n, k)).tolist()}
    if kind == 4:
        cuts = np.sort(rng.integers(0, n + 1, k - 1))
        sizes = np.diff(np.concatenate([[0], cuts, [n]])).tolist()
        return {"size_min": sizes, "size_max": sizes}
    return {}


def all_labels(n: int, k: int) -> np.ndarray:
    return np.array(list(product(range(k), repeat=n)))


def obeying(drawn: Drawn) -> np.ndarray:
    """Every labeling that obeys the rules, found by looking at each rule as it was stated."""
    n, k, c = len(drawn.X), drawn.k, drawn.constraints
    labels = all_labels(n, k)
    good = np.ones(len(labels), bool)
    for samples in c.must_link:
        part = labels[:, list(samples)]
        good &= (part == part[:, :1]).all(axis=1)
    for samples in c.cannot_link:
        part = np.sort(labels[:, list(samples)], axis=1)
        good &= (np.diff(part, axis=1) != 0).all(axis=1)
    sizes = np.stack([(labels == i).sum(axis=1) for i in range(k)], axis=1)
    good &= (sizes >= (1 if c.size_min is None else c.size_min)).all(axis=1)
    if c.size_max is not None:
        good &= (sizes <= c.size_max).all(axis=1)
    for load in c.capacities:
        sums = np.stack([((labels == i) * load.values).sum(axis=1) for i in range(k)], axis=1)
        if load.min is not None:
            good &= (sums >= load.min - 1e-9).all(axis=1)
        if load.max is not None:
            good &= (sums <= load.max + 1e-9).all(axis=1)
    for block in c.linear:
        s = (labels[:, :, None] == np.arange(k)).reshape(len(labels), -1)
        value = s @ block.A.toarray().T
        good &= ((value >= block.lower - 1e-9) & (value <= block.upper + 1e-9)).all(axis=1)
    return labels[good]


def inertias(drawn: Drawn, labels: np.ndarray) -> np.ndarray:
    """Inertia of each labeling, from its definition, in extended precision."""
    X = drawn.X.astype(np.longdouble)
    weight = np.ones(len(X)) if drawn.weight is None else drawn.weight
    found = np.zeros(len(labels), np.longdouble)
    for i in range(drawn.k):
        held = (labels == i) * weight.astype(np.longdouble)
        mass = held.sum(axis=1)
        means = held @ X / np.where(mass > 0, mass, 1)[:, None]
        found += (held * np.square(X - means[:, None]).sum(axis=2)).sum(axis=1)
    return found
