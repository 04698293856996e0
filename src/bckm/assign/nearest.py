"""Every item in its nearest cluster; at most the empty clusters need care."""

from __future__ import annotations

import numpy as np

from bckm._core.deadline import Deadline
from bckm._core.types import FloatArray, IntArray
from bckm.assign.base import Assignment, Engine, MatrixAssigner
from bckm.problem.feature import Feature
from bckm.problem.problem import Problem


class NearestAssigner(MatrixAssigner):
    """Nearest cluster, with one item moved into each cluster that would be empty.

    If every cluster must hold an item, each cluster has one representative and all other items are
    free to stay nearest. So the best representatives are a minimum-cost matching of clusters to
    items, where an item costs what it loses against its nearest cluster: exact.
    """

    def from_cost(self, cost: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the class."""
        labels = cost.argmin(axis=1)
        needed = self.structure.lower > 0
        if (np.bincount(labels, minlength=needed.size)[needed] == 0).any():
            from scipy.optimize import linear_sum_assignment  # slow to import, seldom needed

            loss = cost - cost.min(axis=1, keepdims=True)
            clusters = np.flatnonzero(needed)
            # k clusters compete for items: beyond its k cheapest ones a cluster never has to look
            nearest = np.argsort(loss[:, clusters], axis=0, kind="stable")[: clusters.size]
            candidates = np.unique(nearest)
            which, item = linear_sum_assignment(loss[np.ix_(candidates, clusters)].T)
            labels[candidates[item]] = clusters[which]
        total = float(cost[np.arange(labels.size), labels].sum())
        return Assignment(labels, total, total)


class Nearest(Engine):
    """Engine for problems that ask nothing but non-empty clusters (and must-links)."""

    name = "nearest"
    handles = Feature.NONEMPTY
    cheap_step = True

    def prepare(self, problem: Problem) -> NearestAssigner:
        """Compile nothing: the costs say all."""
        return NearestAssigner(problem)
