"""A device without a GPU: arrays that hide what they hold, and passes over them in plain NumPy.

`on_a_device` puts this module in the place of `bckm.blocks.gpu.cupy_passes`, so that all but the
kernels runs: who holds X, what crosses the bus, and what comes back.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from bckm._core.arrays import squared_distances
from bckm.blocks import whole_sums
from bckm.blocks.answer import SPARE
from bckm.blocks.borders import BINS, LOWEST, SHIFT
from bckm.blocks.drawn import Drawn, levels
from bckm.blocks.gpu.passes import Near, Tally
from bckm.blocks.look import as_float32_below, best_labels, scan
from bckm.blocks.question import Question
from bckm.blocks.settling import rounding_of_gaps
from bckm.blocks.soft_prices import Listing
from bckm.blocks.survey import sampled


class _Hidden:
    """Numbers of a device: no one but passes may look at them."""

    def __init__(self, hidden: np.ndarray, device: int = 2) -> None:
        self.hidden, self._device = hidden, device
        self.shape, self.dtype, self.ndim = hidden.shape, hidden.dtype, hidden.ndim

    def __len__(self) -> int:
        return len(self.hidden)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device, 0

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


class DeviceArray(_Hidden):
    """What passes work with; as CuPy's arrays are."""

    @property
    def size(self) -> int:
        return self.hidden.size

    def get(self) -> np.ndarray:
        """A copy on the host."""
        return self.hidden.copy()

    def __getitem__(self, which: Any) -> DeviceArray:
        return DeviceArray(self.hidden[which])


class Tensor(_Hidden):
    """The array of another package, and in the words of PyTorch: `size` is a method."""

    def size(self) -> tuple[int, ...]:
        return self.shape

    def cpu(self) -> SimpleNamespace:
        """A copy on the host."""
        return SimpleNamespace(numpy=self.hidden.copy)

    def __array_namespace__(self) -> Any:
        return SimpleNamespace(from_dlpack=lambda array: Tensor(array.hidden))


def seen(array: Any) -> DeviceArray:
    """The array of the passes that shares memory with an array of a device."""
    return DeviceArray(array.hidden)


def capability(array: Any) -> int:
    """That of a GPU which can do all."""
    return 90


def beside(values: Any, array: Any) -> DeviceArray:
    """Numbers of the host, on the device of another array."""
    return DeviceArray(np.array(values))


