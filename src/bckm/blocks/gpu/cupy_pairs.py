"""`CupyPairs`: what rows of a GPU would cost more in other clusters, pair by pair.

The kernels are those of `pairs.cu`.
"""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np

from bckm._core.types import FloatArray, IntArray
from bckm.blocks import whole_sums
from bckm.blocks.gpu.cupy_kernels import Launcher, there
from bckm.blocks.gpu.passes import Tally, Told
from bckm.blocks.question import Question

OTHERS = 128  # clusters of which the rows of each tell what they cost more there, at most
BINS = 64  # of what rows cost more
ROOM = 3 * 2**13  # numbers of a block that counts: bins and features of the others
DETOURS = 2  # each doubles the clusters on the way
PART = 4096  # rows of a block that puts them in order
FEWEST, COUNTING, HELD = 1024, 4, 64  # rows of a block, blocks of a processor that count; features
TOLD = 2**21  # moves that are told at most
NOISE = 4e-6  # of the largest gap: float32 is wrong by no more, but where features are many


class CupyPairs(Launcher):
    """What rows cost more in other clusters, at the question that was asked last; see `Pairs`.

    Parameters
    ----------
    passes : CupyPasses
        Who was asked.
    tally : Tally
        Sums of all rows.
    met : array (k, k) on the device
        Rows that looks have moved.
    """

    def __init__(self, passes: Any, tally: Tally, met: Any) -> None:
        self.device, self._kernels, self._passes = passes.device, passes._kernels, passes
        question: Question = passes.question
        k, d = self.k, self.d = question.k, passes.d
        m = self.m = max(1, min(k - 1, OTHERS, ROOM // (BINS + 1 + d)))
        self._top = _largest_gap(question, tally.farthest)
        means = question.centers
        if question.sums:
            means = whole_sums.as_means(tally.high, tally.low, tally.counts)
            means = np.where(tally.counts[:, None] > 0, means, question.centers)
        with self.device:
            self._bias = cp.asarray(np.square(question.centers).sum(axis=1) - question.prices)
            self._other = cp.empty((k, m), np.int32)
            self._run(
                "nearest_others", k, cp.asarray(means), passes.centers, self._bias, met, k, d, m,
                self._other, each=1, shared=4 * k,
            )  # fmt: skip
            self._held = cp.zeros((k, m, BINS), np.uint32)
            self._least = cp.full((k, m), np.finfo(np.float32).max, np.float32)
            self.other = self._other.get().astype(np.int64)
        self._chunks: list[tuple[Any, IntArray]] = []  # labels and their numbers

    @there
    def add(self, rows: Any, label: Any, counts: IntArray) -> None:
        """Count the rows of a chunk; `counts`: those of each cluster."""
        self._chunks.append((label, counts))
        self._each_gap("count_gaps", rows, label, counts, self._held, self._least)

    @there
    def limits(self, goal: FloatArray, *, shorter: bool) -> FloatArray:
        """Up to which cost so many rows of pairs lie, (k, m), about; see `Pairs`."""
        k, m = self.k, self.m
        limit = cp.empty((k, m))
        self._run(
            "pair_limits", k * m, self._held, self._least, cp.asarray(goal.astype(np.float32)),
            np.int64(k * m), np.float64(self._top), limit,
        )  # fmt: skip
        for _ in range(DETOURS if shorter else 0):
            less = cp.empty((k, m))
            self._run("shorten_limits", k, limit, self._other, k, m, less, each=1, shared=8 * k)
            limit = less
        found: FloatArray = limit.get() + NOISE * self._top
        return found

    @there
    def moves(self, chunk: int, rows: Any, limit: FloatArray) -> Told | None:
        """Moves of the rows of a chunk that cost at most the limit of their pair; see `Pairs`."""
        inside = np.where(limit < 0, -1.0, np.minimum(limit / self._top + NOISE, 2.0))
        key, number = cp.empty(TOLD, np.uint64), cp.zeros(1, np.uint32)
        there, most = (cp.asarray(one.astype(np.float32)) for one in (inside, inside.max(axis=1)))
        label, counts = self._chunks[chunk]
        limits = there, most, np.uint32(TOLD)
        self._each_gap("list_gaps", rows, label, counts, *limits, key, number)
        found = int(number.get()[0])
        if found > TOLD:
            return None
        key, cost = cp.sort(key[:found]), cp.empty(found)
        row, to = cp.empty(found, np.int32), cp.empty(found, np.int32)
        if found:
            passes = self._passes
            self._run(
                "move_costs", found, rows, self.d, passes.origin, passes.scale, key, found,
                passes.centers, passes.prices, label, row, to, cost,
            )  # fmt: skip
        of = row.get().astype(np.int64)
        is_first = np.diff(of, prepend=-1) > 0
        return of[is_first], np.cumsum(is_first) - 1, to.get(), cost.get()

    def _each_gap(self, name: str, rows: Any, label: Any, counts: IntArray, *args: Any) -> None:
        """Run a kernel on what rows cost more; a block has those of one cluster."""
        passes, d, m, n, k = self._passes, self.d, self.m, len(rows), self.k
        begin = np.cumsum(counts) - counts
        cursor, order = cp.asarray(begin.astype(np.uint32)), cp.empty(n, np.int32)
        self._run("group", n, label, np.int64(n), k, cursor, order, each=PART, shared=4 * k)
        each = max(FEWEST, -(-n // (COUNTING * self._processors())))  # rows of a block
        blocks = -(-counts // each)
        cluster = np.repeat(np.arange(k), blocks)
        place = np.arange(cluster.size) - np.repeat(np.cumsum(blocks) - blocks, blocks)
        first = begin[cluster] + each * place
        last = np.minimum(first + each, (begin + counts)[cluster])
        part = cp.asarray(np.stack([cluster, first, last], axis=1).astype(np.int32))
        held = 8 * passes.steps <= HELD and passes.chunks == 1
        wide = 8 * passes.steps if held else -(-d // 4) * 4
        self._run(
            name, cluster.size, rows, d, passes.origin, passes.scale, order, part, passes.centers,
            self._bias, self._other, m, np.float64(1 / self._top), *args, each=1,
            shared=4 * m * (wide + 2 + BINS) + 8 * wide,
        )  # fmt: skip


def _largest_gap(question: Question, farthest: FloatArray) -> float:
    """What no row costs more in any cluster: by how far rows and centers are apart."""
    centers, prices = question.centers, question.prices
    apart = 2 * float(np.sqrt(np.square(centers - centers.mean(axis=0)).sum(axis=1).max()))
    most = apart * (apart + 2 * float(np.sqrt(farthest.max())))
    most += float(prices.max() - prices.min())
    return max(1.001 * most, float(np.finfo(np.float32).tiny))
