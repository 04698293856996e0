"""`Coordinator`: exact assignment steps over rows that are somewhere else, from looks alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.transport_state import SizeBounds
from bckm.blocks.attempt import ROUNDS, Attempt, TooManyTiedError
from bckm.blocks.frame import Frame
from bckm.blocks.gathering import unproven_labels
from bckm.blocks.holder import Holder
from bckm.blocks.label_exceptions import labeling_of
from bckm.blocks.labeling import Labeling
from bckm.blocks.planning import Plan
from bckm.blocks.question import MOST
from bckm.blocks.sample_rows import SampleRows
from bckm.blocks.step import Memory, Step
from bckm.blocks.survey import Survey
from bckm.blocks.task import Task

NEAR = 1e-6  # of the cost: labels as near to the bound will do
AWAY = 2.0**-26, 2.0**-16, 2.0**-8, 2.0**-3  # of the frame: centers beside, if none are found


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
        lower, upper = lower.astype(np.int64), np.minimum(upper.astype(np.int64), n)
        bounds = SizeBounds(lower.astype(np.float64), upper.astype(np.float64))
        sample = SampleRows(frame.inside(survey.rows), bounds, n, threads)
        self.holder, self.frame = holder, frame
        self.task = Task(holder, frame, sample, lower, upper, threads, most)

    def labeling(self, step: Step, deadline: Deadline | None = None) -> Labeling:
        """All that the labels of a step follow from.

        Further looks are needed only where many equal samples are divided among clusters.
        """
        deadline = Deadline() if deadline is None else deadline
        return labeling_of(
            step.settled, step.answer.taken, step.question, self.task.holder, deadline
        )

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
        centers = np.ascontiguousarray(centers)
        attempt, before = Attempt(self.task, centers, deadline), self.holder.passes
        try:
            return attempt.run(prices, memory)
        except TooManyTiedError:
            pass
        # more rows at borders than a message may hold, such as those between two equal centers:
        # centers a little beside tell them apart, whose labels cost more by as little
        way = np.random.default_rng(0).standard_normal(centers.shape)
        known: Step | None = None
        for away in AWAY:
            try:
                found = Attempt(self.task, centers + away * way, deadline).run(prices, memory)
            except TooManyTiedError:
                continue
            found = _with_labels_of(found, attempt)
            known = found if known is None or found.cost < known.cost else known
            if known.settled.gap <= NEAR * known.cost:
                break
        known = _anyhow(attempt, memory) if known is None else known
        return replace(known, passes=self.holder.passes - before)


def _with_labels_of(step: Step, attempt: Attempt) -> Step:
    """A step at other centers with the cost of its labels here, and the bound that was found.

    Labels follow from those centers, means do not.
    """
    settled, centers, k = step.settled, attempt.centers, attempt.k
    plan = Plan(np.zeros((k, k)), np.zeros(k))  # no rows
    seen = attempt.look(settled.prices, plan, ROUNDS)
    highest = seen.dual if attempt.best is None else max(attempt.best.dual, seen.dual)
    here = np.square(centers - settled.means).sum(axis=1)
    there = np.square(step.question.centers - settled.means).sum(axis=1)
    cost = max(settled.cost + float(settled.sizes @ (here - there)), 0.0)
    rounding = settled.cost - settled.gap - settled.bound
    bound = max(min(highest, cost) - max(rounding, 0.0), 0.0)
    means = np.where(settled.sizes[:, None] > 0, settled.means, centers)
    settled = replace(settled, cost=cost, bound=bound, gap=cost - highest, means=means)
    return replace(step, settled=settled, log=(*attempt.log, *step.log))


def _anyhow(attempt: Attempt, memory: Memory | None) -> Step:
    """After an attempt that found no labels: some within the bounds, in any number of looks."""
    labels, best, holder = unproven_labels(attempt, anyhow=True), attempt.best, attempt.holder
    if labels is None or best is None:
        raise RuntimeError("no assignment was found")
    before = holder.passes, holder.received
    return attempt.done(*labels, np.abs(best.gradient), best.prices, before, memory)
