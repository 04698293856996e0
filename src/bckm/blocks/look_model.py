"""`Model`: a model of the rows of a look, and how far it is to be trusted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray
from bckm.blocks.row_model import RowModel


class Model:
    """A model of the rows of a look: the first `exact` points are rows near borders, all of them.

    Where it was at the beginning each of them had its `label`; where it is now, each cluster has
    `left` samples too many or too few.
    """

    def __init__(self, model: RowModel, exact: int) -> None:
        self.model, self.exact = model, exact
        self.left: FloatArray = np.zeros(model.state.k)
        self.label: NDArray[np.int32] = model.state.label.copy()

    def solve(self, centers: FloatArray, deadline: Deadline) -> None:
        """Go to prices at which as few samples as possible are in the wrong cluster."""
        self.model.solve(centers, deadline, exact=True)
        self.left = np.abs(self.model.state.gradient)

    def doubt(self) -> FloatArray:
        """The error of counting samples by points that stand for others, (k,), where it is now."""
        now, last = self.model.state.label, self.label
        moved = self.exact + np.flatnonzero(now[self.exact :] != last[self.exact :])
        square = np.square(self.model.supply[moved].astype(np.float64))
        k = self.model.state.k
        return np.sqrt(sum(np.bincount(at[moved], square, k) for at in (last, now)))
