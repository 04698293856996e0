"""Newton's method by looks themselves, for holders whose looks cost less than a model of the rows.

Such a holder keeps labels between the looks of a step and tells which rows are nearest to borders.
"""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray
from bckm.assign.transport_state import SizeBounds, TransportState, walk
from bckm.blocks import whole_sums
from bckm.blocks.answer import Answer
from bckm.blocks.borders import LEAST, PER_WRONG, RIDGE, Borders, newton_direction
from bckm.blocks.frame import Frame
from bckm.blocks.holder import QuickHolder
from bckm.blocks.question import Question

DENSE = 0.002  # share of the rows of a cluster that a curvature is measured from, at least
LOOKS = 12  # at most
SLOW, PATIENCE = 0.5, 2  # a step that leaves more than this share is slow; so many are enough
STRONGER, WEAKER, STRONGEST = 30.0, 3.0, 0.3  # damping after a step that went too far, or did not


class LookState(TransportState):
    """All rows of a holder at the last prices; `evaluate` is a look."""

    question: Question
    answer: Answer

    def __init__(self, holder: QuickHolder, frame: Frame, bounds: SizeBounds) -> None:
        self.holder, self.frame, self.bounds, self.k = holder, frame, bounds, bounds.lower.size
        self.contenders, self.pace, self.looks = None, 0.0, 0

    def evaluate(
        self, centers: FloatArray, prices: FloatArray, deadline: Deadline, *, keep: bool = False
    ) -> float:
        """Look."""
        assert not keep
        self.question = Question(self.frame, centers, prices, draw=self.looks)
        self.answer = self.holder.look(self.question, deadline)
        self.looks += 1
        self.units, self.prices = self.answer.counts.astype(np.float64), prices
        self.cost = whole_sums.as_float(self.answer.cost, self.question.cost_scale)
        return 0.0

    def borders(self, goal: FloatArray) -> Borders:
        """So many rows of each cluster that are nearest to others."""
        return self.holder.borders(self.question, goal)

    def damped(self, ridge: float) -> FloatArray | None:
        """Newton step, damped; None where no sample is near a border."""
        # all rows are there to be counted: more of them than where a sample tells of borders
        wrong = np.maximum(np.abs(self.gradient), DENSE * self.units.sum() / self.k)
        borders = self.borders(np.maximum(LEAST, PER_WRONG * wrong))
        return newton_direction(borders, self.bounds, self.prices, self.gradient, wrong, ridge)


def approach(state: LookState, centers: FloatArray, target: float, deadline: Deadline) -> None:
    """Raise the dual until at most `target` samples are in the wrong cluster, or it gets slow.

    Where clusters lie in groups that hardly any sample connects, steps go too far; damped ones
    bring samples where they belong within groups, and a model of the rows does the rest.
    """
    ridge, slow = RIDGE, 0
    for _ in range(LOOKS):
        if state.infeasibility <= target or slow >= PATIENCE:
            return
        step = state.damped(ridge)
        if step is None:
            return
        before, dual, wrong = state.prices, state.dual, state.infeasibility
        after = walk(state.bounds, before, step, state.gradient)
        state.evaluate(centers, state.bounds.shifted(after, float(state.units.sum())), deadline)
        if state.dual <= dual:
            state.evaluate(centers, before, deadline)
            ridge *= STRONGER
            if ridge > STRONGEST:
                return
            continue
        ridge = max(RIDGE, ridge / WEAKER)
        slow = slow + 1 if state.infeasibility > SLOW * wrong else 0
