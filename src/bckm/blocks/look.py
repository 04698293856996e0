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
from bckm._core.types import FloatArray, IntArray
from bckm.blocks import whole_sums
from bckm.blocks.answer import SPARE, Answer, Taken, gathered
from bckm.blocks.drawn import Drawn, levels
from bckm.blocks.equal_rows import alike
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
    none = nothing(question, block.shape[1], block.dtype)
    # two, so that they are merged, and equal rows united
    return replace(gathered(chain([none, none], looks)), minima=as_float32_below(minima))


def as_float32_below(values: FloatArray) -> Floats:
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


def nothing(question: Question, d: int, dtype: Any) -> Answer:
    """Answer about no rows."""
    k = question.k
    sums = np.zeros((k, d) if question.sums else (0, d), np.int64)
    taken, drawn = Taken.none(d, dtype), Drawn.none(d, dtype, question.draw)
    counts, minima = np.zeros(k, np.int64), np.empty((0, 0), np.float32)
    located = np.zeros((len(question.listed.rows) if question.listed else 0, WINDOWS), np.int64)
    none_far = np.zeros(k)
    most = question.most
    return Answer(counts, 0, none_far, sums, sums, taken, drawn, drawn, minima, located, most)


def _plain(rows: NDArray[Any]) -> NDArray[Any]:
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _look(
    rows: NDArray[Any], offset: int, question: Question, minima: FloatArray, threads: int
) -> Answer:
    seen, counts, cost, farthest, high, low = _see(
        _plain(rows), question, threads, sums=question.sums
    )
    d, most = rows.shape[1], question.most
    taken = Taken.none(d, rows.dtype)
    spare = drawn = Drawn.none(d, rows.dtype, question.draw)
    if question.limit is not None and question.wide is not None and question.k > 1:
        at = np.flatnonzero(seen.slack <= question.wide[seen.label])
        points = question.frame.inside(rows[at])
        ratio = scan(points, seen.label[at], question, minima, threads)
        close, beyond = at[ratio <= 1], np.flatnonzero(ratio > 1)
        taken = Taken.found(rows[close], seen.label[close], close + offset, most)
        level = np.full(close.size, SPARE, np.int8)
        spare = Drawn.among(rows, close, level, offset, question.draw).at_most(most >> SPARE)
        level = levels(ratio[beyond], question.thin)
        drawn = Drawn.among(rows, at[beyond], level, offset, question.draw).at_most(most)
    located = np.empty((0, WINDOWS), np.int64)
    if question.listed is not None:
        at = np.flatnonzero(seen.slack <= question.listed.slack)
        located = located_in(rows[at], at + offset, question.listed)
    none = np.empty((0, 0), np.float32)
    return Answer(counts, cost, farthest, high, low, taken, spare, drawn, none, located, most)


def located_in(rows: NDArray[Any], number: IntArray, listed: Listed) -> IntArray:
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
) -> Floats:
    """The least gap of each point, in limits of its pair of clusters, or a little less.

    Where that is above 1, gaps go into `minima`.
    """
    limit = question.limit
    assert limit is not None
    centers, prices = question.centers, question.prices
    ratio = np.empty(len(points), np.float32)
    if not missing:
        native.pair_scan(
            native.Points(points), centers, prices, label, limit, minima, ratio, threads
        )
        return ratio
    rows = np.arange(len(points))
    gap = squared_distances(points, centers) - prices
    gap -= gap[rows, label][:, None]
    gap[rows, label] = np.inf
    mine = limit[label]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(gap <= mine, np.minimum(gap / mine, 1.0), gap / mine)
        ratio[:] = np.where(np.isnan(share), 0.0, share).min(axis=1, initial=np.inf)
    others = np.flatnonzero(ratio > 1)
    np.minimum.at(minima, label[others], gap[others])
    return ratio


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
