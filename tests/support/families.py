"""Stress families on which published methods stall, break rules, or call nothing infeasible.

All are feasible by construction: a planted labeling obeys every rule.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

import bckm

Instance = tuple[np.ndarray, int, bckm.Constraints]


def _blobs(rng: np.random.Generator, n: int, k: int, d: int = 4) -> np.ndarray:
    return rng.normal(size=(k, d))[rng.integers(k, size=n)] * 2 + rng.normal(size=(n, d))


def triangles(rng: np.random.Generator, n: int) -> Instance:
    """Cannot-link triangles with three clusters: LP shares of 1/2 are tempting."""
    X, order = _blobs(rng, n, 3), rng.permutation(n)
    pairs = [p for t in order[: n // 3 * 3].reshape(-1, 3).tolist() for p in combinations(t, 2)]
    return X, 3, bckm.Constraints(cannot_link=pairs)


def odd_cycles(rng: np.random.Generator, n: int) -> Instance:
    """Disjoint cycles of length 5 and 7, which clique rows do not help, with near-exact sizes."""
    order, pairs, at = rng.permutation(n).tolist(), [], 0
    while at + 7 <= n:
        length = int(rng.choice([5, 7]))
        ring = order[at : at + length]
        pairs += list(zip(ring, ring[1:] + ring[:1], strict=True))
        at += length
    X = _blobs(rng, n, 3)
    return X, 3, bckm.Constraints(cannot_link=pairs, size_min=n // 3 - 2, size_max=-(-n // 3) + 2)


def planted_coloring(rng: np.random.Generator, n: int) -> Instance:
    """A random k-colorable graph of middle density."""
    k = 4
    color = rng.integers(k, size=n)
    pairs = []
    while len(pairs) < 3 * n:
        a, b = rng.integers(n, size=2).tolist()
        if color[a] != color[b]:
            pairs.append((a, b))
    return _blobs(rng, n, k), k, bckm.Constraints(cannot_link=pairs)


def cliques(rng: np.random.Generator, n: int) -> Instance:
    """Cannot-link sets of k samples: each cluster gets exactly one of each."""
    k = 6
    sets = rng.permutation(n)[: n // k * k].reshape(-1, k).tolist()
    return _blobs(rng, n, k), k, bckm.Constraints(cannot_link=sets)


def packing(rng: np.random.Generator, n: int) -> Instance:
    """Must-link groups that fill clusters of exact size without any single sample left."""
    k = 5
    sizes = np.full(k, n // k) + (np.arange(k) < n % k)
    order, groups, at = rng.permutation(n).tolist(), [], 0
    for size in sizes.tolist():
        left = size
        while left:
            take = int(min(left, rng.integers(2, 8)))
            take = left if left - take == 1 else take
            groups.append(order[at : at + take])
            at, left = at + take, left - take
    rules = bckm.Constraints(must_link=groups, size_min=n // k, size_max=-(-n // k))
    return _blobs(rng, n, k), k, rules


def mix(rng: np.random.Generator, n: int) -> Instance:
    """Groups, conflicts between them, tight sizes and a capacity, around planted labels."""
    k = 4
    planted = np.arange(n) % k
    rng.shuffle(planted)
    groups, pairs = [], []
    for i in range(k):
        members = rng.permutation(np.flatnonzero(planted == i))
        groups += members[: members.size // 2 // 3 * 3].reshape(-1, 3).tolist()
    while len(pairs) < n:
        a, b = rng.integers(n, size=2).tolist()
        if planted[a] != planted[b]:
            pairs.append((a, b))
    load = rng.integers(1, 10, n)
    most = max(load[planted == i].sum() for i in range(k))
    rules = bckm.Constraints(
        must_link=groups,
        cannot_link=pairs,
        size_min=n // k,
        size_max=-(-n // k),
        capacities={"load": bckm.Capacity(load, max=most + 2)},
    )
    return _blobs(rng, n, k), k, rules


FAMILIES: dict[str, Callable[[np.random.Generator, int], Instance]] = {
    f.__name__: f for f in (triangles, odd_cycles, planted_coloring, cliques, packing, mix)
}
