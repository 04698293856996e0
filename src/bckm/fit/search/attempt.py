"""One run of a search: a start or a child becomes a clustering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bckm._core.deadline import TimeUp
from bckm._core.status import Status
from bckm._core.types import FloatArray
from bckm.fit.greedy_seeds import Seeds
from bckm.fit.lloyd import Run, run_from
from bckm.fit.search.coarse import CoarseSearch
from bckm.fit.search.displace import (
    GAIN,
    Displacements,
    Forecast,
    Part,
    Trial,
    slow,
    worth_no_more,
)
from bckm.fit.search.evolve import Child, Population, displaced
from bckm.fit.search.making import Making
from bckm.fit.search.reserve import reserved
from bckm.fit.search.shared import ANNEAL, FINAL, GAUGE
from bckm.fit.search.state import State
from bckm.fit.seeding import SHARE, match

SCREENING = 2  # steps of the loop, or of moves, for a child that may not be worth more
FAR = 2.0  # times as much work for displaced centers, as long as the last one that helped brought
LOSSES = 6  # much, and so few since then did not
CHILD = 3e5  # work of a child beyond its moves and steps
TRIALS = 8  # displacements that are tried in a run,
MOST_TRIALS = 60  # and after the same estimate
# work of a coarse search: at least and at most, for each item, and for each of its costs
COARSE, MOST_COARSE, COARSE_ITEM, COARSE_COST = 1.5e7, 6e8, 6200.0, 22.0
TOGETHER = 2  # displacements at once, in those of the last time that helped
MUCH = 0.01  # relative improvement after which more of them are worth their work


class Attempt(Making):
    """A run in the making; methods named like a phase return the next state."""

    def start(self) -> State:
        """Make a start of this population."""
        search, state = self._search, self._state
        starts, number = search.starts, state.n_starts
        if search.annealing is not None and state.n_populations and number == 0:
            open_ended = len(state.best.history) < search.limits.max_iter
            if open_ended and not self._in_time_to_anneal(search.effort(state)):
                self._finish(state.best)  # no time for a population, but for the best clustering
                return self._state
        search.listener.phase("seeding")
        if search.coarse and search.as_default(state):
            seeds = self._coarse_seeds()
        elif state.n_populations == 0 and number < len(starts.seeds):
            seeds = starts.seeds[number]()
        elif search.annealing is not None and number == 0:
            seeds = Seeds(displaced(search.problem, state.best.centers, self._draw()))
        else:
            assert starts.fresh is not None
            seeds = starts.fresh(self._draw())
        self._update(time_cut=self._state.time_cut or not seeds.complete)
        begins = search.annealing is None or search.as_given(state)
        make = self._begin if begins else self._cool
        return replace(make(seeds.centers), n_starts=number + 1)

    def _coarse_seeds(self) -> Seeds:
        """First centers that a search among cells found; its work comes on top of all other."""
        problem = self._search.problem
        (m, d), k = problem.points.shape, problem.structure.n_clusters
        effort = COARSE + m * (COARSE_ITEM + COARSE_COST * k * (1 + 0.2 * d))
        soon = self._search.limits.deadline.share(SHARE)
        try:
            return CoarseSearch(problem, soon)(self._draw(), min(effort, MOST_COARSE))
        except TimeUp:
            return replace(self._search.starts.seeds[self._state.n_starts](), complete=False)

    def _cool(self, centers: FloatArray) -> State:
        """A start by annealing: the engine sees but the best of them, see `close`."""
        search, start = self._search, self._state.start
        search.listener.phase("search")
        if search.gauged and not self._state.n_runs:
            self._state = self._gauge(centers)
            if self._state.stopped:
                return self._state
        if search.free:
            centers = match(search.problem, centers)
        labels = search.problem.nearest(centers)[0]
        run = self._annealed(labels, centers, search.start_effort(self._state))
        if run is None:  # from labels that obey
            run = self._approach(Child(centers, start))
        return self._kept(self._moved(run))

    def _gauge(self, centers: FloatArray) -> State:
        """Steps of the engine, as without search, until they show how much annealing may take.

        Where they end soon, annealing takes little more; where they go on, it takes what it needs.
        """
        search, full = self._search, self._search.effort(self._state)
        if not self._in_time_to_anneal(full / 2):  # a limit that is reached: annealing is better
            return self._state
        assigner, number = search.engine.prepare(search.problem), len(search.starts.seeds)
        run, ended, least = None, False, 0.0
        while not ended and number * least < full / ANNEAL and assigner.effort < GAUGE * full:
            work = assigner.effort
            run = self._loop(assigner, centers if run is None else run.centers, run, most=1)
            last = assigner.effort - work
            ended = run.status is not Status.ITERATION_LIMIT
            ended |= len(run.history) >= search.limits.max_iter
            least = assigner.effort + (0.0 if ended else last)  # one more step at least
        assert run is not None
        self._update(start_work=number * least)
        if not run.status.stopped:  # if it is the best, annealing goes on there
            run = replace(run, bound=None, prices=None)
        return self._kept(run, assigner)

    def child(self) -> State:
        """Make a child of two members of the population."""
        before = self._state
        child = Child.of(self._search.problem, before.population, self._draw())
        after = self._grow(child)
        better = self._search.better(after.population.best, before.population.best)
        return replace(after, n_stale=0 if better else before.n_stale + 1)

    def displace(self) -> State:
        """Take centers of the best clustering to where others are missing."""
        search, tried = self._search, self._state.tried
        assigner = search.engine.prepare(search.problem)
        best, winning, over = self._state.best, False, False
        plan, forecast = self._forecast(best, tried, len(best.centers))
        for number in range(MOST_TRIALS):
            if number >= TRIALS and not winning:
                break
            pairs = forecast.next() if len(tried) < MOST_TRIALS else None
            if pairs is None:
                over = True
                break
            run = self._loop(assigner, plan.after(pairs), until=worth_no_more(best.cost))
            if run.status.stopped or run.cost < best.cost * (1 - GAIN):
                self._state = self._kept(run, assigner)
                if self._state.stopped:
                    return self._state
                winning = run.cost < (1 - MUCH) * best.cost
                best, tried = self._state.best, ()
                plan, forecast = self._forecast(best, (), TOGETHER * len(pairs))
            else:
                spare = self._state.spare
                if run.cost < min(best.cost, np.inf if spare is None else spare.cost):
                    spare = run
                self._update(n_runs=self._state.n_runs + 1, spare=spare)
                tried = (*tried, (pairs, run.cost - best.cost))
                forecast.learn(*tried[-1])
            winning = winning and len(tried) < LOSSES
            most = search.displacing * (FAR if winning else 1.0)
            if search.as_default(self._state) and self.spent(most):
                break
        stale = MOST_TRIALS if over else len(tried)
        counters = self._state.counters + assigner.counters
        return replace(self._state, counters=counters, n_stale=stale, tried=tried)

    def _forecast(
        self, run: Run, tried: Sequence[Trial], most: int
    ) -> tuple[Displacements, Forecast]:
        part = self._search.part
        self._count(part.work, Counter())
        labels = run.labels[Part.some(self._search.problem)]
        plan = Displacements.of(part, labels, run.centers, run.prices, run.cost)
        forecast = Forecast(plan, most)
        for pairs, change in tried:
            forecast.learn(pairs, change)
        return plan, forecast

    def settle(self) -> State:
        """All steps and moves for the best clustering: the default ends here."""
        if self._search.displaces or self._state.best.bound is None:
            self._finish(self._state.best)
        return replace(self._state, settled=1, n_stale=0, tried=())

    def close(self) -> State:
        """End a population: the engine looks at its best; then a new one is due."""
        search, best = self._search, self._state.population.runs[0]
        if best.bound is None and not search.engine.cheap_step:  # the engine has not seen it yet
            self._finish(best)
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
            tried=(),
            settled=1,
        )

    def _finish(self, best: Run) -> None:
        """Annealing, where it is used, then all steps and moves."""
        search, run = self._search, best
        if search.annealing is not None and len(run.history) < search.limits.max_iter:
            effort = FINAL * search.effort(self._state)
            run = self._annealed(run.labels, run.centers, effort, run) or run
            run = self._moved(run)
        seen_before = search.annealing is not None and run is best and run.bound is not None
        if run.status.stopped or seen_before or (self._state.time_cut and not self._in_time()):
            self._state = self._kept(run)
            return
        assigner = search.engine.prepare(search.problem)
        seen = self._loop(assigner, run.centers, run)
        if self._state.best is run and seen.labels is run.labels:
            self._update(best=seen)
        self._state = self._kept(self._improved(assigner, seen), assigner)

    def _begin(self, centers: FloatArray) -> State:
        search, before = self._search, self._state
        problem, deadline = search.problem, search.limits.deadline
        if before.settled and not search.engine.cheap_step:  # by moves alone
            matched = match(problem, centers) if search.free else centers
            return self._grow(Child(matched, before.start))
        search.listener.phase("search" if before.n_runs else "assignment")
        if before.n_runs == 0:
            self._reserve = reserved(problem, search.engine, before.start, centers, deadline)
            deadline.check()
        # a start does not depend on those before it: not even on the last basis of the engine
        assigner = search.engine.prepare(problem)
        first = search.displaces and search.as_default(before) and not search.as_given(before)
        # all steps come later: see `settle`
        until = slow if first and problem.structure.interchangeable else None
        run = self._loop(assigner, centers, until=until)
        work = before.start_work + self._state.search_work - before.search_work
        self._update(start_work=work, search_work=before.search_work)
        if not first:
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

    def _approach(self, child: Child) -> Run:
        """Bring labels of a parent near the centers of the child by moves: no slow engine."""
        search, run = self._search, Run(child.labels, child.centers, np.inf)
        deadline = search.limits.deadline
        assert search.moves is not None
        for _ in range(SCREENING):
            descent = search.moves(run.labels, run.centers, deadline, fixed=True)
            self._count(descent.work, descent.counts)
            run = run_from(search.problem, descent.labels, run.centers)
            status = descent.ended(deadline)
            if status.stopped:
                break
        run = replace(run, status=status, priced=self._state.best.priced)
        if not status.stopped or (run.labels != child.labels).any():
            run = self._reported(run, (), child.labels)
        return run
