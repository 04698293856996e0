"""First centers, and which of them gets which bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.arrays import nearest, rows_of, squared_distances, totals
from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.constraints.rules import MovedMax
from bckm.problem.cliques import clique_cover
from bckm.problem.problem import Problem

ENOUGH = 20_000  # items from which seeds are drawn, and counted; more where clusters are many
ENOUGH_EACH = 100
SHARE = 0.3  # of the time that is left, after which the rest of the seeds is drawn at once


@dataclass(frozen=True, eq=False)
class Seeds:
    """First centers; `complete` unless a deadline left no time to choose them with care."""

    centers: FloatArray
    complete: bool = True


def spread(
    problem: Problem, rng: np.random.Generator, deadline: Deadline, first: bool = False
) -> Seeds:
    """Choose centers among the items by greedy k-means++.

    Each new center is an item drawn with probability proportional to mass times squared distance to
    the nearest center so far; of a few draws the one that lowers the total most is kept. The first
    of several starts begins with the means of items that belong to known clusters (`homes`), or
    with `anchors`, instead of drawn items. Of very many items a random part is looked at. Where
    this takes too much of the time until the deadline, the remaining centers are drawn at once.

    References
    ----------
    Arthur, Vassilvitskii: k-means++, the advantages of careful seeding (SODA 2007).
    """
    points, mass, k = problem.points, problem.mass, problem.structure.n_clusters
    soon = deadline.share(SHARE)
    if mass.size > _enough(k):
        part = rng.choice(mass.size, _enough(k), replace=False)
        points, mass = points[part], mass[part]
    trials = 2 + int(np.log(k))
    centers = np.empty((k, points.shape[1]))
    known = _known(problem) if first else centers[:0]
    if len(known) == 0:
        known = rows_of(points, _draw(mass, 1, rng))
    centers[: len(known)] = known
    distance = squared_distances(known, points).min(axis=0)
    for c in range(len(known), k):
        if soon.passed:
            centers[c:] = rows_of(points, _draw(mass * distance, k - c, rng))
            return Seeds(centers, complete=False)
        drawn = _draw(mass * distance, trials, rng)
        candidates = rows_of(points, drawn)
        after = np.minimum(distance, squared_distances(candidates, points))
        best = int((after @ mass).argmin())
        centers[c], distance = candidates[best], after[best]
    return Seeds(centers)


def _known(problem: Problem) -> FloatArray:
    """Centers that rules suggest."""
    home = homes(problem)
    if home.items.size == 0:
        return rows_of(problem.points, anchors(problem))
    k, clusters = problem.structure.n_clusters, np.unique(home.clusters)
    nowhere = np.zeros((k, problem.points.shape[1]))
    sums = totals(problem.points[home.items], home.weight, home.clusters, nowhere)
    return np.asarray(sums.sums[clusters] / sums.mass[clusters, None])


@dataclass(frozen=True, eq=False)
class Homes:
    """Items that belong to a cluster: fixed to it, or there before; with their weight."""

    items: IntArray
    clusters: IntArray
    weight: FloatArray


def homes(problem: Problem) -> Homes:
    """Items whose cluster is known."""
    s, k = problem.structure, problem.structure.n_clusters
    lean = problem.soft.cluster_cost.tocoo()
    before = lean.data < 0
    items, clusters = s.columns.split(s.forbidden)
    item, closed = np.unique(items, return_counts=True)
    fixed = item[closed == k - 1]
    open_to = np.ones((fixed.size, k), bool)
    inside = np.isin(items, fixed)
    open_to[np.searchsorted(fixed, items[inside]), clusters[inside]] = False
    places = [(lean.coords[0][before], lean.coords[1][before]), (fixed, open_to.argmax(axis=1))]
    for rule in problem.rules:
        if isinstance(rule, MovedMax):
            held = np.flatnonzero(rule.source.values >= 0)
            places.append((s.item[held], rule.source.values[held]))
    items, clusters = (np.concatenate(part).astype(np.int64) for part in zip(*places, strict=True))
    # one without weight still has a place
    return Homes(items, clusters, np.maximum(problem.mass[items], 1e-9 * problem.mass.max()))


def anchors(problem: Problem) -> IntArray:
    """Items of several samples that are pairwise apart: each belongs to another cluster.

    Links say where clusters are before any distance does. Of the cliques of conflicts the one whose
    must-link items hold most samples is taken; without such items there are none.

    References
    ----------
    Basu, Bilenko, Mooney: A probabilistic framework for semi-supervised clustering (KDD 2004);
    groups of linked samples serve as first centers there.
    """
    count, edges = problem.structure.count, problem.structure.edges
    edges = edges[(count[edges] > 1).all(axis=1)]
    groups = clique_cover(tuple(map(tuple, edges.tolist())), edges)
    return max(groups, key=lambda items: int(count[items].sum()), default=np.empty(0, np.int64))


def scatter(
    problem: Problem,
    rng: np.random.Generator,
    deadline: Deadline,  # noqa: ARG001
    first: bool = False,  # noqa: ARG001
) -> Seeds:
    """Choose centers among the items at random, with probability proportional to mass."""
    mass, k = problem.mass, problem.structure.n_clusters
    # fewer items with mass than clusters: take the others too
    weight = np.maximum(mass / mass.sum(), 1e-300)
    k_items = min(k, mass.size)
    chosen = rng.choice(mass.size, k_items, replace=False, p=weight / weight.sum())
    return Seeds(rows_of(problem.points, np.resize(chosen, k)))


def _enough(n_clusters: int) -> int:
    return max(ENOUGH, ENOUGH_EACH * n_clusters)


def _draw(weight: FloatArray, number: int, rng: np.random.Generator) -> IntArray:
    total = np.cumsum(weight)
    if total[-1] <= 0:  # every item coincides with a center
        return np.asarray(rng.integers(weight.size, size=number))
    drawn: IntArray = np.searchsorted(total, rng.random(number) * total[-1], side="right")
    return np.minimum(drawn, weight.size - 1)


def match(problem: Problem, centers: FloatArray) -> FloatArray:
    """Order centers so that those with more samples nearby get the larger bounds.

    Where items belong to known clusters, centers near them get these labels instead.

    Labels belong to bounds, but seeds come in any order. Which cluster becomes label i is part of
    the problem; this is a first guess, which the loop improves. Of very many items every so many
    in their order, which is one in space, are counted.
    """
    s = problem.structure
    if s.interchangeable:
        return centers
    home = homes(problem)
    if home.items.size:
        return _near_homes(problem, home, centers)
    some = slice(None, None, max(1, s.n_items // _enough(s.n_clusters)))
    nearby = np.bincount(nearest(problem.points[some], centers)[0], s.count[some], s.n_clusters)
    matched = np.empty_like(centers)
    matched[s.cluster_order] = centers[np.argsort(nearby, kind="stable")]
    return matched


def _near_homes(problem: Problem, home: Homes, centers: FloatArray) -> FloatArray:
    from scipy.optimize import linear_sum_assignment  # slow to import, not needed by `import bckm`

    k = len(centers)
    away = squared_distances(problem.points[home.items], centers) * home.weight[:, None]
    cost = np.stack([np.bincount(home.clusters, column, k) for column in away.T], axis=1)
    return np.asarray(centers[linear_sum_assignment(cost)[1]])
