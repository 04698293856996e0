"""What rules together cost where there are many samples: CPU of fits, as multiples of simple ones.

``python -m benchmarks.mixed.scale`` prints a Markdown table of all rows; names of rows select some.
Each row is a fit under rules and the fit it is compared with, in one process, with one thread. The
gap is the largest of any step of the engine. ``--search`` is that of both fits; MNIST is read from
the folder ``--datasets``. Set OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bckm

DATASETS = Path(__file__).parents[3] / "shared" / "datasets"


@dataclass(frozen=True, eq=False)
class Case:
    """Data, clusters, the rules that are measured and those they are compared with."""

    X: np.ndarray
    k: int
    rules: bckm.Constraints
    simple: bckm.Constraints | None
    most: float  # how many times the simple fit it may take


def blobs(n: int, k: int, d: int, seed: int) -> tuple[np.random.Generator, np.ndarray]:
    """Overlapping blobs of unequal sizes."""
    rng = np.random.default_rng(seed)
    blob = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))
    return rng, 1.5 * rng.normal(size=(k, d))[blob] + rng.normal(size=(n, d))


def balanced(n: int, k: int, d: int, must: int, cannot: int, most: float) -> Callable[[], Case]:
    """Equal sizes and random links, compared with equal sizes."""

    def make() -> Case:
        rng, X = blobs(n, k, d, 0)
        order = rng.permutation(n)
        sizes = {"size_min": n // k, "size_max": -(-n // k)}
        rules = bckm.Constraints(
            must_link=order[: 2 * must].reshape(-1, 2),
            cannot_link=order[2 * must : 2 * (must + cannot)].reshape(-1, 2),
            **sizes,
        )
        return Case(X, k, rules, bckm.Constraints(**sizes), most)

    return make


def loaded(n: int, k: int, d: int, links: int, most: float) -> Callable[[], Case]:
    """A capacity within 5 % and random links, compared with no rules."""

    def make() -> Case:
        rng, X = blobs(n, k, d, 0)
        amounts = rng.integers(1, 20, n).astype(float)
        mean = amounts.sum() / k
        order = rng.permutation(n)
        rules = bckm.Constraints(
            must_link=order[: 2 * links].reshape(-1, 2),
            cannot_link=order[2 * links : 4 * links].reshape(-1, 2),
            capacities={"load": bckm.Capacity(amounts, 0.95 * mean, 1.05 * mean)},
        )
        return Case(X, k, rules, None, most)

    return make


def staying(n: int, k: int, d: int, most: float) -> Callable[[], Case]:
    """At most a tenth of the samples leave the clusters of other centers; compared with none."""

    def make() -> Case:
        rng, X = blobs(n, k, d, 0)
        centers = X[rng.choice(n, k, replace=False)]
        before = bckm.assign_to(X, centers).labels
        rules = bckm.Constraints(stay=bckm.Stay(before, at_most=n // 10))
        return Case(X, k, rules, None, most)

    return make


def digits(folder: Path, kind: str, most: float) -> Callable[[], Case]:
    """MNIST in 50 components with links of some labels, compared with no rules."""

    def make() -> Case:
        with np.load(folder / "mnist_full.npz") as file:
            X, y = file["X"].astype(float), file["y"]
        X -= X.mean(axis=0)
        _, vectors = np.linalg.eigh(X.T @ X)
        X = np.ascontiguousarray(X @ vectors[:, -50:])
        n, rng = len(y), np.random.default_rng(0)
        if kind.startswith("labels"):
            known = rng.choice(n, n // 100, replace=False)
            if kind == "labels":
                some = np.full(n, -1)
                some[known] = y[known]
                return Case(X, 10, bckm.Constraints.from_labels(some), None, most)
            a, b = (known[side] for side in np.triu_indices(known.size, 1))
        else:
            number = n if kind == "n" else n // 10
            a, b = rng.integers(n, size=(2, number))
            a, b = a[a != b], b[a != b]
        same = y[a] == y[b]
        pairs = np.stack([a, b], axis=1)
        rules = bckm.Constraints(must_link=pairs[same], cannot_link=pairs[~same])
        return Case(X, 10, rules, None, most)

    return make


def cases(folder: Path) -> dict[str, Callable[[], Case]]:
    """All rows by name."""
    found: dict[str, Callable[[], Case]] = {}
    for d in (2, 6, 10):
        found[f"must-{d}"] = balanced(20_000, 50, d, 100, 0, 3)
        found[f"cannot-{d}"] = balanced(20_000, 50, d, 0, 100, 3)
        found[f"both-{d}"] = balanced(20_000, 50, d, 100, 100, 3)
    found["both-million"] = balanced(1_000_000, 100, 16, 10_000, 10_000, 6)
    found["capacity"] = loaded(100_000, 50, 10, 5_000, 20)
    found["capacity-million"] = loaded(1_000_000, 100, 16, 0, 20)
    found["stay"] = staying(100_000, 50, 10, 20)
    found["mnist-labels"] = digits(folder, "labels", 5)
    found["mnist-labels-pairs"] = digits(folder, "labels-pairs", 5)
    found["mnist-n/10"] = digits(folder, "n/10", 10)
    found["mnist-n"] = digits(folder, "n", 30)
    return found


def measured(case: Case, rules: bckm.Constraints | None, options: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of a fit, its inertia and the largest gap of its steps."""
    before = time.process_time()
    result = bckm.kmeans(case.X, case.k, rules, random_state=0, n_jobs=1, **options)
    seconds = time.process_time() - before
    # steps of moves have no bound worth the name; older versions do not tell them apart
    steps = [step for step in result.history if getattr(step, "kind", "") != "moves"]
    gaps = [(step.assigned - step.lower_bound) / step.assigned for step in steps]
    return {
        "cpu": seconds,
        "steps": len(result.history),
        "inertia": result.inertia,
        "gap": max(gaps, default=float("nan")),
        "solver": result.solver,
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="names of rows; all without any")
    parser.add_argument("--search", default="none")
    parser.add_argument("--datasets", type=Path, default=DATASETS)
    parser.add_argument("--max-iter", type=int, help="of both fits")
    given = parser.parse_args(arguments)
    options: dict[str, Any] = {"search": given.search}
    if given.max_iter:
        options["max_iter"] = given.max_iter
    every = cases(given.datasets)
    print("| row | simple: CPU s, steps | rules: CPU s, steps | times | at most | largest gap |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in given.rows or every:
        case = every[name]()
        simple = measured(case, case.simple, options)
        found = measured(case, case.rules, options)
        print(
            f"| {name} | {simple['cpu']:.2f}, {simple['steps']} ({simple['solver']}) | "
            f"{found['cpu']:.2f}, {found['steps']} ({found['solver']}) | "
            f"{found['cpu'] / simple['cpu']:.1f} | {case.most:g} | {found['gap']:.1e} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
