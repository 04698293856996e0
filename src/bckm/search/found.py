"""What a search has found, and where it is: between two runs this is all that decides the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from bckm.lloyd import Run
from bckm.search.evolve import Population


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
