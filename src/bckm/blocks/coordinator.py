"""`Coordinator`: exact assignment steps over rows that are somewhere else, from looks alone.

A step begins at the prices that a sample of the rows leads to. Each look tells how many samples
are in the wrong cluster and, in its table, how near others are to changing; a model of the table
gives the next prices (`table_model`). When few samples are wrong, the rows near borders are asked
for and settled exactly (`settling`); all other rows are proven to stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.transport_state import SizeBounds
from bckm.blocks import whole_sums
from bckm.blocks.answer import Answer
from bckm.blocks.borders import Borders
from bckm.blocks.frame import Frame
from bckm.blocks.holder import Holder
from bckm.blocks.label_exceptions import labeling_of
from bckm.blocks.labeling import Labeling
from bckm.blocks.planning import Plan, Planner
from bckm.blocks.question import MOST, Question
from bckm.blocks.sample_prices import SamplePrices
from bckm.blocks.settling import Parts, Settled, Settling, Short
from bckm.blocks.step import Memory, Step
from bckm.blocks.survey import Survey
from bckm.blocks.table_model import Proposal, TableModel

ROUNDS = 40  # looks, after which labels within the bounds have to do
GROW, PATIENCE = 4.0, 2  # from the third look on, so many times more rows each time
MILD = 1.0  # rows that lead to prices no farther beyond what others permit are believed
REST = 0.12  # share of the wrong samples that a step by the model leaves, about
UNSURE = 1.0  # share of their last change by which prices may be wrong, one against the other
FAR = 0.3  # a model that leaves a larger share of them does not reach far enough
SHORTER = (0.1, 0.6)  # a step that lowers the dual is tried again, shorter


@dataclass(frozen=True, eq=False)
class Seen:
    """A look and what follows from it."""

    question: Question
    answer: Answer
    gradient: FloatArray
    dual: float


class Coordinator:
    """Assignment steps under size bounds over the rows of a holder."""

    def __init__(
        self,
        holder: Holder,
        survey: Survey,
        frame: Frame,
        lower: IntArray,
        upper: IntArray,
        threads: int = 1,
        most: int = MOST,
    ) -> None:
        n = holder.n_rows
        self.holder, self.frame, self.threads, self.most = holder, frame, threads, most
        self.lower = lower.astype(np.int64)
        self.upper = np.minimum(upper.astype(np.int64), n)
        self.bounds = SizeBounds(self.lower.astype(np.float64), self.upper.astype(np.float64))
        self.sample = SamplePrices(frame.inside(survey.rows), self.bounds, n, threads)

    def labeling(self, step: Step, deadline: Deadline | None = None) -> Labeling:
        """All that the labels of a step follow from.

        Further looks are needed only where many equal samples are divided among clusters.
        """
        deadline = Deadline() if deadline is None else deadline
        return labeling_of(step.settled, step.answer.taken, step.question, self.holder, deadline)

    def step(
        self,
        centers: FloatArray,
        prices: FloatArray,
        memory: Memory | None = None,
        deadline: Deadline | None = None,
    ) -> Step:
        """Exact labels for centers, beginning with prices; both in the units of the frame.

        Depends on the arguments and the data alone: nothing is kept from step to step.
        """
        deadline = Deadline() if deadline is None else deadline
        attempt = _Attempt(self, np.ascontiguousarray(centers), deadline)
        return attempt.run(prices, memory)


class _Attempt:
    """One step in the making."""

    def __init__(self, coordinator: Coordinator, centers: FloatArray, deadline: Deadline) -> None:
        self.coordinator, self.centers, self.deadline = coordinator, centers, deadline
        self.holder, self.sample = coordinator.holder, coordinator.sample
        self.bounds, self.k = coordinator.bounds, len(centers)
        self.n = coordinator.holder.n_rows
        self.log: list[dict[str, Any]] = []
        self.planner = Planner(self.sample, centers, coordinator.most, self.n, coordinator.threads)

    def run(self, prices: FloatArray, memory: Memory | None) -> Step:
        """Look and correct, until the rows near borders can be settled."""
        before = (self.holder.passes, self.holder.received)
        lesson = np.zeros(self.k) if memory is None else memory.lesson
        p = self.sample.prices(self.centers, prices, lesson, self.deadline)
        begin, plan = p, self.planner.first(p, memory)
        first: FloatArray | None = None
        best: Seen | None = None
        spare: tuple[Seen, Parts] | None = None  # labels within the bounds, in case none is proven
        back, failed = 0, 0
        for _ in range(ROUNDS):
            seen = self.look(p, plan)
            if first is None:
                first = np.abs(seen.gradient)
            model = TableModel(
                seen.answer.table, plan.near, seen.answer.counts, p, self.bounds
            ).solved()
            fell = best is not None and seen.dual < best.dual
            short = Short()
            if not seen.answer.taken.overflow and (plan.all or not fell):
                tried = self.settle(seen, p + model.change)
                if isinstance(tried, Settled):
                    return self.done(seen, tried, begin, first, before, cold=memory is None)
                short = tried
                if short.parts is not None and not fell:
                    spare = seen, short.parts
            failed += 1
            self.log[-1].update(
                left=float(np.abs(model.left).sum() / 2), fell=fell, excess=short.excess
            )
            grow = GROW ** max(0.0, failed - PATIENCE)
            if fell:
                assert best is not None
                back += 1
                last, p = p, self.back(best, seen, back)
                around = self.planner.by_sample(p)
                plan = self.planner.plan(
                    p, around, REST * np.abs(best.gradient), UNSURE * (p - last), grow
                )
                continue
            best, back, last = seen, 0, p
            p, around, wrong = self.onward(seen, model, short)
            way = UNSURE * (p - last) if short.prices is None else short.prices - p
            plan = self.planner.plan(p, around, wrong, way, grow)
        if spare is None or best is None or first is None:
            raise RuntimeError(f"no assignment was found in {ROUNDS} looks")
        seen, parts = spare
        c = self.coordinator
        settling = Settling(seen.question, seen.answer, c.lower, c.upper, c.threads)
        found = settling.unproven(parts, best.dual)
        return self.done(seen, found, begin, first, before, cold=memory is None)

    def onward(
        self, seen: Seen, model: Proposal, tried: Short
    ) -> tuple[FloatArray, Borders, FloatArray]:
        """The next prices, who is near borders there, and how many will be wrong."""
        p, wrong, left = seen.question.prices, np.abs(seen.gradient), np.abs(model.left)
        rest = REST * wrong + left
        if tried.prices is not None and tried.excess <= MILD:
            change = tried.prices - p
            return tried.prices, self.planner.by_table(seen.answer.table, change), rest
        far = left.sum() > FAR * wrong.sum() and wrong.sum() > 8 * self.k
        after = p + model.change
        held = self.planner.counts_at(p, seen.answer.counts, after)
        doubt = float(np.abs(self.bounds.gradient(held, after)).sum())
        far |= doubt > 2 * wrong.sum() + 8 * self.k / self.sample.share
        if far or tried.prices is not None:  # the table does not tell enough
            p = self.taught(seen)
            return p, self.planner.by_sample(p), np.maximum(REST * wrong, left / 2)
        return after, self.planner.by_table(seen.answer.table, model.change), rest

    def back(self, best: Seen, seen: Seen, number: int) -> FloatArray:
        """Other prices, where the last ones have lowered the dual."""
        if number == 1:
            return self.taught(best)
        # where the derivative along the step, now negative, was zero
        way = seen.question.prices - best.question.prices
        rising, falling = float(way @ best.gradient), float(way @ seen.gradient)
        share = rising / (rising - falling) if rising > falling else 0.0
        return np.asarray(best.question.prices + way * np.clip(share, *SHORTER))

    def look(self, p: FloatArray, plan: Plan) -> Seen:
        """Ask, and note what was answered."""
        c = self.coordinator
        question = Question(c.frame, self.centers, p, plan.near, plan.limit, plan.wide, c.most)
        answer = self.holder.look(question, self.deadline)
        counts = answer.counts.astype(np.float64)
        gradient = self.bounds.gradient(counts, p)
        cost = whole_sums.as_float(answer.cost, question.cost_scale)
        dual = cost - self.bounds.complementary_slack(counts, p)
        self.log.append(
            {
                "wrong": float(np.abs(gradient).sum() / 2),
                "cells": answer.table.key.size,
                "counted": int(answer.table.number.sum()),
                "rows": len(answer.taken.rows),
                "overflow": answer.taken.overflow,
                "dual": dual,
            }
        )
        self.planner.overflow |= answer.taken.overflow
        return Seen(question, answer, gradient, dual)

    def settle(self, seen: Seen, prices: FloatArray) -> Settled | Short:
        """Try to end here."""
        c = self.coordinator
        settling = Settling(seen.question, seen.answer, c.lower, c.upper, c.threads)
        return settling.settled(prices, self.deadline)

    def taught(self, seen: Seen) -> FloatArray:
        """Prices from the rows of a look, all there are near borders, and the sample elsewhere."""
        question, taken = seen.question, seen.answer.taken
        p, limit = question.prices, question.limit
        assert limit is not None
        assert question.wide is not None
        self.log[-1]["taught"] = True
        if taken.overflow:
            lesson = self.sample.lesson(self.planner.seen(p).label, seen.answer.counts)
            return self.sample.prices(self.centers, p, lesson, self.deadline)
        rows, number = question.frame.inside(taken.rows), taken.number
        held = np.bincount(taken.label, number, self.k).astype(np.int64)
        others = np.flatnonzero(~self.planner.returned(p, limit, question.wide))
        rest, deadline = seen.answer.counts - held, self.deadline
        return self.sample.prices_with(self.centers, p, rows, number, rest, others, deadline)

    def done(
        self,
        seen: Seen,
        settled: Settled,
        begin: FloatArray,
        first: FloatArray,
        before: tuple[int, int],
        *,
        cold: bool,
    ) -> Step:
        """The step, and what the next one should know."""
        lesson = self.sample.lesson(self.planner.seen(settled.prices).label, settled.sizes)
        memory = Memory(lesson, REST * first if cold else first, settled.prices - begin)
        passes, received = self.holder.passes - before[0], self.holder.received - before[1]
        question, answer = seen.question, seen.answer
        return Step(settled, question, answer, memory, passes, received, tuple(self.log))
