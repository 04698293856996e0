"""`GpuHolder`: rows of an array on a GPU, which never leave it but for those near borders.

Labels and slacks of the last look are kept on the device, 8 bytes for each row. In the next look of
the same step only rows whose slack the new prices may use up are seen again, and sums change by the
rows that move. No answer depends on that, but for `farthest`, which may be that of a row that has
left its cluster; so the first look of a step sees all rows anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.on_device import TO_HOST
from bckm._core.types import FloatArray, IntArray
from bckm.blocks.answer import SPARE, Answer, Taken, gathered
from bckm.blocks.borders import BINS, Borders, bin_ends
from bckm.blocks.drawn import Drawn
from bckm.blocks.gpu.passes import Pairs, Passes, Tally, united
from bckm.blocks.labeling import Labeling
from bckm.blocks.look import located_in, nothing
from bckm.blocks.question import Question
from bckm.blocks.row_moves import Moves
from bckm.blocks.settling import rounding_of_gaps
from bckm.blocks.soft_prices import SoftRows
from bckm.blocks.survey import Survey, merged_surveys

CHUNK = 2**24  # rows in a chunk, and at most so many numbers: what a pass needs beside is bounded
NUMBERS = 2**31
BORDERING = 2**16  # rows that tell where borders are
SOFT, SOFT_NUMBERS = 2**19, 2**26  # rows that lead to prices, at most, and numbers of these;
SOFT_WORK, SOFT_EACH = 2**35, 64  # products of features and clusters; rows of each cluster at least
SOFT_LEAST = 8  # or none are drawn: rows are very wide
SOFT_SEED = 1  # other rows than those of the survey
PAIRS = 2**22  # of clusters, at most, between which such rows are counted
EXACT = 0.1  # share of the rows of a cluster whose slacks are kept exact
TIED = 2**12  # rows so near to a border that rounding decides: more are settled as by all holders
COUNTED = 2**20  # rows whose slacks are counted, about


@dataclass(eq=False)
class Kept:
    """What the last look has left on the device, chunk by chunk.

    Attributes
    ----------
    question : Question
        Its centers and prices.
    least : array (k,)
        Rows of less slack are seen again in any case, so that slacks near borders are exact.
    label, slack, tally : dict
        By the number of the first row of a chunk.
    held : array (k, BINS) or None
        How many rows of each cluster have at most so much slack, about, once it was asked.
    pairs : Pairs or None
        What rows cost more in other clusters, once it was asked.
    met : array (k, k) or None
        Rows that looks at these centers have moved, on the device.
    """

    question: Question
    least: FloatArray
    label: dict[int, Any] = field(default_factory=dict)
    slack: dict[int, Any] = field(default_factory=dict)
    tally: dict[int, Tally] = field(default_factory=dict)
    held: IntArray | None = None
    pairs: Pairs | None = None
    met: Any = None

    def is_for(self, question: Question) -> bool:
        """Whether the centers are the same, in a look that is not the first."""
        mine = self.question
        return (
            question.draw > 0
            and np.array_equal(mine.centers, question.centers)
            and mine.sums == question.sums
            and mine.frame.x_scale == question.frame.x_scale
            and np.array_equal(mine.frame.origin, question.frame.origin)
        )


class GpuHolder:
    """Rows of one array on a GPU; a `Holder`.

    Parameters
    ----------
    rows : array (n, d)
        On the device.
    dtype : dtype
        float32 or float64: what they are read as. Where they are something else, or not
        contiguous, each chunk is copied in each pass.
    passes : Passes
        What the device does with them.
    returned : callable
        From an array of labels on the device to the kind of array that the caller has.
    """

    names: tuple[str, ...] | None = None
    elsewhere = (
        "on the host; X lives on a GPU, where sizes can be bounded and nothing else. Bring X to "
        f"the host ({TO_HOST}), or do without."
    )

    def __init__(self, rows: Any, dtype: Any, passes: Passes, returned: Any) -> None:
        self._rows, self._passes, self._returned = rows, passes, returned
        self.n_rows, self.n_features = int(rows.shape[0]), int(rows.shape[1])
        self.dtype = np.dtype(dtype)
        self.passes = self.received = 0
        self.quick = True
        self._kept: Kept | None = None
        self._soft: tuple[int, SoftRows] | None = None

    def survey(self, share: float, seed: int, deadline: Deadline | None = None) -> Survey:
        """Survey all rows."""
        self.passes += 1
        return merged_surveys(
            self._survey(rows, offset, share, seed) for offset, rows in self._chunks(deadline)
        )

    def look(self, question: Question, deadline: Deadline | None = None) -> Answer:
        """Answer a question about all rows."""
        self.passes += 1
        answer = gathered(
            self._look(rows, offset, question, *seen)
            for offset, rows, seen in self._seen(question, deadline)
        )
        self.received += answer.nbytes
        return answer

    def borders(self, question: Question, goal: FloatArray) -> Borders:
        """So many rows of each cluster that are nearest to others, where the last look was.

        Of very many some are drawn.
        """
        kept, passes, k = self._last, self._passes, question.k
        if not kept.least.any():
            kept.least = self.depth(np.full(k, EXACT * self.n_rows / k))
        deep, many = self.depth(goal), int(self._held()[np.arange(k), self._place(goal)].sum())
        level = max(0, int(np.ceil(np.log2(max(1.0, many / BORDERING)))))
        found = [
            passes.bordering(rows, kept.label[at], kept.slack[at], at, deep, level)
            for at, rows in self._chunks(None)
        ]
        best, second, gap = (np.concatenate(one) for one in zip(*found, strict=True))
        near = gap <= deep[best]  # no such row is missing
        number = np.full(best.size, 2.0**level)
        return Borders(best[near], second[near], gap[near].astype(np.float64), number[near], k)

    def soft_rows(self, k: int) -> SoftRows | None:
        """Some of the rows, which know their best clusters; None where these would be too many."""
        if k * k > PAIRS:
            return None
        n, d = self.n_rows, self.n_features
        enough = min(SOFT, SOFT_NUMBERS // d, SOFT_WORK // (k * d))
        many = max(enough, min(SOFT_EACH * k, 2 * SOFT_NUMBERS // d))
        if many < SOFT_LEAST * k:
            return None
        if self._soft is None or self._soft[0] != many:
            passes, share = self._passes, min(1.0, many / n)
            parts = (
                (rows, passes.sampled(rows, at, share, SOFT_SEED))
                for at, rows in self._chunks(None)
            )
            self._soft = many, passes.soft_rows(parts)
        return self._soft[1]

    def tied(self, slack: float) -> Taken | None:
        """The rows that had at most so much slack in the last look; None if they are many."""
        kept, passes = self._last, self._passes
        found = {at: passes.within(one, slack) for at, one in kept.slack.items()}
        if sum(index.size for index in found.values()) > TIED:
            return None
        told = Taken.none(self.n_features, self.dtype)
        if any(index.size for index in found.values()):
            parts = [
                (passes.gathered(rows, index), passes.taken(kept.label[at], index), index + at)
                for at, rows in self._chunks(None)
                for index in [found[at]]
            ]
            rows, label, number = (np.concatenate(one) for one in zip(*parts, strict=True))
            told = Taken.found(rows, label, number, TIED)
        self.received += told.nbytes
        return told

    def depth(self, goal: FloatArray) -> FloatArray:
        """Up to which slack so many rows of each cluster lie, where the last look was, (k,)."""
        return np.asarray(bin_ends()[self._place(goal) + 1])

    def others(self) -> IntArray:
        """Clusters that are near each, increasing: pairs of which limits are told, (k, m)."""
        kept = self._last
        if kept.pairs is None:
            kept.pairs = self._passes.pairs(united(list(kept.tally.values())), kept.met)
            for at, rows in self._chunks(None):
                kept.pairs.add(rows, kept.label[at], kept.tally[at].counts)
        return kept.pairs.other

    def limits(self, goal: FloatArray, *, shorter: bool) -> FloatArray:
        """Up to which cost so many rows of each pair lie, where the last look was, (k, m)."""
        self.others()
        assert self._last.pairs is not None
        return self._last.pairs.limits(goal, shorter=shorter)

    def moves(self, limit: FloatArray) -> Moves | None:
        """All moves that cost at most a limit; None if they are too many.

        The limit of their cluster, (k,), or of their pair, (k, m).
        """
        kept, passes, before = self._last, self._passes, 0
        parts: list[Any] = []
        for chunk, (at, rows) in enumerate(self._chunks(None)):
            if limit.ndim == 1:
                told = passes.moves(rows, kept.label[at], kept.slack[at], limit)
            else:
                assert kept.pairs is not None
                told = kept.pairs.moves(chunk, rows, limit)
            if told is None:
                return None
            index, place, cluster, cost = told
            found = passes.gathered(rows, index), index + at, passes.taken(kept.label[at], index)
            parts.append((*found, place + before, cluster, cost))
            before += index.size
        moves = Moves(*(np.concatenate(one) for one in zip(*parts, strict=True)))
        self.received += moves.nbytes
        return moves

    @property
    def _last(self) -> Kept:
        assert self._kept is not None
        return self._kept

    def _held(self) -> IntArray:
        """How many rows of each cluster had at most so much slack in the last look, (k, BINS).

        About, where rows are many.
        """
        kept = self._last
        if kept.held is None:
            k, each = kept.question.k, max(1, self.n_rows // COUNTED)
            bins = sum(
                self._passes.slacks(kept.label[at], kept.slack[at], k, at, each)
                for at in kept.label
            )
            kept.held = each * np.cumsum(bins, axis=1)
        return kept.held

    def _place(self, goal: FloatArray) -> IntArray:
        """The bin up to which so many rows of each cluster lie."""
        return np.asarray(np.minimum((self._held() < goal[:, None]).sum(axis=1), BINS - 1))

    def count(self, labeling: Labeling, deadline: Deadline | None = None) -> IntArray:
        """Count the labels of all rows, (k,)."""
        self.passes += 1
        k = labeling.prices.size
        counts = np.zeros(k, np.int64)
        for _, label in self._labels(labeling, deadline):
            counts += self._passes.counted(label, k)
        return counts

    def labels(self, labeling: Labeling) -> Any:
        """Labels of all rows: the same kind of array as the rows, on the same device."""
        self.passes += 1
        found = self._passes.empty(self._rows, np.int32)
        for offset, label in self._labels(labeling, None):
            self._passes.copy(label, found[offset : offset + len(label)])
        return self._returned(found)

    def distances(self, centers: FloatArray) -> Any:
        """Distances of all rows to centers, (n, k): the same kind of array as the rows."""
        self.passes += 1
        found = self._passes.empty(self._rows, self.dtype, len(centers))
        for offset, rows in self._chunks(None):
            self._passes.distances(rows, centers, found[offset : offset + len(rows)])
        return self._returned(found)

    def place(self, row: int, feature: int) -> str:
        """Where a number is, for messages."""
        return f"sample {row}, feature {feature}"

    def _chunks(self, deadline: Deadline | None) -> Iterator[tuple[int, Any]]:
        step = max(1, min(CHUNK, NUMBERS // self.n_features))
        for start in range(0, self.n_rows, step):
            if deadline is not None:
                deadline.check()
            yield start, self._passes.plain(self._rows[start : start + step], self.dtype)

    def _survey(self, rows: Any, offset: int, share: float, seed: int) -> Survey:
        passes = self._passes
        low, high = passes.extent(rows)
        bad = None
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            bad = self._first_bad(rows, offset)
        index = passes.sampled(rows, offset, share, seed)
        sample = passes.gathered(rows, index)
        return Survey(len(rows), bad, low, high, index + offset, sample)

    def _first_bad(self, rows: Any, offset: int) -> tuple[int, int]:
        """Row and feature of the first number that is not finite."""
        begin, end = 0, len(rows)
        while end - begin > 1:  # halves of it, on the device
            middle = (begin + end) // 2
            finite = all(np.isfinite(one).all() for one in self._passes.extent(rows[begin:middle]))
            begin, end = (middle, end) if finite else (begin, middle)
        row = self._passes.gathered(rows, np.array([begin]))[0]
        return offset + begin, int(np.flatnonzero(~np.isfinite(row))[0])

    def _seen(
        self, question: Question, deadline: Deadline | None
    ) -> Iterator[tuple[int, Any, tuple[Any, Any, Tally]]]:
        """Labels, slacks and sums of each chunk, from what is kept where centers are the same."""
        passes, kept = self._passes, self._kept
        passes.ask(question, self.dtype)
        drop, least = None, np.zeros(question.k)
        if kept is not None and kept.is_for(question):
            rise = question.prices - kept.question.prices
            rounding = rounding_of_gaps(question.centers, question.prices)
            drop, least = rise.max() - rise + rounding, kept.least
            if not rise.any():
                drop, least = np.zeros(question.k), np.full(question.k, -1.0)
        else:
            kept = None
        now = Kept(question, np.zeros(question.k) if kept is None else kept.least)
        now.met = None if kept is None else kept.met
        self._kept = None  # a chunk that was begun is of no use, should the time be up
        for offset, rows in self._chunks(deadline):
            if kept is not None and drop is not None:
                label, slack = kept.label.pop(offset), kept.slack.pop(offset)
                index, before = passes.again(rows, label, slack, drop, least)
                tally = kept.tally[offset]
                if len(index):
                    if question.k**2 <= PAIRS:
                        now.met = passes.met(now.met, before, label, index)
                    tally = tally.changed(passes.moved(rows, label, index, before))
            else:
                label, slack = passes.empty(rows, np.int32), passes.empty(rows, np.float32)
                passes.best(rows, label, slack)
                tally = passes.tally(rows, label)
            now.label[offset], now.slack[offset], now.tally[offset] = label, slack, tally
            yield offset, rows, (label, slack, tally)
        self._kept = now

    def _look(
        self, rows: Any, offset: int, question: Question, label: Any, slack: Any, tally: Tally
    ) -> Answer:
        passes, d, most = self._passes, self.n_features, question.most
        taken = Taken.none(d, self.dtype)
        spare = drawn = Drawn.none(d, self.dtype, question.draw)
        minima = np.empty((0, 0), np.float32)
        if question.limit is not None and question.k > 1:
            near = passes.near(rows, label, slack, offset)
            found = passes.gathered(rows, near.taken)
            taken = Taken.found(found, near.label.astype(np.int32), near.taken + offset, most)
            levels = np.full(near.spare.size, SPARE, np.int8)
            spare = self._drawn(rows, near.spare, levels, offset, question.draw)
            spare = spare.at_most(most >> SPARE)
            drawn = self._drawn(rows, near.drawn, near.level.astype(np.int8), offset, question.draw)
            drawn = drawn.at_most(most)
            minima = near.minima
        elif question.limit is not None:
            minima = np.full((question.k, question.k), np.inf, np.float32)
        where = nothing(question, d, self.dtype).located
        if question.listed is not None:
            at = passes.within(slack, question.listed.slack)
            where = located_in(passes.gathered(rows, at), at + offset, question.listed)
        return Answer(
            tally.counts,
            tally.cost,
            tally.farthest,
            tally.high,
            tally.low,
            taken,
            spare,
            drawn,
            minima,
            where,
            most,
        )

    def _drawn(self, rows: Any, index: IntArray, level: Any, offset: int, draw: int) -> Drawn:
        return Drawn(self._passes.gathered(rows, index), index + offset, level, draw)

    def _labels(self, labeling: Labeling, deadline: Deadline | None) -> Iterator[tuple[int, Any]]:
        """Labels of each chunk, exceptions included."""
        passes, ties = self._passes, labeling.ties
        question = Question(labeling.frame, labeling.centers, labeling.prices, draw=1)
        for offset, rows, (best, slack, _) in self._seen(question, deadline):
            label = passes.empty(rows, np.int32)
            passes.copy(best, label)
            if ties is not None:
                at = passes.within(slack, ties.slack)
                found = ties.relabel(
                    passes.gathered(rows, at), at + offset, passes.taken(label, at)
                )
                passes.put(label, at, found)
            begin, end = np.searchsorted(labeling.index, [offset, offset + len(rows)])
            if end > begin:
                index = labeling.index[begin:end] - offset
                passes.put(label, index, labeling.label[begin:end])
            yield offset, label
