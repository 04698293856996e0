"""``bckm bench``: how quick it is on this machine, in the same run as others."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bckm._core.terminal import say

if TYPE_CHECKING:
    from bckm._core.types import FloatArray

_EPILOG = """
\b
Example:
  bckm bench --samples 20000 --clusters 100
"""


@dataclass(frozen=True)
class _Row:
    seconds: float
    inertia: float
    smallest: int
    largest: int


@click.command(epilog=_EPILOG, short_help="How quick is it here, and against others?")
@click.option("--samples", type=click.IntRange(2), default=10_000, show_default=True)
@click.option("--features", type=click.IntRange(1), default=8, show_default=True)
@click.option("--clusters", type=click.IntRange(1), default=20, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--peer/--no-peer", default=True, help="Also k-means-constrained, if installed.")
def bench(samples: int, features: int, clusters: int, seed: int, peer: bool) -> None:
    """Measure fits of blobs of unequal sizes, all from the same first centers.

    Plain k-means of scikit-learn; bckm without rules, with clusters of equal size, and with links
    too; k-means-constrained where it is installed. Ratios are against scikit-learn, in one run.
    """
    import numpy as np

    if clusters > samples:
        raise click.UsageError(f"{clusters} clusters are asked of {samples} samples.")
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(clusters, 2.0))
    where = rng.choice(clusters, samples, p=share)
    X = rng.normal(0, 4, (clusters, features))[where] + rng.normal(0, 1, (samples, features))  # noqa: N806
    centers = X[rng.choice(samples, clusters, replace=False)]
    pairs = rng.choice(samples, (max(samples // 100, 1), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    methods = _methods(X, clusters, centers, pairs, peer)
    width = max(map(len, methods))
    say(f"{samples} samples, {features} features, {clusters} clusters")
    say(f"{'':{width}}  {'seconds':>8}  {'ratio':>7}  {'inertia':>10}  sizes")
    base = None
    for what, labels_of in methods.items():
        began = time.perf_counter()
        labels = labels_of()
        row = _judged(time.perf_counter() - began, X, labels, clusters)
        base = base or row.seconds
        say(
            f"{what:{width}}  {row.seconds:8.3f}  {row.seconds / base:7.2f}  "
            f"{row.inertia:10.5g}  {row.smallest} to {row.largest}"
        )


def _methods(
    X: FloatArray,  # noqa: N803
    k: int,
    centers: FloatArray,
    pairs: Any,
    peer: bool,
) -> dict[str, Callable[[], Any]]:
    from sklearn.cluster import KMeans

    import bckm

    low, high = len(X) // k, -(-len(X) // k)
    sizes = bckm.Constraints(size_min=low, size_max=high)
    half = len(pairs) // 2
    # apart only: together might contradict it
    links = bckm.Constraints(cannot_link=pairs[:half]) & sizes

    def ours(rules: bckm.Constraints | None) -> Any:
        return bckm.kmeans(X, k, rules, init=centers, search="none").labels

    ours(None)  # what is imported or compiled at first use is nobody's time
    KMeans(k, init=centers, n_init=1).fit(X[: max(k, 100)])
    found: dict[str, Callable[[], Any]] = {
        "scikit-learn, no rules": lambda: KMeans(k, init=centers, n_init=1).fit(X).labels_,
        "bckm, no rules": lambda: ours(None),
        "bckm, equal sizes": lambda: ours(sizes),
        f"bckm, equal sizes and {half} links": lambda: ours(links),
    }
    if peer:
        try:
            from k_means_constrained import KMeansConstrained
        except ImportError:
            return found
        found["k-means-constrained, equal sizes"] = lambda: (
            KMeansConstrained(k, low, high, init=centers, n_init=1).fit(X).labels_
        )
    return found


def _judged(seconds: float, X: FloatArray, labels: Any, k: int) -> _Row:  # noqa: N803
    """Inertia of the labels at their means, whatever the method says of itself."""
    import numpy as np

    sizes = np.bincount(labels, minlength=k)
    sums = np.zeros((k, X.shape[1]))
    np.add.at(sums, labels, X)
    means = sums / np.maximum(sizes, 1)[:, None]
    return _Row(
        seconds, float(np.square(X - means[labels]).sum()), int(sizes.min()), int(sizes.max())
    )
