"""First centres, and which of them gets which bounds."""

from __future__ import annotations

import numpy as np

from bckm._types import FloatArray, IntArray
from bckm.problem import Problem


def spread(problem: Problem, rng: np.random.Generator, first: bool = False) -> FloatArray:
    """Choose centres among the items by greedy k-means++.

    Each new centre is an item drawn with probability proportional to mass times squared distance to
    the nearest centre so far; of a few draws the one that lowers the total most is kept. The first
    of several starts begins with `anchors` instead of drawn items.

    References
    ----------
    Arthur, Vassilvitskii: k-means++, the advantages of careful seeding (SODA 2007).
    """
    from scipy.spatial.distance import cdist  # slow to import, not needed by `import bckm`

    points, mass, k = problem.points, problem.mass, problem.structure.n_clusters
    trials = 2 + int(np.log(k))
    chosen = np.empty(k, np.int64)
    known = anchors(problem) if first else chosen[:0]
    if known.size == 0:
        known = _draw(mass, 1, rng)
    chosen[: known.size] = known
    nearest = cdist(points[known], points, "sqeuclidean").min(axis=0)
    for c in range(known.size, k):
        drawn = _draw(mass * nearest, trials, rng)
        after = np.minimum(nearest, cdist(points[drawn], points, "sqeuclidean"))
        best = int((after @ mass).argmin())
        chosen[c], nearest = drawn[best], after[best]
    return points[chosen]


def anchors(problem: Problem) -> IntArray:
    """Items of several samples that are pairwise apart: each belongs to another cluster.

    Links say where clusters are before any distance does. Of the cliques of conflicts the one whose
    must-link items hold most samples is taken; without such items there are none.

    References
    ----------
    Basu, Bilenko, Mooney: A probabilistic framework for semi-supervised clustering (KDD 2004);
    groups of linked samples serve as first centres there.
    """
    count = problem.structure.count
    groups = [clique[count[clique] > 1] for clique in problem.structure.cliques]
    best = max(groups, key=lambda items: int(count[items].sum()), default=np.empty(0, np.int64))
    return best if best.size > 1 else best[:0]


def scatter(problem: Problem, rng: np.random.Generator, first: bool = False) -> FloatArray:  # noqa: ARG001
    """Choose centres among the items at random, with probability proportional to mass."""
    mass, k = problem.mass, problem.structure.n_clusters
    # fewer items with mass than clusters: take the others too
    weight = np.maximum(mass / mass.sum(), 1e-300)
    k_items = min(k, mass.size)
    chosen = rng.choice(mass.size, k_items, replace=False, p=weight / weight.sum())
    return problem.points[np.resize(chosen, k)]


def _draw(weight: FloatArray, number: int, rng: np.random.Generator) -> IntArray:
    total = np.cumsum(weight)
    if total[-1] <= 0:  # every item coincides with a centre
        return np.asarray(rng.integers(weight.size, size=number))
    drawn: IntArray = np.searchsorted(total, rng.random(number) * total[-1], side="right")
    return np.minimum(drawn, weight.size - 1)


def match(problem: Problem, centres: FloatArray) -> FloatArray:
    """Order centres so that those with more samples nearby get the larger bounds.

    Labels belong to bounds, but seeds come in any order. Which cluster becomes label i is part of
    the problem; this is a first guess, which the loop improves.
    """
    s = problem.structure
    if s.interchangeable:
        return centres
    nearby = np.bincount(problem.cost(centres).argmin(axis=1), s.count, s.n_clusters)
    matched = np.empty_like(centres)
    matched[s.cluster_order] = centres[np.argsort(nearby, kind="stable")]
    return matched
