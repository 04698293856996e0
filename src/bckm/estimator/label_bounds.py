"""Bounds of a fit for other batches: in proportion to the samples, or to what they demand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.constraints import Constraints
from bckm.constraints.parse import demand_blocks
from bckm.constraints.statements import AttributeSum


@dataclass(frozen=True, eq=False)
class _Total:
    """Bounds of a fit on the sums of one resource, and how much there was of it."""

    bounds: dict[str, FloatArray | None]  # size_min, size_max
    total: float
    whole: bool


class Bounds:
    """Bounds of a fit on its clusters, which `assign` scales to other batches.

    Parameters
    ----------
    own : Constraints
        Those of the parameters, with the demand of the samples.
    all_rules : Constraints
        All rules of the fit; their sizes count.
    n_samples : int
        Of the fit.
    """

    def __init__(self, own: Constraints, all_rules: Constraints, n_samples: int) -> None:
        self._sizes: dict[str, IntArray | None]
        self._sizes = {"size_min": all_rules.size_min, "size_max": all_rules.size_max}
        self._n = n_samples
        self._totals = {
            block.name: _Total(
                {"size_min": block.lower, "size_max": block.upper},
                float(block.values.sum()),
                _whole(block.values),
            )
            for block in own.rows
            if isinstance(block, AttributeSum)  # parameters have no other rows
        }

    @property
    def of_demand(self) -> bool:
        """Whether the parameters bound the demand of samples instead of their number."""
        return bool(self._totals)

    def of_batch(
        self, n_samples: int, given: dict[str, Any], demand: Any, asked: Constraints
    ) -> Constraints:
        """Bounds for other samples: of each side those given, else those of the fit, scaled.

        Parameters
        ----------
        n_samples : int
            Of the batch.
        given : dict
            `size_min` and `size_max`, where they are given.
        demand : array or None
            What each sample of the batch takes of the bounds.
        asked : Constraints
            Further rules; sizes in them replace those of the fit too.
        """
        stated = {side: given[side] is not None for side in self._sizes}
        if demand is not None:
            given = {
                side: self._sums(side, demand) if bound is None else bound
                for side, bound in given.items()
            }
        elif lost := [
            side
            for side in self._sizes
            if not stated[side]
            and any(one.bounds[side] is not None for one in self._totals.values())
        ]:
            raise ValueError(
                f"{lost[0]} of fit bounds the sum of a demand: pass demand, one value per sample "
                f"of this X, or {lost[0]} as a bound on the number of samples."
            )
        found = asked & Constraints(**given, demand=demand)
        n, n_fit = n_samples, self._n
        low, up = self._sizes.values()
        least: Any = None if low is None else low * n // n_fit
        most: Any = None if up is None else -(-np.minimum(up, n_fit) * n // n_fit)
        if low is None and n < n_fit:  # `fit` implies one sample each
            least = 0
        keep_min = stated["size_min"] or asked.size_min is not None
        keep_max = stated["size_max"] or asked.size_max is not None
        return found & Constraints(
            size_min=None if keep_min else least, size_max=None if keep_max else most
        )

    def _sums(self, side: str, demand: Any) -> dict[str, FloatArray] | None:
        """Bounds on the sums of each resource, in proportion to how much there is of it."""
        found = {}
        now = {block.name: block.values for block in demand_blocks(demand, {}, {})}
        for name, fit in self._totals.items():
            bound = fit.bounds[side]
            if bound is None:
                continue
            if name not in now:
                names = ", ".join(map(repr, now))
                raise ValueError(f"fit bounds the sums of {name!r}; this demand is of {names}.")
            values = now[name]
            whole = fit.whole and _whole(values)
            scaled = [
                _scaled(float(one), float(values.sum()), fit.total, whole, side)
                for one in bound.ravel()
            ]
            found[name] = np.array(scaled).reshape(bound.shape)
        return found or None


def _whole(values: FloatArray) -> bool:
    return bool((values == np.floor(values)).all())


def _scaled(bound: float, total: float, before: float, whole: bool, side: str) -> float:
    """A bound in proportion to the total; sums of whole numbers need whole bounds, the looser."""
    if not np.isfinite(bound) or before <= 0:
        return bound
    if not whole:
        return bound * (total / before)
    share = Fraction(int(total), int(before))
    if side == "size_max":
        return float(math.ceil(math.floor(bound) * share))
    return float(math.floor(math.ceil(bound) * share))
