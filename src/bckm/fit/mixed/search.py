"""The search for mixed groups: from state to state, as that of compact ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm._storage.fields import Fields, narrow
from bckm.fit.listener import Listener
from bckm.fit.lloyd import Run
from bckm.fit.mixed.plain import improved
from bckm.fit.mixed.points import Points
from bckm.fit.result import Step
from bckm.fit.search.shared import renumbered
from bckm.fit.steps import history_tree, read_history
from bckm.kernels import missing, native
from bckm.problem.compiled import as_arrays
from bckm.problem.problem import Problem

# work of what the default does: in all, for each item, not more for each pair of them, and at most
BASE, EACH, EACH_PAIR, MOST = 1e8, 1e5, 1e5, 1e10
FEW, RUNS = 100, 4  # items up to which it makes so many runs, by default
LOCAL = 0.1  # share of that work for a local search
FURTHER = 4  # runs of a global search after these, each twice as long, without a time limit
SPEED = 2e9  # work in a second, at most about
KINDS = ("proposed", "relocated", "swapped", "ejected")
SOME = 8  # items of a kind on average, or kinds say nothing
BETTER = 1e-9  # relative improvement that counts
SEEN = 1e-6  # relative difference that points of few digits make
NOTHING = 1e-24  # share of what a random clustering costs that counts as none


@dataclass(frozen=True, eq=False)
class MixedState:
    """What a search knows between two runs.

    Attributes
    ----------
    start : array (m,)
        Feasible labels.
    best : Run
        The best clustering; its cost is what is between clusters, with all penalties.
    counters : Counter
        What moves counted.
    n_runs : int
        Runs that are finished.
    time_cut : bool
        Whether the clock had a say.
    """

    start: IntArray
    best: Run
    counters: Counter[str] = field(default_factory=Counter)
    n_runs: int = 0
    time_cut: bool = False

    def to_tree(self) -> dict[str, Any]:
        """The state for a file."""
        return {
            "start": narrow(self.start),
            "labels": narrow(self.best.labels),
            "history": history_tree(self.best.history),
            "counters": dict(self.counters),
            "n_runs": self.n_runs,
        }

    @classmethod
    def from_tree(cls, fields: Fields, search: MixedSearch) -> MixedState:
        """The state from a file; a `ValueError` says what is wrong with it."""
        s = search.problem.structure
        found = [fields.whole_numbers(key, s.n_items) for key in ("start", "labels")]
        for labels in found:
            if labels.max() >= s.n_clusters or not s.feasible(labels):
                raise ValueError("its labels violate a rule")
        counters = fields.of("counters")
        return cls(
            found[0],
            replace(search.run(found[1]), history=read_history(fields.of("history"))),
            Counter({name: counters.whole(name) for name in counters.tree}),
            fields.whole("n_runs"),
        )


@dataclass(frozen=True, eq=False)
class MixedSearch:
    """What all runs share.

    Attributes
    ----------
    problem, points : Problem, Points
        What to solve.
    kind : {"auto", "none", "local", "global"}
        How hard to try.
    n_init : int or "auto"
        Runs that share the work of the default.
    entropy : int
        Seed of all runs; each has a generator of its own.
    enough : float
        What no labels cost less than, in units of cost.
    deadline, listener, began :
        As in `Settings`.
    """

    problem: Problem
    points: Points
    kind: str
    n_init: int | str
    entropy: int
    enough: float
    deadline: Deadline
    listener: Listener
    began: float

    @property
    def n_first(self) -> int:
        """Runs by default."""
        if self.kind == "none":
            return 0
        if isinstance(self.n_init, int):
            return self.n_init
        return RUNS if self.problem.structure.n_items <= FEW and self.kind != "local" else 1

    def effort(self, number: int) -> float:
        """Work of a run."""
        m = self.problem.structure.n_items
        work = min(BASE + EACH * m, EACH_PAIR * m * m, MOST)
        if self.kind == "local":
            return LOCAL * work
        if number < self.n_first:
            return float(work / self.n_first)
        return float(work * 2.0 ** min(number - self.n_first + 1, 30))

    def done(self, state: MixedState) -> bool:
        """Whether nothing comes after a state."""
        if state.best.status.stopped or self._ideal(state.best):
            return True
        if state.n_runs < self.n_first:
            return False
        endless = np.isfinite(self.deadline.at)
        more = endless or state.n_runs < self.n_first + FURTHER
        return not (self.kind == "global" and more)

    def _ideal(self, run: Run) -> bool:
        nothing = NOTHING * self.points.unit * self.problem.structure.n_clusters
        return bool(run.history) and run.cost <= self.enough * (1 + BETTER) + nothing

    def run(self, labels: IntArray) -> Run:
        """Labels with their means and what they cost."""
        problem = self.problem
        nowhere = np.zeros((problem.structure.n_clusters, problem.points.shape[1]))
        cost = self.points.between(labels) + problem.penalty(labels)
        return Run(labels, problem.means(labels, nowhere), cost, status=Status.CONVERGED)

    def numbered(self, run: Run) -> Run:
        """Clusters in the order of their first items, where rules do not tell them apart."""
        return renumbered(self.problem, run)

    def report(self, run: Run) -> None:
        """Tell of the last step of a run."""
        expand = self.problem.structure.expand
        self.listener.step(run.history[-1], lambda: expand(self.numbered(run).labels))

    @cached_property
    def arrays(self) -> tuple[native.Points, native.Rules, native.Soft]:
        """Items and rules for the moves."""
        p = self.problem
        return as_arrays(p.structure, p.soft, self.points.seen, p.mass, self.points.unit)

    @cached_property
    def kinds(self) -> tuple[IntArray, IntArray]:
        """Items of the same mass and count, and those that bring the same to all sums besides."""
        s = self.problem.structure
        mass = np.column_stack([s.count, self.problem.mass])
        of_mass = _numbered(mass)
        everything = _numbered(np.column_stack([mass, s.loads.amount]))
        rare = everything.max() + 1 > s.n_items / SOME
        return of_mass, of_mass if rare else everything


def _numbered(rows: FloatArray) -> IntArray:
    """Equal rows get equal numbers."""
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def explore(
    search: MixedSearch, state: MixedState, note: Callable[[MixedState], None] | None = None
) -> MixedState:
    """Make runs until enough is done; a time limit or Ctrl-C ends it with the best labels so far.

    Parameters
    ----------
    search : MixedSearch
        What all runs share.
    state : MixedState
        The first state, or what an earlier call with the same arguments noted.
    note : callable, optional
        Called with the state after each run, as long as no clock had a say in it.
    """
    try:
        while not search.done(state):
            if search.deadline.passed:
                state = _stopped(state, Status.TIME_LIMIT)
                break
            search.listener.phase("search")
            state = _step(search, state)
            if note is not None and not state.best.status.stopped and not state.time_cut:
                note(state)
    except KeyboardInterrupt:  # between two runs, or who was told of one raised it
        state = _stopped(state, Status.INTERRUPTED)
    return replace(state, best=search.numbered(state.best))


def _stopped(state: MixedState, status: Status) -> MixedState:
    status = status if state.best.history else Status.NOT_STARTED
    return replace(state, best=replace(state.best, status=status))


def _step(search: MixedSearch, state: MixedState) -> MixedState:
    """One run, and the state after it."""
    problem, number = search.problem, state.n_runs
    rng = np.random.default_rng(np.random.SeedSequence(search.entropy, spawn_key=(number,)))
    first = rng.permutation(state.start)  # under sizes alone these obey, too
    if not problem.structure.feasible(first):
        first = state.start
    found, counts, ended, hurried = _moved(search, first, number, rng)
    run = search.run(found)
    before = state.best
    step = Step(
        start=number,
        iteration=1,
        objective=(run.cost + problem.soft.constant) * problem.scale,
        assigned=(run.cost + problem.soft.constant) * problem.scale,
        lower_bound=(search.enough + problem.soft.constant) * problem.scale,
        status=Status.FEASIBLE,
        moved=problem.structure.samples(run.labels != first),
        seconds=time.perf_counter() - search.began,
        kind="moves",
    )
    run = replace(run, history=(step,))
    better = not before.history or run.cost < before.cost * (1 - BETTER)
    after = replace(
        state,
        best=replace(run if better else before, status=ended),
        counters=state.counters + counts,
        n_runs=number + 1,
        time_cut=state.time_cut or hurried or ended.stopped,
    )
    try:
        search.report(run)
    except KeyboardInterrupt:
        return _stopped(after, Status.INTERRUPTED)
    return after


def _moved(
    search: MixedSearch, first: IntArray, number: int, rng: np.random.Generator
) -> tuple[IntArray, Counter[str], Status, bool]:
    """Better labels, what moves counted, how it ended, and whether the clock had a say."""
    problem, left = search.problem, search.deadline.left
    if missing:
        found = improved(problem, search.points, first, search.deadline)
        late = search.deadline.passed
        return found, Counter(), Status.TIME_LIMIT if late else Status.CONVERGED, late
    labels, effort = first.astype(np.int32), search.effort(number)
    most, counts = min(effort, SPEED * left), Counter[str]()
    hurried, ended = most < effort, Status.CONVERGED
    try:
        told = native.mix(
            *search.arrays,
            labels,
            *search.kinds,
            most,
            search.enough / search.points.unit * (1 + SEEN),
            int(rng.integers(2**62)),
            min(left, 1e9),
        )
        counts = Counter({kind: getattr(told, kind) for kind in KINDS})
        hurried = hurried or told.hurried or told.stopped
        ended = Status.TIME_LIMIT if search.deadline.passed else ended
    except KeyboardInterrupt:
        ended = Status.INTERRUPTED
    found = labels.astype(np.int64)
    if not problem.structure.feasible(found):  # sums of more digits than a number has
        found = first
    return found, counts, ended, hurried
