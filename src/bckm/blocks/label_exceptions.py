"""From settled rows to the exceptions of a `Labeling`: which samples are not in the best cluster.

Samples so near to a border that rounding decides are listed, too, wherever they are: who labels
rows later may round otherwise, on a GPU or on a machine with other instructions.

Where many samples share a row and have to go to different clusters, the first ones (by number) go
to the first cluster. Which number that ends at is found by looks that count the samples of such
rows in windows, a thousand times narrower each time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.rounding import UNIT
from bckm._core.types import FloatArray, IntArray
from bckm.blocks.answer import FEW, Taken
from bckm.blocks.holder import Holder
from bckm.blocks.labeling import Labeling, Ties
from bckm.blocks.look import see
from bckm.blocks.question import WINDOWS, Listed, Question
from bckm.blocks.settling import Parts, Settled, rounding_of_gaps

MARGIN = 2.0  # in roundings of gaps: rows with less slack may be labeled otherwise elsewhere
SHORT = 1e-6  # slack is told in float32


def labeling_of(
    settled: Settled, taken: Taken, question: Question, holder: Holder, deadline: Deadline
) -> Labeling:
    """All that the labels of a settled assignment follow from."""
    parts, best = settled.parts, settled.best
    frame, centers, prices = question.frame, question.centers, settled.prices
    points = frame.inside(taken.rows)
    slack = see(points, centers, prices).slack.astype(np.float64)
    margin = margin_of(np.square(points - centers[best]).sum(axis=1), centers, prices)
    listed = slack <= margin
    # rows whose samples are not all in the best cluster
    listed[parts.row[parts.cluster != best[parts.row]]] = True
    rows = np.flatnonzero(listed)
    few = taken.number[rows] <= FEW
    index, label = _singles(parts, taken, rows[few])
    rule = Labeling(frame, centers, prices, index, label.astype(np.int32))
    if few.all():
        return rule
    # others may see a little more slack in them
    most = float(((1 + SHORT) * slack + margin)[rows[~few]].max())
    return replace(rule, ties=_ties(rule, parts, taken, rows[~few], most, holder, deadline))


def margin_of(own: FloatArray, centers: FloatArray, prices: FloatArray) -> FloatArray:
    """Slack that rounding may take from rows, or add to them, where others compute it.

    `own` is what their clusters cost, about as much as the second best ones where that matters.
    """
    rounding = rounding_of_values(own, centers, prices)
    return np.asarray(rounding + MARGIN * rounding_of_gaps(centers, prices))


def rounding_of_values(own: FloatArray, centers: FloatArray, prices: FloatArray) -> FloatArray:
    """By how much values of the best two clusters may be wrong, added up by features in float64."""
    size = 2 * own + 4 * np.abs(prices).max()
    return np.asarray((centers.shape[1] + 4) * UNIT * size)


def _singles(parts: Parts, taken: Taken, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Samples of rows of few samples, and their labels."""
    wanted = np.zeros(len(taken.rows), bool)
    wanted[rows] = True
    mine = wanted[parts.row]
    # samples by row and then by number, as parts are by row and then by cluster
    samples = np.flatnonzero(wanted[taken.which])
    samples = samples[np.lexsort((taken.index[samples], taken.which[samples]))]
    label = np.repeat(parts.cluster[mine], parts.units[mine])
    index = taken.index[samples]
    order = np.argsort(index)
    return index[order], label[order]


def _ties(
    rule: Labeling,
    parts: Parts,
    taken: Taken,
    rows: IntArray,
    slack: float,
    holder: Holder,
    deadline: Deadline,
) -> Ties:
    """Samples of rows of many samples, none of which has more slack."""
    begin, end = np.searchsorted(parts.row, rows), np.searchsorted(parts.row, rows, side="right")
    mine = np.concatenate([np.arange(b, e) for b, e in zip(begin, end, strict=True)])
    cluster, starts = parts.cluster[mine], np.cumsum([0, *(end - begin)])
    ends = np.full(mine.size, holder.n_rows)
    # all but the last entry of each row end where so many samples have gone before
    inner = np.ones(mine.size, bool)
    inner[starts[1:] - 1] = False
    which = np.repeat(np.arange(rows.size), end - begin)
    so_far = np.cumsum(parts.units[mine])
    target = so_far - np.concatenate([[0], so_far])[starts[:-1]][which]
    if inner.any():
        listed = taken.rows[rows[which[inner]]]
        question = Question(rule.frame, rule.centers, rule.prices, sums=False)
        ends[inner] = _located(question, listed, target[inner], slack, holder, deadline)
    return Ties(taken.rows[rows], starts, cluster, ends, slack)


def _located(
    question: Question,
    rows: FloatArray,
    target: IntArray,
    slack: float,
    holder: Holder,
    deadline: Deadline,
) -> IntArray:
    """The number of a sample before which so many samples share a row, for each of some rows."""
    begin, width = np.zeros(target.size, np.int64), -(-holder.n_rows // WINDOWS)
    while True:
        listed = Listed(rows, begin, width, slack)
        counts = holder.look(replace(question, listed=listed), deadline).located
        before = np.cumsum(counts, axis=1)
        window = (before < target[:, None]).sum(axis=1)
        target = target - np.where(window > 0, before[np.arange(target.size), window - 1], 0)
        begin = begin + window * width
        if width == 1:
            return np.asarray(begin + 1)
        width = -(-width // WINDOWS)
