"""`Task`: whose rows are to be assigned, and how many to each cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.types import IntArray
from bckm.assign.transport_state import SizeBounds
from bckm.blocks.frame import Frame
from bckm.blocks.holder import Holder
from bckm.blocks.sample_rows import SampleRows


@dataclass(frozen=True, eq=False)
class Task:
    """Whose rows are to be assigned, and how many to each cluster.

    Attributes
    ----------
    holder, frame, sample :
        The rows, the units of all numbers, and some of the rows.
    lower, upper : arrays (k,)
        Least and most samples of each cluster.
    threads, most : int
        How many threads may be used; how many rows a look may return.
    """

    holder: Holder
    frame: Frame
    sample: SampleRows
    lower: IntArray
    upper: IntArray
    threads: int
    most: int

    @property
    def bounds(self) -> SizeBounds:
        """The same as floats."""
        return SizeBounds(self.lower.astype(np.float64), self.upper.astype(np.float64))
