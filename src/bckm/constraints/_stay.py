"""Previous labels, and what it costs to leave them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm._core.validation import read_numbers, read_price
from bckm._storage.fields import Fields, narrow
from bckm.constraints._per_sample import PerSample, bound_tree, split_ids


class Stay(PerSample):
    """Keep samples in their previous cluster, with a price per move or a maximum number of moves.

    Parameters
    ----------
    labels : array of int, shape (n_samples,), or mapping of sample ids to labels
        Previous cluster of each sample; -1 where there is none (a new sample).
    price : float or array of shape (n_samples,), optional
        Price of moving a sample, in units of inertia.
    confidence : float or array of shape (n_samples,), optional
        The same, independent of scale; see `Constraints.soft`.
    at_most : int, optional
        Maximum number of samples that may move.

    Examples
    --------
    >>> import bckm
    >>> X = [[0.0], [1.0], [4.4], [8.0], [9.0]]
    >>> keep = bckm.Stay([0, 0, 0, 1, 1], at_most=0)
    >>> bckm.kmeans(X, 2, bckm.Constraints(stay=keep), random_state=0).labels.tolist()
    [0, 0, 0, 1, 1]
    """

    values: IntArray
    what = "labels"

    def __init__(
        self, labels: Any, *, price: Any = None, confidence: Any = None, at_most: Any = None
    ) -> None:
        self.keyed = isinstance(labels, Mapping)
        labels, self.ids = split_ids(labels)
        self.name = "stay"
        values = read_numbers(labels, "labels of Stay")
        if values.ndim != 1 or (values != np.floor(values)).any() or (values < -1).any():
            raise ValueError("labels of Stay must be one integer per sample, or -1 for none.")
        self.values = values.astype(np.int64)
        if price is None and confidence is None and at_most is None:
            raise ValueError("Stay needs a price or confidence per move, or at_most.")
        self.relative = price is None
        self.weight = None
        if price is not None or confidence is not None:
            self.weight = read_price(price, confidence)
            if self.weight.ndim and self.weight.size != self.values.size:
                raise ValueError(
                    f"Stay got {self.weight.size} prices for {self.values.size} labels."
                )
        if at_most is not None and (
            isinstance(at_most, bool) or not isinstance(at_most, int | np.integer) or at_most < 0
        ):
            raise ValueError(f"at_most must be a whole number of at least 0; got {at_most!r}.")
        self.at_most = None if at_most is None else int(at_most)

    @property
    def prices(self) -> FloatArray:
        """What the move of each sample costs; nothing where there is no previous cluster."""
        return np.where(self.values >= 0, 0.0 if self.weight is None else self.weight, 0.0)

    @property
    def paid(self) -> BoolArray:
        """Samples whose move costs something; an infinite price is no choice."""
        prices = self.prices
        return np.asarray((prices > 0) & (prices < np.inf))

    def taken(self, order: IntArray, named: bool = False) -> Self:
        """The same statement about some of the samples; each keeps its price."""
        other = super().taken(order, named)
        if self.weight is not None and self.weight.ndim:
            other.weight = self.weight[order]
        return other

    def _own_tree(self) -> dict[str, Any]:
        return {
            "values": narrow(self.values),
            "relative": self.relative,
            "weight": bound_tree(self.weight),
            "at_most": self.at_most,
        }

    @classmethod
    def _own_fields(cls, fields: Fields) -> dict[str, Any]:
        values = fields.whole_numbers("values", least=-1)
        weight = fields.bound("weight")
        if weight is not None and weight.ndim and weight.size != values.size:
            raise ValueError(f"a Stay has {weight.size} prices for {values.size} labels")
        return {
            "values": values,
            "weight": weight,
            "relative": fields.flag("relative"),
            "at_most": None if fields["at_most"] is None else fields.whole("at_most"),
        }

    def __repr__(self) -> str:
        return f"Stay({self.values.size} samples)"
