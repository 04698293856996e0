"""A run in the making: steps, moves and annealing, and what becomes of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm.assign.base import Assigner
from bckm.fit.lloyd import Run, alternate, run_from
from bckm.fit.result import Step
from bckm.fit.search.shared import Search
from bckm.fit.search.state import State
from bckm.fit.seeding import match

LOOPS = 5  # loops that the time left must suffice for, or a child gets none
MOVES, SEARCH = 0.7, 1.8  # work that "auto" spends on moves, and in all, in that of its starts
QUICK = 1e7  # work of starts that are over before anybody looks: search takes as if they took this
LAST = 1.0  # the same where centers were displaced: moves are the last
DESCENT = 0.1  # work of moves after annealing, in that of annealing
SPEED = 5e8  # work of annealing in a second, at least about


class Making:
    """A run in the making, from one state to the next.

    If Ctrl-C or the end of the time breaks it off, `cut` returns the next state, with what is known
    of the run by then.

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

    def cut(self, status: Status) -> State:
        """Ctrl-C or the end of the time, wherever it came: the current run may be the best."""
        current = self._current
        if current is not None and self._takes(current):
            self._update(best=current)
        return self._stopped(self._state, status)

    def _stopped(self, state: State, status: Status) -> State:
        """Where the engine had no time, or only for a poor step, quick moves had found labels."""
        best, quick, spare = state.best, None, state.spare
        if spare is not None and self._search.better(spare.cost, best.cost):
            best = spare
        if self._reserve is not None:
            quick = run_from(self._search.problem, self._reserve, best.centers)
        if quick is not None and self._search.better(quick.cost, best.cost):
            if best.history:
                quick = self._reported(quick, best.history, best.labels)
            best = quick
        elif not best.history:
            status = Status.NOT_STARTED
        return replace(state, best=replace(best, status=status))

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
        return not self._state.best.history or self._search.better(run.cost, self._state.best.cost)

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

    def _in_time(self) -> bool:
        """Whether a loop is no large part of the time that is left; always, without a limit."""
        enough = self._search.limits.deadline.left > LOOPS * self._state.slowest
        self._update(time_cut=self._state.time_cut or not enough)
        return enough

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
        done, effort, now = len(history or ()), assigner.effort, time.perf_counter()
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
            report=search.report,
            number=history[0].start if history else self._state.n_runs,
            began=search.began,
        )
        self._update(
            search_work=self._state.search_work + (assigner.effort - effort),
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
        if search.annealing is not None and not search.as_given(state):
            effort = DESCENT * search.effort(state)
        elif search.as_default(state):
            share, least = MOVES, 0.0
            if search.displaces and not search.as_given(state):
                share = LAST
            elif state.n_drawn and not search.as_given(state):
                share, least = SEARCH, QUICK
            effort = share * max(state.start_work, least) - state.search_work
        deadline = search.limits.deadline
        descent = search.moves(run.labels, run.centers, deadline, effort)
        self._count(descent.work, descent.counts)
        after = run_from(search.problem, descent.labels, run.centers)
        status = descent.ended(deadline)
        if np.array_equal(after.labels, run.labels) or not after.cost < run.cost:
            return replace(run, status=status) if status.stopped else run
        after = replace(after, status=status, priced=run.priced)
        return self._reported(after, run.history, run.labels)

    def _annealed(
        self, labels: IntArray, centers: FloatArray, effort: float, before: Run | None = None
    ) -> Run | None:
        """Anneal from any labels, or go on after `before`; None where nothing found obeys."""
        search, problem = self._search, self._search.problem
        deadline = search.limits.deadline
        assert search.annealing is not None
        seed = int(self._draw().integers(2**62))
        descent = search.annealing(labels, centers, deadline, effort, seed)
        self._count(descent.work, descent.counts)
        self._update(time_cut=self._state.time_cut or descent.hurried)
        if not problem.structure.feasible(descent.labels):
            if descent.interrupted:
                raise KeyboardInterrupt
            return None
        run = run_from(problem, descent.labels, centers)
        status = descent.ended(deadline)
        if before is not None and not search.better(run.cost, before.cost):
            return replace(before, status=status) if status.stopped else before
        run = replace(run, status=status, priced=self._state.best.priced)
        return self._reported(run, () if before is None else before.history, labels)

    def _in_time_to_anneal(self, effort: float) -> bool:
        """Whether the time that is left suffices for so much work."""
        enough = self._search.limits.deadline.left * SPEED >= effort
        self._update(time_cut=self._state.time_cut or not enough)
        return enough

    def _priced(self, assigner: Assigner, run: Run) -> Run:
        """A run with what no labels get below at its centers, and with their prices there."""
        work = self._state.search_work - assigner.effort
        last = assigner(run.centers, run.labels, self._search.limits.deadline)
        self._update(search_work=work + assigner.effort)
        return replace(run, bound=last.bound, prices=last.prices)

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
        search.report(run)
        return run
