"""Starts, local search and children: everything around the loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bckm._core.deadline import TimeUp
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm.assign.base import Assigner, Engine
from bckm.fit.lloyd import Limits, Run, alternate, run_from
from bckm.fit.result import Step
from bckm.fit.search.evolve import Child, Population
from bckm.fit.search.found import Found, renumber
from bckm.fit.search.local import LocalSearch
from bckm.fit.search.reserve import MANY, reserved
from bckm.fit.seeding import Seeds, match
from bckm.kernels import missing
from bckm.problem.problem import Problem

Seed = Callable[[], Seeds]

SEARCHES = ("auto", "none", "local", "global")

PATIENCE = 200  # children in a row that find nothing better before a global search ends
AGREE = 3  # populations that find the same best before a global search ends within its time
LOOPS = 5  # loops that the time left must suffice for, or a child gets none
BETTER = 1e-9  # relative improvement that counts
ROUNDING = 1e-30  # share of the inertia around one center that counts as none
BRIEF = 2  # steps of the loop, or of moves, for a child that may not be worth more
MOVES, SEARCH = 0.7, 1.8  # work that "auto" spends on moves, and in all, in that of its starts
CHILD = 3e5  # work of a child beyond its moves and steps
SMALL = 20_000  # costs (items x clusters) up to which moves are quicker than steps of any engine


@dataclass(frozen=True)
class Task:
    """What all starts share.

    `start` are feasible labels; `free` says that it is part of the problem which cluster gets which
    bounds; `on_step` hears of each step, with times since `began`.
    """

    problem: Problem
    engine: Engine
    start: IntArray
    limits: Limits
    free: bool
    on_step: Callable[[Step], None] | None
    began: float


def explore(
    task: Task,
    search: str,
    seeds: Sequence[Seed],
    fresh: Callable[[np.random.Generator], Seeds] | None,
    rng: np.random.Generator,
    *,
    before: Found | None = None,
    note: Callable[[Found], None] | None = None,
) -> Found:
    """Cluster from each of the first centers, then search as asked; see `bckm.kmeans`.

    A time limit or Ctrl-C ends it at any moment with the best labels so far.

    Parameters
    ----------
    task : Task
        What all starts share.
    search : one of SEARCHES
        How to go on after the starts.
    seeds : sequence of callables
        Each returns the first centers of a start, (k, d), and always the same.
    fresh : callable or None
        Draws further first centers; None where no other than the given ones are wanted.
    rng : Generator
        For everything that is drawn after the starts.
    before : Found, optional
        What an earlier call with the same arguments noted: it goes on from there.
    note : callable, optional
        Told after each run what is found so far, as long as no clock had a say in it; it may keep
        a copy, not the thing itself.
    """
    k, d = task.problem.structure.n_clusters, task.problem.points.shape[1]
    if before is None:
        # an answer from the beginning: Ctrl-C and time limits never leave with nothing
        first = run_from(task.problem, task.start, np.zeros((k, d)))
        first.status = Status.INTERRUPTED
        before = Found(first)
    for _ in range(before.drawn):
        rng.spawn(1)
    explorer = _Explorer(task, search, before, rng, note)
    try:
        explorer.run(seeds, fresh)
    except KeyboardInterrupt:
        explorer.interrupted(Status.INTERRUPTED)
    except TimeUp:
        explorer.interrupted(Status.TIME_LIMIT)
    except _Stop:
        explorer.ended()
    if fresh is not None and search in ("auto", "global"):
        renumber(task.problem, explorer.found.run)
    return explorer.found


class _Stop(Exception):  # noqa: N818 - no error
    """A run ended by the time limit or by the user."""


class _Explorer:
    def __init__(
        self,
        task: Task,
        search: str,
        found: Found,
        rng: np.random.Generator,
        note: Callable[[Found], None] | None,
    ) -> None:
        self.task, self.search, self.found, self.rng, self.note = task, search, found, rng, note
        s = task.problem.structure
        self.moves = None
        # moves are compiled and need dense points; "auto" is to stay quick
        quick = not missing and not task.problem.sparse and s.n_clusters <= MANY
        if search in ("local", "global") or (search == "auto" and quick):
            self.moves = LocalSearch(task.problem)
        self.hand: Run | None = None  # the run that is being made, as far as it is known
        self.reserve: IntArray | None = None  # labels for want of better ones
        self.breeds = False  # whether children are to come
        self.slowest = 0.0  # seconds of a loop
        self.hurried = False  # whether a child got less for want of time
        features = task.problem.points.shape[1]
        self.noise = ROUNDING * float(features * task.problem.variance * task.problem.mass.sum())
        costs = s.n_items * s.n_clusters
        self.brief = costs <= SMALL or not task.engine.cheap_step

    def run(
        self,
        seeds: Sequence[Seed],
        fresh: Callable[[np.random.Generator], Seeds] | None,
    ) -> None:
        """Do what is left to do; after each run `found` says what that is."""
        at, whole = self.found, self.search == "global"
        self.breeds = fresh is not None and self.moves is not None and self.search != "local"
        plan = [(seed, False) for seed in seeds]
        if self.breeds and whole and len(seeds) == 1 and not self.task.engine.cheap_step:
            plan.append((seeds[0], True))  # given centers: never worse than what they lead to
        if at.finished == 0:
            for seed, all_steps in plan[at.begun :]:
                self.begin(seed(), whole=all_steps)
        if fresh is None or not self.breeds:
            return
        if self.search == "auto":
            # about what a child takes where it goes all the way
            each = 0.0 if self.brief else at.plain / len(plan)
            while at.spent + each < SEARCH * at.plain:
                self.child()
                self.noted()
        elif at.finished == 0:
            self.evolve()
        while whole and at.agree < AGREE and np.isfinite(self.task.limits.deadline.at):
            while at.begun < len(plan):
                self.begin(fresh(self.draw()))
            self.evolve()

    def begin(self, seeds: Seeds, *, whole: bool = False) -> None:
        """Make a start of this population."""
        self.hurried |= not seeds.complete
        self.start(seeds.centers, whole=whole)
        self.found.begun += 1
        self.noted()

    def evolve(self) -> None:
        """Breed until nothing better comes; then a new population is due."""
        at = self.found
        while at.since < PATIENCE:
            before = at.population.best
            self.child()
            at.since = 0 if self.better(at.population.best, before) else at.since + 1
            self.noted()
        best = at.population.runs[0]
        if best.bound is None and not self.task.engine.cheap_step:  # the engine has not seen it yet
            assigner = self.task.engine.prepare(self.task.problem)
            self.keep(self.improved(assigner, self.loop(assigner, best.centers, best)), assigner)
        least = min(at.least, at.population.best)
        same = not self.better(least, at.population.best)
        at.agree = 1 if self.better(least, at.least) else at.agree + same
        at.least, at.population = least, Population()
        at.finished, at.begun, at.since = at.finished + 1, 0, 0
        self.noted()

    def noted(self) -> None:
        """Tell what is found, unless time had a say in it: then it would not be so elsewhere."""
        if self.note is not None and not self.hurried and not self.task.limits.deadline.passed:
            self.note(self.found)

    def draw(self) -> np.random.Generator:
        """A new generator: how much one run draws does not change the next."""
        self.found.drawn += 1
        return self.rng.spawn(1)[0]

    def better(self, cost: float, than: float) -> bool:
        """Whether a cost is lower by more than rounding; what costs nothing cannot be beaten."""
        return cost < than * (1 - BETTER) - self.noise

    def start(self, centers: FloatArray, *, whole: bool = False) -> None:
        task = self.task
        soon = self.breeds and self.search == "global" and not task.engine.cheap_step
        if soon and not whole:  # an answer soon, without a slow engine
            self.grow(Child(match(task.problem, centers) if task.free else centers, task.start))
            return
        if self.found.number == 0:
            deadline = task.limits.deadline
            self.reserve = reserved(task.problem, task.engine, task.start, centers, deadline)
            deadline.check()
        # a start does not depend on those before it: not even on the last basis of the engine
        assigner, before = task.engine.prepare(task.problem), self.found.spent
        run = self.loop(assigner, centers)
        self.found.plain, self.found.spent = self.found.plain + self.found.spent - before, before
        self.keep(self.improved(assigner, run, assigner.work), assigner)

    def child(self) -> None:
        self.found.bred = True
        self.grow(Child.of(self.task.problem, self.found.population, self.draw()))

    def grow(self, child: Child) -> None:
        """Make a clustering of a child; only the best get all steps, or any of a slow engine."""
        task = self.task
        assigner = task.engine.prepare(task.problem) if task.engine.cheap_step else None
        if assigner is None:
            run = self.approach(child)
        else:
            most = min(BRIEF, task.limits.max_iter) if self.brief else None
            run = self.loop(assigner, child.centers, most=most)
        self.found.spent += CHILD
        if self.brief:
            run = self.moved(run)
            worth = self.better(run.cost, self.found.population.best) and not run.status.stopped
            if not (worth and self.found.bred and self.in_time):
                self.keep(run, assigner)
                return
            assigner = assigner or task.engine.prepare(task.problem)
            run = self.loop(assigner, run.centers, run)  # worth all steps
        assert assigner is not None
        run = self.improved(assigner, run, assigner.work)
        if self.better(run.cost, self.found.population.best):  # worth all moves
            run = self.improved(assigner, run)
        self.keep(run, assigner)

    @property
    def in_time(self) -> bool:
        """Whether a loop is no large part of the time that is left; always, without a limit."""
        enough = self.task.limits.deadline.left > LOOPS * self.slowest
        self.hurried |= not enough
        return enough

    def approach(self, child: Child) -> Run:
        """Bring labels of a parent near the centers of the child by moves: no slow engine."""
        task, run = self.task, Run(child.labels, child.centers, np.inf)
        deadline = task.limits.deadline
        assert self.moves is not None
        for _ in range(BRIEF):
            found = self.moves(run.labels, run.centers, deadline, fixed=True)
            self.found.counters += found.counts
            self.found.spent += found.work
            run = run_from(task.problem, found.labels, run.centers)
        run.status = Status.TIME_LIMIT if deadline.passed else Status.CONVERGED
        if not deadline.passed or (run.labels != child.labels).any():
            self.step(run, [], child.labels)
        run.priced = self.found.run.priced
        return run

    def keep(self, run: Run, assigner: Assigner | None = None) -> None:
        if self.search in ("auto", "global"):
            self.found.population.add(run)
        self.take(run)
        if assigner is not None:
            if run is self.found.run and self.task.engine.cheap_step:
                self.bound(run, assigner)
            self.found.counters += assigner.counters
        self.found.number, self.hand = self.found.number + 1, None
        if run.status.stopped:
            self.found.run.status = run.status
            raise _Stop

    def bound(self, run: Run, assigner: Assigner) -> None:
        """What no labels get below at the last centers, while the engine is near them."""
        if run.bound is None and not run.status.stopped:
            last = assigner(run.centers, run.labels, self.task.limits.deadline)
            run.bound, run.prices = last.bound, last.prices

    def take(self, run: Run) -> None:
        # the same clusters under other labels are not better, whatever rounding says
        if self.found.number == 0 or self.better(run.cost, self.found.run.cost):
            self.found.run = run

    def interrupted(self, status: Status) -> None:
        """Ctrl-C or the end of the time, wherever it came: what is at hand may be the best."""
        if self.hand is not None:
            self.take(self.hand)
        self.found.run.status = status
        self.ended()

    def ended(self) -> None:
        """Before the first step: where the engine had no time for anything, quick moves had."""
        run = self.found.run
        if run.history:
            return
        if self.reserve is not None:
            quick = run_from(self.task.problem, self.reserve, run.centers)
            if self.better(quick.cost, run.cost):
                quick.status, self.found.run = run.status, quick
                return
        run.status = Status.NOT_STARTED

    def loop(
        self,
        assigner: Assigner,
        centers: FloatArray,
        before: Run | None = None,
        most: int | None = None,
    ) -> Run:
        """Alternate from centers, or go on after `before`; in at most so many steps."""
        task, history = self.task, None if before is None else before.history
        done, work, now = len(history or ()), assigner.work, time.perf_counter()
        run = alternate(
            task.problem,
            assigner,
            match(task.problem, centers) if task.free and before is None else centers,
            task.start if before is None else before.labels,
            replace(task.limits, max_iter=task.limits.max_iter - done if most is None else most),
            exchange=task.free and most is None and not task.problem.pinned,
            history=history,
            on_step=task.on_step,
            number=history[0].start if history else self.found.number,
            began=task.began,
        )
        self.found.spent += assigner.work - work
        self.slowest = max(self.slowest, time.perf_counter() - now)
        if before is not None and run.labels is before.labels:  # keep it as it was found
            before.bound, before.prices, before.status = run.bound, run.prices, run.status
            run = before
        self.hand = run
        return run

    def improved(self, assigner: Assigner, run: Run, effort: float = np.inf) -> Run:
        """Moves and the loop in turns, until neither finds anything better.

        The `effort` limits those moves of a global search that are no trifle.
        """
        if self.brief or self.search != "global":
            effort = np.inf
        while effort > 0:
            spent = self.found.spent
            after = self.moved(run, effort)
            effort -= self.found.spent - spent
            if after is run or after.status.stopped:
                return after
            run = self.loop(assigner, after.centers, after)
            if run.labels is after.labels:
                return run
        return run

    def moved(self, run: Run, effort: float = np.inf) -> Run:
        """Apply moves; returns the same run if they find nothing."""
        task = self.task
        if self.moves is None or run.status.stopped or len(run.history) >= task.limits.max_iter:
            return run
        if self.search == "auto":
            effort = (SEARCH if self.found.bred else MOVES) * self.found.plain - self.found.spent
        descent = self.moves(run.labels, run.centers, task.limits.deadline, effort)
        self.found.counters += descent.counts
        self.found.spent += descent.work
        after = run_from(task.problem, descent.labels, run.centers)
        after.status = Status.TIME_LIMIT if task.limits.deadline.passed else Status.CONVERGED
        if np.array_equal(after.labels, run.labels) or not after.cost < run.cost:
            run.status = after.status if after.status.stopped else run.status
            return run
        after.priced = run.priced
        self.step(after, run.history, run.labels)
        return after

    def step(self, run: Run, history: list[Step], before: IntArray) -> None:
        """Tell of moves, after these steps and from these labels."""
        task = self.task
        objective = task.problem.objective(run.cost)
        step = Step(
            start=history[0].start if history else self.found.number,
            iteration=len(history) + 1,
            objective=objective,
            assigned=objective,
            lower_bound=task.problem.objective(0.0),
            status=Status.FEASIBLE,
            moved=task.problem.structure.samples(run.labels != before),
            seconds=time.perf_counter() - task.began,
            kind="moves",
        )
        run.history = [*history, step]
        self.hand = run
        if task.on_step is not None:
            task.on_step(step)
