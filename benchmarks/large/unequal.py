"""Balanced clusters of data in very unequal blobs: an iteration against scikit-learn's, in one run.

    python -m benchmarks.large.unequal [--cases large many small] [--seeds 2] [--threads 1]

Data: 40 blobs in 16 features whose shares are drawn from Dirichlet(1), so that exact balance moves
many samples far. Both run Lloyd's algorithm from the same k-means++ centers of a sample, for as
many iterations; scikit-learn's knows no sizes. CPU seconds of each per iteration, all that a fit
does included, and their ratio, which is what counts. Both count the last iteration, which finds
that nothing changes any more. With --repeat, the least of so many runs of each.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from threadpoolctl import threadpool_limits

import bckm

CASES = {  # N and k
    "large": [(1_000_000, 100)],
    "many": [(100_000, 300), (100_000, 1000)],
    "small": [(2_000, 100), (5_000, 100), (20_000, 100)],
}
KINDS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "blobs": lambda rng, n, d: _blobs(rng, n, d, rng.dirichlet(np.ones(40)), 5.0),
    "mild": lambda rng, n, d: _blobs(rng, n, d, np.full(40, 1 / 40), 2.0),
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "heavy": lambda rng, n, d: rng.standard_t(2, size=(n, d)),
}


def _blobs(rng: np.random.Generator, n: int, d: int, share: np.ndarray, apart: float) -> np.ndarray:
    middle = apart * rng.normal(size=(share.size, d))
    return middle[rng.choice(share.size, n, p=share)] + rng.normal(size=(n, d))


def main() -> None:
    """Run the comparison and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=["blobs"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    bckm.kmeans(np.arange(20.0)[:, None], 2, bckm.Constraints(size_min=10))  # imports
    print("| data | N | k | seed | bckm | scikit-learn | ratio | largest gap |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in options.kinds:
        for case in options.cases:
            for n, k in CASES[case]:
                for seed in range(options.first_seed, options.first_seed + options.seeds):
                    compare(kind, n, k, seed, options)


def compare(kind: str, n: int, k: int, seed: int, options: argparse.Namespace) -> None:
    """Measure both on one data set."""
    iterations, threads = options.iterations, options.threads
    rng = np.random.default_rng(seed)
    X = KINDS[kind](rng, n, 16)
    sample = X[rng.choice(n, min(n, max(10_000, 20 * k)), replace=False)]
    centers, _ = kmeans_plusplus(sample, k, random_state=seed)
    rules = bckm.Constraints(size_min=n // k, size_max=-(-n // k))
    peer = KMeans(k, init=centers, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results: list[bckm.Result] = []
        fit = partial(
            bckm.kmeans,
            X,
            k,
            rules,
            init=centers,
            n_init=1,
            max_iter=iterations,
            tol=0,
            search="none",
            n_jobs=threads,
        )
        theirs = ours = float("inf")
        for _ in range(options.repeat):  # by turns: what else the machine does changes
            theirs = min(theirs, _seconds(lambda: peer.fit(X)))
            ours = min(ours, _seconds(lambda: results.append(fit())))
    theirs /= peer.n_iter_
    steps = results[0].history
    ours /= len(steps) + (results[0].status == "converged")
    gap = max((step.assigned - step.lower_bound) / step.assigned for step in steps)
    sizes = np.bincount(results[0].labels, minlength=k)
    assert (sizes.min(), sizes.max()) == (n // k, -(-n // k))
    print(
        f"| {kind} | {n:,} | {k} | {seed} | {1e3 * ours:.1f} ms | {1e3 * theirs:.1f} ms "
        f"| {ours / theirs:.2f} | {gap:.1e} |",
        flush=True,
    )


def _seconds(work: Callable[[], object]) -> float:
    """CPU seconds of all threads."""
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
