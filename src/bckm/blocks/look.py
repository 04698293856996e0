"""A look: one pass over a block at given centers and prices, which keeps nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bckm._core.arrays import blocks, squared_distances
from bckm._core.deadline import Deadline
from bckm._core.rounding import UNIT
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.blocks import whole_sums
from bckm.blocks.answer import Answer, Table, Taken, alike, gathered
from bckm.blocks.frame import Frame
from bckm.blocks.question import WINDOWS, Listed, Question
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
    # least gaps, in an array for all parts: there are many pairs
    minima = np.full((question.k, question.k) if question.limit is not None else (0, 0), np.inf)
    looks = (
        _look(block[part], offset + part.start, question, minima, threads)
        for part in _parts(block, threads, deadline)
    )
    nothing = _nothing(question, block.shape[1], block.dtype)
    return replace(gathered(chain([nothing], looks)), minima=_below(minima))


def _below(values: FloatArray) -> Floats:
    """Float32 numbers that are not above."""
    rounded = values.astype(np.float32)
    return np.where(rounded > values, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def best_labels(
    block: NDArray[Any], question: Question, threads: int = 1, deadline: Deadline | None = None
) -> Iterator[tuple[slice, Seen]]:
    """The best cluster of each row of a block, part by part."""
    for part in _parts(block, threads, deadline):
        yield part, _see(_plain(block[part]), question, threads, sums=False)[0]


def _parts(block: NDArray[Any], threads: int, deadline: Deadline | None) -> Iterator[slice]:
    for part in blocks(len(block), block.shape[1], NUMBERS * min(threads, 16)):
        if deadline is not None:
            deadline.check()
        yield part


def _nothing(question: Question, d: int, dtype: Any) -> Answer:
    k, none = question.k, np.empty(0, np.int64)
    sums = np.zeros((k, d) if question.sums else (0, d), np.int64)
    taken = Taken.none(d, dtype)
    counts, minima = np.zeros(k, np.int64), np.empty((0, 0), np.float32)
    located = np.zeros((len(question.listed.rows) if question.listed else 0, WINDOWS), np.int64)
    table = Table(none, none)
    none_far = np.zeros(k)
    return Answer(counts, 0, none_far, sums, sums, table, taken, minima, located, question.most)


def _plain(rows: NDArray[Any]) -> NDArray[Any]:
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _look(
    rows: NDArray[Any], offset: int, question: Question, minima: FloatArray, threads: int
) -> Answer:
    seen, counts, cost, farthest, high, low = _see(
        _plain(rows), question, threads, sums=question.sums
    )
    table = Table(*(np.empty((2, 0), np.int64)))
    if question.near is not None and question.k > 1:
        at = np.flatnonzero(seen.gap <= 2 * question.near.max())
        best, second = (which[at].astype(np.int64) for which in (seen.label, seen.runner_up))
        table = Table.of_gaps(best, second, seen.gap[at], question.near)
    taken = Taken.none(rows.shape[1], rows.dtype)
    if question.limit is not None and question.wide is not None and question.k > 1:
        at = np.flatnonzero(seen.slack <= question.wide[seen.label])
        at = at[scan(question.frame.inside(rows[at]), seen.label[at], question, minima, threads)]
        taken = Taken.found(rows[at], seen.label[at], at + offset, question.most)
    located = np.empty((0, WINDOWS), np.int64)
    if question.listed is not None:
        at = np.flatnonzero(seen.slack <= question.listed.slack)
        located = _locate(rows[at], at + offset, question.listed)
    none = np.empty((0, 0), np.float32)
    return Answer(counts, cost, farthest, high, low, table, taken, none, located, question.most)


def _locate(rows: NDArray[Any], number: IntArray, listed: Listed) -> IntArray:
    """Count samples of listed rows, by window."""
    counts = np.zeros((len(listed.rows), WINDOWS), np.int64)
    which = alike(listed.rows, rows)
    same = alike(listed.rows, listed.rows)  # a row may be listed several times
    for entry, first in enumerate(same):
        window = (number[which == first] - listed.begin[entry]) // listed.width
        inside = window[(window >= 0) & (window < WINDOWS)]
        counts[entry] = np.bincount(inside, minlength=WINDOWS)
    return counts


def scan(
    points: FloatArray, label: Labels, question: Question, minima: FloatArray, threads: int
) -> BoolArray:
    """Which points are within the limit of some pair; the least gaps of others go into `minima`."""
    limit = question.limit
    assert limit is not None
    centers, prices = question.centers, question.prices
    taken = np.zeros(len(points), bool)
    if not missing:
        native.pair_scan(
            native.Points(points), centers, prices, label, limit, minima, taken, threads
        )
        return taken
    rows = np.arange(len(points))
    gap = squared_distances(points, centers) - prices
    gap -= gap[rows, label][:, None]
    gap[rows, label] = np.inf
    taken = np.asarray((gap <= limit[label]).any(axis=1))
    np.minimum.at(minima, label[~taken], gap[~taken])
    return taken


def see(points: FloatArray, centers: FloatArray, prices: FloatArray, threads: int = 1) -> Seen:
    """See points in the units of centers at prices."""
    question = Question(Frame.none(points.shape[1]), centers, prices)
    return _see(points, question, threads, sums=False)[0]


def _see(
    rows: NDArray[Any], question: Question, threads: int, *, sums: bool
) -> tuple[Seen, IntArray, int, FloatArray, IntArray, IntArray]:
    """See each row at the prices; counts, cost, farthest rows and sums."""
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
    seen = Seen(label, runner_up, gap, slack)
    return seen, found.counts.copy(), cost, found.farthest.copy(), high, low


def _see_plainly(
    rows: NDArray[Any], question: Question, *, sums: bool
) -> tuple[Seen, IntArray, int, FloatArray, IntArray, IntArray]:
    """The same in NumPy: what the kernel is checked against, and what works without it."""
    centers, prices, k = question.centers, question.prices, question.k
    points = question.frame.inside(rows)
    seen = _margins(points, centers, prices)
    label = seen.label.astype(np.int64)
    costs = np.square(points - centers[label]).sum(axis=1)
    high = low = np.empty((0, points.shape[1]), np.int64)
    if sums:
        high, low = whole_sums.sums_of(points, label, k)
    counts, farthest = np.bincount(label, minlength=k), np.zeros(k)
    np.maximum.at(farthest, label, costs)
    return seen, counts, whole_sums.cost_of(costs, question.cost_scale), farthest, high, low


def _margins(points: FloatArray, centers: FloatArray, prices: FloatArray) -> Seen:
    """Best and second best clusters."""
    n, (k, d) = len(points), centers.shape
    value = squared_distances(points, centers) - prices
    label = value.argmin(axis=1).astype(np.int32)
    rows = np.arange(n)
    own = value[rows, label]
    if k == 1:
        return Seen(label, label, np.zeros(n), np.full(n, 3e38, np.float32))
    value[rows, label] = np.inf
    second = value.argmin(axis=1).astype(np.int32)
    other = value[rows, second]
    gap = other - own
    size = np.abs(own) + np.abs(other) + 2 * np.abs(prices).max()
    safe = gap - (d + 4) * UNIT * size
    slack = np.minimum(safe - 1.3e-7 * np.abs(safe), 3e38).astype(np.float32)
    return Seen(label, second, gap, slack)
