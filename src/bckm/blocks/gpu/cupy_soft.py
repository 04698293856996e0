"""`CupySoftRows`: rows of a GPU that know their best clusters; see `blocks/soft_prices`.

Lists are made by a kernel of `best.cu`, all else by those of `soft.cu`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cupy as cp
import numpy as np

from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm.blocks.gpu.cupy_kernels import THREADS, Launcher, source, there
from bckm.blocks.question import Question
from bckm.blocks.soft_prices import Listing

PARTS = 32  # of the clusters, the best of each of which is listed, as far as a part has 8 to 32
LANES = 8  # clusters that are listed beside: the best two of every fourth pair
EACH = 4 * THREADS  # rows of a block
WHOLE = 2.0**20  # units of shares
HEATS, HOTTER = 4, 10.0  # temperatures, and by how much they rise
BORDERING, OF_EACH = 2**13, 16  # rows near borders, in all or of each cluster: more tell no more
SOME, FEW = 2**13, 2**11  # rows whose gaps, and lists, come to the host
ACCURACY, ROUNDS = 1e-3, 300  # of a Newton step
NONE = 1e38  # values of no cluster are larger
DIRECTLY = 160  # clusters, at most, that are eliminated, where a matrix of them fits into a block
ROWS = 16  # of the matrix, for each block that solves


@lru_cache(maxsize=16)
def _compiled(device: int, together: bool) -> Any:
    """The kernels; `together`: blocks run at the same time, or it is refused."""
    del device  # modules belong to one
    options, code = ("-std=c++17",), source("soft")
    return cp.RawModule(code=code, options=options, enable_cooperative_groups=together)


class CupySoftRows(Launcher):
    """Rows on a GPU that know their best clusters.

    Parameters
    ----------
    rows : array (n, d)
        On the device.
    passes : CupyPasses
        Who lists their best clusters.
    """

    def __init__(self, rows: Any, passes: Any) -> None:
        self.device, self._rows, self._passes = rows.device, rows, passes
        self.size = len(rows)
        self._centers: FloatArray | None = None
        self._edge: Any = None
        with self.device:
            self._kernels, self._together = (
                _compiled(int(self.device.id), one) for one in (False, True)
            )

    @there
    def list(self, question: Question) -> Listing:
        """Find the best clusters of each row."""
        k, n = question.k, self.size
        if self._centers is not question.centers:
            self._centers, self._order = question.centers, parts_of(question.centers)
        order = self._order
        self._value, self._cluster, gap = self._passes.listed(self._rows, question, order)
        self.prices, self.k = question.prices, k
        if self._edge is None or self._edge.size != HEATS * k * k:
            self._edge = cp.empty(HEATS * k * k, np.uint64)
        few = slice(None, None, max(1, n // FEW))
        value, cluster = self._value[:, few].get(), self._cluster[:, few].get()
        # the second of a lane: its others cost more
        reach = value[1:LANES:2].min(axis=0) - value[:LANES].min(axis=0)
        known = np.bincount(cluster[value < NONE], minlength=k) / cluster.shape[1]
        self._gaps = gap[:: max(1, n // SOME)].get()
        part = np.empty(k, np.int64)
        part[order] = np.arange(k) // part_of(k)
        return Listing(self._gaps, float(np.median(reach)), known, part)

    def _each(self, temperature: float) -> tuple[int, ...]:
        """One of how many rows is to tell of borders, at each temperature."""
        hot = temperature * HOTTER ** np.arange(HEATS)
        near = np.array([np.count_nonzero(self._gaps < one) for one in hot]) / self._gaps.size
        enough = max(BORDERING, OF_EACH * self.k)
        return tuple(max(1, int(one)) for one in near * self.size / enough)

    @there
    def soften(self, prices: FloatArray, temperature: float) -> CupySoftened:
        """Share rows among the clusters that are listed."""
        n, k = self.size, self.k
        blocks, each = -(-n // EACH), self._each(temperature)
        told = cp.zeros(2 * k + 2 * blocks, np.uint64)
        self._edge.fill(0)
        rise = cp.asarray((prices - self.prices).astype(np.float32))
        self._run(
            "soften", n, self._value, self._cluster, np.int64(n), len(self._value), rise, k,
            np.float32(temperature), *each, told, self._edge, told[2 * k :], each=EACH,
            shared=12 * k,
        )  # fmt: skip
        weight, degree = cp.empty((k, k), np.float32), cp.empty(k)
        self._run(
            "edges", k, self._edge, k, np.float64(temperature), *each, weight, degree,
            each=THREADS // 32,
        )  # fmt: skip
        found = told.get()
        sums = found[2 * k :].view(np.float64).reshape(-1, 2).sum(axis=0)
        return CupySoftened(self, found[: 2 * k].reshape(2, k), sums, weight, degree)

    @there
    def step(
        self, weight: Any, degree: Any, gradient: FloatArray, active: BoolArray, damping: float
    ) -> FloatArray:
        """See `CupySoftened.step`."""
        k = self.k
        blocks = max(1, min(self._processors(), k // ROWS))
        step = cp.empty(k)
        room = int(self.device.attributes["MaxSharedMemoryPerBlockOptin"])
        if k <= DIRECTLY and 8 * k * (k + 1) < room - 1024:
            self._run(
                "newton_step_directly", 1, weight, degree, cp.asarray(gradient),
                cp.asarray(active), k, np.float64(damping), step, each=1, shared=8 * k * (k + 1),
            )  # fmt: skip
            return step.get()  # type: ignore[no-any-return]
        product, arrived = cp.empty((2, k)), cp.zeros(1, np.uint32)
        self._run(
            "newton_step", blocks, weight, degree, cp.asarray(gradient), cp.asarray(active), k,
            np.float64(damping), np.float64(ACCURACY), ROUNDS, product, arrived, step, each=1,
            shared=24 * k, kernels=self._together,
        )  # fmt: skip
        return step.get()  # type: ignore[no-any-return]

    @there
    def pull(self, weight: Any, degree: Any, moved: FloatArray) -> FloatArray:
        """See `CupySoftened.pull`."""
        pulled = cp.empty(self.k)
        there = cp.asarray(moved)
        self._run("pulled", self.k, weight, degree, there, self.k, pulled, each=THREADS // 32)
        return pulled.get()  # type: ignore[no-any-return]


class CupySoftened:
    """The softened dual of rows on a GPU; see `Softened`."""

    def __init__(
        self, rows: CupySoftRows, told: Any, sums: FloatArray, weight: Any, degree: Any
    ) -> None:
        self._rows, self._weight, self._degree = rows, weight, degree
        self.shared, self.units = told[0] / WHOLE, told[1].astype(np.float64)
        self.soft, self.hard = float(sums[0]), float(sums[1])

    def step(self, gradient: FloatArray, active: BoolArray, damping: float) -> FloatArray | None:
        """A damped Newton step."""
        step = self._rows.step(self._weight, self._degree, gradient, active, damping)
        return step if bool(step.any()) else None

    def pull(self, moved: FloatArray) -> FloatArray:
        """The curvature times how far prices have moved."""
        pulled: FloatArray = self._rows.pull(self._weight, self._degree, moved)
        return pulled


def part_of(k: int) -> int:
    """How many clusters a part has."""
    return 8 if k <= 8 * PARTS else 16 if k <= 16 * PARTS else 32


def parts_of(centers: FloatArray) -> IntArray:
    """An order of the clusters in which those of a part are near each other."""
    parts, waiting, part = [], [np.arange(len(centers))], part_of(len(centers))
    while waiting:
        some = waiting.pop()
        if some.size <= part:
            parts.append(some)
            continue
        those = centers[some]
        widest = int((those.max(axis=0) - those.min(axis=0)).argmax())
        order = some[np.argsort(those[:, widest], kind="stable")]
        half = -(-order.size // (2 * part)) * part
        waiting += [order[half:], order[:half]]
    return np.concatenate(parts)
