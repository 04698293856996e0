"""Rules of each kind to search under, and what every search promises of its result."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import bckm
from bckm import Capacity, Constraints, LinearRows, Status, verify
from bckm.assign import ENGINES
from bckm.fit.parameters import PARAMETERS
from bckm.fit.search import explore, shared
from bckm.kernels import missing
from bckm.problem.problem import Problem

SEARCHING = ("local", "auto", "global")
SOLVERS = ("auto", *ENGINES)
N, K = 24, 4

modes = pytest.mark.parametrize("search", PARAMETERS["search"].choices)
searching = pytest.mark.parametrize("search", SEARCHING)
needs_kernels = pytest.mark.skipif(bool(missing), reason=missing or "there")


def kinds(seed=0, n=N):
    """Draw blobs, and rules of each kind that hold for hidden labels: never infeasible."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + 2 * rng.normal(size=(K, 2))[rng.integers(K, size=n)]
    each = n // K
    uneven = each + np.array([-2, -1, 1, 2])
    hidden = rng.permutation(np.repeat(np.arange(K), uneven))
    pairs = rng.integers(n, size=(60, 2))
    apart = pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]].tolist()
    together = [rng.permutation(np.flatnonzero(hidden == i))[:3].tolist() for i in range(K)]
    load = rng.integers(1, 6, n)
    sums = np.bincount(hidden, load, K)
    A = rng.integers(-1, 2, (2, n * K)) * (rng.random((2, n * K)) < 0.1)
    value = A @ (hidden[:, None] == np.arange(K)).ravel()
    return X, {
        "free": Constraints(),
        "empty": Constraints(size_min=0),
        "even": Constraints(size_min=each, size_max=each),
        "loose": Constraints(size_min=each - 2, size_max=each + 2),
        "uneven": Constraints(size_min=uneven.tolist(), size_max=uneven.tolist()),
        "classes": Constraints(size_min=[2, 6, 2, 6], size_max=[5, 10, 5, 10]),
        "together": Constraints(together),
        "apart": Constraints(cannot_link=apart),
        "links and sizes": Constraints(together, apart, size_min=each - 4, size_max=each + 4),
        "sums": Constraints(capacities={"kg": Capacity(load, sums.min(), sums.max())}),
        "a sum each": Constraints(capacities={"kg": Capacity(load, sums - 6, sums + 6)}),
        "rows": Constraints(linear=LinearRows(A, value - 3, value + 3)),
        "all": Constraints(
            together,
            apart,
            size_min=(uneven - 2).tolist(),
            size_max=(uneven + 2).tolist(),
            capacities={"kg": Capacity(load, max=sums.max() + 2)},
            linear=LinearRows(A, value - 4, value + 4),
        ),
    }


KINDS = tuple(kinds()[1])
every_kind = pytest.mark.parametrize("kind", KINDS)


def give_up_soon(monkeypatch, patience):
    """Let global searches end after so many children in vain, and anneal but for moments."""
    monkeypatch.setattr(explore, "PATIENCE", patience)
    monkeypatch.setattr(shared, "FURTHER", 1e6)


def weights(n=N):
    return np.random.default_rng(9).choice([0.0, 0.5, 1.0, 3.0], n) + np.eye(1, n)[0]


def heard(X, k, rules, **options):
    """Fit, and all steps."""
    steps = []
    return bckm.kmeans(X, k, rules, on_step=steps.append, **options), steps


def inertia_of(X, labels, weight=None):
    """Inertia from its definition."""
    weight = np.ones(len(X)) if weight is None else weight
    total = 0.0
    for i in np.unique(labels):
        w, x = weight[labels == i], X[labels == i]
        if w.any():
            total += w @ np.square(x - np.average(x, axis=0, weights=w)).sum(axis=1)
    return float(total)


def check(found, steps, X, rules, k, weight=None, max_iter=300):
    """A result is what it says, and so is every step on the way."""
    X = np.asarray(X, float)
    noise = 1e-13 * inertia_of(X, np.zeros(len(X), int), weight) + 1e-24 * np.square(X).sum()
    assert verify(found.labels, k, rules) == []
    assert found.sizes.tolist() == np.bincount(found.labels, minlength=k).tolist()
    assert found.inertia == pytest.approx(inertia_of(X, found.labels, weight), rel=1e-9, abs=noise)
    for i in np.flatnonzero(found.sizes):
        own = found.labels == i
        w = None if weight is None or not weight[own].any() else weight[own]
        mean = np.average(X[own], axis=0, weights=w)
        np.testing.assert_allclose(found.centers[i], mean, rtol=1e-9, atol=1e-9 * np.abs(X).max())
    assert found.lower_bound <= found.inertia
    starts: dict[int, list[bckm.Step]] = {}
    for step in steps:
        starts.setdefault(step.start, []).append(step)
        assert step.kind in ("assign", "moves")
        if step.kind == "moves":
            assert step.status is Status.FEASIBLE
            assert step.assigned == step.objective
        assert step.lower_bound <= step.assigned * (1 + 1e-9) + noise
    for own in starts.values():
        assert [step.iteration for step in own] == list(range(1, len(own) + 1))
        assert len(own) <= max_iter
        assert all(b.objective <= a.objective for a, b in pairwise(own))
    assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)
    assert found.n_iter == len(found.history)
    if steps:
        assert found.inertia <= min(step.objective for step in steps) * (1 + 1e-9) + noise
        assert found.history == tuple(starts[found.history[0].start])
        assert found.history[-1].objective == pytest.approx(found.inertia, rel=1e-12, abs=noise)


def usable(solver, X, k, rules):
    problem = Problem.build(X, k, rules)
    return solver == "auto" or not problem.features & ~ENGINES[solver].handles


def same(a, b):
    """Whether two results agree in everything but the time they took."""
    assert np.array_equal(a.labels, b.labels)
    assert np.array_equal(a.centers, b.centers)
    assert timeless(a.history) == timeless(b.history)
    assert (a.inertia, a.lower_bound, a.status) == (b.inertia, b.lower_bound, b.status)
    assert (a.prices is None) == (b.prices is None)
    assert a.prices is None or np.array_equal(a.prices, b.prices)


def timeless(steps):
    return [replace(step, seconds=0.0) for step in steps]
