"""Mixed groups without the compiled kernels: swaps and relocations that help, until none does."""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.fit.mixed.points import Points
from bckm.problem.problem import Problem

PASSES = 20  # looks at all items, at most
TRIED = 12  # moves of an item whose rules and penalties are looked at
BETTER = 1e-9  # relative improvement that counts


def improved(problem: Problem, points: Points, labels: IntArray, deadline: Deadline) -> IntArray:
    """Labels that obey, from labels that do; each item in turn makes its best move."""
    labels = labels.copy()
    for _ in range(PASSES):
        helped = False
        for j in range(labels.size):
            if deadline.passed:
                return labels
            helped |= _improve(problem, points, labels, j)
        if not helped:
            break
    return labels


def _improve(problem: Problem, points: Points, labels: IntArray, j: int) -> bool:
    """Make the best move of an item, if one helps."""
    k, here = problem.structure.n_clusters, int(labels[j])
    weighted = points.centered * problem.mass[:, None]
    held = np.bincount(labels, problem.mass, k)
    sums = np.stack([np.bincount(labels, column, k) for column in weighted.T], axis=1)
    others = np.flatnonzero(labels != here)
    # a swap with each item of another cluster, then a relocation to each cluster
    to = np.concatenate([labels[others], np.flatnonzero(np.arange(k) != here)])
    comes = np.zeros((to.size, weighted.shape[1]))
    comes[: others.size] = weighted[others]
    mass = np.zeros(to.size)
    mass[: others.size] = problem.mass[others]
    more, less = comes - weighted[j], mass - problem.mass[j]
    change = _square(sums[here] + more, held[here] + less) - _square(sums[here], held[here])
    change += _square(sums[to] - more, held[to] - less) - _square(sums[to], held[to])
    before = points.between(labels) + problem.penalty(labels)
    for at in np.argsort(change, kind="stable")[:TRIED].tolist():
        after = labels.copy()
        after[j] = to[at]
        if at < others.size:
            after[others[at]] = here
        cost = points.between(after) + problem.penalty(after)
        if cost < before * (1 - BETTER) and problem.structure.feasible(after):
            labels[:] = after
            return True
    return False


def _square(sums: FloatArray, mass: FloatArray) -> FloatArray:
    """What clusters of these sums and masses add to the objective."""
    squares = np.square(sums).sum(axis=-1)
    return np.asarray(np.where(mass > 0, squares / np.where(mass > 0, mass, 1.0), 0.0))
