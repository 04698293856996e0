"""When a bound on a sum counts as kept: the one definition, for checker, engines and views.

Numbers are taken as they are in float64, and their sums exactly. A sum may be beyond its bound by

- 1e-9 of the bound, or of the smallest amount that any sample has, if that is larger;
- and 2**-49 of what the cluster holds, amounts counted without their signs: as much as the decimals
  that a person wrote may differ from the numbers that are nearest to them, with room to spare.

Nothing else: what lies in other clusters widens no bound. Engines keep to `STRICT` of it, so that
what they round never makes labels that the checker refuses.
"""

from __future__ import annotations

import math

import numpy as np

from bckm._core.types import FloatArray, IntArray

TOLERANCE = 1e-9
ROUNDING = 2.0**-49
STRICT = 0.5
LARGEST_SUM = 1e300  # of all amounts without their signs: no sum of some of them overflows


def smallest(values: FloatArray) -> float:
    """The smallest amount without its sign; nothing counts as an amount that is zero."""
    used = np.abs(values[values != 0])
    return float(used.min()) if used.size else 0.0


def allowed(bound: float, least: float, held: float, tolerance: float = TOLERANCE) -> float:
    """How far a sum may be beyond its bound.

    `least` is the smallest amount of any sample, `held` what the cluster holds, amounts without
    their signs. Where each unit beyond a bound is paid for, `tolerance` is zero: only rounding is
    allowed.
    """
    return tolerance * max(abs(bound), least) + ROUNDING * held


def overflows(values: FloatArray) -> bool:
    """Whether sums of some of the values may be too large for float64."""
    with np.errstate(over="ignore"):
        return not float(np.abs(values).sum()) <= LARGEST_SUM


def exact_parts(values: FloatArray) -> list[FloatArray]:
    """Split numbers into parts, each of whole multiples of one unit that float64 adds up exactly.

    Sums of the parts over any groups are exact; `joined` makes of them the nearest number.
    """
    if values.size == 0 or not values.any():
        return [values]
    bits = 52 - int(values.size).bit_length()  # so many multiples of 2 ** bits stay below 2 ** 53
    parts, rest = [], values
    while True:
        reach = math.frexp(float(np.abs(rest).max()))[1]
        digits = np.ldexp(rest, bits - reach)  # powers of two: exact, or far too small to matter
        part = np.ldexp(np.trunc(digits), reach - bits)
        parts.append(part)
        rest = rest - part
        if not rest.any():
            return parts


def part_sums(parts: list[FloatArray], group: IntArray, number: int) -> list[FloatArray]:
    """The sums of parts over each group, exact."""
    sums: list[FloatArray] = []
    for part in parts:
        sums.append(np.bincount(group, part, number).astype(np.float64, copy=False))
    return sums


def joined(sums: list[FloatArray]) -> FloatArray:
    """Add up the sums of the parts, to the nearest number."""
    if len(sums) <= 2:
        return np.asarray(sums[0] + sums[1] if len(sums) == 2 else sums[0])
    table = np.stack(sums, axis=-1)
    flat = [math.fsum(row) for row in table.reshape(-1, len(sums)).tolist()]
    return np.array(flat).reshape(table.shape[:-1])


def group_sums(values: FloatArray, group: IntArray, number: int) -> FloatArray:
    """The sum of each group, to the nearest number."""
    return joined(part_sums(exact_parts(values), group, number))
