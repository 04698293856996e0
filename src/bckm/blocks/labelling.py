"""`Labelling`: all that labels follow from, for any block of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.blocks.frame import Frame
from bckm.blocks.look import best_labels
from bckm.blocks.question import Question


@dataclass(frozen=True, eq=False)
class Labelling:
    """Each row has its best cluster at the prices, but for a few exceptions.

    Attributes
    ----------
    frame : Frame
        What centers and prices are in the units of.
    centers, prices : arrays (k, d), (k,)
        As in a `Question`.
    index, label : arrays (m,)
        Exceptions: numbers of rows at the border of two clusters, increasing, and their clusters.
    """

    frame: Frame
    centers: FloatArray
    prices: FloatArray
    index: IntArray
    label: NDArray[np.int32]

    def without_exceptions(self) -> Labelling:
        """The rule alone, for rows that were not part of it."""
        return Labelling(self.frame, self.centers, self.prices, self.index[:0], self.label[:0])


def label_block(
    block: NDArray[Any],
    offset: int,
    labelling: Labelling,
    threads: int = 1,
    deadline: Deadline | None = None,
) -> NDArray[np.int32]:
    """Labels of a block whose first row is number `offset`."""
    question = Question(labelling.frame, labelling.centers, labelling.prices)
    labels = np.empty(len(block), np.int32)
    for part, found in best_labels(block, question, threads, deadline):
        labels[part] = found
    begin, end = np.searchsorted(labelling.index, [offset, offset + len(block)])
    labels[labelling.index[begin:end] - offset] = labelling.label[begin:end]
    return labels
