"""Sums of many numbers without rounding, in any order: as whole numbers of very small units.

A number of at most 1 is cut into pieces, whole multiples of 2^-28, 2^-56 and so on; only what lies
below the last unit is rounded off, for each number alone. Pieces are summed up as integers, so a
sum does not depend on how the numbers were divided among blocks, threads or machines.
"""

from __future__ import annotations

import math

import numpy as np

from bckm._core.types import FloatArray, IntArray

BITS = 28  # of a piece: 2^35 of them fit into an int64
COST_PIECES = 4
COST_UNIT = 2 ** (BITS * COST_PIECES)  # units in a cost of 1
MEAN_UNIT = 2.0 ** (2 * BITS)


def pieces(values: FloatArray, number: int) -> list[IntArray]:
    """Cut numbers of at most 1 into pieces, the largest first."""
    cut, rest = [], values
    for _ in range(number):
        rest = rest * 2.0**BITS
        top = np.rint(rest)
        cut.append(top.astype(np.int64))
        rest = rest - top
    return cut


def total(sums: IntArray | list[int]) -> int:
    """The sum of numbers, in units of their last piece, from the sums of the pieces."""
    value = 0
    for part in sums:
        value = (value << BITS) + int(part)
    return value


def sums_of(
    rows: FloatArray, labels: IntArray, k: int, units: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Sums of the rows of each cluster, (k, d): of their first and of their second pieces.

    `units` says how often each row counts; less than 2^34 times.
    """
    found = []
    for part in pieces(rows, 2):
        sums = np.zeros((k, rows.shape[1]), np.int64)
        np.add.at(sums, labels, part if units is None else part * units[:, None])
        found.append(sums)
    return found[0], found[1]


def cost_of(costs: FloatArray, scale: float, units: IntArray | None = None) -> int:
    """The sum of costs in units of `COST_UNIT`; `scale`, a power of two, brings all below 1."""
    times = 1 if units is None else units
    return total([int((part * times).sum()) for part in pieces(costs * scale, COST_PIECES)])


def cost_scale(centers: FloatArray) -> float:
    """A power of two that brings the costs of all rows of a frame below 1."""
    # |x - c|^2 <= d (1 + max |c|)^2
    most = centers.shape[1] * (1.0 + float(np.abs(centers).max())) ** 2
    return math.ldexp(1.0, -math.frexp(most)[1])


def as_float(cost: int, scale: float) -> float:
    """A sum of costs as the nearest float."""
    return float(cost / COST_UNIT / scale)  # whole numbers divide without a rounding between


def as_means(high: IntArray, low: IntArray, counts: IntArray) -> FloatArray:
    """Sums divided by counts, one rounding at a time; zero where nothing was counted."""
    # high * 2^28 + low may be beyond int64: whole parts of the quotient first
    number = np.maximum(counts, 1)[:, None]
    quotient, rest = np.divmod(high, number)
    # rest < number < 2^34, and less than 2^27 of each row in low: no overflow below
    below = rest * 2**BITS + low
    means: FloatArray = (quotient * 2.0**BITS + below / number) / MEAN_UNIT
    return means
