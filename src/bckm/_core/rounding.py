"""How far rounding can carry the numbers of a problem from those of exact arithmetic on X.

Whatever an engine does, its bound is one for points and costs that were rounded. `Rounding` takes
off it what that can have added, for all engines alike; docs/decisions/0016-rounding.md has the
reasoning. Sums of engines that can cancel (prices times bounds) are theirs to care for.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, ldexp, nextafter, sqrt

UNIT = 2.0**-53  # float64 rounds by at most this share
SMALLEST, LARGEST = -1000, 1020  # powers of two: inertias beyond lose digits, or overflow
FULL = 2.0**-1022  # smaller numbers have not all their digits
SUMS = 2048  # roundings in a row that a sum of costs takes at most, and one more per 1,024 terms
SAFETY = 1.01  # of products of many factors 1 + UNIT, and of the arithmetic here


@dataclass(frozen=True)
class Rounding:
    """Bounds on rounding, in the units of a problem.

    Attributes
    ----------
    relative : float
        Of a computed cost, as a share of it.
    off : float
        Root of the weighted sum of the squared distances between points and their exact places,
        and of as much for centers as points have.
    moment : float
        Weighted sum of |point|^2.
    cancelled : float
        Share of |point|^2 + |point - center|^2 by which a squared distance of a sparse point may be
        off.
    tiny : float
        What underflow may have cost.
    """

    relative: float
    off: float
    moment: float
    cancelled: float
    tiny: float

    @classmethod
    def of(
        cls,
        *,
        samples: int,
        features: int,
        largest_item: int,
        moment: float,
        moved: bool,
        sparse: bool,
    ) -> Rounding:
        """Bounds for a problem of so many samples and features.

        The largest item is that of the most must-linked samples; `moved` says whether the origin is
        not zero.
        """
        mean = largest_item + 3.0 if largest_item > 1 else 0.0
        steps = mean + (3.0 if moved else 0.0)
        return cls(
            relative=UNIT * (features + mean + SUMS + samples / 1024),
            off=UNIT * steps * sqrt(moment),
            moment=moment,
            cancelled=ldexp(float(features) ** 2 + 128, -104) if sparse else 0.0,
            tiny=ldexp(float(samples) * (features + 4), -1074),
        )

    def of_bound(self, value: float) -> float:
        """What to take off a bound on costs, where labels are known that cost `value` in all.

        Exact costs of any labels are at least (root - e)^2, where root^2 are their costs for the
        points as they are: the triangle inequality, with e^2 the weighted squares of all that
        points and centers are off. Only labels that cost no more than those at hand matter.
        """
        root = sqrt(value)
        off = self.off + (2 * UNIT * root if self.off else 0.0)
        lost = self.relative * value + self.cancelled * (self.moment + value)
        return SAFETY * (lost + 2 * off * (root + 2 * off)) + self.tiny


def rounded_down(value: float) -> float:
    """A bound that was multiplied by a power of two, no higher than before; never negative."""
    return value if value >= FULL else max(0.0, nextafter(value, -1.0))


def read_scale(x_scale: float, weight_scale: float, size: int) -> float:
    """x_scale^2 * weight_scale, a power of two; refused where inertias overflow or underflow."""
    # x_scale^2 alone may be beyond all numbers
    power = 2 * (frexp(x_scale)[1] - 1) + frexp(weight_scale)[1] - 1
    if not SMALLEST <= power <= LARGEST - 6 - frexp(size)[1]:
        way = "underflow" if power < SMALLEST else "overflow"
        weight = "" if weight_scale == 1 else f", times weights of about {weight_scale:.3g},"
        remedy = "X" if weight_scale == 1 else "X or sample_weight"
        raise ValueError(
            f"the values of X differ by about {x_scale:.3g}: their squares{weight} {way}. Rescale "
            f"{remedy} (for example, divide by the largest value)."
        )
    return ldexp(1.0, power)


def too_far(reach: float, scale: float, size: int) -> bool:
    """Whether squares of numbers up to `reach`, so many of them, overflow in the units of X."""
    return 2 * frexp(reach)[1] + max(0, frexp(scale)[1]) + frexp(size)[1] > LARGEST
