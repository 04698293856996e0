"""What a move is, and instances to try local search on.

Moves and the objective are written anew here, for whole labels and without any bookkeeping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

import bckm
from bckm.fit.search.local import Descent
from bckm.kernels import missing
from bckm.problem.problem import Problem
from tests.support.statements import stated

compiled = pytest.mark.skipif(bool(missing), reason=missing or "there")


@dataclass
class Start:
    """A problem with feasible labels of its items, and centers for empty clusters."""

    problem: Problem
    constraints: bckm.Constraints
    labels: np.ndarray
    centers: np.ndarray

    @classmethod
    def of(cls, X, k, constraints, labels, weight=None, n_jobs=1) -> Start:
        """From labels of samples; the center of an empty cluster is one of the first samples."""
        problem = Problem.build(X, k, constraints, weight, n_jobs=n_jobs)
        s = problem.structure
        items = np.empty(s.n_items, np.int64)
        items[s.item] = labels
        assert s.feasible(items)
        return cls(problem, constraints, items, problem.centers_in(np.asarray(X, float)[:k]))


def objective(problem: Problem, labels: np.ndarray, centers: np.ndarray | None = None) -> float:
    """Sum of mass times squared distance to the mean, or to given centers, and all penalties."""
    total = problem.penalty(labels)
    for i in np.unique(labels):
        w, x = problem.mass[labels == i], problem.points[labels == i]
        if w.sum() == 0:
            continue
        center = np.average(x, axis=0, weights=w) if centers is None else centers[i]
        total += w @ np.square(x - center).sum(axis=1)
    return float(total)


def neighbors(problem: Problem, labels: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Labels after each relocation, swap, flip and move of a group, whether or not they obey."""
    m, k = labels.size, problem.structure.n_clusters
    for j in range(m):
        for b in set(range(k)) - {labels[j]}:
            after = labels.copy()
            after[j] = b
            yield "relocation", after
    for p, q in combinations(range(m), 2):
        if labels[p] != labels[q]:
            after = labels.copy()
            after[[p, q]] = labels[[q, p]]
            yield "swap", after
    apart = adjacent(m, problem.structure.edges)
    for j in range(m):
        for b in {int(labels[q]) for q in apart[j]}:
            two = (labels[j], b)
            which = reachable(j, apart, [v for v in range(m) if labels[v] in two])
            if len(which) <= 64:
                after = labels.copy()
                after[which] = sum(two) - labels[which]
                yield "flip", after
    ties = problem.soft.ties.tocoo()
    tied = adjacent(m, np.stack(ties.coords, axis=1)[ties.data > 0])
    for j in range(m):
        which = reachable(j, tied, np.flatnonzero(labels == labels[j]).tolist())
        if min(which) == j and 1 < len(which) <= 64:
            for b in set(range(k)) - {labels[j]}:
                after = labels.copy()
                after[which] = b
                yield "group", after


def adjacent(m: int, edges: np.ndarray) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {j: set() for j in range(m)}
    for p, q in edges.tolist():
        found[p].add(q)
        found[q].add(p)
    return found


def reachable(j: int, edges: dict[int, set[int]], inside: list[int]) -> list[int]:
    """What hangs together with j through some items."""
    together, fresh = {j}, [j]
    while fresh:
        fresh = sorted((set.union(*(edges[v] for v in fresh)) - together) & set(inside))
        together.update(fresh)
    return sorted(together)


def better_moves(problem, labels, centers=None, share=1e-9) -> set[str]:
    """Kinds of moves that keep the rules and lower the objective by more than a share of it."""
    now = objective(problem, labels, centers)
    noise = 1e-26 * float(problem.mass @ np.square(problem.points).sum(axis=1))
    return {
        kind
        for kind, after in neighbors(problem, labels)
        if problem.structure.feasible(after)
        and objective(problem, after, centers) < now * (1 - share) - noise
    }


def check(start: Start, found: Descent, *, fixed: bool = False, brute: bool = True) -> None:
    """Rules hold, nothing got worse, and what is said to be a local optimum is one."""
    problem, s = start.problem, start.problem.structure
    centers = start.centers if fixed else None
    assert found.labels.dtype == np.int64
    assert s.feasible(found.labels)
    assert not bckm.verify(s.expand(found.labels), s.n_clusters, start.constraints)
    before = objective(problem, start.labels, centers)
    assert objective(problem, found.labels, centers) <= before * (1 + 1e-13)
    if brute and found.finished:
        assert not better_moves(problem, found.labels, centers)


