"""One run of a search: a start or a child becomes a clustering."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm.assign.base import Assigner
from bckm.fit.lloyd import Run, alternate, run_from
from bckm.fit.result import Step
from bckm.fit.search.displace import Displacements, worth_no_more
from bckm.fit.search.evolve import Child, Population
from bckm.fit.search.reserve import reserved
from bckm.fit.search.shared import Search
from bckm.fit.search.state import State
from bckm.fit.seeding import match

LOOPS = 5  # loops that the time left must suffice for, or a child gets none
SCREENING = 2  # steps of the loop, or of moves, for a child that may not be worth more
MOVES, SEARCH = 0.7, 1.8  # work that "auto" spends on moves, and in all, in that of its starts
DISPLACE = 1.0  # and on displaced centers
CHILD = 3e5  # work of a child beyond its moves and steps
TRIALS = 8  # displacements that are tried in a run,
MOST_TRIALS = 60  # and after the same estimate
EARLY = 4  # rounds of displacements before a start gets all steps,
MUCH = 0.01  # of those that promise so much of the cost each
GAIN = 1e-5  # relative improvement from which a displacement is worth a new estimate


class Attempt:
    """A run in the making, from one state to the next.

    Methods named like a phase return the next state. If Ctrl-C or the end of the time breaks them
    off, `cut` returns it, with what is known of the run by then.

    Parameters
    ----------
    search : Search
        What all runs share.
    state : State
        What was found before this one.
    """

    def __init__(self, search: Search, state: State) -> None:
        self._search, self._state = search, state
        self._current: Run | None = None  # the run, as far as it is known
        self._reserve: IntArray | None = None  # labels for want of better ones

    def start(self) -> State:
        """Make a start of this population."""
        starts, number = self._search.starts, self._state.n_starts
        every_step = self._search.n_starts > starts.population and number == len(starts.seeds)
        if self._state.n_populations == 0 and (number < len(starts.seeds) or every_step):
            seeds = starts.seeds[number % len(starts.seeds)]()
        else:
            assert starts.fresh is not None
            seeds = starts.fresh(self._draw())
        self._update(time_cut=self._state.time_cut or not seeds.complete)
        after = self._begin(seeds.centers, every_step=every_step)
        return replace(after, n_starts=number + 1)

    def child(self) -> State:
        """Make a child of two members of the population."""
        before = self._state
        child = Child.of(self._search.problem, before.population, self._draw())
        after = self._grow(child)
        better = self._search.better(after.population.best, before.population.best)
        return replace(after, n_stale=0 if better else before.n_stale + 1)

    def displace(self) -> State:
        """Take centers of the best clustering to where others are missing."""
        search, tried = self._search, self._state.n_stale
        assigner = search.engine.prepare(search.problem)
        best, plan = self._state.best, self._displacements(self._state.best)
        trials = islice(plan.trials(), tried, MOST_TRIALS)
        for _ in range(TRIALS):
            if (pairs := next(trials, None)) is None:
                tried = MOST_TRIALS
                break
            enough = worth_no_more(best.cost)
            run = self._loop(assigner, plan.after(pairs), until=enough)
            tried += 1
            if run.status.stopped or run.cost < best.cost * (1 - GAIN):
                self._state = self._kept(run, assigner)
                if self._state.stopped:
                    return self._state
                best, tried = self._state.best, 0
                plan = self._displacements(best)
                trials = islice(plan.trials(), MOST_TRIALS)
            else:
                self._update(n_runs=self._state.n_runs + 1)
            if search.as_default(self._state) and self.spent(DISPLACE):
                break
        self._update(counters=self._state.counters + assigner.counters, n_stale=tried)
        return self._state

    def _displacements(self, run: Run) -> Displacements:
        problem = self._search.problem
        self._count(Displacements.work(problem), Counter())
        return Displacements.of(problem, run)

    def _placed(self, assigner: Assigner, centers: FloatArray) -> Run:
        """A first step; centers are displaced as long as that promises and brings much."""
        few = min(SCREENING, self._search.limits.max_iter)
        run = self._loop(assigner, centers, most=1)
        for _ in range(EARLY):
            plan = self._displacements(run)
            pairs = plan.together(MUCH * run.cost)
            if not pairs or run.status.stopped:
                break
            self._update(n_runs=self._state.n_runs + 1)
            after = self._loop(assigner, plan.after(pairs), most=few)
            if after.status.stopped or not self._search.better(after.cost, run.cost):
                break
            run = after
        return run

    def _priced(self, assigner: Assigner, run: Run) -> Run:
        """A run with what no labels get below at its centers, and with their prices there."""
        work = self._state.search_work - assigner.work
        last = assigner(run.centers, run.labels, self._search.limits.deadline)
        self._update(search_work=work + assigner.work)
        return replace(run, bound=last.bound, prices=last.prices)

    def settle(self) -> State:
        """All steps and moves for the best clustering: the default ends here."""
        search, best = self._search, self._state.best
        assigner = search.engine.prepare(search.problem)
        run = self._loop(assigner, best.centers, best)
        if run.labels is best.labels:
            self._update(best=run)
        state = self._kept(self._improved(assigner, run), assigner)
        return replace(state, settled=1, n_stale=0)

    def close(self) -> State:
        """End a population: the engine looks at its best; then a new one is due."""
        search, best = self._search, self._state.population.runs[0]
        if best.bound is None and not search.engine.cheap_step:  # the engine has not seen it yet
            assigner = search.engine.prepare(search.problem)
            seen = self._loop(assigner, best.centers, best)
            if self._state.best is best and seen.labels is best.labels:
                self._update(best=seen)
            self._state = self._kept(self._improved(assigner, seen), assigner)
        state, better = self._state, search.better
        least = min(state.least_cost, state.population.best)
        same = not better(least, state.population.best)
        return replace(
            state,
            n_agree=1 if better(least, state.least_cost) else state.n_agree + same,
            least_cost=least,
            population=Population(),
            n_populations=state.n_populations + 1,
            n_starts=0,
            n_stale=0,
        )

    def cut(self, status: Status) -> State:
        """Ctrl-C or the end of the time, wherever it came: the current run may be the best."""
        current = self._current
        if current is not None and self._takes(current):
            self._update(best=current)
        return self._stopped(self._state, status)

    def _stopped(self, state: State, status: Status) -> State:
        """Before the first step: where the engine had no time for anything, quick moves had."""
        best = replace(state.best, status=status)
        if not best.history:
            quick = best
            if self._reserve is not None:
                quick = run_from(self._search.problem, self._reserve, best.centers)
            if self._search.better(quick.cost, best.cost):
                best = replace(quick, status=status)
            else:
                best = replace(best, status=Status.NOT_STARTED)
        return replace(state, best=best)

    def spent(self, share: float) -> bool:
        """Whether search took so many times the work of the starts."""
        return self._state.search_work >= share * self._state.start_work

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def _count(self, work: float, counts: Counter[str]) -> None:
        state = self._state
        self._update(search_work=state.search_work + work, counters=state.counters + counts)

    def _draw(self) -> np.random.Generator:
        """A new generator: how much one run draws does not change the next."""
        number = self._state.n_drawn
        self._update(n_drawn=number + 1)
        return self._search.starts.generator(number)

    def _takes(self, run: Run) -> bool:
        """Whether a run becomes the best one."""
        # the same clusters under other labels are not better, whatever rounding says
        return self._state.n_runs == 0 or self._search.better(run.cost, self._state.best.cost)

    def _kept(self, run: Run, assigner: Assigner | None = None) -> State:
        """The state after a run."""
        search, best = self._search, self._takes(run)
        if assigner is not None:
            if best and search.engine.cheap_step and run.bound is None and not run.status.stopped:
                # what no labels get below at the last centers, while the engine is near them
                run = self._priced(assigner, run)
            self._update(counters=self._state.counters + assigner.counters)
        state = self._state
        searched = search.kind in ("auto", "global")
        state = replace(
            state,
            best=run if best else state.best,
            population=state.population.add(run) if searched else state.population,
            n_runs=state.n_runs + 1,
        )
        return self._stopped(state, run.status) if run.status.stopped else state

    def _begin(self, centers: FloatArray, *, every_step: bool) -> State:
        search, before = self._search, self._state
        problem, deadline = search.problem, search.limits.deadline
        if search.without_engine and not every_step:
            matched = match(problem, centers) if search.free else centers
            return self._grow(Child(matched, before.start))
        if before.n_runs == 0:
            self._reserve = reserved(problem, search.engine, before.start, centers, deadline)
            deadline.check()
        # a start does not depend on those before it: not even on the last basis of the engine
        assigner = search.engine.prepare(problem)
        if search.displaces and search.as_default(before):
            placed = self._placed(assigner, centers)
            run = self._loop(assigner, placed.centers, placed)
        else:
            run = self._loop(assigner, centers)
        work = before.start_work + self._state.search_work - before.search_work
        self._update(start_work=work, search_work=before.search_work)
        if not (search.displaces and search.as_default(before)):
            run = self._improved(assigner, run, assigner.work)
        return self._kept(run, assigner)

    def _grow(self, child: Child) -> State:
        """Make a clustering of a child; only the best get all steps, or any of a slow engine."""
        search, least = self._search, self._state.population.best
        assigner = search.engine.prepare(search.problem) if search.engine.cheap_step else None
        if assigner is None:
            run = self._approach(child)
        else:
            most = min(SCREENING, search.limits.max_iter) if search.screen_children else None
            run = self._loop(assigner, child.centers, most=most)
        self._update(search_work=self._state.search_work + CHILD)
        if search.screen_children:
            run = self._moved(run)
            worth = search.better(run.cost, least) and not run.status.stopped
            if not (worth and self._state.n_drawn and self._in_time()):
                return self._kept(run, assigner)
            assigner = assigner or search.engine.prepare(search.problem)
            run = self._loop(assigner, run.centers, run)  # worth all steps
        assert assigner is not None
        run = self._improved(assigner, run, assigner.work)
        if search.better(run.cost, least):  # worth all moves
            run = self._improved(assigner, run)
        return self._kept(run, assigner)

    def _in_time(self) -> bool:
        """Whether a loop is no large part of the time that is left; always, without a limit."""
        enough = self._search.limits.deadline.left > LOOPS * self._state.slowest
        self._update(time_cut=self._state.time_cut or not enough)
        return enough

    def _approach(self, child: Child) -> Run:
        """Bring labels of a parent near the centers of the child by moves: no slow engine."""
        search, run = self._search, Run(child.labels, child.centers, np.inf)
        deadline = search.limits.deadline
        assert search.moves is not None
        for _ in range(SCREENING):
            descent = search.moves(run.labels, run.centers, deadline, fixed=True)
            self._count(descent.work, descent.counts)
            run = run_from(search.problem, descent.labels, run.centers)
        status = Status.TIME_LIMIT if deadline.passed else Status.CONVERGED
        run = replace(run, status=status, priced=self._state.best.priced)
        if not deadline.passed or (run.labels != child.labels).any():
            run = self._reported(run, (), child.labels)
        return run

    def _loop(
        self,
        assigner: Assigner,
        centers: FloatArray,
        before: Run | None = None,
        most: int | None = None,
        until: Callable[[float, float], bool] | None = None,
    ) -> Run:
        """Alternate from centers, or go on after `before`; in so many steps, or `until` enough."""
        search, history = self._search, None if before is None else before.history
        done, work, now = len(history or ()), assigner.work, time.perf_counter()
        limits = search.limits
        run = alternate(
            search.problem,
            assigner,
            match(search.problem, centers) if search.free and before is None else centers,
            self._state.start if before is None else before.labels,
            replace(limits, max_iter=limits.max_iter - done if most is None else most),
            exchange=search.free and most is None and until is None and not search.problem.pinned,
            until=until,
            history=history,
            on_step=search.on_step,
            number=history[0].start if history else self._state.n_runs,
            began=search.began,
        )
        self._update(
            search_work=self._state.search_work + (assigner.work - work),
            slowest=max(self._state.slowest, time.perf_counter() - now),
        )
        if before is not None and run.labels is before.labels:  # keep it as it was found
            run = replace(before, bound=run.bound, prices=run.prices, status=run.status)
        self._current = run
        return run

    def _improved(self, assigner: Assigner, run: Run, effort: float = np.inf) -> Run:
        """Moves and the loop in turns, until neither finds anything better.

        The `effort` limits those moves of a global search that are no trifle.
        """
        search = self._search
        if search.screen_children or search.kind != "global" or search.as_default(self._state):
            effort = np.inf
        while effort > 0:
            work = self._state.search_work
            after = self._moved(run, effort)
            effort -= self._state.search_work - work
            if after is run or after.status.stopped:
                return after
            run = self._loop(assigner, after.centers, after)
            if run.labels is after.labels:
                return run
        return run

    def _moved(self, run: Run, effort: float = np.inf) -> Run:
        """Apply moves; returns the same run if they find nothing."""
        search, state = self._search, self._state
        full = len(run.history) >= search.limits.max_iter
        if search.moves is None or run.status.stopped or full:
            return run
        if search.as_default(state):
            share = SEARCH if state.n_drawn or search.displaces else MOVES
            effort = share * state.start_work - state.search_work
        deadline = search.limits.deadline
        descent = search.moves(run.labels, run.centers, deadline, effort)
        self._count(descent.work, descent.counts)
        after = run_from(search.problem, descent.labels, run.centers)
        status = Status.TIME_LIMIT if deadline.passed else Status.CONVERGED
        if np.array_equal(after.labels, run.labels) or not after.cost < run.cost:
            return replace(run, status=status) if status.stopped else run
        after = replace(after, status=status, priced=run.priced)
        return self._reported(after, run.history, run.labels)

    def _reported(self, run: Run, history: tuple[Step, ...], before: IntArray) -> Run:
        """The run with moves as its last step, after these steps and from these labels."""
        search = self._search
        problem = search.problem
        objective = problem.objective(run.cost)
        step = Step(
            start=history[0].start if history else self._state.n_runs,
            iteration=len(history) + 1,
            objective=objective,
            assigned=objective,
            lower_bound=problem.objective(0.0),
            status=Status.FEASIBLE,
            moved=problem.structure.samples(run.labels != before),
            seconds=time.perf_counter() - search.began,
            kind="moves",
        )
        run = replace(run, history=(*history, step))
        self._current = run
        if search.on_step is not None:
            search.on_step(step)
        return run
