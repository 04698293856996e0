"""What all runs of a fit share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from bckm._core.types import IntArray
from bckm.assign.base import Engine
from bckm.fit.listener import Listener
from bckm.fit.lloyd import Limits, Run
from bckm.fit.search.anneal import Annealing
from bckm.fit.search.displace import Part
from bckm.fit.search.local import LocalSearch
from bckm.fit.search.reserve import MANY
from bckm.fit.search.state import State
from bckm.fit.seeding import Starts
from bckm.kernels import missing
from bckm.problem.problem import Problem

BETTER = 1e-9  # relative improvement that counts
ROUNDING = 1e-30  # share of the inertia around one center that counts as none
SMALL = 20_000  # costs (items x clusters) up to which moves are quicker than steps of any engine
ANNEALED = 10_000  # items up to which annealing comes before a slow engine
FEWEST_STARTS, MOST_STARTS = 4, 20  # of annealing, where n_init does not say how many
STARTS, FINAL = 0.4, 0.6  # share of its work for these, and then for the best of them
LEAST = 0.03  # for each of them
# work of annealing: in all, for each item, and not more for each pair of items
BASE, EACH, EACH_PAIR = 2e8, 3e5, 1.5e4
FURTHER = 1e8  # at least, in populations after what the default does
ANNEAL = 1.25  # by default not more than so many times what the engine alone would take,
LITTLE = 4e7  # unless that is less than this
GAUGE = 0.36  # share of it, after which its steps need not show more of that
# work that "auto" spends on displaced centers, in that of its starts; less after a coarse search
DISPLACE, DISPLACE_LESS = 1.0, 0.25
PAIRS = 200  # clusters whose pairs are few enough to think of displacing any center


@dataclass(frozen=True, eq=False)
class Search:
    """What all runs of a fit share.

    Attributes
    ----------
    problem, engine, limits : Problem, Engine, Limits
        What to solve, by which engine, and when to end.
    kind : {"auto", "none", "local", "global"}
        How to go on after the starts; see `bckm.kmeans`.
    starts : Starts
        First centers.
    free : bool
        Whether it is part of the problem which cluster gets which bounds.
    listener : Listener
        Who hears of each step.
    began : float
        When the fit began.
    named : bool
        Whether the person named the engine: then its steps come first.
    """

    problem: Problem
    engine: Engine
    limits: Limits
    kind: str
    starts: Starts
    free: bool = False
    listener: Listener = field(default_factory=Listener)
    began: float = 0.0
    named: bool = False

    @cached_property
    def moves(self) -> LocalSearch | None:
        """Local search, where it is wanted."""
        s = self.problem.structure
        # moves are compiled and need dense points; "auto" is to stay quick
        quick = not missing and not self.problem.sparse and s.n_clusters <= MANY
        wanted = self.kind in ("local", "global") or (self.kind == "auto" and quick)
        return LocalSearch(self.problem) if wanted else None

    @property
    def has_children(self) -> bool:
        """Whether children follow the starts."""
        local = self.kind == "local" or self.moves is None
        return not local and self.starts.fresh is not None

    @cached_property
    def annealing(self) -> Annealing | None:
        """Annealing, where it comes before the engine: that one sees but the best clustering."""
        few = self.problem.structure.n_items <= ANNEALED
        wanted = self.has_children and few and not (self.engine.cheap_step or self.named)
        return Annealing(self.problem) if wanted else None

    @property
    def gauged(self) -> bool:
        """Whether the engine makes steps before annealing, to see how much of that is in order."""
        limited = self.annealing is not None and not self.starts.given
        return limited and self._full_effort > LITTLE

    def effort(self, state: State) -> float:
        """Work of annealing in a population: twice that of the last one."""
        full = self._full_effort
        if state.n_populations:
            return float(max(full, FURTHER) * 2**state.n_populations)
        known = self.gauged and state.start_work > 0
        return min(full, max(ANNEAL * state.start_work, LITTLE)) if known else full

    @property
    def _full_effort(self) -> float:
        """Work of annealing in the first population, whatever the engine takes."""
        m = self.problem.structure.n_items
        return float(min(BASE + EACH * m, EACH_PAIR * m * m))

    def start_effort(self, state: State) -> float:
        """Work of annealing for a start."""
        number = self.n_first if self.starts.automatic else FEWEST_STARTS
        return max(STARTS / number, LEAST) * self.effort(state)

    @property
    def n_first(self) -> int:
        """Starts by default."""
        if self.annealing is not None and self.starts.automatic:
            s = self.problem.structure
            number = SMALL // (s.n_items * s.n_clusters)  # small ones have more bad starts
            return min(max(number, FEWEST_STARTS), MOST_STARTS)
        return len(self.starts.seeds)

    def n_starts(self, state: State) -> int:
        """Starts of a population."""
        if self.annealing is None:
            return self.starts.population
        return max(self.n_first, FEWEST_STARTS) if state.n_populations else self.n_first

    @cached_property
    def displaces(self) -> bool:
        """Whether centers are displaced by what they are worth, instead of drawing children."""
        few = self.problem.structure.n_clusters <= PAIRS
        return self.has_children and self.engine.cheap_step and not self.screen_children and few

    @cached_property
    def coarse(self) -> bool:
        """Whether the first centers of a start are searched for among cells of items."""
        s = self.problem.structure
        quick = not missing and not self.problem.sparse
        return self.displaces and quick and self.starts.spread and s.interchangeable

    @property
    def displacing(self) -> float:
        """Work for displaced centers by default, in that of the starts."""
        return DISPLACE_LESS if self.coarse else DISPLACE

    @cached_property
    def part(self) -> Part:
        """What estimates of displaced centers look at."""
        return Part.of(self.problem)

    def as_default(self, state: State) -> bool:
        """Whether a search does what `auto` does: a global one begins so, and is never worse."""
        return self.kind == "auto" or (self.kind == "global" and not state.settled)

    def as_given(self, state: State) -> bool:
        """Whether given centers are next: all steps and moves from them, whatever comes later."""
        return self.starts.given and state.n_runs == 0

    @cached_property
    def screen_children(self) -> bool:
        """Whether a child gets but a few steps or moves at first."""
        s = self.problem.structure
        return s.n_items * s.n_clusters <= SMALL or not self.engine.cheap_step

    def numbered(self, run: Run) -> Run:
        """A run with the labels that its clusters have in a result."""
        found_anyhow = self.starts.fresh is not None and self.kind in ("auto", "global")
        return renumbered(self.problem, run) if found_anyhow else run

    def report(self, run: Run) -> None:
        """Tell of the last step of a run."""
        self.listener.step(run.history[-1], partial(self._labels, run))

    def _labels(self, run: Run) -> IntArray:
        return self.problem.structure.expand(self.numbered(run).labels)

    @cached_property
    def _noise(self) -> float:
        problem = self.problem
        return ROUNDING * float(problem.points.shape[1] * problem.variance * problem.mass.sum())

    def better(self, cost: float, than: float) -> bool:
        """Whether a cost is lower by more than rounding; what costs nothing cannot be beaten."""
        return cost < than * (1 - BETTER) - self._noise


def renumbered(problem: Problem, run: Run) -> Run:
    """Number clusters by their first items, where rules do not tell them apart.

    The same clusters can be found in many ways; so they get the same labels.
    """
    s = problem.structure
    heavy = np.flatnonzero(problem.mass > 0)  # others are as good as absent
    used, first = np.unique(run.labels[heavy], return_index=True)
    place = np.full(s.n_clusters, s.n_items)
    place[used] = first
    order = np.empty(s.n_clusters, np.int64)  # which cluster becomes label i
    for kind in np.unique(s.cluster_class):
        members = np.flatnonzero(s.cluster_class == kind)
        order[members] = members[np.argsort(place[members], kind="stable")]
    label = np.empty_like(order)
    label[order] = np.arange(order.size)
    prices = None if run.prices is None else run.prices[order]
    return replace(run, labels=label[run.labels], centers=run.centers[order], prices=prices)