class CupyPasses:
    """Passes over rows in plain NumPy; see `Passes`."""

    room = 2**40  # moves that are told at once

    def __init__(self, rows: DeviceArray, dtype: Any) -> None:
        assert rows.ndim == 2
        self.crossed = 0  # rows that came to the host, over all looks

    def plain(self, rows: DeviceArray, dtype: Any) -> DeviceArray:
        return DeviceArray(np.ascontiguousarray(rows.hidden, dtype))

    def extent(self, rows: DeviceArray) -> tuple[np.ndarray, np.ndarray]:
        low, high = rows.hidden.min(axis=0), rows.hidden.max(axis=0)
        return low.astype(np.float64), high.astype(np.float64)

    def sampled(self, rows: DeviceArray, offset: int, share: float, seed: int) -> np.ndarray:
        return np.flatnonzero(sampled(np.arange(offset, offset + len(rows)), share, seed))

    def gathered(self, rows: DeviceArray, index: np.ndarray) -> np.ndarray:
        self.crossed += index.size
        return rows.hidden[index]

    def empty(self, rows: DeviceArray, dtype: Any, *more: int) -> DeviceArray:
        return DeviceArray(np.full((len(rows), *more), 99, dtype))

    def ask(self, question: Question, dtype: Any) -> None:
        self.question = question

    def _best(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels and slacks."""
        label, slack = np.empty(len(rows), np.int32), np.empty(len(rows), np.float32)
        for part, found in best_labels(rows, self.question):
            label[part], slack[part] = found.label, found.slack
        return label, slack

    def best(self, rows: DeviceArray, label: DeviceArray, slack: DeviceArray) -> None:
        label.hidden[:], slack.hidden[:] = self._best(rows.hidden)

    def again(
        self, rows: DeviceArray, label: DeviceArray, slack: DeviceArray, drop: Any, least: Any
    ) -> Any:
        taken = np.nextafter(drop.astype(np.float32), np.float32(np.inf))
        left = slack.hidden - taken[label.hidden]
        slack.hidden[:] = np.nextafter(left, np.float32(-np.inf))
        index = np.flatnonzero(slack.hidden <= least.astype(np.float32)[label.hidden])
        before = label.hidden[index]
        label.hidden[index], slack.hidden[index] = self._best(rows.hidden[index])
        moved = before != label.hidden[index]
        return DeviceArray(index[moved]), DeviceArray(before[moved])

    def moved(
        self, rows: DeviceArray, label: DeviceArray, index: DeviceArray, before: DeviceArray
    ) -> Tally:
        those = DeviceArray(rows.hidden[index.hidden])
        now, then = self.tally(those, label[index.hidden]), self.tally(those, before)
        return Tally(
            now.counts - then.counts,
            now.cost - then.cost,
            np.maximum(now.farthest, then.farthest),
            now.high - then.high,
            now.low - then.low,
        )

    def tally(self, rows: DeviceArray, label: DeviceArray) -> Tally:
        question, own = self.question, label.hidden.astype(np.int64)
        points, k = question.frame.inside(rows.hidden), question.k
        costs = np.square(points - question.centers[own]).sum(axis=1)
        farthest = np.zeros(k)
        np.maximum.at(farthest, own, costs)
        high = low = np.zeros((0, points.shape[1]), np.int64)
        if question.sums:
            high, low = whole_sums.sums_of(points, own, k)
        cost = whole_sums.cost_of(costs, question.cost_scale)
        return Tally(np.bincount(own, minlength=k), cost, farthest, high, low)

    def near(self, rows: DeviceArray, label: DeviceArray, slack: DeviceArray, offset: int) -> Near:
        question, own = self.question, label.hidden
        assert question.wide is not None
        at = np.flatnonzero(slack.hidden <= question.wide[own])
        # slacks that were kept are smaller than those of a first look: the same rows in any case
        gap = np.concatenate([f.gap for _, f in best_labels(rows.hidden[at], question)] or [at[:0]])
        at = at[gap <= question.wide[own[at]]]
        minima = np.full((question.k, question.k), np.inf)
        ratio = scan(question.frame.inside(rows.hidden[at]), own[at], question, minima, 1)
        taken, beyond = at[ratio <= 1], at[ratio > 1]
        few = np.full(taken.size, SPARE, np.int8)
        spare = Drawn.among(rows.hidden, taken, few, offset, question.draw)
        level = levels(ratio[ratio > 1], question.thin)
        drawn = Drawn.among(rows.hidden, beyond, level, offset, question.draw)
        where = (spare.index - offset, drawn.index - offset)
        return Near(taken, own[taken], *where, drawn.level, as_float32_below(minima))

    def slacks(
        self, label: DeviceArray, slack: DeviceArray, k: int, offset: int, each: int
    ) -> np.ndarray:
        bits = np.maximum(slack.hidden, 0).astype(np.float32).view(np.int32) >> SHIFT
        place = np.clip(bits.astype(np.int64) - LOWEST, 0, BINS)
        near = (place < BINS) & ((np.arange(len(place)) + offset) // 32 % each == 0)
        held = np.bincount(label.hidden[near] * BINS + place[near], minlength=k * BINS)
        return held.reshape(k, BINS)

    def bordering(
        self,
        rows: DeviceArray,
        label: DeviceArray,
        slack: DeviceArray,
        offset: int,
        depth: np.ndarray,
        level: int,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at = np.flatnonzero(slack.hidden <= depth.astype(np.float32)[label.hidden])
        at = (
            Drawn.among(rows.hidden, at, np.full(at.size, level, np.int8), offset, 0).index - offset
        )
        found = [seen for _, seen in best_labels(rows.hidden[at], self.question)]
        none = [np.empty(0, np.int32)]
        best, second = [f.label for f in found] or none, [f.runner_up for f in found] or none
        gap = [f.gap.astype(np.float32) for f in found] or [np.empty(0, np.float32)]
        return np.concatenate(best), np.concatenate(second), np.concatenate(gap)

    def soft_rows(self, parts: Any) -> SoftRows:
        return SoftRows(np.concatenate([rows.hidden[at] for rows, at in parts]))

    def met(
        self, found: Any, before: DeviceArray, label: DeviceArray, index: DeviceArray
    ) -> np.ndarray:
        k = self.question.k
        pair = before.hidden.astype(np.int64) * k + label.hidden[index.hidden]
        return np.bincount(pair, minlength=k * k) + (0 if found is None else found)

    def pairs(self, tally: Tally, met: Any) -> Pairs:
        return Pairs(self.question, self.room)

    def moves(
        self, rows: DeviceArray, label: DeviceArray, slack: DeviceArray, limit: np.ndarray
    ) -> Any:
        question = self.question
        near = np.flatnonzero(slack.hidden <= limit[label.hidden])
        own = label.hidden[near]
        value = squared_distances(question.frame.inside(rows.hidden[near]), question.centers)
        value -= question.prices
        gap = np.maximum(value - value[np.arange(near.size), own][:, None], 0.0)
        is_move = (gap <= limit[own][:, None]) & (np.arange(question.k) != own[:, None])
        of, cluster = np.nonzero(is_move)
        if of.size > self.room:
            return None
        index, place = np.unique(of, return_inverse=True)
        return near[index], place, cluster.astype(np.int32), gap[of, cluster]

    def within(self, slack: DeviceArray, most: float) -> np.ndarray:
        return np.flatnonzero(slack.hidden <= most)

    def counted(self, label: DeviceArray, k: int) -> np.ndarray:
        return np.bincount(label.hidden, minlength=k)

    def copy(self, label: DeviceArray, to: DeviceArray) -> None:
        to.hidden[:] = label.hidden

    def put(self, label: DeviceArray, index: np.ndarray, values: np.ndarray) -> None:
        label.hidden[index] = values

    def taken(self, label: DeviceArray, index: np.ndarray) -> np.ndarray:
        return label.hidden[index]

    def distances(self, rows: DeviceArray, centers: np.ndarray, found: DeviceArray) -> None:
        found.hidden[:] = np.sqrt(squared_distances(rows.hidden.astype(np.float64), centers))


class Pairs:
    """What rows cost more in all other clusters, exactly."""

    def __init__(self, question: Question, room: int) -> None:
        self.question, self.room, each = question, room, np.arange(question.k)
        self.other = each[1:] - (each[1:] <= each[:, None])
        self.chunks: list[tuple[np.ndarray, np.ndarray]] = []  # gaps and labels

    def add(self, rows: DeviceArray, label: DeviceArray, counts: np.ndarray) -> None:
        question, own = self.question, label.hidden
        assert np.array_equal(counts, np.bincount(own, minlength=question.k))
        value = squared_distances(question.frame.inside(rows.hidden), question.centers)
        value -= question.prices
        gap = np.maximum(value - value[np.arange(len(own)), own][:, None], 0.0)
        self.chunks.append((gap, own))

    def limits(self, goal: np.ndarray, *, shorter: bool) -> np.ndarray:
        gaps, label = (np.concatenate(one) for one in zip(*self.chunks, strict=True))
        k = self.question.k
        found = np.full((k, k), np.inf)
        for a in range(k):
            mine = np.sort(gaps[label == a][:, self.other[a]], axis=0)
            rank = np.ceil(goal[a]).astype(int) - 1
            for j in np.flatnonzero(rank < len(mine)):
                found[a, self.other[a, j]] = mine[rank[j], j]
        for _ in range(2 if shorter else 0):
            found = np.minimum(found, (found[:, :, None] + found[None]).min(axis=1))
        return np.take_along_axis(found, self.other, axis=1)

    def moves(self, chunk: int, rows: DeviceArray, limit: np.ndarray) -> Any:
        gaps, label = self.chunks[chunk]
        most = np.full((self.question.k, self.question.k), -1.0)
        np.put_along_axis(most, self.other, limit, axis=1)
        of, cluster = np.nonzero(gaps <= most[label])
        if of.size > self.room:
            return None
        index, place = np.unique(of, return_inverse=True)
        return index, place, cluster.astype(np.int32), gaps[of, cluster]


class SoftRows:
    """Rows that know what they cost in all clusters; see `blocks/soft_prices`."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.size = rows, len(rows)

    def list(self, question: Question) -> Listing:
        points = question.frame.inside(self.rows)
        self.costs = squared_distances(points, question.centers)
        best = np.sort(self.costs - question.prices, axis=1)
        gaps = (best[:, 1] - best[:, 0]).astype(np.float32)
        # finite, as that of a device: rows are listed anew where prices are far from here
        reach = float(np.median(best[:, min(2, question.k - 1)] - best[:, 0]))
        return Listing(gaps, reach, np.ones(question.k), np.arange(question.k) // 3)

    def soften(self, prices: np.ndarray, temperature: float) -> Softened:
        value = self.costs - prices
        least = value.min(axis=1)
        share = np.exp((least[:, None] - value) / temperature)
        total = share.sum(axis=1)
        soft = float((least - temperature * np.log(total)).sum())
        units = np.bincount(value.argmin(axis=1), minlength=prices.size).astype(float)
        return Softened(soft, float(least.sum()), share / total[:, None], units, temperature)


class Softened:
    """The softened dual at some prices."""

    def __init__(
        self, soft: float, hard: float, share: np.ndarray, units: np.ndarray, temperature: float
    ) -> None:
        self.soft, self.hard, self.units = soft, hard, units
        self.shared = share.sum(axis=0)
        edge = share.T @ share / temperature
        np.fill_diagonal(edge, 0.0)
        self._degree, self._edge = edge.sum(axis=1), edge

    def step(self, gradient: np.ndarray, active: np.ndarray, damping: float) -> np.ndarray | None:
        degree, at = self._degree, np.flatnonzero(active)
        if not degree.mean() > 0:
            return None
        matrix = np.diag(degree + damping * (degree + degree.mean())) - self._edge
        step = np.zeros_like(gradient)
        step[at] = np.linalg.solve(matrix[np.ix_(at, at)], gradient[at])
        return step

    def pull(self, moved: np.ndarray) -> np.ndarray:
        return self._degree * moved - self._edge @ moved


class ContraryPasses(CupyPasses):
    """The same where rounding falls the other way: the last of several best clusters is taken."""

    def _best(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, slack = super()._best(rows)
        question = self.question
        rounding = 0.9 * rounding_of_gaps(question.centers, question.prices)
        value = squared_distances(question.frame.inside(rows), question.centers) - question.prices
        near = value <= value.min(axis=1)[:, None] + rounding
        last = question.k - 1 - near[:, ::-1].argmax(axis=1)
        return last.astype(np.int32), (slack + np.float32(rounding)).astype(np.float32)


def on_a_device(monkeypatch: Any, *, contrary: bool = False) -> None:
    """Let arrays of the device be held, for the length of a test."""
    import bckm.blocks.gpu as folder

    this = sys.modules[__name__]
    if contrary:
        monkeypatch.setattr(this, "CupyPasses", ContraryPasses)
    monkeypatch.setitem(sys.modules, "bckm.blocks.gpu.cupy_passes", this)
    monkeypatch.setattr(folder, "cupy_passes", this, raising=False)
