"""Newton's method by looks themselves, for holders whose looks cost less than a model of the rows.

Such a holder keeps labels between the looks of a step and tells which rows are nearest to borders.
"""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray
from bckm.assign.transport_state import SizeBounds, TransportState
from bckm.blocks import whole_sums
from bckm.blocks.answer import Answer
from bckm.blocks.borders import LEAST, PER_WRONG, Borders, newton_direction
from bckm.blocks.frame import Frame
from bckm.blocks.holder import QuickHolder
from bckm.blocks.question import Question


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

    def direction(self) -> FloatArray | None:
        """Newton step; None where no sample is near a border."""
        borders = self.borders(np.maximum(LEAST, PER_WRONG * np.abs(self.gradient)))
        return newton_direction(borders, self.bounds, self.prices, self.gradient)
