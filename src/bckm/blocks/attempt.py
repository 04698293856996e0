"""`Attempt`: one assignment step in the making.

It begins at the prices that a sample of the rows leads to (where looks are quick: that rows which
stay with the holder lead to, `soft_prices`, and goes on by `looking` and `row_moves`). Each look
tells how many samples are in the wrong cluster, and returns the rows near borders and some of those
beyond. If the former suffice, they are settled exactly (`settling`), and all other rows are proven
to stay where they are; if not, a model of all these rows gives the next prices (`row_model`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.blocks import whole_sums
from bckm.blocks.answer import Answer
from bckm.blocks.drawn import Drawn
from bckm.blocks.equal_rows import united
from bckm.blocks.gathering import unproven_labels
from bckm.blocks.holder import QuickHolder
from bckm.blocks.look import scan
from bckm.blocks.look_model import Model
from bckm.blocks.looking import LookState, settle_sizes
from bckm.blocks.modeling import listed_model, solved_model
from bckm.blocks.pairs import Pairs
from bckm.blocks.planning import ALL, SCANNED, Plan, Planner
from bckm.blocks.question import Question
from bckm.blocks.row_model import RowModel
from bckm.blocks.row_moves import lead
from bckm.blocks.settling import Parts, Settled, Settling, Short
from bckm.blocks.soft_prices import SoftPrices
from bckm.blocks.step import Memory, Step
from bckm.blocks.task import Task
from bckm.kernels import missing

ROUNDS = 40  # looks, after which labels within the bounds have to do
DUAL = 1e-11  # of the cost: labels so near to the dual value of a look are proven by it
STALLED, RISE = 13, 1e-12  # looks that raise the dual by no more, after which it is the same
GROW, PATIENCE = 2.0, 2  # from the third look on, prices are trusted so many times less each time
SAMPLING = 0.35  # times sqrt(k / sample): share of the samples that are wrong at first
REST = 0.3  # share of those of a first step that are wrong in the next one, about
MILD = 1.0  # rows that lead to prices no farther beyond what others permit are believed
OUTER = 1.5  # the farthest row of a cluster, in squares of the farthest of the sample, about
BOTH = 0.5  # so many points of the sample for each row that was drawn tell something, too
FAR, FARTHER = 0.02, 0.2  # share of all samples, more of which cannot be brought where they belong
# by looks alone; by looks and rows that lead from one to the next
ENOUGH = 0.5  # samples per cluster that may be wrong after looks at holders that are quick
PATHS = 300.0  # or so many in all, which paths bring where they belong
ENDS = 4  # times that moves may be asked for after looks that bring rows
FEW = 400.0  # wrong samples that are settled at once: more by paths take long
TIES = 0.5  # share of the wrong samples, or more, that are at borders: paths divide them soon
FEWEST = 0.5  # wrong samples per cluster of which only exact models know better
LACKING = 16.0  # rows near borders for each wrong one, or each cluster, of which there is a model
HOPELESS = 1.0  # rows that lead to prices so far beyond what others permit are not settled
BACK = 1  # times in a row that the dual may fall, and no fewer samples be wrong, without going back
SHORTER = (0.1, 0.6)  # a step that lowers the dual is tried again, shorter


@dataclass(frozen=True, eq=False)
class Seen:
    """A look and what follows from it."""

    question: Question
    answer: Answer
    gradient: FloatArray
    dual: float

    @property
    def infeasibility(self) -> float:
        """Samples in the wrong cluster."""
        return float(np.abs(self.gradient).sum()) / 2


@dataclass(frozen=True, eq=False)
class Best:
    """Where the dual was largest; no rows, which take memory."""

    prices: FloatArray
    gradient: FloatArray
    dual: float


class TooManyTiedError(Exception):
    """No labels within the bounds were found."""


class Attempt:
    """One step in the making."""

    def __init__(self, task: Task, centers: FloatArray, deadline: Deadline) -> None:
        self.task, self.centers, self.deadline = task, centers, deadline
        self.holder, self.sample = task.holder, task.sample
        self.bounds, self.k, self.n = task.bounds, len(centers), task.holder.n_rows
        self.log: list[dict[str, Any]] = []
        self.looks = 0  # before those that bring rows
        self.ends = ENDS  # how often moves may still be asked for, after these
        self.levels = False  # whether many wrong samples of the last look are at borders
        self.sampled: RowModel | None = None  # where the step began
        self.soft: SoftPrices | None = None  # rows of a quick holder that lead to prices
        self.best: Best | None = None  # if no labels were found that are proven

    @cached_property
    def pairs(self) -> Pairs:
        """All pairs of clusters."""
        return Pairs(self.centers, self.task.threads)

    @cached_property
    def planner(self) -> Planner:
        """Who plans looks that bring rows."""
        task, quick = self.task, self.holder.quick
        return Planner(self.sample, self.centers, self.pairs, task.most, task.threads, quick=quick)

    def run(self, prices: FloatArray, memory: Memory | None) -> Step:
        """Look and correct, until the rows near borders can be settled."""
        before = (self.holder.passes, self.holder.received)
        state: LookState | None = None
        if self.holder.quick:
            state = self.approach(cast(QuickHolder, self.holder), prices, memory)
            ended = state.settled()
            if ended is not None:
                return self.done(state, ended, np.abs(state.gradient), prices, before, memory)
            p, plan = self.plan_near(state)
        else:
            p, plan = self.begin(prices, memory)
        begin = p
        first: FloatArray | None = None
        best: Best | None = None
        spare: tuple[Seen, Parts] | None = None  # labels within the bounds, in case none is proven
        back, still, fewest, crowded = 0, 0, np.inf, False
        for number in range(ROUNDS):
            seen = self.look(p, plan, number + self.looks)
            if first is None:
                first = np.abs(seen.gradient)
            fell = best is not None and seen.dual < best.dual
            rose = best is None or seen.dual > best.dual + RISE * abs(best.dual)
            still = 0 if rose else still + 1
            crowded = crowded or seen.answer.taken.overflow
            patience = 0 if crowded else BACK
            back = back + 1 if fell and (crowded or seen.infeasibility >= fewest) else 0
            fewest = min(fewest, seen.infeasibility)
            if not fell:
                best = Best(seen.question.prices, seen.gradient, seen.dual)
            # prices can do no better: equal samples lie at borders, which paths divide
            model, tried = self.settle(seen, fell=back > patience, ties=not (rose or fell))
            if isinstance(tried, Settled):
                return self.done(seen, tried, first, begin, before, memory)
            if state is not None and self.ends > 0 and not fell and not seen.answer.taken.overflow:
                state.take(seen.question, seen.answer)
                if state.infeasibility <= max(self.k, PATHS):
                    self.ends -= 1
                    lead(state, self.task.lower, self.task.upper, self.deadline)
                    ended = state.settled()
                    if ended is not None:
                        return self.done(state, ended, first, begin, before, memory)
            if tried.parts is not None:
                # the dual value of the look is a bound, whatever other rows permit
                found = self.settling(seen).unproven(tried.parts, seen.dual)
                if found.gap <= DUAL * found.cost:
                    return self.done(seen, found, first, begin, before, memory)
                if not fell:
                    spare = seen, tried.parts
            self.log[-1].update(fell=fell, excess=tried.excess, quick=model is not None)
            last_p = p
            if back > patience:
                assert best is not None
                to = self.back(best, seen) if back == patience + 1 else best.prices
                model = self.near(seen) if model is None else model
                model.model.go(self.centers, to, self.deadline)
                wrong = np.minimum(np.abs(best.gradient), np.abs(seen.gradient))
            else:  # what rows tell where the dual fell is as good as elsewhere
                model = solved_model(self, seen) if model is None else model
                wrong = model.left
            wrong = wrong + model.doubt()
            if not crowded:
                self.planner.ask_more(levels=self.levels)
            p = model.model.prices
            ways = [p - last_p]
            if tried.prices is not None:
                if tried.excess <= MILD:
                    p = tried.prices
                    model.model.go(self.centers, p, self.deadline)
                ways.append(tried.prices - model.model.prices)
            plan = self.planner.plan(
                p,
                model.model.borders(model.model.supply.astype(np.float64)),
                wrong,
                np.array(ways),
                OUTER * seen.answer.farthest,
                GROW ** max(0.0, number + 1 - PATIENCE),
            )
            del seen, model, tried  # the next look brings as many rows
            if self.planner.is_lost or still >= STALLED:
                break
        assert best is not None
        assert first is not None
        self.best = best
        labels = unproven_labels(self, spare)
        if labels is None:
            raise TooManyTiedError
        return self.done(*labels, first, begin, before, memory)

    def begin(self, prices: FloatArray, memory: Memory | None) -> tuple[FloatArray, Plan]:
        """First prices, from the sample, and what to ask for."""
        sample, k = self.sample, self.k
        if self.n <= ALL:
            return prices, Plan.everything(k)
        lesson = None if memory is None else memory.lesson
        self.sampled = model = sample.model(self.centers, prices, lesson, self.deadline)
        if memory is None:
            share = SAMPLING * np.sqrt(k / max(1, sample.size)) if sample.share < 1 else 0.0
            wrong = np.full(k, share * self.n / k)
        else:
            wrong = np.maximum(memory.wrong, memory.wrong.mean() / 4)
        each = self.n / max(1.0, float(model.supply.sum()))
        borders = model.borders(each * model.supply.astype(np.float64))
        ways = np.zeros((1, k)) if memory is None else memory.drift[None]
        far, p = OUTER * model.farthest(), model.prices
        return p, self.planner.plan(p, borders, wrong, ways, far, 1.0)

    def approach(self, holder: QuickHolder, prices: FloatArray, memory: Memory | None) -> LookState:
        """To where looks, and moves that were listed, lead; the sample is asked if that is far."""
        centers, deadline, task = self.centers, self.deadline, self.task
        state = LookState(holder, task.frame, self.bounds)
        bounded = (task.lower > 0).any() or (task.upper < self.n).any()
        rows = holder.soft_rows(self.k) if bounded and self.k > 1 else None
        if rows is not None:
            self.soft = SoftPrices(rows, task.frame, centers, self.bounds, self.n)
            lesson = np.zeros(self.k) if memory is None else memory.lesson
            prices = self.soft.lead(prices, lesson, deadline)
        state.evaluate(centers, prices, deadline)
        far = FARTHER if self.soft is not None else FAR
        if state.infeasibility > far * self.n and self.n > ALL:
            later = None if memory is None else np.zeros(self.k)
            model = self.sample.model(centers, prices, later, deadline)
            state.evaluate(centers, model.prices, deadline)
        enough = max(ENOUGH * self.k, PATHS)
        settle_sizes(state, self.soft, enough, task.lower, task.upper, deadline)
        self.looks, self.log = state.looks, state.log
        return state

    def plan_near(self, state: LookState) -> tuple[FloatArray, Plan]:
        """Prices where looks have led, and what to ask for."""
        k, p, wrong = self.k, state.prices, np.abs(state.gradient)
        if self.n <= ALL:
            return p, Plan.everything(k)
        wrong = np.maximum(wrong, wrong.mean() / 4 + 1.0)
        borders = state.borders(np.full(k, max(SCANNED * self.n / k, 2.0 * wrong.max())))
        nowhere, far = np.zeros((1, k)), state.answer.farthest
        return p, self.planner.plan(p, borders, wrong, nowhere, far, 1.0)

    def near(self, seen: Seen, *, listed: bool = True) -> Model:
        """A model of the rows of a look alone, at its prices; `listed`: and their best clusters."""
        question, answer, c = seen.question, seen.answer, self.task
        taken, drawn = answer.taken, [answer.drawn]
        if taken.overflow:
            drawn.append(answer.spare)
        rows = np.concatenate([part.rows for part in drawn])
        number = np.concatenate([part.number for part in drawn])
        if self.sample.alike:
            rows, number = united(rows, number)
        points = question.frame.inside_all([taken.rows, rows])
        supply = np.concatenate([taken.number, number])
        if listed:
            model = RowModel.listed(
                points, supply, self.bounds, self.centers, question.prices, c.threads
            )
        else:
            model = RowModel(points, supply, self.bounds, c.threads)
            model.go(self.centers, question.prices, self.deadline)
        # all other rows stay where they are
        model.state.bounds = self.bounds.moved(model.state.units - answer.counts)
        return Model(model, len(taken.rows))

    def gathered(self, seen: Seen) -> Model:
        """A model of the rows of a look, at its prices, and of the sample elsewhere."""
        question, answer, c = seen.question, seen.answer, self.task
        p, taken, drawn = question.prices, answer.taken, [answer.drawn]
        if taken.overflow:
            drawn.append(answer.spare)
        sample = self.sample.part(self.sample.stride)
        sample.go(self.centers, p, self.deadline)
        each = max(1, round(self.n / max(1, int(sample.supply.sum()))))
        assert question.wide is not None
        within = sample.gaps <= question.wide[sample.state.label]
        others, inside = np.flatnonzero(~within), np.flatnonzero(within)
        rows = np.concatenate([part.rows for part in drawn])
        number = np.concatenate([part.number for part in drawn])
        if inside.size > BOTH * number.size:  # the sample tells as much: both, in proportion
            least = np.full((self.k, self.k), np.inf)
            label = sample.state.label[inside]
            ratio = scan(sample.points[inside], label, question, least, c.threads)
            inside = inside[ratio > (0 if taken.overflow else 1)]
            share = inside.size / max(1, inside.size + number.size)
            number = _whole((1 - share) * number.astype(np.float64))
            also = _whole(share * each * sample.supply[inside].astype(np.float64))
        else:
            inside = also = inside[:0]
        if self.sample.alike:
            rows, number = united(rows, number)
        frame, at = question.frame, np.concatenate([inside, others])
        beyond = np.concatenate([also, each * sample.supply[others]])
        points = np.concatenate([frame.inside(taken.rows), frame.inside(rows), sample.points[at]])
        supply = np.concatenate([taken.number, number, beyond])
        some = np.flatnonzero(supply)
        model = RowModel(points[some], supply[some], self.bounds, c.threads)
        model.go(self.centers, p, self.deadline)
        model.teach(self.bounds, answer.counts)
        return Model(model, len(taken.rows))

    def back(self, best: Best, seen: Seen) -> FloatArray:
        """Other prices, where the last ones have lowered the dual: where it was largest, about."""
        way = seen.question.prices - best.prices
        rising, falling = float(way @ best.gradient), float(way @ seen.gradient)
        share = rising / (rising - falling) if rising > falling else 0.0
        return np.asarray(best.prices + way * np.clip(share, *SHORTER))

    def look(self, p: FloatArray, plan: Plan, number: int) -> Seen:
        """Ask, and note what was answered."""
        c = self.task
        question = Question(
            c.frame, self.centers, p, plan.limit, plan.wide, plan.thin, number, c.most
        )
        answer = self.holder.look(question, self.deadline)
        counts = answer.counts.astype(np.float64)
        gradient = self.bounds.gradient(counts, p)
        cost = whole_sums.as_float(answer.cost, question.cost_scale)
        dual = cost - self.bounds.complementary_slack(counts, p)
        self.log.append(
            {
                "wrong": float(np.abs(gradient).sum() / 2),
                "rows": len(answer.taken.rows),
                "drawn": len(answer.drawn.rows),
                "overflow": answer.taken.overflow,
                "thinned": answer.drawn.thinned,
                "dual": dual,
            }
        )
        return Seen(question, answer, gradient, dual)

    def lacks(self, seen: Seen) -> bool:
        """Whether the rows of a look are not enough for a model: others may have to move."""
        taken, drawn = seen.answer.taken, seen.answer.drawn
        near = float(taken.number.sum() + drawn.number.sum())
        return (
            missing != "" or self.sample.alike or near < LACKING * max(seen.infeasibility, self.k)
        )

    def settling(self, seen: Seen) -> Settling:
        """What can be settled after a look."""
        c = self.task
        return Settling(seen.question, seen.answer, c.lower, c.upper, self.pairs)

    def settle(self, seen: Seen, *, fell: bool, ties: bool) -> tuple[Model | None, Settled | Short]:
        """Try to end here. With it a model of the rows that came, where it leads to prices."""
        taken, p = seen.answer.taken, seen.question.prices
        if taken.overflow:
            self.planner.ask_less()
        wrong = seen.infeasibility
        settling = None
        if not taken.overflow and wrong <= taken.number.sum():
            settling = self.settling(seen)
        tried: Settled | Short = Short()
        if settling is not None and (wrong <= FEW or ties):
            tried = settling.settled(p, self.deadline)
            if isinstance(tried, Settled):
                return None, tried
        self.levels = settling is not None and wrong > FEW and settling.tied >= TIES * wrong
        if wrong <= FEWEST * self.k or missing or fell or self.sample.alike:
            if settling is not None and wrong > FEW and not ties:
                tried = settling.settled(p, self.deadline)
            return None, tried
        model = listed_model(self, seen)
        if model is None:
            if settling is not None and self.levels and not ties:
                tried = settling.settled(p, self.deadline)
            return None, tried
        to = model.model.prices
        if settling is not None and settling.beyond(to) <= HOPELESS:
            tried = settling.settled(to, self.deadline)
        return model, tried

    def done(
        self,
        seen: Seen | LookState,
        settled: Settled,
        first: FloatArray,
        begin: FloatArray,
        before: tuple[int, int],
        memory: Memory | None,
    ) -> Step:
        """The step, and what the next one should know."""
        lesson = np.zeros(self.k)
        if self.soft is not None:
            lesson = self.soft.lesson(settled.prices, settled.sizes)
        elif self.n > ALL and not self.holder.quick:
            lesson = self.sample.lesson(
                self.sampled, self.centers, settled.prices, settled.sizes, self.deadline
            )
        wrong = REST * first if memory is None else np.maximum(first, memory.wrong / 2)
        passes, received = self.holder.passes - before[0], self.holder.received - before[1]
        told = Memory(lesson, wrong, settled.prices - begin)
        none = Drawn.none(self.centers.shape[1], self.holder.dtype, 0)
        answer = replace(seen.answer, spare=none, drawn=none)  # labels need no more
        return Step(settled, seen.question, answer, told, passes, received, tuple(self.log))


def _whole(number: FloatArray) -> IntArray:
    """Whole numbers whose partial sums are nearly the same; some are zero."""
    return np.diff(np.floor(np.cumsum(number) + 0.5), prepend=0.0).astype(np.int64)
