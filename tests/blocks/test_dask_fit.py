"""Fits of dask arrays: as good as in memory, and the same bits whatever chunks and scheduler."""

from dataclasses import dataclass

import dask
import numpy as np
import pytest

import bckm
from bckm.constraints import Constraints
from tests.support.dask_cluster import drawn_array
from tests.support.row_data import KINDS, drawn_rows


@dataclass(frozen=True)
class Drawn:
    """A tiny problem: rows of a kind, centers, bounds of sizes, and five ways to cut the rows."""

    n: int
    d: int
    kind: str
    seed: int
    centers: np.ndarray
    rules: Constraints
    cuts: tuple

    @property
    def k(self):
        return len(self.centers)

    def rows(self):
        return drawn_rows(0, self.n, self.d, self.kind, self.seed)

    def array(self, chunks):
        return drawn_array(self.n, self.d, chunks, self.kind, self.seed)


def drawn(seed, blocks=14):
    """Draw a problem; no cut makes more than so many blocks, which take time on a cluster."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 150)), int(rng.integers(1, 5))
    k = min(n, int(rng.choice([1, 2, 3, 5, 8, 12 if n > 12 else n])))
    kind = str(rng.choice(KINDS))
    rows = drawn_rows(0, n, d, kind, seed)
    centers = rows[rng.choice(n, k, replace=False)] + rng.normal(scale=0.1, size=(k, d))
    exact = np.bincount(rng.integers(k, size=n - k), minlength=k) + 1
    lower, upper = {
        "any": (0, n),
        "balanced": (n // k, -(-n // k)),
        "exact": (exact.tolist(), exact.tolist()),
        "loose": (n // (2 * k), -(-2 * n // k)),
    }[str(rng.choice(["any", "balanced", "exact", "loose"]))]
    cut = np.sort(rng.integers(0, n + 1, size=int(rng.integers(2, min(9, blocks)))))
    uneven = tuple(np.diff(cut, prepend=0, append=n).tolist())  # some of them empty
    cuts = (-1, -(-n // 2), -(-n // blocks), (1, n - 1), uneven)
    return Drawn(n, d, kind, seed, centers, Constraints(size_min=lower, size_max=upper), cuts)


def told(result):
    """Everything that must be the same."""
    return {
        "labels": np.asarray(result.labels),
        "centers": result.centers,
        "prices": result.prices,
        "inertia": result.inertia,
        "lower bound": result.lower_bound,
        "sizes": result.sizes,
        "steps": [(step.objective, step.assigned, step.lower_bound) for step in result.history],
    }


def equal(a, b):
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name], err_msg=name)


def check_step(problem):
    """Labels for given centers: sizes, primal and dual from all rows, and the engine in memory."""
    X, centers, rules, k = problem.rows(), problem.centers, problem.rules, problem.k
    here = bckm.assign_to(X, centers, rules)
    results = [bckm.assign_to(problem.array(cut), centers, rules) for cut in problem.cuts]
    first = told(results[0])
    for result in results[1:]:
        equal(told(result), first)
    labels = first["labels"]
    assert bckm.verify(labels, k, rules) == []
    costs = np.square(X[:, None] - centers).sum(axis=2)
    primal = costs[np.arange(problem.n), labels].sum()
    size = 1e-9 * max(primal, 1e-9 * np.square(X).max())
    assert primal == pytest.approx(here.inertia, abs=size, rel=1e-9)
    assert results[0].inertia == pytest.approx(primal, abs=size, rel=1e-9)
    prices = first["prices"]
    lower, upper = (np.broadcast_to(bound, k) for bound in (rules.size_min, rules.size_max))
    paid = lower @ np.maximum(prices, 0) - upper @ np.maximum(-prices, 0)
    dual = (costs - prices).min(axis=1).sum() + paid
    assert dual == pytest.approx(primal, abs=size, rel=1e-9)


def check_fit(problem, cuts):
    """A whole fit from given centers: the same in all cuts."""
    options = {"init": problem.centers, "max_iter": 3, "random_state": 0}
    fits = [
        told(bckm.kmeans(problem.array(cut), problem.k, problem.rules, **options)) for cut in cuts
    ]
    assert bckm.verify(fits[0]["labels"], problem.k, problem.rules) == []
    for fit in fits[1:]:
        equal(fit, fits[0])
    return fits[0]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(30))
def test_steps_are_as_good_as_in_memory_whatever_the_chunks(seed):
    check_step(drawn(seed))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(10))
def test_fits_are_the_same_whatever_the_chunks(seed):
    problem = drawn(seed)
    found = check_fit(problem, problem.cuts)
    rows = bckm.ArrayRows(problem.rows())
    options = {"init": problem.centers, "max_iter": 3, "random_state": 0}
    equal(told(bckm.kmeans(rows, problem.k, problem.rules, **options)), found)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_500_problems_in_threads(part):
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        problem = drawn(seed)
        check_step(problem)
        check_fit(problem, problem.cuts)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_500_problems_in_processes(client, part):
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        problem = drawn(seed, blocks=4)
        check_step(problem)
        with dask.config.set(scheduler="threads"):
            expected = check_fit(problem, problem.cuts[:1])
        equal(check_fit(problem, problem.cuts[-1:]), expected)
