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
from numpy.typing import NDArray

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm._storage.fields import Fields
from bckm.assign.transport_state import SizeBounds
from bckm.blocks import whole_sums
from bckm.blocks.answer import Answer
from bckm.blocks.borders import Borders
from bckm.blocks.exceptions import labelling_of
from bckm.blocks.frame import Frame
from bckm.blocks.holder import Holder
from bckm.blocks.labelling import Labelling
from bckm.blocks.look import scan, see
from bckm.blocks.question import MOST, Question
from bckm.blocks.sample_prices import SamplePrices
from bckm.blocks.settling import Settled, Settling, Short
from bckm.blocks.survey import Survey
from bckm.blocks.table_model import Proposal, TableModel

ROUNDS = 60
GROW, PATIENCE = 4.0, 2  # from the third look on, so many times more rows each time
WIDE = 0.3  # share of the samples of each cluster that the table of a first look counts
AHEAD, LEAST = 24.0, 64.0  # samples in the table for each wrong one, and at least, by cluster
ROWS, FEWEST = 10.0, 24.0  # rows asked for, for each sample that will be wrong, and at least
SCANNED = 0.12  # share of the samples whose gaps are told pair by pair
REST = 0.12  # share of the wrong samples that a step by the model leaves, about
SAMPLING = 0.35  # times sqrt(k / sample): share of the samples that are wrong at first


