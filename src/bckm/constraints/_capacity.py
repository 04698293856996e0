"""Bounds on sums of amounts in each cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from bckm._core.note import Note
from bckm._core.tolerance import LARGEST_SUM, overflows
from bckm._core.types import FloatArray
from bckm._core.validation import read_numbers
from bckm._storage.fields import Fields
from bckm.constraints._per_sample import (
    PerSample,
    bound_tree,
    read_bound,
    refuse_crossed,
    split_ids,
)


class Capacity(PerSample):
    """Bounds on the sum of an amount, such as a weight, over the samples of each cluster.

    Parameters
    ----------
    amounts : array of shape (n_samples,), or mapping of sample ids to amounts
        Amount of each sample: kilograms, minutes, people, 0/1 for membership in a class.
    min, max : float or array of shape (n_clusters,), optional
        Bounds on the sum of the amounts in a cluster: one for all clusters, or one per cluster;
        None leaves that side free.

    Examples
    --------
    >>> import bckm
    >>> rules = bckm.Constraints(capacities={"kg": bckm.Capacity([5, 1, 1, 5], max=6)})
    >>> result = bckm.kmeans([[0.], [1.], [2.], [3.]], 2, rules)
    >>> bool(result.labels[0] != result.labels[3])
    True
    """

    values: FloatArray
    what = "amounts"

    def __init__(self, amounts: Any, min: Any = None, max: Any = None) -> None:  # noqa: A002
        self.keyed = isinstance(amounts, Mapping)
        amounts, self.ids = split_ids(amounts)
        self.name = ""  # `Constraints` names it
        self.values = read_numbers(amounts, "amounts of a Capacity")
        if self.values.ndim != 1:
            raise ValueError(
                f"amounts of a Capacity must be one number per sample; got shape "
                f"{self.values.shape}."
            )
        if overflows(self.values):
            text = (
                f"amounts of a Capacity add up to more than {LARGEST_SUM:g}, so sums overflow; "
                "express them and their bounds in a larger unit."
            )
            raise ValueError(Note(text, "overflow"))
        self.min = read_bound(min, -np.inf, "min of a Capacity")
        self.max = read_bound(max, np.inf, "max of a Capacity")
        for side, word in ((self.min, "min"), (self.max, "max")):
            if side is not None and side.ndim > 1:
                raise ValueError(f"{word} of a Capacity must be a number or one per cluster.")
        if self.min is not None and self.max is not None:
            low, up = np.atleast_1d(self.min), np.atleast_1d(self.max)
            if low.size == 1 or up.size == 1 or low.size == up.size:  # else refused by rules()
                low, up = np.broadcast_arrays(low, up)
                refuse_crossed(low, up, "a Capacity", ("min", "max"))

    def named(self, name: str) -> Self:
        """The same capacity under the name that messages call it."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, name=name)
        return other

    def _own_tree(self) -> dict[str, Any]:
        return {
            "values": np.asarray(self.values, float),
            "min": bound_tree(self.min),
            "max": bound_tree(self.max),
        }

    @classmethod
    def _own_fields(cls, fields: Fields) -> dict[str, Any]:
        values = fields.floats("values", (None,))
        sides = {"min": fields.bound("min"), "max": fields.bound("max")}
        return {"name": fields.text("name"), "values": values, **sides}

    def __repr__(self) -> str:
        sides = [
            f"{word}={value.tolist()}"
            for word, value in (("min", self.min), ("max", self.max))
            if value is not None
        ]
        return f"Capacity({', '.join([f'{self.values.size} samples', *sides])})"
