"""Newton's method by looks themselves, for holders whose looks cost less than a model of the rows.

Such a holder keeps labels between the looks of a step and tells which rows are nearest to borders.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray
from bckm.assign.transport_state import SizeBounds, TransportState, walk
from bckm.blocks import whole_sums
from bckm.blocks.answer import Answer, Taken
from bckm.blocks.borders import LEAST, PER_WRONG, Borders, newton_direction
from bckm.blocks.frame import Frame
from bckm.blocks.holder import QuickHolder
from bckm.blocks.label_exceptions import margin_of
from bckm.blocks.question import Question
from bckm.blocks.row_model import RowModel
from bckm.blocks.settling import Parts, Settled, rounding_of_sums

DENSE = 0.002  # share of the rows of a cluster that a curvature is measured from, at least
DEEP, EACH = 2.0**16, 24.0  # rows that a model has, about; of each cluster near borders
STRATA = 5  # a model has about so many times as many as near borders
LOOKS = 12  # at most
SLOW, PATIENCE = 0.7, 2  # a step that leaves more than this share is slow; so many are enough
TRIES, SHORTER = 3, (0.05, 0.6)  # a step that lowers the dual is tried again, shorter


class LookState(TransportState):
    """All rows of a holder at the last prices; `evaluate` is a look."""

    question: Question
    answer: Answer

    def __init__(self, holder: QuickHolder, frame: Frame, bounds: SizeBounds) -> None:
        self.holder, self.frame, self.bounds, self.k = holder, frame, bounds, bounds.lower.size
        self.looks = 0
        self.log: list[dict[str, Any]] = []

    def evaluate(
        self, centers: FloatArray, prices: FloatArray, deadline: Deadline, *, keep: bool = False
    ) -> float:
        """Look."""
        assert not keep
        question = Question(self.frame, centers, prices, draw=self.looks)
        self.take(question, self.holder.look(question, deadline))
        self.looks += 1
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

    def newton_step(self) -> FloatArray | None:
        """Newton step; None where no sample is near a border."""
        # all rows are there to be counted: more of them than where a sample tells of borders
        wrong = np.maximum(np.abs(self.gradient), DENSE * self.units.sum() / self.k)
        edges = self.borders(np.maximum(LEAST, PER_WRONG * wrong)).edges(wrong)
        return newton_direction(edges, self.bounds, self.prices, self.gradient)

    def modeled(self, threads: int, deadline: Deadline) -> FloatArray:
        """Prices that are right for rows that stand for all, many of them near borders."""
        question = self.question
        drawn = self.holder.strata(question, max(DEEP / (STRATA * self.k), EACH))
        points = question.frame.inside(drawn.rows)
        model = RowModel(points, drawn.number, self.bounds, threads)
        model.go(question.centers, self.prices, deadline)
        model.teach(self.bounds, self.answer.counts)
        model.solve(question.centers, deadline, exact=True)
        return model.prices


def approach(
    state: LookState,
    centers: FloatArray,
    target: float,
    threads: int,
    deadline: Deadline,
    *,
    quick: bool,
) -> None:
    """Raise the dual until at most `target` samples are in the wrong cluster, or it gets slow.

    By Newton steps if `quick`, as long as these are good. Where clusters lie in groups that hardly
    any sample connects, they go too far: then by a model of rows that stand for all.
    """
    slow = 0
    total = float(state.units.sum())
    for _ in range(LOOKS):
        if state.infeasibility <= target or slow >= PATIENCE:
            return
        before, dual, gradient = state.prices, state.dual, state.gradient
        wrong, step = state.infeasibility, None
        if quick:
            step = state.newton_step()
        if step is None:
            quick, step = False, state.modeled(threads, deadline) - before
        for _ in range(TRIES):
            after = walk(state.bounds, before, step, gradient) if quick else before + step
            state.evaluate(centers, state.bounds.shifted(after, total), deadline)
            if state.dual > dual:
                break
            quick = False
            rising, falling = float(step @ gradient), float(step @ state.gradient)
            share = rising / (rising - falling) if rising > falling else 0.0
            step *= np.clip(share, *SHORTER)
        else:
            state.evaluate(centers, before, deadline)
            return
        if state.infeasibility > SLOW * wrong:
            slow, quick = slow + (not quick), False
