"""Prices by looks themselves, for holders whose looks cost less than a model of the rows.

Such a holder keeps labels between the looks of a step, and some rows that lead from the counts of a
look to the next prices (`soft_prices`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.transport_state import SizeBounds, TransportState
from bckm.blocks import whole_sums
from bckm.blocks.answer import FEW, Answer, Taken
from bckm.blocks.borders import Borders
from bckm.blocks.frame import Frame
from bckm.blocks.holder import QuickHolder
from bckm.blocks.label_exceptions import margin_of, rounding_of_values
from bckm.blocks.question import Question
from bckm.blocks.row_moves import lead, many_of
from bckm.blocks.settling import Parts, Settled, rounding_of_sums
from bckm.blocks.soft_prices import HOTTER, SoftPrices

LOOKS = 30  # corrections of prices, at most, each with one or a few looks
ROUNDS, CLOSER = 4, 0.75  # looks and moves in turn, as long as moves leave no more than that share
# of the wrong samples
SLOW, PATIENCE = 0.8, 4  # a step that leaves more than this share is slow; so many are enough
TRIES, SHORTER = 3, (0.05, 0.6)  # a step that lowers the dual is tried again, shorter,
FEWER = 0.5  # but where it leaves no more than this share of the wrong samples


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
        """The assignment, where samples in their best clusters obey the bounds.

        Those so near to a border that rounding decides are brought, to be listed with their labels.
        None where sizes are wrong, or these are many: then there is more to do.
        """
        if self.infeasibility > 0:
            return None
        answer, prices, centers = self.answer, self.prices, self.question.centers
        tied = self.holder.tied(float(margin_of(answer.farthest, centers, prices).max()))
        if tied is None or (tied.number > FEW).any():
            return None
        self.answer = replace(answer, taken=tied)
        means = whole_sums.as_means(answer.high, answer.low, answer.counts)
        means = np.where(answer.counts[:, None] > 0, means, centers)
        gap = self.bounds.complementary_slack(self.units, prices)
        rounding = rounding_of_sums(centers, prices, self.cost, self.units, self.bounds)
        inexact = rounding_of_values(answer.farthest[tied.label], centers, prices)
        rounding += float(tied.number @ inexact)  # another cluster may be better by as much
        bound, best = max(self.cost - gap - rounding, 0.0), tied.label.astype(np.int64)
        parts = Parts.of(np.arange(best.size), best, tied.number)
        return Settled(prices, self.cost, bound, gap, answer.counts, means, parts, best)

    def borders(self, goal: FloatArray) -> Borders:
        """So many rows of each cluster that are nearest to others."""
        return self.holder.borders(self.question, goal)


def settle_sizes(
    state: LookState,
    soft: SoftPrices | None,
    enough: float,
    lower: IntArray,
    upper: IntArray,
    deadline: Deadline,
) -> None:
    """To where all samples belong: by looks until so few are wrong, then by moves."""
    for _ in range(ROUNDS):
        if soft is not None:
            approach(state, soft, enough, many_of(state.k), deadline)
        wrong = state.infeasibility
        lead(state, lower, upper, deadline)
        # what moves have left undone may be little enough for the next ones
        if soft is None or not 0 < state.infeasibility <= CLOSER * wrong:
            return


def approach(
    state: LookState, soft: SoftPrices, target: float, many: float, deadline: Deadline
) -> None:
    """Raise the dual until at most `target` samples are in the wrong cluster, or it gets slow.

    Where more than `many` are left then, again from higher temperatures.
    """
    slow, hotter = 0, 0
    for _ in range(LOOKS):
        wrong = state.infeasibility
        # a few more are brought where they belong by paths, too
        patience = 1 if wrong <= target + state.k else PATIENCE
        if wrong <= target:
            return
        if slow < patience:
            there = soft.correct(state.prices, state.answer.counts, deadline, HOTTER[hotter])
            if there is not state.prices and _is_reached(state, there, deadline):
                slow += state.infeasibility > SLOW * wrong
                continue
        hotter, slow = hotter + 1, 0
        if wrong <= many or hotter == len(HOTTER):
            return


def _is_reached(state: LookState, there: FloatArray, deadline: Deadline) -> bool:
    """Look where the dual is larger, on the way to these prices; False where it is not."""
    before, dual, gradient, wrong = state.prices, state.dual, state.gradient, state.infeasibility
    centers = state.question.centers
    for _ in range(TRIES):
        state.evaluate(centers, there, deadline)
        if state.dual > dual or state.infeasibility <= FEWER * wrong:
            return True
        step = there - before
        rising, falling = float(step @ gradient), float(step @ state.gradient)
        part = rising / (rising - falling) if rising > falling else 0.0
        there = before + step * np.clip(part, *SHORTER)
    state.evaluate(centers, before, deadline)
    return False
