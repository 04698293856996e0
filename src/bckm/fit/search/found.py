"""What a search has found, and where it is: between two runs this is all that decides the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from bckm.fit.lloyd import Run
from bckm.fit.search.evolve import Population
from bckm.problem.problem import Problem


@dataclass(eq=False)
class Found:
    """The best clustering so far, the others to breed from, and what was counted on the way.

    Attributes
    ----------
    run : Run
        The best clustering.
    counters : Counter
        What engines and moves counted.
    population : Population
        Parents of children.
    number : int
        Runs that are finished.
    drawn : int
        Generators that were drawn from that of the search.
    plain, spent : float
        Work of the starts before any search, and of search.
    bred : bool
        Whether children have begun.
    begun : int
        Starts of this population.
    since : int
        Children of it in a row that found nothing better.
    finished : int
        Populations before it.
    least : float
        Least cost in these.
    agree : int
        How many of these found it.
    """

    run: Run
    counters: Counter[str] = field(default_factory=Counter)
    population: Population = field(default_factory=Population)
    number: int = 0
    drawn: int = 0
    plain: float = 0.0
    spent: float = 0.0
    bred: bool = False
    begun: int = 0
    since: int = 0
    finished: int = 0
    least: float = np.inf
    agree: int = 0

    def copy(self) -> Found:
        """The same, whatever happens to the runs of this one afterwards."""
        # the best one and one of the population may be one: what the engine finds out about it
        # later concerns both
        copies = {id(run): replace(run) for run in (self.run, *self.population.runs)}
        population = Population()
        population.runs = [copies[id(run)] for run in self.population.runs]
        return replace(
            self,
            run=copies[id(self.run)],
            counters=self.counters.copy(),
            population=population,
        )


def renumber(problem: Problem, run: Run) -> None:
    """Number clusters by their first items, where rules do not tell them apart.

    The same clusters can be found in many ways; so they get the same labels.
    """
    s = problem.structure
    heavy = np.flatnonzero(problem.mass > 0)  # others are as good as absent
    used, first = np.unique(run.labels[heavy], return_index=True)
    place = np.full(s.n_clusters, s.n_items)
    place[used] = first
    order = np.empty(s.n_clusters, np.int64)  # which cluster becomes label i
    for one in np.unique(s.cluster_class):
        members = np.flatnonzero(s.cluster_class == one)
        order[members] = members[np.argsort(place[members], kind="stable")]
    label = np.empty_like(order)
    label[order] = np.arange(order.size)
    run.labels, run.centers = label[run.labels], run.centers[order]
    if run.prices is not None:
        run.prices = run.prices[order]
