"""Global search: new centers from clusterings that are already good.

A child takes its centers from two parents, matched to each other, and one of its centers goes to
where the error is; the loop and the local search then make a clustering of it. The best and
mutually different ones are the next parents.

References
----------
Gribel, Vidal: HG-means, a scalable hybrid genetic algorithm for minimum sum-of-squares clustering
(Pattern Recognition 88, 2019): the pattern for the problem without rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.arrays import squared_distances
from bckm._core.types import FloatArray, IntArray
from bckm.fit.lloyd import Run
from bckm.problem.problem import Problem

FEWEST, MOST = 10, 20  # clusterings that survive, and that are held before the worst ones leave
SAME = 1e-9  # relative difference of costs below which two clusterings count as one


@dataclass(frozen=True, eq=False)
class Population:
    """Clusterings of different cost, the best first."""

    runs: tuple[Run, ...] = ()

    def add(self, run: Run) -> Population:
        """Return a population with a further clustering, unless this one holds one like it."""
        if any(abs(run.cost - other.cost) <= SAME * other.cost for other in self.runs):
            return self
        runs = sorted((*self.runs, run), key=lambda member: member.cost)
        return Population(tuple(runs[:FEWEST] if len(runs) > MOST else runs))

    @property
    def best(self) -> float:
        """Least cost."""
        return self.runs[0].cost if self.runs else np.inf

    def parent(self, rng: np.random.Generator) -> Run:
        """Return the better one of two drawn at random."""
        return self.runs[int(rng.integers(len(self.runs), size=2).min())]


@dataclass(frozen=True, eq=False)
class Child:
    """Centers, and the labels of the parent whose centers stand in the same order."""

    centers: FloatArray
    labels: IntArray

    @classmethod
    def of(cls, problem: Problem, population: Population, rng: np.random.Generator) -> Child:
        """Mix the centers of two parents, and displace one of them."""
        first, second = population.parent(rng), population.parent(rng)
        centers = mixed(first.centers, second.centers, rng)
        return cls(displaced(problem, centers, rng), first.labels)


def mixed(first: FloatArray, second: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Match the centers of two clusterings, nearest to each other, and take one of each pair."""
    from scipy.optimize import linear_sum_assignment  # slow to import, not needed by `import bckm`

    partner = linear_sum_assignment(squared_distances(first, second))[1]
    from_first = rng.random(len(first)) < 0.5
    return np.where(from_first[:, None], first, second[partner])


def displaced(problem: Problem, centers: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Move one center to an item that is far from all others.

    Which one leaves is drawn evenly, or so that centers near another one are more likely. The item
    is drawn by its mass, blended with its share of the error in a proportion that is drawn too.
    """
    k = len(centers)
    if k == 1:
        return centers
    if rng.random() < 0.5:
        leaving = int(rng.integers(k))
    else:
        apart = squared_distances(centers, centers)
        np.fill_diagonal(apart, np.inf)
        near = 1 / np.maximum(apart.min(axis=1), 1e-12 * problem.variance + 1e-300)
        leaving = int(rng.choice(k, p=near / near.sum()))
    error = problem.nearest(np.delete(centers, leaving, axis=0))[1]
    blend = rng.random()
    weight = (1 - blend) * problem.mass / problem.mass.sum()
    if error.sum() > 0:
        weight = weight + blend * error / error.sum()
    total = np.cumsum(weight)
    item = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
    after = centers.copy()
    after[leaving] = problem.points[min(item, total.size - 1)]
    return after
