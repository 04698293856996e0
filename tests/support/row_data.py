"""Drawn data in which a row depends on its number alone, so that any blocks hold the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = ("blobs", "uniform", "grid", "copies", "far")


def _uniform(numbers: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Numbers in [0, 1), each from its argument and the seed (splitmix64)."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)) * 2.0**-53


def drawn_rows(begin: int, end: int, d: int, kind: str = "blobs", seed: int = 0) -> Any:
    """Rows `begin` to `end` (end - begin, d) of endless data.

    blobs: of very unequal numbers; uniform; grid: many ties; copies: of 7 rows; far: blobs at 1e6.
    """
    row = np.arange(begin, end)
    cell = row[:, None] * d + np.arange(d)
    noise = _uniform(cell, seed)
    if kind == "uniform":
        return noise
    if kind == "grid":
        return np.floor(3 * noise)
    if kind == "copies":
        one = (7 * _uniform(row, seed + 1) ** 2).astype(np.int64)
        return np.floor(9 * _uniform(one[:, None] * d + np.arange(d), seed + 2))
    blob = (8 * _uniform(row, seed + 1) ** 3).astype(np.int64)
    rows = 4 * _uniform(blob[:, None] * d + np.arange(d), seed + 2) + noise
    return rows + 1e6 if kind == "far" else rows
