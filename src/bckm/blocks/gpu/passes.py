"""`Passes`: what a device does with the rows that it holds; the seam between host and GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray, IntArray
from bckm.blocks.gap_counts import Flow, GapCounts
from bckm.blocks.question import Question


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts and whole sums of the rows of a chunk, on the host; as in `Answer`."""

    counts: IntArray
    cost: int
    farthest: FloatArray
    high: IntArray
    low: IntArray

    def changed(self, by: Tally) -> Tally:
        """The same after labels have changed; `farthest` may be too large."""
        return Tally(
            self.counts + by.counts,
            self.cost + by.cost,
            np.maximum(self.farthest, by.farthest),
            self.high + by.high,
            self.low + by.low,
        )


@dataclass(frozen=True, eq=False)
class Near:
    """The rows of a chunk that lie near borders, on the host.

    Attributes
    ----------
    taken, spare, drawn : arrays
        Numbers of rows within the chunk, increasing: within the limits, some of these, and some
        of those beyond.
    label : array
        Clusters of the first.
    level : array
        Levels of the last; see `Drawn`.
    minima : array (k, k)
        Least gaps of rows that are not taken, or less; infinite where there are none.
    """

    taken: IntArray
    label: IntArray
    spare: IntArray
    drawn: IntArray
    level: IntArray
    minima: NDArray[np.float32]


class Passes(Protocol):
    """Passes over chunks of rows; `rows`, `label` and `slack` are arrays of the device.

    Rows are of float32 or float64, contiguous; `plain` makes them so. A look begins with `ask`;
    what it is about is then on the device.
    """

    def plain(self, rows: Any, dtype: Any) -> Any:
        """The rows of a chunk as passes read them: themselves, where they are so."""

    def extent(self, rows: Any) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of each feature; NaN where one is NaN."""

    def sampled(self, rows: Any, offset: int, share: float, seed: int) -> IntArray:
        """Numbers, within the chunk, of the rows of a sample; see `survey.sampled`."""

    def gathered(self, rows: Any, index: IntArray) -> Any:
        """These rows, on the host."""

    def empty(self, rows: Any, dtype: Any, *more: int) -> Any:
        """An array of the device with a number, or so many, for each row."""

    def ask(self, question: Question, dtype: Any) -> None:
        """Take a question to the device."""

    def best(self, rows: Any, label: Any, slack: Any) -> None:
        """Fill in the best cluster of each row, and a proven lower bound of the gap to others."""

    def again(
        self, rows: Any, label: Any, slack: Any, drop: FloatArray, least: FloatArray
    ) -> tuple[Any, Any]:
        """Lower slacks by `drop` of the labels, and see rows again that have at most `least` left.

        Returned are, on the device, the rows whose labels have changed and their labels before.
        """

    def tally(self, rows: Any, label: Any) -> Tally:
        """Add up rows by their labels."""

    def moved(self, rows: Any, label: Any, index: Any, before: Any) -> Tally:
        """How that changes with the labels of some rows; `farthest` is that of these rows."""

    def near(self, rows: Any, label: Any, slack: Any, offset: int) -> Near:
        """Find the rows near borders, as the question asks."""

    def slacks(self, label: Any, slack: Any, k: int) -> IntArray:
        """How many rows of each cluster have how much slack, (k, BINS); see `borders.bin_of`."""

    def bordering(
        self, rows: Any, label: Any, slack: Any, offset: int, depth: FloatArray, level: int
    ) -> tuple[IntArray, IntArray, NDArray[np.float32]]:
        """Best and second best cluster of rows with at most so much slack, and their gap.

        One of 2^level rows is drawn; in order of their numbers, on the host.
        """

    def gaps(
        self,
        rows: Any,
        label: Any,
        counts: IntArray,
        other: NDArray[np.int32],
        shift: FloatArray,
        top: float,
        found: Any,
    ) -> Any:
        """Count rows by what they cost more than `shift` in others, (k, m, BINS), on the device.

        Added to what was `found` in other chunks, or None. `counts`: rows of each cluster. What is
        counted is float32, and wrong by as much.
        """

    def host(self, found: Any) -> Any:
        """An array of the device, on the host."""

    def flow(self, before: Any, label: Any, index: Any, k: int) -> Flow:
        """From which labels to which some rows have gone, on the host; none if that is too much."""

    def moves(
        self,
        rows: Any,
        label: Any,
        counts: IntArray,
        gaps: GapCounts,
        limit: FloatArray,
    ) -> tuple[IntArray, NDArray[np.int32], FloatArray] | None:
        """Moves of rows to others of their clusters that cost at most limits, (k, m), on the host.

        None if they are too many. Told are the number of a row within the chunk, a cluster, and
        what it costs more there; in the order of rows and clusters. Some may cost a little more.
        """

    def within(self, slack: Any, most: float) -> IntArray:
        """Numbers, within the chunk, of rows with at most so much slack, increasing."""

    def counted(self, label: Any, k: int) -> IntArray:
        """How often each label occurs."""

    def copy(self, label: Any, to: Any) -> None:
        """Copy labels to other ones."""

    def put(self, label: Any, index: IntArray, values: Any) -> None:
        """Set some labels."""

    def taken(self, label: Any, index: IntArray) -> Any:
        """Labels of some rows, on the host."""

    def distances(self, rows: Any, centers: FloatArray, found: Any) -> None:
        """Fill in the distances of rows to centers, (m, k), all in the units of X."""
