"""Embeddings into balanced clusters, against faiss and scikit-learn without balance, in one run.

    python -m benchmarks.embeddings [--clusters 256 1024] [--samples 200000] [--features 384]

Every method gets the same data in float32, the same number of threads and of iterations, from its
own first centers: k-means++ here and in scikit-learn, random samples in faiss. Sizes are exact in
bckm (floor and ceiling of N / k), free in the others. CPU seconds of everything count, the first
step and the seeding included, divided by the iterations. What a peer costs depends on the machine;
the ratios are what counts. A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bckm
from bckm._core.deadline import Deadline
from bckm.fit.seeding import spread
from bckm.problem.problem import Problem

Rows = NDArray[np.float32]


def sphere(rng: np.random.Generator, n: int, d: int) -> Rows:
    """Normalized blobs, many and of very unequal shares."""
    blobs = max(2, n // 100)
    which = rng.choice(blobs, n, p=rng.dirichlet(np.full(blobs, 0.5)))
    X = rng.normal(size=(blobs, d)).astype(np.float32)[which]
    X += rng.normal(size=(n, d)).astype(np.float32)
    return _normalized(X)


def topics(rng: np.random.Generator, n: int, d: int) -> Rows:
    """A common direction, topics in few dimensions of falling weight, noise; normalized."""
    rank, number = min(40, d), 300
    weight = (1 / np.sqrt(1 + np.arange(rank))).astype(np.float32)
    which = rng.choice(number, n, p=rng.dirichlet(np.full(number, 0.3)))
    low = rng.normal(size=(number, rank)).astype(np.float32)[which]
    low += 0.7 * rng.normal(size=(n, rank)).astype(np.float32)
    X = (low * weight) @ rng.normal(size=(rank, d)).astype(np.float32)
    X += 0.8 * rng.normal(size=(n, d)).astype(np.float32)
    X += 2 * rng.normal(size=d).astype(np.float32)
    return _normalized(X)


def low_rank(rng: np.random.Generator, n: int, d: int) -> Rows:
    """Few dimensions of falling weight and noise, no clusters."""
    rank = min(32, d)
    weight = (1 / np.sqrt(1 + np.arange(rank))).astype(np.float32)
    low = rng.normal(size=(n, rank)).astype(np.float32) * weight
    X = low @ rng.normal(size=(rank, d)).astype(np.float32) / np.float32(np.sqrt(rank))
    return X + 0.1 * rng.normal(size=(n, d)).astype(np.float32)


def _normalized(X: Rows) -> Rows:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


KINDS: dict[str, Callable[[np.random.Generator, int, int], Rows]] = {
    "sphere": sphere,
    "topics": topics,
    "low_rank": low_rank,
}


@dataclass
class Took:
    """Seconds of a part of a run."""

    cpu: float = 0.0
    wall: float = 0.0


@contextmanager
def taken() -> Iterator[Took]:
    """Measure what happens inside."""
    took, cpu, wall = Took(), time.process_time(), time.perf_counter()
    yield took
    took.cpu, took.wall = time.process_time() - cpu, time.perf_counter() - wall


@dataclass(frozen=True)
class Run:
    """One method on one instance."""

    took: Took
    iterations: int
    inertia: float

    @property
    def each(self) -> float:
        """CPU seconds per iteration."""
        return self.took.cpu / max(1, self.iterations)


def with_faiss(X: Rows, k: int, iterations: int, threads: int) -> Run | None:
    """Run faiss, without balance."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(threads)
    options: dict[str, Any] = {"niter": iterations, "seed": 1, "max_points_per_centroid": len(X)}
    with taken() as took:
        means = faiss.Kmeans(X.shape[1], k, **options)
        means.train(X)
    return Run(took, iterations, float(means.obj[-1]))


def with_sklearn(X: Rows, k: int, iterations: int, threads: int) -> Run | None:
    """Run scikit-learn, without balance."""
    try:
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits
    except ImportError:
        return None
    with threadpool_limits(threads), taken() as took:
        model = KMeans(k, n_init=1, max_iter=iterations, tol=0, random_state=0).fit(X)
    return Run(took, int(model.n_iter_), float(model.inertia_))


def with_bckm(X: Rows, k: int, iterations: int, threads: int, search: str) -> Run:
    """Run bckm with exact balance."""
    n = len(X)
    rules = bckm.Constraints(size_min=n // k, size_max=-(-n // k))
    with taken() as took:
        result = bckm.kmeans(
            X,
            k,
            rules,
            search=search,
            n_init=1,
            max_iter=iterations,
            tol=0,
            n_jobs=threads,
            random_state=0,
        )
    assert result.sizes.min() >= n // k
    assert result.sizes.max() <= -(-n // k)
    return Run(took, len(result.history), float(result.inertia))


def seeding(X: Rows, k: int, threads: int) -> Took:
    """What k-means++ alone takes."""
    problem = Problem.build(X, k, bckm.Constraints(), n_jobs=threads)
    with taken() as took:
        spread(problem, np.random.default_rng(0), Deadline())
    return took


def compare(kind: str, X: Rows, k: int, iterations: int, threads: int, search: str) -> str:
    """Run all on one instance; return a row of the table."""
    ours = with_bckm(X, k, iterations, threads, search)
    seeds = seeding(X, k, threads)
    cells = [kind, f"{len(X):,} x {X.shape[1]}", f"{k:,}", f"{ours.each:.2f}"]
    cells += [f"{ours.took.wall:.1f}", f"{seeds.cpu / ours.took.cpu:.0%}"]
    for peer in (with_faiss, with_sklearn):
        theirs = peer(X, k, iterations, threads)
        if theirs is None:
            cells += ["not installed", "", ""]
            continue
        cells += [f"{theirs.each:.2f}", f"{ours.each / theirs.each:.2f}"]
        cells += [f"{ours.inertia / theirs.inertia:.4f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Run the comparison and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=384)
    parser.add_argument("--clusters", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--search", default="none", choices=["none", "auto"])
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    heads = ["data", "N x d", "k", "CPU s per iteration", "wall s", "of it seeding"]
    for peer in ("faiss", "scikit-learn"):
        heads += [peer, "ratio", "inertia ratio"]
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|", flush=True)
    for kind in asked.kinds:
        X = KINDS[kind](np.random.default_rng(asked.seed), asked.samples, asked.features)
        X = np.ascontiguousarray(X, np.float32)
        for k in asked.clusters:
            row = compare(kind, X, k, asked.iterations, asked.threads, asked.search)
            print(row, flush=True)


if __name__ == "__main__":
    main()
