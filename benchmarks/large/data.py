"""Rows that depend on their number alone, drawn block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

BLOCK = 2**18  # rows


def blobs(n: int, d: int, number: int = 40, seed: int = 0) -> Iterator[np.ndarray]:
    """Blobs whose shares are drawn from Dirichlet(1): very unequal."""
    rng = np.random.default_rng(seed)
    shares, means = rng.dirichlet(np.ones(number)), 3 * rng.normal(size=(number, d))
    for at, begin in enumerate(range(0, n, BLOCK)):
        rng = np.random.default_rng([seed, at])
        m = min(BLOCK, n - begin)
        rows = rng.standard_normal((BLOCK, d), np.float32)[:m]
        yield rows + means[rng.choice(number, BLOCK, p=shares)[:m]].astype(np.float32)


def written(path: Path, n: int, d: int) -> np.ndarray:
    """The same in a file, as a memmap; a file that is there already is taken."""
    if not path.exists():
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            for rows in blobs(n, d):
                file.write(rows.tobytes())
        part.rename(path)
    return np.memmap(path, np.float32, "r", shape=(n, d))