@dataclass(frozen=True, eq=False)
class Memory:
    """What a step tells the next one, at centers that have moved a little.

    Attributes
    ----------
    lesson : array (k,)
        What the sample has above its share; see `sample_prices`.
    wrong : array (k,)
        Samples that are likely to be in the wrong cluster at the first look.
    """

    lesson: FloatArray
    wrong: FloatArray

    def to_tree(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {"lesson": self.lesson, "wrong": self.wrong}

    @classmethod
    def from_tree(cls, fields: Fields, k: int) -> Memory:
        """From a file, which may hold anything."""
        return cls(fields.floats("lesson", (k,)), fields.floats("wrong", (k,)))


@dataclass(frozen=True, eq=False)
class Step:
    """A proven optimal assignment; all is in the units of the frame.

    Attributes
    ----------
    settled : Settled
        Prices, cost, bound, sizes and means; the labels of rows near borders.
    question, answer :
        The last look.
    memory : Memory
        For the next step.
    passes, received : int
        How often all rows were read, and the bytes of the answers.
    log : list
        What each look found.
    """

    settled: Settled
    question: Question
    answer: Answer
    memory: Memory
    passes: int
    received: int
    log: tuple[dict[str, Any], ...]

    @property
    def prices(self) -> FloatArray:
        """Prices that prove the labels optimal."""
        return self.settled.prices

    @property
    def cost(self) -> float:
        """What the labels cost."""
        return self.settled.cost

    @property
    def bound(self) -> float:
        """What no labels within the bounds cost less than."""
        return self.settled.bound

    @property
    def sizes(self) -> IntArray:
        """Samples of each cluster."""
        return self.settled.sizes

    @property
    def means(self) -> FloatArray:
        """Means of the clusters; the center of an empty one."""
        return self.settled.means


@dataclass(frozen=True, eq=False)
class Seen:
    """A look and what follows from it."""

    question: Question
    answer: Answer
    gradient: FloatArray
    dual: float


@dataclass(frozen=True, eq=False)
class Plan:
    """What a look is asked for; see `Question`."""

    near: FloatArray
    way: FloatArray
    beside: FloatArray
    wide: float

    @property
    def all(self) -> bool:
        """Whether all rows are asked for."""
        return self.wide == np.inf


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

    def labelling(self, step: Step, deadline: Deadline | None = None) -> Labelling:
        """All that the labels of a step follow from.

        Further looks are needed only where many equal samples are divided among clusters.
        """
        deadline = Deadline() if deadline is None else deadline
        return labelling_of(step.settled, step.answer.taken, step.question, self.holder, deadline)

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
        self.overflow = False  # whether more rows were asked for than can be returned

    def run(self, prices: FloatArray, memory: Memory | None) -> Step:
        """Look and correct, until the rows near borders can be settled."""
        k, n = self.k, self.n
        before = (self.holder.passes, self.holder.received)
        lesson = np.zeros(k) if memory is None else memory.lesson
        p = self.sample.prices(self.centers, prices, lesson, self.deadline)
        borders = self.borders_of_sample(p)
        if memory is None:
            share = SAMPLING * np.sqrt(k / max(1, self.sample.size)) if self.sample.share < 1 else 0
            wrong, way = np.full(k, share * n / k), np.zeros(k)
        else:
            wrong, way = np.maximum(memory.wrong, memory.wrong.mean() / 4), np.zeros(k)
        plan = self.plan(p, borders, wrong, way, 1.0)
        first, best, back, failed = None, None, 0, 0
        for _ in range(ROUNDS):
            seen = self.look(p, plan)
            if first is None:
                first = np.abs(seen.gradient)
            model = TableModel(
                seen.answer.table, plan.near, seen.answer.counts, p, self.bounds
            ).solved()
            entry = self.log[-1]
            entry.update(left=float(np.abs(model.left).sum() / 2))
            fell = best is not None and seen.dual < best.dual
            entry["fell"] = fell
            tried: Settled | Short | None = None
            self.overflow |= seen.answer.taken.overflow
            if not seen.answer.taken.overflow and (plan.all or not fell):
                tried = self.settle(seen, p + model.change)
                if isinstance(tried, Settled):
                    return self.done(seen, tried, first, before, cold=memory is None)
            failed += 1
            grow = GROW ** max(0.0, failed - PATIENCE)
            if fell:
                assert best is not None
                back += 1
                if back == 1:
                    p = self.taught(best)
                else:
                    way = p - best.question.prices
                    rising, falling = float(way @ best.gradient), float(way @ seen.gradient)
                    share = rising / (rising - falling) if rising > falling else 0.0
                    p = best.question.prices + way * np.clip(share, 0.1, 0.6)
                wrong = np.abs(best.gradient)
                plan = self.plan(p, self.borders_of_sample(p), REST * wrong, np.zeros(k), grow)
                continue
            best, back = seen, 0
            wrong = np.abs(seen.gradient)
            left = np.abs(model.left)
            if left.sum() > 0.3 * wrong.sum() and wrong.sum() > 8 * k:
                p = self.taught(seen)
                expected = np.maximum(REST * wrong, left / 2)
                borders = self.borders_of_sample(p)
            else:
                p = p + model.change
                expected = REST * wrong + left
                borders = self.borders_of_table(seen, model)
            way = np.zeros(k)
            if isinstance(tried, Short) and tried.prices is not None:
                way = tried.prices - p
            plan = self.plan(p, borders, expected, way, grow)
        raise RuntimeError(f"no assignment was proven in {ROUNDS} looks")

    def plan(
        self, p: FloatArray, borders: Borders, wrong: FloatArray, way: FloatArray, grow: float
    ) -> Plan:
        """What to ask for, when so many samples will be in the wrong cluster."""
        k, n, most = self.k, self.n, self.coordinator.most
        near = borders.reach(np.maximum(np.maximum(AHEAD * wrong, LEAST), WIDE * n / k))
        goal = grow * (ROWS * wrong + FEWEST)
        if goal.sum() > n / 2 and n <= most and not self.overflow:
            return Plan(near, np.zeros(k), np.full(k, np.inf), np.inf)
        if goal.sum() > most / 2:
            goal = np.maximum(goal * (most / 2 / goal.sum()) / 4, FEWEST / 4)
        beside = np.maximum(borders.reach(goal), 1e-12)
        while way.any() and self.predicted(p, way, beside) > most / 4:
            way = way / 2 if np.ptp(way) > float(beside.max()) else np.zeros_like(way)
        scanned = float(np.quantile(borders.gap, SCANNED)) if borders.gap.size else 0.0
        wide = max(grow * scanned, 2 * float(np.ptp(way)) + 4 * float(beside.max()))
        return Plan(near, way, beside, wide)

    def predicted(self, p: FloatArray, way: FloatArray, beside: FloatArray) -> float:
        """About how many rows a look would return, by the sample."""
        points = self.sample.points
        seen = see(points, self.centers, p, self.coordinator.threads)
        wide = float(np.ptp(way) + 2 * beside.max())
        at = np.flatnonzero(seen.slack <= wide)
        frame = Frame(np.zeros(points.shape[1]), 1.0)
        question = Question(frame, self.centers, p, None, way, beside, wide)
        taken = scan(points[at], seen.label[at], question, np.full((self.k, self.k), np.inf), 1)
        return float(self.sample.supply[at[taken]].sum()) / self.sample.share

    def look(self, p: FloatArray, plan: Plan) -> Seen:
        """Ask, and note what was answered."""
        c = self.coordinator
        question = Question(
            c.frame, self.centers, p, plan.near, plan.way, plan.beside, plan.wide, c.most
        )
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
        return Seen(question, answer, gradient, dual)

    def settle(self, seen: Seen, prices: FloatArray) -> Settled | Short:
        """Try to end here."""
        c = self.coordinator
        settling = Settling(seen.question, seen.answer, c.lower, c.upper, c.threads)
        return settling.settled(prices, self.deadline)

    def taught(self, seen: Seen) -> FloatArray:
        """Prices of the sample, asked for what it has when all rows have the counts of a look."""
        p = seen.question.prices
        lesson = self.sample.lesson(self.labels_of_sample(p), seen.answer.counts)
        self.log[-1]["taught"] = True
        return self.sample.prices(self.centers, p, lesson, self.deadline)

    def labels_of_sample(self, p: FloatArray) -> NDArray[np.int32]:
        """The best cluster of each point of the sample."""
        return see(self.sample.points, self.centers, p, self.coordinator.threads).label

    def borders_of_sample(self, p: FloatArray) -> Borders:
        """Samples near borders at these prices, as the sample tells."""
        s = see(self.sample.points, self.centers, p, self.coordinator.threads)
        number = self.sample.supply / self.sample.share
        best, second = s.label.astype(np.int64), s.runner_up.astype(np.int64)
        return Borders(best, second, s.gap, number, self.k)

    def borders_of_table(self, seen: Seen, model: Proposal) -> Borders:
        """Samples near borders after a change of prices, as the table tells."""
        best, second, begin, end = seen.answer.table.cells(self.k)
        moved = model.change[second] - model.change[best]
        gap = np.maximum(np.abs((begin + end) / 2 - moved), (end - begin) / 2)
        return Borders(best, second, gap, seen.answer.table.number.astype(np.float64), self.k)

    def done(
        self,
        seen: Seen,
        settled: Settled,
        first: FloatArray,
        before: tuple[int, int],
        *,
        cold: bool,
    ) -> Step:
        """The step, and what the next one should know."""
        lesson = self.sample.lesson(self.labels_of_sample(settled.prices), settled.sizes)
        memory = Memory(lesson, REST * first if cold else first)
        passes, received = self.holder.passes - before[0], self.holder.received - before[1]
        question, answer = seen.question, seen.answer
        return Step(settled, question, answer, memory, passes, received, tuple(self.log))
