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


class Population:
    """Clusterings of different cost, the best first."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def add(self, run: Run) -> None:
        """Take a clustering in, unless one like it is there."""
        if any(abs(run.cost - other.cost) <= SAME * other.cost for other in self.runs):
            return
        self.runs.append(run)
        self.runs.sort(key=lambda one: one.cost)
        if len(self.runs) > MOST:
            del self.runs[FEWEST:]

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
        one, other = population.parent(rng), population.parent(rng)
        return cls(displaced(problem, mixed(one.centers, other.centers, rng), rng), one.labels)


def mixed(one: FloatArray, other: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Match the centers of two clusterings, nearest to each other, and take one of each pair."""
    from scipy.optimize import linear_sum_assignment  # slow to import, not needed by `import bckm`

    partner = linear_sum_assignment(squared_distances(one, other))[1]
    first = rng.random(len(one)) < 0.5
    return np.where(first[:, None], one, other[partner])


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
