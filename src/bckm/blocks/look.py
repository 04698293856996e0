"""A look: one pass over a block at given centers and prices, which keeps nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import blocks, squared_distances
from bckm._core.deadline import Deadline
from bckm._core.rounding import UNIT
from bckm._core.types import FloatArray, IntArray
from bckm.blocks import whole_sums
from bckm.blocks.answer import BINS, Answer, Table, Taken, merged
from bckm.blocks.question import Question
from bckm.blocks.survey import NUMBERS
from bckm.kernels import missing, native

Labels = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of the rows of a part.

    Attributes
    ----------
    label, runner_up : arrays (n,)
        Best and second best cluster at the prices.
    gap : array (n,)
        What the second best costs more, prices included; about.
    slack : array (n,)
        A proven lower bound of that.
    """

    label: Labels
    runner_up: Labels
    gap: FloatArray
    slack: Floats


def look(
    block: NDArray[Any],
    offset: int,
    question: Question,
    threads: int = 1,
    deadline: Deadline | None = None,
) -> Answer:
    """Answer a question about a block whose first row is number `offset`.

    Nothing but `block` is as large as the block; the deadline (`TimeUp`) and Ctrl-C are heard
    between parts of it.
    """
    answers = [_nothing(question, block.shape[1], block.dtype)]
    for part in _parts(block, threads, deadline):
        answers.append(_look(block[part], offset + part.start, question, threads))
        if len(answers) > 16:
            answers = [merged(answers)]
    return merged(answers)


def best_labels(
    block: NDArray[Any], question: Question, threads: int = 1, deadline: Deadline | None = None
) -> Iterator[tuple[slice, Labels]]:
    """The best cluster of each row of a block, part by part."""
    for part in _parts(block, threads, deadline):
        yield part, _see(_plain(block[part]), question, threads, sums=False)[0].label


def _parts(block: NDArray[Any], threads: int, deadline: Deadline | None) -> Iterator[slice]:
    for part in blocks(len(block), block.shape[1], NUMBERS * min(threads, 16)):
        if deadline is not None:
            deadline.check()
        yield part


def _nothing(question: Question, d: int, dtype: Any) -> Answer:
    k, none = question.k, np.empty(0, np.int64)
    sums = np.zeros((k, d) if question.sums else (0, d), np.int64)
    taken = Taken.none(d, dtype)
    return Answer(np.zeros(k, np.int64), 0, sums, sums, Table(none, none), taken, question.most)


def _plain(rows: NDArray[Any]) -> NDArray[Any]:
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _look(rows: NDArray[Any], offset: int, question: Question, threads: int) -> Answer:
    seen, counts, cost, high, low = _see(_plain(rows), question, threads, sums=question.sums)
    table = Table(*(np.empty((2, 0), np.int64)))
    if question.near > 0 and question.k > 1:
        at = np.flatnonzero(seen.gap <= question.near)
        pair = seen.label[at].astype(np.int64) * question.k + seen.runner_up[at]
        table = Table.counted(pair * BINS + Table.bins(seen.gap[at], question.near))
    taken = Taken.none(rows.shape[1], rows.dtype)
    if question.widest >= 0:
        at = _takes(rows, seen, question, threads)
        taken = Taken.found(rows[at], seen.label[at], at + offset, question.most)
    return Answer(counts, cost, high, low, table, taken, question.most)


def _takes(rows: NDArray[Any], seen: Seen, question: Question, threads: int) -> IntArray:
    """Rows that would leave their cluster if its price fell and those of others rose."""
    assert question.fall is not None
    assert question.rise is not None
    fall, rise = question.fall, question.rise
    at = np.flatnonzero(seen.slack <= question.widest)
    if not (np.ptp(fall) or np.ptp(rise)):
        return at
    label = seen.label[at]
    # with all prices risen, and then the own one fallen by so much more
    slack = _slack_of(question.frame.inside(rows[at]), label, question, threads)
    return at[slack <= (fall + rise)[label]]


def _slack_of(points: FloatArray, label: Labels, question: Question, threads: int) -> Floats:
    """What any other cluster costs more than the label when all prices have risen."""
    assert question.rise is not None
    prices = question.prices + question.rise
    if missing:
        return _margins(points, question.centers, prices, label).slack
    n, still = len(points), np.zeros(question.k)
    slack = np.full(n, -3e38, np.float32)
    native.sweep(
        native.Points(points),
        question.centers,
        prices,
        label.copy(),
        np.zeros(n, np.int32),
        np.zeros(n, np.float32),
        slack,
        None,
        still,
        still,
        True,
        threads,
    )
    return slack


def _see(
    rows: NDArray[Any], question: Question, threads: int, *, sums: bool
) -> tuple[Seen, IntArray, int, IntArray, IntArray]:
    """See each row at the prices; counts, cost and sums."""
    k, d = question.centers.shape
    if missing:
        return _see_plainly(rows, question, sums=sums)
    n, frame, prices = len(rows), question.frame, question.prices
    label, runner_up = np.empty(n, np.int32), np.zeros(n, np.int32)
    margin, slack = np.empty(n, np.float32), np.empty(n, np.float32)
    found = native.look(
        rows,
        frame.origin,
        1 / frame.x_scale,
        question.centers,
        prices,
        label,
        runner_up,
        margin,
        slack,
        question.cost_scale,
        sums,
        threads,
    )
    gap = margin + (prices[label] - prices[runner_up])
    shape = (k, d) if sums else (0, d)
    high, low = found.high.reshape(shape), found.low.reshape(shape)
    cost = whole_sums.total(found.cost)
    return Seen(label, runner_up, gap, slack), found.counts.copy(), cost, high, low


def _see_plainly(
    rows: NDArray[Any], question: Question, *, sums: bool
) -> tuple[Seen, IntArray, int, IntArray, IntArray]:
    """The same in NumPy: what the kernel is checked against, and what works without it."""
    centers, prices, k = question.centers, question.prices, question.k
    points = question.frame.inside(rows)
    seen = _margins(points, centers, prices)
    label = seen.label.astype(np.int64)
    costs = np.square(points - centers[label]).sum(axis=1)
    high = low = np.empty((0, points.shape[1]), np.int64)
    if sums:
        high, low = whole_sums.sums_of(points, label, k)
    counts = np.bincount(label, minlength=k)
    return seen, counts, whole_sums.cost_of(costs, question.cost_scale), high, low


def _margins(
    points: FloatArray, centers: FloatArray, prices: FloatArray, label: Labels | None = None
) -> Seen:
    """Best and second best clusters, or what others cost above given labels."""
    n, (k, d) = len(points), centers.shape
    value = squared_distances(points, centers) - prices
    if label is None:
        label = value.argmin(axis=1).astype(np.int32)
    rows = np.arange(n)
    own = value[rows, label]
    value[rows, label] = np.inf
    second = value.argmin(axis=1).astype(np.int32) if k > 1 else label
    other = value[rows, second]
    gap = other - own
    size = np.abs(own) + np.abs(other) + 2 * np.abs(prices).max()
    safe = gap - (d + 4) * UNIT * size
    with np.errstate(invalid="ignore", over="ignore"):
        slack = np.minimum(safe - 1.3e-7 * np.abs(safe), 3e38).astype(np.float32)
    return Seen(label, second, gap, slack)
