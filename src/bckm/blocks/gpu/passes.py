"""`Passes`: what a device does with the rows that it holds; the seam between host and GPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bckm._core.types import FloatArray, IntArray
from bckm.blocks.question import Question
from bckm.blocks.soft_prices import SoftRows


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


def united(parts: list[Tally]) -> Tally:
    """The tally of all chunks."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.changed(part)
    return whole


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


Told = tuple[IntArray, IntArray, NDArray[np.int32], FloatArray]


class Pairs(Protocol):
    """What rows cost more in other clusters than in their own, pair by pair.

    Attributes
    ----------
    other : array (k, m)
        Other clusters of each, increasing: those that are nearest.
    """

    other: IntArray

    def add(self, rows: Any, label: Any, counts: IntArray) -> None:
        """Count the rows of a chunk; `counts`: those of each cluster."""

    def limits(self, goal: FloatArray, *, shorter: bool) -> FloatArray:
        """Up to which cost so many rows of each pair lie, (k, m), about.

        Infinite where there are not so many. `shorter`: or as many on the way by other clusters.
        What is counted is float32, and wrong by as much.
        """

    def moves(self, chunk: int, rows: Any, limit: FloatArray) -> Told | None:
        """Moves of the rows of a chunk, by its number, that cost at most limits, (k, m).

        As `Passes.moves`. Some may cost a little more.
        """


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

    def slacks(self, label: Any, slack: Any, k: int, offset: int, each: int) -> IntArray:
        """How many rows of each cluster have how much slack, (k, BINS); see `borders.bin_ends`.

        Counted are, by their numbers, 32 of `each` times 32 rows.
        """

    def bordering(
        self, rows: Any, label: Any, slack: Any, offset: int, depth: FloatArray, level: int
    ) -> tuple[IntArray, IntArray, NDArray[np.float32]]:
        """Best and second best cluster of rows with at most so much slack, and their gap.

        One of 2^level rows is drawn; in order of their numbers, on the host.
        """

    def soft_rows(self, parts: Iterable[tuple[Any, IntArray]]) -> SoftRows:
        """Rows of each chunk by their numbers within it, which know their best clusters."""

    def met(self, found: Any, before: Any, label: Any, index: Any) -> Any:
        """Add rows with labels before and now to a table of pairs, (k, k); None: the first ones."""

    def pairs(self, tally: Tally, met: Any) -> Pairs:
        """What rows cost more in other clusters, at the question that was asked last.

        `tally` is that of all rows, `met` a table of rows that have moved, or None.
        """

    def moves(self, rows: Any, label: Any, slack: Any, limit: FloatArray) -> Told | None:
        """Moves of the rows of a chunk that cost at most the limit of their cluster, (k,).

        At the question that was asked last. On the host; None if they are too many. Told are the
        numbers of these rows within the chunk, increasing; and of each move the place of its row
        among them, a cluster, and what it costs more there, in the order of rows and clusters.
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
