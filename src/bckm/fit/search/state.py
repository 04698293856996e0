"""The state of a search between two runs: all that decides how it goes on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bckm._core.status import Status
from bckm._core.types import IntArray
from bckm._storage.fields import Fields, narrow
from bckm.fit.lloyd import Run, run_from
from bckm.fit.search.displace import Trial
from bckm.fit.search.evolve import Population
from bckm.fit.steps import history_tree, read_history
from bckm.problem.problem import Problem

ROUNDED = 1e-6  # share of a cost by which a file may differ from what its labels cost
_COUNTS = ("n_runs", "n_drawn", "n_starts", "n_stale", "n_populations", "n_agree", "settled")
_NUMBERS = ("start_work", "search_work", "least_cost")


@dataclass(frozen=True, eq=False)
class State:
    """The best clustering so far, the others to breed from, and what was counted on the way.

    A checkpoint keeps all of it but the last three attributes: they depend on clocks, or count only
    where the search is cut off.

    Attributes
    ----------
    start : array (m,)
        Feasible labels, which may have taken long to find.
    best : Run
        The best clustering.
    population : Population
        Parents of children.
    counters : Counter
        What engines and moves counted; not to be changed.
    n_runs : int
        Runs that are finished.
    n_drawn : int
        Generators that were drawn: one for each child, and for each start after the first
        population.
    tried : tuple of Trial
        Displacements of the best clustering that were not better.
    n_starts : int
        Starts of this population.
    n_stale : int
        Children of it, or displacements, in a row that were not better than all before.
    n_populations : int
        Populations before it.
    n_agree : int
        How many of these found the least cost.
    least_cost : float
        Least cost in these.
    settled : int
        Whether all is done (1) that the default does.
    start_work, search_work : float
        Work of the starts before any search, and of search.
    slowest : float
        Seconds of the slowest loop.
    time_cut : bool
        Whether anything was left out for want of time.
    spare : Run or None
        The best displacement that gained too little to go on from: it is the answer if time is up.
    """

    start: IntArray
    best: Run
    population: Population = field(default_factory=Population)
    counters: Counter[str] = field(default_factory=Counter)
    tried: tuple[Trial, ...] = ()
    n_runs: int = 0
    n_drawn: int = 0
    n_starts: int = 0
    n_stale: int = 0
    n_populations: int = 0
    n_agree: int = 0
    least_cost: float = np.inf
    settled: int = 0
    start_work: float = 0.0
    search_work: float = 0.0
    slowest: float = 0.0
    time_cut: bool = False
    spare: Run | None = None

    @classmethod
    def first(cls, problem: Problem, start: IntArray) -> State:
        """Before the first run: feasible labels are an answer, should time be up at once."""
        centers = np.zeros((problem.structure.n_clusters, problem.points.shape[1]))
        return cls(start, run_from(problem, start, centers))

    @property
    def stopped(self) -> bool:
        """Whether the time limit or the user ended the search."""
        return self.best.status.stopped

    def to_tree(self) -> dict[str, Any]:
        """The state for a file."""
        # the best run and one of the population may be the same one, and stay so
        runs = list(dict.fromkeys((self.best, *self.population.runs)))
        return {
            "start": narrow(self.start),
            "runs": [_run_tree(run) for run in runs],
            "population": narrow([runs.index(run) for run in self.population.runs]),
            "counters": dict(self.counters),
            "tried": narrow([pair for pairs, _ in self.tried for pair in pairs]).ravel(),
            "at_once": narrow([len(pairs) for pairs, _ in self.tried]),
            "changes": np.array([change for _, change in self.tried]),
            **{name: getattr(self, name) for name in _COUNTS},
            **{name: float(getattr(self, name)) for name in _NUMBERS},
        }

    @classmethod
    def from_tree(cls, fields: Fields, problem: Problem) -> State:
        """The state from a file; a `ValueError` says what is wrong with it."""
        runs = [_read_run(Fields(tree, "a run"), problem) for tree in fields.all("runs")]
        members = fields.whole_numbers("population").tolist()
        if not runs or max(members, default=-1) >= len(runs):
            raise ValueError("it refers to more runs than there are")
        counters = fields.of("counters")
        return cls(
            _read_labels(fields, "start", problem),
            runs[0],
            Population(tuple(runs[member] for member in members)),
            Counter({name: counters.whole(name) for name in counters.tree}),
            _read_tried(fields, problem.structure.n_clusters),
            **{name: fields.whole(name) for name in _COUNTS},  # type: ignore[arg-type]
            **{name: fields.number(name) for name in _NUMBERS},  # type: ignore[arg-type]
        )


def _read_tried(fields: Fields, k: int) -> tuple[Trial, ...]:
    changes = fields.floats("changes", (None,)).tolist()
    ends = fields.whole_numbers("at_once", len(changes)).cumsum()
    pairs = fields.whole_numbers("tried", 2 * int(ends[-1]) if changes else 0).reshape(-1, 2)
    if (pairs >= k).any():
        raise ValueError("it refers to more clusters than there are")
    at_once = (tuple((i, j) for i, j in some.tolist()) for some in np.split(pairs, ends)[:-1])
    return tuple(zip(at_once, changes, strict=True))


def _run_tree(run: Run) -> dict[str, Any]:
    return {
        "labels": narrow(run.labels),
        "centers": run.centers,
        "cost": float(run.cost),
        "bound": None if run.bound is None else float(run.bound),
        "prices": run.prices,
        "priced": run.priced,
        "status": run.status.value,
        "history": history_tree(run.history),
    }


def _read_run(fields: Fields, problem: Problem) -> Run:
    k, d = problem.structure.n_clusters, problem.points.shape[1]
    run = Run(
        labels=_read_labels(fields, "labels", problem),
        centers=fields.floats("centers", (k, d)),
        cost=fields.number("cost"),
        bound=None if fields["bound"] is None else fields.number("bound"),
        prices=None if fields["prices"] is None else fields.floats("prices", (k,)),
        priced=fields.flag("priced"),
        status=Status(fields.text("status")),
        history=read_history(fields.of("history")),
    )
    cost = problem.within(run.labels, run.centers)
    if not abs(run.cost - cost) <= ROUNDED * max(cost, problem.scatter):
        raise ValueError(f"its labels cost {cost:g}, not {run.cost:g}")
    if run.status.stopped:
        raise ValueError("it was written after its time limit")
    return run


def _read_labels(fields: Fields, key: str, problem: Problem) -> IntArray:
    s = problem.structure
    labels = fields.whole_numbers(key, s.n_items)
    if labels.max() >= s.n_clusters or not s.feasible(labels):
        raise ValueError("its labels violate a rule")
    return labels
