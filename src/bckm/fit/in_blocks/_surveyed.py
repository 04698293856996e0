"""Data in blocks after the first pass, and the bounds on their clusters."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.rounding import rounded_down
from bckm._core.status import Status
from bckm._core.types import IntArray
from bckm._core.validation import LARGEST
from bckm.assign.base import OPTIMALITY
from bckm.blocks.coordinator import Coordinator
from bckm.blocks.frame import Frame
from bckm.blocks.holder import Holder
from bckm.blocks.labeling import Labeling
from bckm.blocks.question import MOST
from bckm.blocks.step import Step as Assigned
from bckm.blocks.survey import Survey
from bckm.constraints import Constraints

SAMPLE = 2**17  # rows of the sample, unless they are wide: it is held several times
SAMPLE_NUMBERS = 2**23
ROW_NUMBERS = 2**22  # rows that a look may return, unless they are wide: models hold them, too
EACH, MOST_NUMBERS = 64, 2**25  # but so many for each cluster, unless they are very wide
SEED = 0  # of the sample: the same rows whatever the seed of a fit
ZERO = 1e-28  # squared distances that rounding may leave of none, where rows reach to 1


@dataclass(frozen=True, eq=False)
class Sizes:
    """Least and most rows of each cluster, (k,)."""

    lower: IntArray
    upper: IntArray

    @property
    def interchangeable(self) -> bool:
        """Whether no bound tells one cluster from another."""
        return bool((self.lower == self.lower[0]).all() and (self.upper == self.upper[0]).all())

    def of_sample(self, n_rows: int, n_sampled: int) -> Constraints:
        """Bounds for a sample: of so many rows so many."""
        lower = self.lower * n_sampled // n_rows
        upper = np.minimum(-(-self.upper * n_sampled // n_rows), n_sampled)
        filled = np.maximum(lower, np.minimum(self.lower, 1))
        if filled.sum() <= n_sampled:  # a cluster that is not to be empty is not to begin so
            lower = filled
        return Constraints(size_min=lower, size_max=np.maximum(lower, upper))


@dataclass(frozen=True, eq=False)
class Surveyed:
    """Data in blocks, after the first pass."""

    holder: Holder
    survey: Survey
    frame: Frame
    sizes: Sizes
    seconds: float  # that a pass takes, about

    @classmethod
    def of(cls, holder: Holder, sizes: Sizes, deadline: Deadline) -> Surveyed:
        """Read all rows once."""
        began = time.perf_counter()
        k, n, d = sizes.lower.size, holder.n_rows, holder.n_features
        many = max(min(SAMPLE, SAMPLE_NUMBERS // d), min(EACH * k, MOST_NUMBERS // d), 2 * k)
        survey = holder.survey(min(1.0, many / n), SEED, deadline)
        if survey.bad is not None:
            raise ValueError(
                f"X contains NaN or infinity, first at {holder.place(*survey.bad)}; "
                "impute or drop such samples before clustering."
            )
        largest = float(np.maximum(-survey.low, survey.high).max())
        if largest > LARGEST:
            raise ValueError(f"X contains {largest:g}, whose square overflows; rescale X.")
        return cls(holder, survey, survey.frame(), sizes, time.perf_counter() - began)

    def coordinator(self, threads: int) -> Coordinator:
        """Who makes assignments of these data."""
        bounds = (self.sizes.lower, self.sizes.upper)
        most = max(min(MOST, ROW_NUMBERS // self.holder.n_features), 2**14)
        return Coordinator(self.holder, self.survey, self.frame, *bounds, threads, most)

    @property
    def scale(self) -> float:
        """From costs to the units of the inertia."""
        return self.frame.x_scale**2

    def bound_out(self, found: Assigned) -> float:
        """The bound of an assignment in the units of X."""
        return rounded_down(max(min(found.bound, found.cost), 0.0) * self.scale)

    def status(self, found: Assigned) -> Status:
        """Whether an assignment is proven to be the best."""
        cost = found.cost * self.scale
        close = cost - self.bound_out(found) <= max(OPTIMALITY * cost, self._zero)
        return Status.OPTIMAL if close else Status.FEASIBLE

    @property
    def _zero(self) -> float:
        """What labels cost where rounding alone keeps rows from their centers."""
        return ZERO * self.survey.n * self.scale

    def checked(self, labeling: Labeling, sizes: IntArray) -> Any:
        """Labels of all rows; counted once more, since none that violate a bound may leave."""
        labels = self.holder.labels(labeling)
        if isinstance(labels, np.ndarray):
            counted = np.bincount(labels, minlength=sizes.size)
        else:
            counted = self.holder.count(labeling)
        within = (counted >= self.sizes.lower).all() and (counted <= self.sizes.upper).all()
        if not within or not np.array_equal(counted, sizes):
            raise RuntimeError(
                f"bug in bckm: clusters of {counted.tolist()!r:.60} rows, not of "
                f"{sizes.tolist()!r:.60}. Please report it."
            )
        return labels
