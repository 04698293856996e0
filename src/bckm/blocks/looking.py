"""Prices by looks themselves, for holders whose looks cost less than a model of the rows.

Such a holder keeps labels between the looks of a step, and tells how many rows cost how much more
in other clusters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray
from bckm.assign.transport_state import SizeBounds, TransportState
from bckm.blocks import whole_sums
from bckm.blocks.answer import Answer, Taken
from bckm.blocks.borders import Borders
from bckm.blocks.frame import Frame
from bckm.blocks.gap_counts import (
    Flow,
    GapCounts,
    Shares,
    others_of,
    others_of_each,
    pairs_of,
    top_of,
)
from bckm.blocks.holder import QuickHolder
from bckm.blocks.label_exceptions import margin_of
from bckm.blocks.question import Question
from bckm.blocks.settling import Parts, Settled, rounding_of_sums
from bckm.kernels import missing

LOOKS = 30  # at most
WIDEST = 2**14  # features of rows that are counted, at most
MATTER, PER_WRONG = 64.0, 8.0  # rows that a pair of clusters can give, and for each wrong one
FINE = 0.01  # share of the samples in the wrong cluster
LEFT = 0.05  # share of the wrong samples that a model may leave
STEPS, PATIENT = 40, 8  # Newton steps of a model, and those that help little
SLOW, PATIENCE = 0.7, 8  # a step that leaves more than this share is slow; so many are enough
TRIES, SHORTER = 3, (0.05, 0.6)  # a step that lowers the dual is tried again, shorter


class LookState(TransportState):
    """All rows of a holder at the last prices; `evaluate` is a look."""

    question: Question
    answer: Answer

    def __init__(self, holder: QuickHolder, frame: Frame, bounds: SizeBounds) -> None:
        self.holder, self.frame, self.bounds, self.k = holder, frame, bounds, bounds.lower.size
        self.looks = 0
        self.met = Flow.none()  # pairs between which looks moved rows, and when
        self.first, self.first_at = Flow.none(), np.zeros(self.k)  # what rows cost more, at prices
        self.log: list[dict[str, Any]] = []

    def evaluate(
        self, centers: FloatArray, prices: FloatArray, deadline: Deadline, *, keep: bool = False
    ) -> float:
        """Look."""
        assert not keep
        question = Question(self.frame, centers, prices, draw=self.looks)
        self.take(question, self.holder.look(question, deadline))
        self.looks += 1
        if not self.counts_all:
            self.met = self.met.later(self.holder.moved())
        self.log.append({"wrong": self.infeasibility, "dual": self.dual})
        return 0.0

    def take(self, question: Question, answer: Answer) -> None:
        """What the last look of the holder has told; rows that it brought are not needed."""
        rows = answer.taken.rows
        self.answer = replace(answer, taken=Taken.none(rows.shape[1], rows.dtype))
        self.question, self.prices = question, question.prices
        self.units = answer.counts.astype(np.float64)
        self.cost = whole_sums.as_float(answer.cost, question.cost_scale)

    def settled(self) -> Settled | None:
        """The assignment, where samples in their best clusters obey the bounds, none at a border.

        None if not: then there is more to do.
        """
        if self.infeasibility > 0:
            return None
        answer, prices, centers = self.answer, self.prices, self.question.centers
        if self.holder.tied(float(margin_of(answer.farthest, centers, prices).max())):
            return None
        means = whole_sums.as_means(answer.high, answer.low, answer.counts)
        means = np.where(answer.counts[:, None] > 0, means, centers)
        gap = self.bounds.complementary_slack(self.units, prices)
        rounding = rounding_of_sums(centers, prices, self.cost, self.units, self.bounds)
        bound, parts = max(self.cost - gap - rounding, 0.0), Parts.none()
        return Settled(prices, self.cost, bound, gap, answer.counts, means, parts, parts.row)

    def borders(self, goal: FloatArray) -> Borders:
        """So many rows of each cluster that are nearest to others."""
        return self.holder.borders(self.question, goal)

    @property
    def is_counted(self) -> bool:
        """Whether rows can be counted by what they cost more elsewhere."""
        return not missing and self.k > 1 and self.question.centers.shape[1] <= WIDEST

    @property
    def counts_all(self) -> bool:
        """Whether that tells of all pairs of clusters: then it leads from anywhere."""
        return self.is_counted and others_of_each(*self.question.centers.shape) == self.k - 1

    def gap_counts(self) -> GapCounts:
        """How many rows cost how much more in other clusters."""
        answer, centers, prices = self.answer, self.question.centers, self.prices
        means = whole_sums.as_means(answer.high, answer.low, answer.counts)
        means = np.where(answer.counts[:, None] > 0, means, centers)
        other = others_of(centers, prices, means, self.met)
        top = top_of(centers, prices, answer.farthest, other)
        # where clusters are far apart, all rows cost about the same more: bins are fine from the
        # first one on, as far as that is known and hardly any row has come since
        pair, shift = pairs_of(other), np.zeros(other.shape)
        if self.infeasibility <= FINE * self.units.sum():
            went, first = prices - self.first_at, self.first.of(pair).reshape(other.shape)
            shift = np.where(first > 0, first - went[other] + went[:, None], 0.0).clip(0.0)
        counts = self.holder.gaps(self.question, other, shift, top)
        gaps = GapCounts(other, counts, shift, top)
        self.first, self.first_at = Flow(pair, gaps.first().ravel()), prices
        return gaps


def approach(state: LookState, target: float, threads: int, deadline: Deadline) -> None:
    """Raise the dual until at most `target` samples are in the wrong cluster, or it gets slow."""
    shares, slow, centers = Shares(), 0, state.question.centers
    for _ in range(LOOKS if state.is_counted else 0):
        before, dual, gradient = state.prices, state.dual, state.gradient
        wrong = state.infeasibility
        if wrong <= target or slow >= PATIENCE:
            return
        gaps = state.gap_counts()
        share = shares.of(gaps.other)
        table = gaps.table(
            MATTER + PER_WRONG * np.abs(gradient), before, state.units, threads, share
        )
        after, _ = table.climb(state.bounds.lower, state.bounds.upper, LEFT * wrong, STEPS, PATIENT)
        whole = True
        for _ in range(TRIES):
            state.evaluate(centers, after, deadline)
            if state.dual > dual:
                break
            step = after - before
            rising, falling = float(step @ gradient), float(step @ state.gradient)
            part = rising / (rising - falling) if rising > falling else 0.0
            after, whole = before + step * np.clip(part, *SHORTER), False
        else:
            state.evaluate(centers, before, deadline)
            return
        if whole:
            shares.learn(gaps.other, table.moves(after), state.holder.moved())
        slow += state.infeasibility > SLOW * wrong
