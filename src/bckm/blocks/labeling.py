"""`Labeling`: all that labels follow from, for any block of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.blocks.equal_rows import alike
from bckm.blocks.frame import Frame
from bckm.blocks.look import best_labels
from bckm.blocks.question import Question


@dataclass(frozen=True, eq=False)
class Ties:
    """Rows that many samples share and that lie at the border of clusters: the first go here.

    Attributes
    ----------
    rows : array (t, d)
        The rows, as in X.
    begin : array (t + 1,)
        Where the entries of each row begin in the arrays below.
    cluster, end : arrays (m,)
        Samples of a row go to the cluster of the first entry whose `end` their number is below.
    slack : float
        None of these rows has more slack.
    """

    rows: NDArray[Any]
    begin: IntArray
    cluster: IntArray
    end: IntArray
    slack: float

    def relabel(
        self, rows: NDArray[Any], number: IntArray, labels: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Labels of rows, given with their numbers, where some are ties."""
        labels, which = labels.copy(), alike(self.rows, rows)
        for tie in np.unique(which[which >= 0]):
            here = np.flatnonzero(which == tie)
            entries = slice(self.begin[tie], self.begin[tie + 1])
            place = np.searchsorted(self.end[entries], number[here], side="right")
            labels[here] = self.cluster[entries][place]
        return labels


@dataclass(frozen=True, eq=False)
class Labeling:
    """Each row has its best cluster at the prices, but for a few exceptions.

    Attributes
    ----------
    frame : Frame
        What centers and prices are in the units of.
    centers, prices : arrays (k, d), (k,)
        As in a `Question`.
    index, label : arrays (m,)
        Exceptions: numbers of rows at the border of two clusters, increasing, and their clusters.
    ties : Ties or None
        Exceptions that many samples share.
    """

    frame: Frame
    centers: FloatArray
    prices: FloatArray
    index: IntArray
    label: NDArray[np.int32]
    ties: Ties | None = None

    @classmethod
    def plain(cls, centers: FloatArray, prices: FloatArray | None = None) -> Labeling:
        """The rule of centers and prices in the units of X."""
        k, d = centers.shape
        none = np.empty(0, np.int64)
        prices = np.zeros(k) if prices is None else prices
        return cls(Frame(np.zeros(d), 1.0), centers, prices, none, none.astype(np.int32))

    def without_exceptions(self) -> Labeling:
        """The rule alone, for rows that were not part of it."""
        return replace(self, index=self.index[:0], label=self.label[:0], ties=None)


def label_block(
    block: NDArray[Any],
    offset: int,
    labeling: Labeling,
    threads: int = 1,
    deadline: Deadline | None = None,
) -> NDArray[np.int32]:
    """Labels of a block whose first row is number `offset`."""
    question = Question(labeling.frame, labeling.centers, labeling.prices)
    labels, ties = np.empty(len(block), np.int32), labeling.ties
    for part, seen in best_labels(block, question, threads, deadline):
        labels[part] = seen.label
        if ties is not None:
            at = np.flatnonzero(seen.slack <= ties.slack) + part.start
            labels[at] = ties.relabel(block[at], at + offset, labels[at])
    begin, end = np.searchsorted(labeling.index, [offset, offset + len(block)])
    labels[labeling.index[begin:end] - offset] = labeling.label[begin:end]
    return labels
