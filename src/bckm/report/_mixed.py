"""What a report says of mixed groups: how alike they are."""

from __future__ import annotations

import numpy as np

from bckm._core.names import Name, shorten
from bckm._core.status import Status
from bckm._core.types import FloatArray
from bckm.report.words import counted, number, plain
from bckm.study import Study, views

LONGEST = 24  # letters of a feature
DIFFERENCE = "Largest difference of means, in standard deviations"


def figures_of_mixed(study: Study) -> list[tuple[str, str]]:
    """The numbers that say how alike groups are, with what they are called."""
    mixing = views.mixing(study)
    assert mixing is not None
    return [(DIFFERENCE, _short(_worst(mixing)[1]))]


def told_of_mixed(study: Study) -> list[str]:
    """How alike the groups are, in sentences."""
    mixing = views.mixing(study)
    assert mixing is not None
    at, most = _worst(mixing)
    name = plain([Name(shorten(mixing.features[at], LONGEST))])
    low, high = np.nanmin(mixing.means[:, at]), np.nanmax(mixing.means[:, at])
    told = [
        f"The groups are alike: means of no feature differ by more than {_short(most)} standard "
        f"deviations (means of {name} are from {number(float(low))} to {number(float(high))})."
    ]
    if study.result.assignment_status is Status.OPTIMAL:
        told.append("It is proven that no groups that obey the rules are more alike.")
    elif mixing.proven.any():
        best = counted(int(mixing.proven.sum()), "feature")
        told.append(f"For {best} it is proven that no groups of these sizes have closer means.")
    return told


MEANING = (
    "of that feature in which groups differ most: the largest less the least mean of a group, "
    "divided by the standard deviation over all samples (how far single samples typically are "
    "from the mean of all); lower is better."
)


def _short(value: float) -> str:
    return number(float(f"{value:.2g}"))


def difference(value: float, deviation: float) -> str:
    """A difference of means: two digits, however small it is beside the values."""
    return "0" if value <= 1e-9 * deviation else _short(value)


def spread_in_deviations(mixing: views.Mixing) -> FloatArray:
    """Largest less least mean of each feature, in standard deviations over all samples, (d,)."""
    return np.asarray(mixing.spread / np.where(mixing.deviation > 0, mixing.deviation, 1.0))


def _worst(mixing: views.Mixing) -> tuple[int, float]:
    """The feature whose means differ most, and by how many standard deviations."""
    apart = spread_in_deviations(mixing)
    at = int(np.argmax(apart))
    return at, float(apart[at])
