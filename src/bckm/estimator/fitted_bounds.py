"""Capacities from the parameters of the estimator; bounds of a fit for other batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import read_numbers, read_size_pair, resolve_sizes
from bckm._storage.fields import Fields, narrow, scalar
from bckm.constraints import Constraints
from bckm.constraints.statements import Capacity

_NEEDED = "amounts, one value per row of X"


def read_capacities(amounts: Any, capacity_min: Any, capacity_max: Any) -> dict[str, Capacity]:
    """Capacities of the parameters, by name; of one resource without a name it is 'load'."""
    if amounts is None:
        for side, bound in (("capacity_min", capacity_min), ("capacity_max", capacity_max)):
            if bound is not None:
                raise ValueError(f"{side} bounds the sum of amounts in a cluster: pass {_NEEDED}.")
        return {}
    if capacity_min is None and capacity_max is None:
        raise ValueError("amounts are given without bounds: set capacity_min or capacity_max.")
    columns = _resources(amounts)
    names = list(columns)
    return {
        name: Capacity(
            values,
            _of_resource(capacity_min, names, at, "capacity_min"),
            _of_resource(capacity_max, names, at, "capacity_max"),
        )
        for at, (name, values) in enumerate(columns.items())
    }


def _resources(amounts: Any) -> dict[str, Any]:
    """Columns of the amounts by name."""
    if isinstance(amounts, Mapping):
        return {str(name): values for name, values in amounts.items()}
    if hasattr(amounts, "columns"):  # a frame
        return {str(name): amounts[name] for name in amounts.columns}
    values = read_numbers(amounts, "amounts")
    if values.ndim == 2:
        return {f"load[{at}]": column for at, column in enumerate(values.T)}
    return {"load": values}


def _of_resource(bound: Any, names: list[str], at: int, what: str) -> Any:
    """The part of a bound that concerns one of several resources."""
    if bound is None:
        return None
    if isinstance(bound, Mapping):
        unknown = set(bound) - set(names)
        if unknown:
            raise ValueError(f"{what} has {min(map(str, unknown))!r}, but amounts do not.")
        return bound.get(names[at])
    if len(names) == 1:
        return bound
    array = read_numbers(bound, what, finite=False)
    if array.ndim == 0 or array.shape[-1] != len(names) or array.ndim > 2:
        raise ValueError(
            f"{what} has shape {array.shape} for amounts of {len(names)} resources: give one bound "
            f"for each, or shape (n_clusters, {len(names)})."
        )
    return array[..., at]


@dataclass(frozen=True, eq=False)
class Total:
    """Bounds of a fit on the loads of one resource, and how much there was of it."""

    bounds: dict[str, FloatArray | None]  # capacity_min, capacity_max
    total: float
    whole: bool


class FittedBounds:
    """Bounds of a fit on its clusters, which `assign` scales to other batches.

    Parameters
    ----------
    own : Constraints
        Those of the parameters, with the capacities of the samples.
    all_rules : Constraints
        All rules of the fit; their sizes count.
    n_samples : int
        Of the fit.
    """

    def __init__(self, own: Constraints, all_rules: Constraints, n_samples: int) -> None:
        self.sizes: dict[str, IntArray | None] = {
            side: resolve_sizes(getattr(all_rules, side), n_samples, side)
            for side in ("size_min", "size_max")
        }
        self.n_samples = n_samples
        self.totals = {
            capacity.name: Total(
                {"capacity_min": capacity.min, "capacity_max": capacity.max},
                float(capacity.values.sum()),
                _whole(capacity.values),
            )
            for capacity in own.capacities
        }

    def to_tree(self) -> dict[str, Any]:
        """All of it, for a file."""
        sizes = {side: None if size is None else narrow(size) for side, size in self.sizes.items()}
        totals = [
            {
                "name": scalar(name, "the name"),
                **{
                    side: None if bound is None else np.asarray(bound, float)
                    for side, bound in total.bounds.items()
                },
                "total": total.total,
                "whole": total.whole,
            }
            for name, total in self.totals.items()
        ]
        return {"sizes": sizes, "samples": self.n_samples, "totals": totals}

    @classmethod
    def from_tree(cls, fields: Fields, n_clusters: int) -> Self:
        """Bounds on so many clusters from a file, which may hold anything."""
        bounds, sizes = object.__new__(cls), fields.of("sizes")
        bounds.sizes = {side: sizes.bound(side, whole=True) for side in ("size_min", "size_max")}
        bounds.n_samples = fields.whole("samples")
        bounds.totals = {}
        for tree in fields.all("totals"):
            load = Fields(tree, "a capacity")
            sides = {side: load.bound(side) for side in ("capacity_min", "capacity_max")}
            name: Any = load.scalar("name")
            total, whole = load.number("total"), load.flag("whole")
            if not math.isfinite(total) or (whole and total != math.floor(total)):
                raise ValueError("the sum of amounts is not a number")
            bounds.totals[name] = Total(sides, total, whole)
            _check_length(sides, n_clusters)
        _check_length(bounds.sizes, n_clusters)
        read_size_pair(*bounds.sizes.values())  # which refuses what is negative or crosses
        if bounds.n_samples < 1:
            raise ValueError("the fit had no samples")
        return bounds

    def of_batch(
        self, n_samples: int, given: dict[str, Any], amounts: Any, rules: Constraints
    ) -> Constraints:
        """Bounds for other samples: of each side those given, else those of the fit, scaled.

        Parameters
        ----------
        n_samples : int
            Of the batch.
        given : dict
            `size_min`, `size_max`, `capacity_min` and `capacity_max`, where they are given.
        amounts : array, frame, mapping or None
            What each sample of the batch takes of the capacities.
        rules : Constraints
            Further rules; sizes in them replace those of the fit too.
        """
        n, n_fit = n_samples, self.n_samples
        sizes = Constraints(size_min=given["size_min"], size_max=given["size_max"])
        joined = rules.resolved(n) & sizes.resolved(n) & self._capacities(given, amounts)
        low, up = self.sizes.values()
        least: Any = None if low is None else low * n // n_fit
        most: Any = None if up is None else -(-np.minimum(up, n_fit) * n // n_fit)
        if low is None and n < n_fit:  # `fit` implies one sample each
            least = 0
        return joined & Constraints(
            size_min=least if joined.size_min is None else None,
            size_max=most if joined.size_max is None else None,
        )

    def _capacities(self, given: dict[str, Any], amounts: Any) -> Constraints:
        sides = {side: given[side] for side in ("capacity_min", "capacity_max")}
        if amounts is not None:
            sides = {
                side: self._scaled(side, amounts) if bound is None else bound
                for side, bound in sides.items()
            }
        elif self.totals and not any(bound is not None for bound in sides.values()):
            raise ValueError(f"fit bounds the sum of amounts in each cluster: pass {_NEEDED}.")
        return Constraints(capacities=read_capacities(amounts, *sides.values()))

    def _scaled(self, side: str, amounts: Any) -> dict[str, FloatArray] | None:
        """Bounds on the loads of each resource, in proportion to how much there is of it."""
        scaled = {}
        now = {name: Capacity(values).values for name, values in _resources(amounts).items()}
        for name, fit in self.totals.items():
            bound = fit.bounds[side]
            if bound is None:
                continue
            if name not in now:
                names = ", ".join(map(repr, now))
                raise ValueError(
                    f"fit bounds the sums of {name!r}, but these amounts are of {names}."
                )
            values = now[name]
            whole = fit.whole and _whole(values)
            each = [
                _in_proportion(float(value), float(values.sum()), fit.total, whole, side)
                for value in bound.ravel()
            ]
            scaled[name] = np.array(each).reshape(bound.shape)
        return scaled or None


def _check_length(sides: Mapping[str, Any], n_clusters: int) -> None:
    for side, bound in sides.items():
        if bound is not None and bound.ndim and bound.size != n_clusters:
            raise ValueError(f"{side} has {bound.size} values for {n_clusters} clusters")


def _whole(values: FloatArray) -> bool:
    return bool((values == np.floor(values)).all())


def _in_proportion(bound: float, total: float, before: float, whole: bool, side: str) -> float:
    """A bound in proportion to the total; sums of whole numbers need whole bounds, the looser."""
    if not np.isfinite(bound) or before <= 0:
        return bound
    if not whole:
        return bound * (total / before)
    share = Fraction(int(total), int(before))
    if side == "capacity_max":
        return float(math.ceil(math.floor(bound) * share))
    return float(math.floor(math.ceil(bound) * share))
