"""Bounds on the share, or the number, of each category in each cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from bckm._core.note import Note
from bckm._core.tolerance import LARGEST_SUM
from bckm._core.types import IntArray
from bckm._core.validation import read_numbers
from bckm._storage.fields import Fields, narrow, scalar
from bckm.constraints._categories import categorize
from bckm.constraints._per_sample import PerSample, split_ids

Side = Literal["min", "max"]


class Quota(PerSample):
    """Bounds on the number or share of samples of each category in every cluster.

    Parameters
    ----------
    values : sequence of length n_samples, or mapping of sample ids to values
        Category of each sample: strings, numbers or any distinct values. None, NaN and masked
        values are not categories: such samples count only toward the size of their cluster.
    within : float or str, optional
        Largest difference between the share of a category in a cluster and its share in all data.
        0.1, "10%" and "±10%" all mean ten percentage points.
    share_min, share_max : float or mapping of category to float, optional
        Bounds on the share of each category in each nonempty cluster, from 0 to 1.
    count_min, count_max : float or mapping of category to float, optional
        Bounds on the number of samples of each category in each cluster.
    name : str
        Name of the attribute in messages.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> color = bckm.Quota(["red", "red", "red", "blue", "blue", "blue"], "±20%", name="color")
    >>> labels = bckm.kmeans(X, 2, bckm.Constraints(quotas=[color]), random_state=0).labels
    >>> [sorted((labels[:3] == i).sum() for i in (0, 1)) == [1, 2]]
    [True]
    """

    values: IntArray  # numbers of categories; -1: none

    def __init__(
        self,
        values: Any,
        within: Any = None,
        *,
        share_min: Any = None,
        share_max: Any = None,
        count_min: Any = None,
        count_max: Any = None,
        name: str = "attribute",
    ) -> None:
        self.keyed = isinstance(values, Mapping)
        values, self.ids = split_ids(values)
        self.name = name
        self.categories, self.values = categorize(values, f"values of quota {name!r}")
        self.within = None if within is None else _read_within(within, name)
        sides: dict[tuple[Side, bool], Any] = {
            ("min", True): share_min,
            ("max", True): share_max,
            ("min", False): count_min,
            ("max", False): count_max,
        }
        self._bounds = {side: self._read(bound, *side) for side, bound in sides.items()}
        if self.within is None and not any(self._bounds.values()):
            raise ValueError(
                f"quota {name!r} has no bound; give within='10%', share_min, share_max, "
                "count_min or count_max."
            )
        for share in (True, False):
            for at, low in self._bounds["min", share].items():
                up = self._bounds["max", share].get(at, np.inf)
                if low > up:
                    text = (
                        f"quota {name!r} has contradictory bounds for {self.categories[at]!r}: "
                        f"{low:g} > {up:g}."
                    )
                    raise ValueError(Note(text, "crossed", low=float(low), high=float(up)))

    def _read(self, bound: Any, side: str, share: bool) -> dict[int, float]:
        if bound is None:
            return {}
        what = f"{'share' if share else 'count'}_{side} of quota {self.name!r}"
        if not isinstance(bound, Mapping):
            bound = dict.fromkeys(self.categories, bound)
        known = {category: at for at, category in enumerate(self.categories)}
        bounds = {}
        for category, value in bound.items():
            if category not in known:
                text = f"{what} refers to {category!r}, which no sample has."
                raise ValueError(Note(text, "no_category", category=str(category)))
            number = float(read_numbers(value, what))
            if number < 0 or (share and number > 1):
                text = f"{what} must be {'between 0 and 1' if share else 'at least 0'}."
                raise ValueError(Note(text, "quota_range"))
            bounds[known[category]] = min(number, LARGEST_SUM)
        return bounds

    def bounds(self) -> list[tuple[int, Side, float, bool]]:
        """List all bounds: category, side, value, and whether it is a share."""
        bounds: list[tuple[int, Side, float, bool]] = [
            (at, side, value, share)
            for (side, share), by_category in self._bounds.items()
            for at, value in by_category.items()
        ]
        if self.within is not None:
            share = np.bincount(self.values[self.values >= 0], minlength=len(self.categories))
            for at, whole in enumerate(share / self.values.size):
                if whole > self.within:
                    bounds.append((at, "min", float(whole - self.within), True))
                if whole + self.within < 1:
                    bounds.append((at, "max", float(whole + self.within), True))
        return bounds

    def _own_tree(self) -> dict[str, Any]:
        bounds = [
            {"side": side, "share": share, "category": at, "value": value}
            for (side, share), by_category in self._bounds.items()
            for at, value in by_category.items()
        ]
        return {
            "values": narrow(self.values),
            "categories": [scalar(each, f"category of {self.name!r}") for each in self.categories],
            "within": self.within,
            "bounds": bounds,
        }

    @classmethod
    def _own_fields(cls, fields: Fields) -> dict[str, Any]:
        values = fields.whole_numbers("values", least=-1)
        categories = fields.scalars("categories")
        if values.max(initial=-1) >= len(categories):
            raise ValueError("a quota names a category that is not there")
        bounds: dict[tuple[str, bool], dict[int, float]]
        bounds = {(side, share): {} for share in (True, False) for side in ("min", "max")}
        for tree in fields.all("bounds"):
            bound = Fields(tree, "a bound of a quota")
            side, at = (bound.text("side"), bound.flag("share")), bound.whole("category")
            if side not in bounds or at >= len(categories):
                raise ValueError("a bound of a quota is about nothing")
            bounds[side][at] = bound.number("value")
        within = None if fields["within"] is None else fields.number("within")
        return {"values": values, "categories": categories, "within": within, "_bounds": bounds}

    def __repr__(self) -> str:
        kinds = len(self.categories)
        return f"Quota({self.values.size} samples, {kinds} categories, name={self.name!r})"


def _read_within(within: Any, name: str) -> float:
    value = within
    if isinstance(within, str):
        match = re.fullmatch(r"\s*(?:±|\+-|\+/-)?\s*([0-9.]+)\s*(%?)\s*", within)
        try:
            value = float(match[1]) / (100 if match[2] else 1) if match else None
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        text = f"within of quota {name!r} must be a share such as 0.1 or '±10%'; got {within!r}."
        raise ValueError(Note(text, "within", value=str(within)))
    return float(value)
