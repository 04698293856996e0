"""Drawn instances for the transport engine, and what proves an answer: plain NumPy and SciPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import bckm
from bckm.problem.problem import Problem

EPS = np.finfo(float).eps


@dataclass
class Drawn:
    """Data, bounds, weights and centers in the units of X; `kinds` names what is special."""

    X: np.ndarray
    k: int
    lower: np.ndarray
    upper: np.ndarray
    weight: np.ndarray | None
    centers: np.ndarray
    kinds: set[str] = field(default_factory=set)

    @property
    def rules(self):
        return bckm.Constraints(size_min=self.lower.tolist(), size_max=self.upper.tolist())

    def problem(self, **options):
        return Problem.build(self.X, self.k, self.rules, self.weight, **options)


def draw(seed: int) -> Drawn:
    """Draw an instance of up to 300 samples that asks for sizes only."""
    rng = np.random.default_rng(seed)
    kinds = set()
    n = int(rng.integers(2, 40) if rng.random() < 0.8 else rng.integers(40, 301))
    k = int(rng.integers(1, min(n, 12) + 1))
    if rng.random() < 0.06:
        k = 1
    elif rng.random() < 0.06:
        n = k = int(rng.integers(2, 31))
    if k == 1:
        kinds.add("one cluster")
    if n == k:
        kinds.add("as many samples as clusters")
    d = int(rng.choice([1, 2, 3, 5, 8, 13, 30]))
    kinds.add(f"{d} features")
    X = _points(rng, n, d, kinds)
    lower, upper = _bounds(rng, n, k, kinds)
    centers = _centers(rng, X, k, kinds)
    weight = None
    if rng.random() < 0.25:
        weight = rng.integers(0, 4, n).astype(float) if rng.random() < 0.5 else rng.random(n)
        weight[rng.integers(n)] = 1.0
        kinds.add("weights")
        if (weight == 0).any():
            kinds.add("zero weights")
    scale = 1.0
    if rng.random() < 0.25:
        scale = 10.0 ** rng.integers(-8, 9)
        kinds.add("scaled")
    offset = 0.0
    if rng.random() < 0.15:
        offset = 1e6 * (X.std() or 1.0)
        kinds.add("offset")
    X, centers = (X + offset) * scale, (centers + offset) * scale
    if rng.random() < 0.15:
        X = X.astype(np.float32)
        kinds.add("float32")
    return Drawn(X, k, lower, upper, weight, centers, kinds)


def _points(rng, n, d, kinds):
    kind = rng.choice(["normal", "blobs", "grid", "few", "heavy", "zeros", "outlier"])
    X = rng.normal(size=(n, d))
    if kind == "blobs":
        X += 4 * rng.normal(size=(4, d))[rng.integers(4, size=n)]
    elif kind == "grid":
        X = rng.integers(0, 4, (n, d)).astype(float)
        kinds |= {"grid", "ties"}
    elif kind == "few":
        again = rng.random(n) < 0.3
        X[again] = X[rng.integers(n, size=again.sum())]
        kinds.add("few duplicates")
    elif kind == "heavy":
        X = X[rng.integers(min(n, int(rng.integers(1, 6))), size=n)]
        kinds |= {"heavy duplicates", "ties"}
    elif kind == "zeros":
        X[rng.random(n) < 0.5] = 0.0
        kinds.add("zero-inflated")
    elif kind == "outlier":
        X[rng.integers(n)] *= 10.0 ** rng.integers(3, 9)
        kinds.add("outlier")
    return X


def _bounds(rng, n, k, kinds):
    """Draw bounds around sizes that exist."""
    cuts = np.sort(rng.integers(0, n + 1, k - 1))
    sizes = np.diff(np.concatenate([[0], cuts, [n]]))
    if rng.random() < 0.3:
        sizes = n // k + (np.arange(k) < n % k)
    lower, upper = np.zeros(k, int), np.full(k, n)
    kind = rng.choice(["equal", "lower", "upper", "both", "none"], p=[0.25, 0.2, 0.2, 0.3, 0.05])
    if kind in ("equal", "both", "lower"):
        lower = sizes.copy()
    if kind in ("equal", "both", "upper"):
        upper = sizes.copy()
    if kind == "both":
        lower = np.maximum(0, sizes - rng.integers(0, 3, k))
        upper = sizes + rng.integers(0, 3, k)
    elif kind == "upper":
        upper = sizes + rng.integers(0, 4, k)
    elif kind == "lower" and rng.random() < 0.7:
        lower = lower - np.minimum(lower, rng.integers(0, 3, k))
    kinds.add({"equal": "l = u", "lower": "only lower", "upper": "only upper"}.get(kind, kind))
    if (upper == 0).any():
        kinds.add("no capacity")
    return lower, upper


def _centers(rng, X, k, kinds):
    n, d = X.shape
    spread = float(np.median(np.abs(X - np.median(X, axis=0)))) or 1.0
    kind = rng.choice(
        ["anywhere", "on data", "far", "alike", "all far"], p=[0.4, 0.3, 0.2, 0.07, 0.03]
    )
    centers = np.median(X, axis=0) + spread * rng.normal(size=(k, d))
    if kind == "on data":
        centers = X[rng.choice(n, k, replace=False)].copy()
        kinds.add("centers on data")
    elif kind == "far":
        centers[rng.integers(k)] += spread * 10.0 ** rng.integers(3, 9)
        kinds.add("a far cluster")
    elif kind == "alike":
        centers[: (k + 1) // 2] = centers[0]
        kinds |= {"equal centers", "ties"}
    elif kind == "all far":
        centers += 1e6 * spread
        kinds.add("all clusters far")
    return centers


def optimum(cost, lower, upper):
    """Least cost of labels within the bounds: clusters as slots, empty slots as further rows."""
    n, k = cost.shape
    most = np.minimum(upper, n - (lower.sum() - lower))
    must, may = np.repeat(np.arange(k), lower), np.repeat(np.arange(k), most - lower)
    slots = np.concatenate([must, may])
    table = np.zeros((slots.size, slots.size))
    table[:n] = cost[:, slots]
    table[n:, : must.size] = np.inf  # only what may be empty is
    rows, columns = linear_sum_assignment(table)
    return fsum(table[rows, columns])


def slots(drawn: Drawn) -> int:
    """Size of the table in `optimum`."""
    n = len(drawn.X)
    return int(np.minimum(drawn.upper, n - (drawn.lower.sum() - drawn.lower)).sum())


@dataclass
class Proof:
    """Cost and dual value of an assignment, and what plain float64 leaves uncertain of them."""

    cost: float
    value: float
    noise: float


def prove(points, pull, centers, lower, upper, labels, prices) -> Proof:
    """Compute cost and dual value from nothing but the definition."""
    cost = cdist(points, centers, "sqeuclidean") * pull[:, None]
    own = cost[np.arange(len(labels)), labels]
    best = (cost - prices).min(axis=1)
    terms = lower * np.maximum(prices, 0) - upper * np.maximum(-prices, 0)
    size = fsum(own) + fsum(np.abs(prices) * np.bincount(labels, minlength=prices.size))
    # what rounding the coordinates alone makes of a cost of zero
    least = len(points) * pull.max() * np.square(64 * EPS * np.abs(points).max())
    noise = 16 * EPS * (size + fsum(np.abs(terms)) + np.abs(prices).max()) + least
    return Proof(fsum(own), fsum(best) + fsum(terms), noise)


def check(problem: Problem, found, centers) -> bool:
    """Assert that an assignment is feasible and optimal; say whether by 1e-12 of its cost."""
    s = problem.structure
    sizes = np.bincount(found.labels, minlength=s.n_clusters)
    assert (sizes >= s.lower).all()
    assert (sizes <= s.upper).all()
    assert np.isfinite(found.prices).all()
    proof = prove(
        problem.points, problem.cost_weight, centers, s.lower, s.upper, found.labels, found.prices
    )
    close = 1e-12 * proof.cost
    assert abs(found.cost - proof.cost) <= close + proof.noise
    gap = proof.cost - proof.value
    assert gap <= close + proof.noise, (proof.cost, proof.value, found.bound, proof.noise)
    # the bound is that value, less what rounding and the touch of weightless samples may add to it
    lower = problem.safe_bound(proof.value, proof.cost, centers, found.prices)
    assert found.bound <= min(found.cost, proof.value + proof.noise)
    roundings = 8 * (16 + sum(centers.shape))  # in a row, at worst, where `noise` has a few
    assert lower - found.bound <= close + roundings * proof.noise, (lower, found.bound, proof)
    return gap <= close