def planted(seed: int, n: int = 36) -> Start:
    """Rules of all kinds around random labels, which are where the search starts."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    labels = rng.integers(k, size=n)
    X = rng.normal(size=(k, d))[rng.integers(k, size=n)] * 2 + rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = np.round(X)  # duplicates and ties
    held = np.bincount(labels, minlength=k)
    slack = int(rng.choice([0, 0, 2, n]))
    asked: dict[str, object] = {
        "size_min": np.maximum(held - slack, 0).tolist(),
        "size_max": (held + slack).tolist(),
    }
    if rng.random() < 0.4:
        groups = [rng.choice(np.flatnonzero(labels == i), 3) for i in range(k) if held[i] > 5]
        asked["must_link"] = [g for g in map(sorted, map(set, map(np.ndarray.tolist, groups))) if g]
        asked["must_link"] = [g for g in asked["must_link"] if len(g) > 1]
    if k > 1 and rng.random() < 0.5:
        pairs = rng.integers(n, size=(int(rng.integers(1, 2 * n)), 2))
        asked["cannot_link"] = pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]].tolist()
    rows: list[object] = []
    if rng.random() < 0.3:
        load = rng.integers(0, 9, n) * rng.choice([1.0, 0.1])
        sums = np.bincount(labels, load, k)
        rows.append(bckm.Capacity(load, sums - rng.integers(0, 4), sums + rng.integers(0, 4)))
    if rng.random() < 0.3:
        A = rng.integers(-2, 3, (3, n * k)) * (rng.random((3, n * k)) < 0.5)
        value = A @ (labels[:, None] == np.arange(k)).ravel()
        rows.append(bckm.LinearRows(A, value - rng.integers(0, 4, 3), value + 3))
    weight = None
    if rng.random() < 0.5:
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) + (0 if rng.random() < 0.5 else rng.random(n))
        weight[0] = 1.0
    return Start.of(X, k, bckm.Constraints(**asked, **stated(rows)), labels, weight)


def soft_planted(seed: int, n: int = 30) -> Start:
    """Soft rules of all kinds, with loads, forbidden and fixed clusters, around random labels."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    labels = rng.integers(k, size=n)
    labels[:k] = np.arange(k)
    X = rng.normal(size=(k, d))[rng.integers(k, size=n)] * 2 + rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = np.round(X)  # duplicates and ties
    return Start.of(X, k, _hard(rng, labels, k) & _soft(rng, n, k), labels, _weight(rng, n))


def _hard(rng: np.random.Generator, labels: np.ndarray, k: int) -> bckm.Constraints:
    n, held = labels.size, np.bincount(labels, minlength=k)
    slack = int(rng.choice([0, 1, n]))
    asked = bckm.Constraints(
        size_min=np.maximum(held - slack, 0).tolist(), size_max=(held + slack).tolist()
    )
    if rng.random() < 0.3:
        mine = np.flatnonzero(labels == 0)[:3].tolist()
        asked &= bckm.Constraints(must_link=[mine], size_min=0)
    if rng.random() < 0.4:
        pairs = rng.integers(n, size=(n // 2, 2))
        apart = pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]].tolist()
        asked &= bckm.Constraints(cannot_link=apart, size_min=0)
    if rng.random() < 0.4:
        load = rng.integers(1, 9, n) * rng.choice([1.0, 0.1])
        most = np.bincount(labels, load, k) + 2 * load.max() * rng.random()
        asked &= bckm.Constraints(capacities={"load": bckm.Capacity(load, max=most)})
    if rng.random() < 0.3:
        kind = rng.choice(["red", "blue"], n).tolist()
        most = max((np.array(kind) == "red")[labels == i].sum() for i in range(k))
        asked &= bckm.Constraints(quotas=bckm.Quota(kind, count_max={"red": int(most) + 1}))
    if rng.random() < 0.4:
        places = {int(j): int(labels[j]) for j in rng.choice(n, 3, replace=False)}
        away = [(int(j), int((labels[j] + 1) % k)) for j in rng.choice(n, 5, replace=False)]
        asked &= bckm.Constraints(fixed=places, forbidden=away, size_min=0)
    if rng.random() < 0.2:
        asked &= bckm.Constraints(stay=bckm.Stay(labels, at_most=n // 2), size_min=0)
    return asked


def _soft(rng: np.random.Generator, n: int, k: int) -> bckm.Constraints:
    """At least one soft rule, with small or large prices."""
    asked, kinds = bckm.Constraints(size_min=0), rng.random(6) < 0.4
    kinds[rng.integers(6)] = True

    def price() -> dict[str, float]:
        return {str(rng.choice(["price", "confidence"])): float(10 ** rng.uniform(-2, 2))}

    if kinds[0]:
        links = [sorted({int(p) for p in rng.integers(n, size=3)}) for _ in range(n // 4)]
        links = [link for link in links if len(link) > 1]
        asked &= bckm.Constraints(must_link=links, size_min=0).soft(**price())
    if kinds[1]:
        pairs = [p for p in rng.integers(n, size=(n // 2, 2)).tolist() if p[0] != p[1]]
        asked &= bckm.Constraints(cannot_link=pairs, size_min=0).soft(**price())
    if kinds[2]:
        low = int(rng.integers(n // k + 2))
        sizes = bckm.Constraints(size_min=low, size_max=low + int(rng.integers(3)))
        asked &= sizes.soft(**price())
    if kinds[3]:
        load = rng.integers(-2, 9, n) * rng.choice([1.0, 0.1])
        bound = np.sort(rng.uniform(-1, 1, (2, k)), axis=0) + load.sum() / k
        asked &= bckm.Constraints(capacities={"kg": bckm.Capacity(load, *bound)}, size_min=0).soft(
            **price()
        )
    if kinds[4]:
        kind = rng.choice(["a", "b", "c"], n).tolist()
        asked &= bckm.Constraints(quotas=bckm.Quota(kind, "5%"), size_min=0).soft(**price())
    if kinds[5]:
        before = rng.integers(-1, k, n)
        asked &= bckm.Constraints(stay=bckm.Stay(before, **price()), size_min=0)
        places = [(int(j), int(rng.integers(k))) for j in rng.choice(n, 6, replace=False)]
        some = bckm.Constraints(fixed=places[:3], forbidden=places[3:], size_min=0)
        asked &= some.soft(**price())
    return asked


def _weight(rng: np.random.Generator, n: int) -> np.ndarray | None:
    if rng.random() < 0.5:
        return None
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) + (0 if rng.random() < 0.5 else rng.random(n))
    weight[0] = 1.0
    return np.asarray(weight)
