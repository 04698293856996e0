"""Data that groups are made of: real ones from a folder outside the repository, and drawn ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

FEATURES = 30  # principal components of pictures
REAL = {
    "iris": 3,
    "wine": 6,
    "yale": 5,
    "orl": 10,
    "umist_32": 20,
    "s1": 20,
    "unbalance": 10,
    "birch1": 50,
}
SAMPLES = 20_000  # of a real data set, at most


def drawn() -> Iterator[tuple[str, np.ndarray, int]]:
    """Yield name, samples and number of groups."""
    rng = np.random.default_rng(19)
    yield "teams", rng.normal(size=(30, 10)), 5
    yield "one feature", rng.normal(size=(1000, 1)), 4
    yield "many features", rng.normal(size=(1000, 20)), 10
    yield "marks", rng.integers(1, 7, (150, 4)).astype(float), 6
    yield "yes and no", (rng.random((600, 6)) < [0.5, 0.3, 0.2, 0.1, 0.5, 0.05]).astype(float), 12
    yield "incomes", rng.lognormal(size=(300, 5)), 10
    yield "pairs", rng.normal(size=(200, 3)), 100
    yield "a large study", rng.normal(size=(20_000, 8)), 40


def real(folder: Path) -> Iterator[tuple[str, np.ndarray, int]]:
    """Yield the same of files."""
    for name, k in REAL.items():
        path = folder / f"{name}.npz"
        if not path.is_file():
            continue
        X = np.load(path)["X"].astype(float).round(6)  # as published, where a file has float32
        X = X.reshape(len(X), -1)
        if len(X) > SAMPLES:
            X = X[np.random.default_rng(0).permutation(len(X))[:SAMPLES]]
        if X.shape[1] > FEATURES:
            X = X - X.mean(axis=0)
            X = X @ np.linalg.svd(X, full_matrices=False)[2][:FEATURES].T
        yield name, X, k


def scaled(X: np.ndarray) -> np.ndarray:
    """Features as z-scores."""
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
