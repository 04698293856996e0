"""Drawn problems for data on a device: sizes of all kinds, ties, copies, data far from zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import bckm
from bckm._core.on_device import on_host
from tests.support.row_data import KINDS, drawn_rows

DEVICE_KINDS = (*KINDS, "alone", "one")  # as many rows as clusters; one cluster


@dataclass(frozen=True, eq=False)
class DeviceProblem:
    """Rows, bounds on the sizes of k clusters, and centers to assign to."""

    X: Any
    lower: Any
    upper: Any
    centers: Any
    kind: str

    @property
    def k(self) -> int:
        return self.lower.size

    @property
    def rules(self) -> bckm.Constraints:
        return bckm.Constraints(size_min=self.lower, size_max=self.upper)

    @property
    def tied(self) -> bool:
        """Whether many rows lie exactly at borders."""
        return self.kind in ("grid", "copies")


def device_problem(seed: int, most: int = 20_000) -> DeviceProblem:
    """One of many: small ones, whose rows all come to the host, and larger ones."""
    rng = np.random.default_rng([20, seed])
    kind = DEVICE_KINDS[seed % len(DEVICE_KINDS)]
    d = int(rng.choice([1, 2, 3, 5, 8, 9, 16, 17]))
    n = int(np.exp(rng.uniform(np.log(30), np.log(most))))
    k = int(rng.integers(2, 13))
    if kind == "alone":
        n = k = min(n, 40)
    if kind == "one":
        k = 1
    rows = drawn_rows(0, n, d, kind if kind in KINDS else "blobs", seed)
    X = np.ascontiguousarray(rows, rng.choice([np.float32, np.float64]))
    lower, upper = _bounds(rng, n, k)
    centers = X[rng.integers(n, size=k)].astype(np.float64)  # some may be the same
    if seed % 2:
        centers = rng.uniform(X.min(axis=0), X.max(axis=0), (k, d))
    return DeviceProblem(X, lower, upper, centers, kind)


def _bounds(rng: np.random.Generator, n: int, k: int) -> tuple[Any, Any]:
    """Equal sizes, sizes within a tenth of that, given ones, one side alone, or none."""
    share = n / k
    least, most = np.full(k, int(share)), np.full(k, -int(-share // 1))
    match rng.integers(5):
        case 0:
            return least, most
        case 1:
            return np.floor(0.9 * share * np.ones(k)).astype(int), np.ceil(1.1 * most).astype(int)
        case 2:
            given = rng.multinomial(n, rng.dirichlet(np.ones(k)))
            return given, given
        case 3:
            return np.floor(0.7 * share * np.ones(k)).astype(int), np.full(k, n)
    return np.zeros(k, int), np.full(k, n)


def check_on_device(problem: DeviceProblem, X: Any) -> None:
    """Assign and fit X, the rows on a device: as in memory, with exact sizes and a proof."""
    there = bckm.assign_to(X, problem.centers, problem.rules)
    here = bckm.assign_to(problem.X, problem.centers, problem.rules)
    check_result(problem, there, problem.centers)
    zero = (
        1e-28 * problem.X.size * float(np.abs(problem.X).max()) ** 2
    )  # of copies, rounding is left
    assert abs(there.inertia - here.inertia) <= 1e-9 * here.inertia + zero
    if problem.k > problem.X.shape[0]:
        return
    quick = {"max_iter": 5, "n_init": 1, "search": "none"}
    fitted = bckm.kmeans(X, problem.k, problem.rules, random_state=1, **quick)
    check_result(problem, fitted, fitted.centers)
    in_blocks = bckm.ArrayRows(problem.X, rows=1000)
    again = bckm.kmeans(in_blocks, problem.k, problem.rules, random_state=1, **quick)
    if not problem.tied:  # ties lead elsewhere
        assert abs(fitted.inertia - again.inertia) <= 1e-9 * again.inertia + zero


def check_result(problem: DeviceProblem, result: Any, centers: Any) -> None:
    """Sizes to the sample, the inertia from nothing but rows and labels, and a proven gap."""
    labels = on_host(result.labels)
    sizes = np.bincount(labels, minlength=problem.k)
    assert np.array_equal(sizes, result.sizes)
    assert (sizes >= problem.lower).all()
    assert (sizes <= problem.upper).all()
    apart = problem.X.astype(np.float64) - centers[labels]
    cost = float(np.square(apart).sum())
    zero = 1e-28 * problem.X.size * float(np.abs(problem.X).max()) ** 2
    assert abs(result.inertia - cost) <= 1e-9 * cost + zero
    assert result.gap <= 1e-9
    assert result.assignment_status is bckm.Status.OPTIMAL
