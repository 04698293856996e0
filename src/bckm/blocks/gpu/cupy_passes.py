"""`CupyPasses`: passes over rows on an NVIDIA GPU, by CuPy and its kernels.

No other file but `cupy_kernels` imports CuPy.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import cupy as cp
import numpy as np
from numpy.typing import NDArray

from bckm._core.rounding import UNIT
from bckm._core.types import FloatArray, IntArray
from bckm.blocks import whole_sums
from bckm.blocks.answer import SPARE
from bckm.blocks.borders import BINS, LOWEST, SHIFT
from bckm.blocks.drawn import LEVELS
from bckm.blocks.gpu.cupy_kernels import THREADS, Launcher, compiled, float32_errors, there
from bckm.blocks.gpu.cupy_pairs import TOLD, CupyPairs
from bckm.blocks.gpu.cupy_soft import LANES, CupySoftRows, part_of
from bckm.blocks.gpu.passes import Near, Tally, Told
from bckm.blocks.question import Question

ROWS = 256  # rows of a block of `best`
WIDE, CHUNK = 16, 4  # steps of 8 features that a thread holds; more come in chunks of so many
SOME, PART = 64, 4096  # rows of a block: in float64, of sums
ALL = 0.5  # share of the rows that are seen again, from which all are
SHARED = 220 * 1024  # bytes of shared memory that a block may have
INFINITE = np.float64(np.inf).view(np.uint64)
TAKEN, SPARED = 64, 65  # codes of `draw_rows`, as are levels below and 127: not drawn


@lru_cache(maxsize=1)
def _distances() -> Any:
    return cp.ElementwiseKernel(
        "raw T x, raw float64 c, int64 d, int64 k",
        "T found",
        """
        const long long row = i / k, a = i % k;
        double sum = 0.0;
        for (long long t = 0; t < d; ++t) {
            const double apart = static_cast<double>(x[row * d + t]) - c[a * d + t];
            sum += apart * apart;
        }
        found = static_cast<T>(sqrt(sum));
        """,
        "bckm_distances",
    )


def seen(array: Any) -> Any:
    """An array on a GPU as a CuPy array, without a copy."""
    if isinstance(array, cp.ndarray):
        return array
    return cp.from_dlpack(array) if hasattr(array, "__dlpack__") else cp.asarray(array)


def capability(array: Any) -> int:
    """The compute capability of the GPU where an array is, as NVIDIA numbers them, times ten."""
    return int(array.device.compute_capability)


def beside(values: Any, array: Any) -> Any:
    """Numbers of the host as a CuPy array, on the device of another array."""
    with seen(array).device:
        return cp.asarray(values)


class CupyPasses(Launcher):
    """Passes over rows on a GPU; see `Passes`."""

    def __init__(self, rows: Any, dtype: Any) -> None:
        self.device = rows.device
        d = int(rows.shape[1])
        steps = 2 * -(-d // 16)
        self.steps = steps if steps <= WIDE else CHUNK
        self.chunks = -(-d // (8 * self.steps))
        self.tile = 64 if self.steps <= 8 else 32
        lanes = min(32, 1 << max(0, d - 1).bit_length())
        real = "float" if dtype == np.float32 else "double"
        with self.device:
            self._kernels = compiled(real, self.steps, self.chunks > 1, lanes, int(self.device.id))
        self.lanes, self.d = lanes, d

    @there
    def plain(self, rows: Any, dtype: Any) -> Any:
        """The rows of a chunk as kernels read them: themselves, where they are so."""
        rows = cp.ascontiguousarray(rows, dtype)
        return rows if rows.data.ptr % 16 == 0 else rows.copy()  # four numbers are read at once

    @there
    def extent(self, rows: Any) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of each feature; NaN where one is NaN."""
        low, high = rows.min(axis=0), rows.max(axis=0)
        return low.get().astype(np.float64), high.get().astype(np.float64)

    @there
    def sampled(self, rows: Any, offset: int, share: float, seed: int) -> IntArray:
        """Numbers, within the chunk, of the rows of a sample."""
        n = len(rows)
        if share >= 1:
            return np.arange(n)
        below = np.uint64(int(share * 2.0**64))
        room = min(n, int(1.2 * share * n) + 1000)  # many standard deviations above the mean
        found = self._listed(
            room, "list_sample", n, np.int64(n), np.int64(offset), np.uint64(seed), below
        )
        return np.asarray(np.sort(found.get()).astype(np.int64))

    @there
    def gathered(self, rows: Any, index: IntArray) -> Any:
        """These rows, on the host."""
        return rows[cp.asarray(index)].get()

    @there
    def empty(self, rows: Any, dtype: Any, *more: int) -> Any:
        """An array of the device with a number, or so many, for each row."""
        return cp.empty((len(rows), *more), dtype)

    @there
    def ask(self, question: Question, dtype: Any) -> None:
        """Take a question to the device."""
        centers, prices, k = question.centers, question.prices, question.k
        if k * 4 + 2 * PART > SHARED:
            raise ValueError(
                f"{k} clusters are more than the {(SHARED - 2 * PART) // 4} that a pass on a GPU "
                "can count; move X to the host, or use fewer clusters."
            )
        self.question, self.k = question, k
        self.scale = np.float64(1 / question.frame.x_scale)
        self.origin = cp.asarray(question.frame.origin)
        self.centers = cp.asarray(np.ascontiguousarray(centers))
        self.prices = cp.asarray(prices)
        self.words, self.bias = self._packed(self.centers, self.prices)
        self.slope, self.fixed = float32_errors(centers, prices, 8 * self.steps, self.chunks)
        self.dearest = np.float64(np.abs(prices).max())
        if question.limit is not None:
            self.limit, self.wide = cp.asarray(question.limit), cp.asarray(question.wide)

    def _packed(self, centers: Any, prices: Any) -> tuple[Any, Any]:
        """Centers as `best` multiplies them, and |c|^2 - price of each."""
        k, tiles = len(centers), self._tiles(len(centers))
        # 16 bytes for two features of a center: both parts
        many = tiles * self.chunks * self.steps * (self.tile // 8) * 32
        words, bias = cp.empty((many, 4), np.float32), cp.empty(tiles * self.tile, np.float32)
        self._run("pack", many, centers, prices, k, self.d, self.chunks, many, words, bias)
        return words, bias

    def _tiles(self, k: int) -> int:
        return -(-k // self.tile)

    @there
    def soft_rows(self, parts: Iterable[tuple[Any, IntArray]]) -> CupySoftRows:
        """Some rows of each chunk, which know their best clusters."""
        return CupySoftRows(cp.concatenate([rows[cp.asarray(at)] for rows, at in parts]), self)

    def listed(self, rows: Any, question: Question, order: IntArray) -> tuple[Any, Any, Any]:
        """Values and numbers of some of the best clusters, (8 + parts, n), and gaps, (n,).

        Gaps are those between the best two; parts are clusters that follow each other in an order
        of them.
        """
        n, k = len(rows), question.k
        tiles = self._tiles(k)
        centers = cp.asarray(np.ascontiguousarray(question.centers[order]))
        words, bias = self._packed(centers, cp.asarray(question.prices[order]))
        name = np.zeros(tiles * self.tile, np.uint16)
        name[:k] = order
        part = part_of(k)
        many = LANES + tiles * (self.tile // part)
        value, cluster = cp.empty((many, n), np.float32), cp.empty((many, n), np.uint16)
        gap = cp.empty(n, np.float32)
        self._run(
            "list_best", n, rows, np.int64(n), self.d, cp.asarray(question.frame.origin),
            np.float64(1 / question.frame.x_scale), words, bias, tiles, self.chunks,
            part // 8, cp.asarray(name), value, cluster, gap, each=ROWS, shared=self._buffers(),
        )  # fmt: skip
        self._run("list_once", n, np.int64(n), many, value, cluster)
        return value, cluster, gap

    def _buffers(self) -> int:
        """Bytes of two tiles of centers."""
        return 2 * 16 * 32 * self.steps * (self.tile // 8)

    @there
    def best(self, rows: Any, label: Any, slack: Any) -> None:
        """Fill in the best cluster of each row, and a proven lower bound of the gap to others."""
        self._best(rows, None, len(rows), label, slack)

    @there
    def again(
        self, rows: Any, label: Any, slack: Any, drop: FloatArray, least: FloatArray
    ) -> tuple[Any, Any]:
        """Lower slacks by what prices may have taken of them; see rows again that have few left.

        Returned are the rows whose labels have changed, and their labels before.
        """
        n = len(rows)
        taken = cp.asarray(np.nextafter(drop.astype(np.float32), np.float32(np.inf)))
        few = cp.asarray(least.astype(np.float32))
        index = self._listed(n, "lower_slacks", n, slack, label, np.int64(n), taken, few)
        before = label.copy()
        if len(index) > ALL * n:  # in their order that takes less time
            index = None
        seen = n if index is None else len(index)
        self._best(rows, index, seen, label, slack)
        moved = self._listed(seen, "list_moved", n, before, label, np.int64(n))
        return moved, before[moved]

    def _best(self, rows: Any, which: Any, n: int, label: Any, slack: Any) -> None:
        if n == 0:
            return
        index = self._listed(
            n, "best", n, rows, which, np.int64(n), self.d, self.origin, self.scale, self.words,
            self.bias, self._tiles(self.k), self.chunks, self.slope, self.fixed, label, slack,
            each=ROWS, shared=self._buffers(),
        )  # fmt: skip
        if m := len(index):
            unit = np.float64((self.d + 4) * UNIT)
            self._run(
                "best_exactly", m, rows, self.d, self.origin, self.scale, index, m, self.centers,
                self.prices, self.k, self.dearest, unit, label, slack, each=SOME,
            )  # fmt: skip

    @there
    def tally(self, rows: Any, label: Any) -> Tally:
        """Add up rows by their labels."""
        return self._tally(rows, None, [(label, 1)])

    @there
    def moved(self, rows: Any, label: Any, index: Any, before: Any) -> Tally:
        """How sums change with the labels of some rows; `farthest` is that of these rows."""
        return self._tally(rows, index, [(before, -1), (label[index], 1)])

    def _tally(self, rows: Any, which: Any, labels: list[tuple[Any, int]]) -> Tally:
        k, d, question = self.k, self.d, self.question
        counts, pieces, farthest = cp.zeros(k, np.int64), cp.zeros(4, np.int64), cp.zeros(k)
        high = cp.zeros((k, d) if question.sums else (0, d), np.int64)
        low = cp.zeros_like(high)
        for label, sign in labels:
            n = len(label)
            if n == 0:
                continue
            self._run(
                "sums", n, rows, which, np.int64(n), d, self.origin, self.scale, label, k,
                int(question.sums), sign, counts, high, low, each=PART, shared=4 * k + 2 * PART,
            )  # fmt: skip
            # a thread's sums of pieces stay below 2^53: it adds up fewer than 2^24
            blocks = min(-(-n * self.lanes // THREADS), 16 * self._processors())
            self._run(
                "costs", blocks, rows, which, np.int64(n), d, self.origin, self.scale,
                self.centers, label, np.float64(question.cost_scale), sign, pieces, farthest,
                each=1,
            )  # fmt: skip
        cost = whole_sums.total(pieces.get())
        return Tally(counts.get(), cost, farthest.get(), high.get(), low.get())

    @there
    def near(self, rows: Any, label: Any, slack: Any, offset: int) -> Near:
        """Find the rows near borders, as the question asks."""
        k, d, question = self.k, self.d, self.question
        key, index = self._near(label, slack, self.wide)
        m = len(index)
        own, ratio = cp.empty(m, np.float64), cp.empty(m, np.float32)
        minima = cp.full((k, k), INFINITE, np.uint64)
        code = cp.empty(m, np.int8)
        if m:
            there = (rows, d, self.origin, self.scale, index, m, self.centers, self.prices)
            self._run("own_values", m, *there, label, own)
            self._run(
                "scan_ratios", m, *there, k, label, own, self.limit, self.wide, ratio, each=SOME
            )
            self._run("scan_minima", m, *there, k, label, own, ratio, minima, each=SOME)
            self._run(
                "draw_rows", m, ratio, index, m, np.int64(offset), np.uint64(question.draw),
                question.thin, SPARE, LEVELS, code,
            )  # fmt: skip
        least = cp.empty((k, k), np.float32)
        self._run("rounded_down", k * k, minima, np.int64(k * k), least)
        order = cp.argsort(index)
        index, code, own_label = index[order], code[order], (key[order] >> np.uint64(32))
        taken = (code == TAKEN) | (code == SPARED)
        drawn = code < TAKEN
        return Near(
            taken=index[taken].get().astype(np.int64),
            label=own_label[taken].get().astype(np.int32),
            spare=index[code == SPARED].get().astype(np.int64),
            drawn=index[drawn].get().astype(np.int64),
            level=code[drawn].get(),
            minima=least.get(),
        )

    def _near(self, label: Any, slack: Any, wide: Any) -> tuple[Any, Any]:
        """Rows with at most so much slack, by label and number: keys, and numbers."""
        n = len(label)
        key = self._listed(n, "list_near", n, slack, label, np.int64(n), wide, dtype=np.uint64)
        key = cp.sort(key)
        return key, (key & np.uint64(2**32 - 1)).astype(np.int32)

    @there
    def moves(self, rows: Any, label: Any, slack: Any, limit: FloatArray) -> Told | None:
        """Moves of the rows of a chunk that cost at most a limit, (k,); see `Passes`."""
        d, k, most = self.d, self.k, cp.asarray(limit)
        _, index = self._near(label, slack, most)
        m, key, cost = len(index), cp.empty(TOLD, np.uint64), cp.empty(TOLD)
        number, own = cp.zeros(1, np.uint32), cp.empty(m)
        if m:
            there = (rows, d, self.origin, self.scale, index, m, self.centers, self.prices)
            self._run("own_values", m, *there, label, own)
            self._run(
                "list_moves", m, *there, k, label, own, most, np.uint32(TOLD), key,
                cost, number, each=SOME,
            )  # fmt: skip
        found = int(number.get()[0])
        if found > TOLD:
            return None
        order = cp.argsort(key[:found])
        key, cost = key[:found][order].get(), cost[:found][order].get()
        row = (key >> np.uint64(32)).astype(np.int64)
        is_first = np.diff(row, prepend=-1) > 0
        to = (key & np.uint64(2**32 - 1)).astype(np.int32)
        return row[is_first], np.cumsum(is_first) - 1, to, cost

    @there
    def slacks(self, label: Any, slack: Any, k: int, offset: int, each: int) -> IntArray:
        """How many rows of each cluster have how much slack, (k, BINS); some of the rows."""
        held, n = cp.zeros((k, BINS), np.uint32), len(label)
        self._run(
            "count_slacks", n, slack, label, np.int64(n), np.int64(offset), each, BINS, SHIFT,
            LOWEST, held,
        )  # fmt: skip
        return held.get().astype(np.int64)  # type: ignore[no-any-return]

    @there
    def bordering(
        self, rows: Any, label: Any, slack: Any, offset: int, depth: FloatArray, level: int
    ) -> tuple[IntArray, IntArray, NDArray[np.float32]]:
        """Best and second best cluster of rows with at most so much slack, and their gap."""
        n = len(label)
        index = self._listed(
            n, "list_drawn", n, slack, label, np.int64(n), np.int64(offset),
            cp.asarray(depth.astype(np.float32)), np.uint64(0), level,
        )  # fmt: skip
        index, m = cp.sort(index), len(index)
        best, second, gap = cp.empty(m, np.int32), cp.empty(m, np.int32), cp.empty(m, np.float32)
        if m:
            self._run(
                "two_exactly", m, rows, self.d, self.origin, self.scale, index, m, self.centers,
                self.prices, self.k, best, second, gap, each=SOME,
            )  # fmt: skip
        return best.get(), second.get(), gap.get()

    @there
    def met(self, found: Any, before: Any, label: Any, index: Any) -> Any:
        """Add rows that have moved to a table of pairs, (k, k); see `Passes`."""
        if found is None:
            found = cp.zeros((self.k, self.k), np.uint32)
        if n := len(index):
            self._run("count_moves", n, before, label, index, n, self.k, found)
        return found

    @there
    def pairs(self, tally: Tally, met: Any) -> CupyPairs:
        """What rows cost more in other clusters; see `Passes`."""
        met = cp.zeros((self.k, self.k), np.uint32) if met is None else met
        return CupyPairs(self, tally, met)

    @there
    def within(self, slack: Any, most: float) -> IntArray:
        """Numbers, within the chunk, of rows with at most so much slack, increasing."""
        n = len(slack)
        found = self._listed(n, "list_within", n, slack, np.int64(n), np.float64(most))
        return np.asarray(np.sort(found.get()).astype(np.int64))

    @there
    def counted(self, label: Any, k: int) -> IntArray:
        """How often each label occurs."""
        counts = cp.zeros(k, np.int64)
        self._run(
            "count_labels", 4 * self._processors(), label, np.int64(len(label)), k, counts,
            each=1, shared=4 * k,
        )  # fmt: skip
        return counts.get()  # type: ignore[no-any-return]

    @there
    def copy(self, label: Any, to: Any) -> None:
        """Copy labels to other ones."""
        to[:] = label

    @there
    def put(self, label: Any, index: IntArray, values: Any) -> None:
        """Set some labels."""
        label[cp.asarray(index)] = cp.asarray(values)

    @there
    def taken(self, label: Any, index: IntArray) -> Any:
        """Labels of some rows, on the host."""
        return label[cp.asarray(index)].get()

    @there
    def distances(self, rows: Any, centers: FloatArray, found: Any) -> None:
        """Fill in the distances of rows to centers, (m, k), all in the units of X."""
        there = cp.asarray(np.ascontiguousarray(centers, np.float64))
        _distances()(rows, there, np.int64(self.d), np.int64(len(centers)), found)
