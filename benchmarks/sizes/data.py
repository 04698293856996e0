"""What is clustered: data, starting centers and bounds of a case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

FAR = 1000.0  # where centers "far away" are moved to; the data of all families is within about 30
OUTLIER = 1e6
SLACK = 0.2


@dataclass(frozen=True)
class Case:
    """One set of data with its starting centers, and who is measured on it.

    Attributes
    ----------
    name : str
        Shown in the tables; unique within a mode.
    family : str
        Key of `FAMILIES`.
    start : str
        Key of `STARTS`.
    n, k, d : int
        Samples, clusters, features.
    bounds : tuple of str
        Keys of `BOUNDS`; methods that know bounds are measured once for each.
    methods : tuple of str
        Keys of `methods.METHODS`.
    max_iter : int
        Cap on iterations, the same for every method.
    tol : float
        Stopping rule; its meaning is the same in all methods that have one.
    seed : int
        Of data and centers.
    dtype : str
        Of data and centers.
    """

    name: str
    family: str
    n: int
    k: int
    d: int = 16
    start: str = "k-means++"
    bounds: tuple[str, ...] = ("balanced", "slack")
    methods: tuple[str, ...] = ("ours", "lloyd")
    max_iter: int = 50
    tol: float = 0.0
    seed: int = 0
    dtype: str = "float32"


def blobs(case: Case, rng: np.random.Generator) -> np.ndarray:
    """As many blobs as clusters, of sizes like Zipf's: bounds have to move many samples."""
    share = np.arange(1, case.k + 1) ** -0.7
    rng.shuffle(share)
    middle = rng.normal(scale=6 / math.sqrt(case.d), size=(case.k, case.d)).astype(case.dtype)
    X = rng.standard_normal((case.n, case.d), dtype=case.dtype)
    X += middle[rng.choice(case.k, size=case.n, p=share / share.sum())]
    return X


def uniform(case: Case, rng: np.random.Generator) -> np.ndarray:
    """No clusters at all."""
    return rng.random((case.n, case.d), dtype=case.dtype)


def identical(case: Case, rng: np.random.Generator) -> np.ndarray:
    """One point, n times."""
    return np.repeat(rng.random((1, case.d), dtype=case.dtype), case.n, axis=0)


def few(case: Case, rng: np.random.Generator) -> np.ndarray:
    """Only 50 distinct points: fewer than clusters."""
    return rng.random((50, case.d), dtype=case.dtype)[rng.integers(50, size=case.n)]


def outlier(case: Case, rng: np.random.Generator) -> np.ndarray:
    """Blobs, and one sample so far away that it dwarfs every other distance."""
    X = blobs(case, rng)
    X[0] = OUTLIER
    return X


def grid(case: Case, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers below ten: ties everywhere."""
    return rng.integers(10, size=(case.n, case.d)).astype(case.dtype)


FAMILIES = {
    "blobs": blobs,
    "uniform": uniform,
    "identical": identical,
    "few": few,
    "outlier": outlier,
    "grid": grid,
}


def plus_plus(X: np.ndarray, case: Case, rng: np.random.Generator) -> np.ndarray:
    """Centers of k-means++ on a subsample: not measured, so it need not take long."""
    part = X[rng.choice(case.n, size=min(case.n, max(20_000, 20 * case.k)), replace=False)]
    return kmeans_plusplus(part, case.k, random_state=case.seed)[0]


def rows(X: np.ndarray, case: Case, rng: np.random.Generator) -> np.ndarray:
    """Any samples; where points repeat, k-means++ runs out of places to go."""
    return X[rng.choice(case.n, size=case.k, replace=False)]


def settled(X: np.ndarray, case: Case, rng: np.random.Generator) -> np.ndarray:
    """Centers that Lloyd's algorithm has moved ten times: what later steps look like."""
    start = plus_plus(X, case, rng)
    model = KMeans(case.k, init=start, n_init=1, max_iter=10, tol=0, algorithm="lloyd")
    return model.fit(X).cluster_centers_


def half_far(X: np.ndarray, case: Case, rng: np.random.Generator) -> np.ndarray:
    """Half of the centers far away from all data, all in one direction."""
    start = plus_plus(X, case, rng)
    start[::2] += FAR
    return start


def all_far(X: np.ndarray, case: Case, rng: np.random.Generator) -> np.ndarray:
    """All centers far away: to the samples they look nearly the same."""
    return plus_plus(X, case, rng) + np.asarray(FAR, X.dtype)


STARTS = {
    "k-means++": plus_plus,
    "rows": rows,
    "settled": settled,
    "half far": half_far,
    "all far": all_far,
}


def balanced(n: int, k: int) -> tuple[int, int]:
    """Sizes as equal as they can be; every method gets the same set of allowed sizes."""
    return n // k, -(-n // k)


def slack(n: int, k: int) -> tuple[int, int]:
    """Within 20 % of n / k, and never so narrow that no labels are left."""
    low, high = balanced(n, k)
    return min(low, math.ceil((1 - SLACK) * n / k)), max(high, math.floor((1 + SLACK) * n / k))


BOUNDS = {"balanced": balanced, "slack": slack}


def write(case: Case, folder: Path) -> tuple[Path, Path]:
    """Draw a case into two files, of data and of starting centers."""
    rng = np.random.default_rng(case.seed)
    X = FAMILIES[case.family](case, rng)
    start = STARTS[case.start](X, case, rng)
    paths = folder / "data.npy", folder / "start.npy"
    np.save(paths[0], X)
    np.save(paths[1], np.ascontiguousarray(start, dtype=X.dtype))
    return paths
