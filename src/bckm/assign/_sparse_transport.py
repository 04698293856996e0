"""Sizes on sparse points: the transport engine on the span of the centers.

The kernels take dense points, and sparse ones must not be made dense. But with Q an orthonormal
basis of the span of k centers, |x - c|^2 = |Q'x - Q'c|^2 + |x|^2 - |Q'x|^2, and the last two terms
are the same for every center. So k features (fewer, if the points have fewer) are enough for a
step, whatever number of features the points have. Only the labels and the prices are taken from it:
what they cost, and what they prove, is computed from the distances themselves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bckm._core.arrays import fixed_direction
from bckm._core.deadline import Deadline
from bckm._core.memory import require
from bckm._core.types import FloatArray, IntArray
from bckm.assign._transport_highs import dual_value
from bckm.assign.base import Assigner, Assignment, Engine, cost_work
from bckm.problem.problem import Problem

COPIES = 5  # arrays of the size (m, k) that are held at a time


class SparseTransportAssigner(Assigner):
    """An engine of dense points, for sparse ones.

    Parameters
    ----------
    problem : Problem
        Of sparse points.
    engine : Engine
        What assigns the flat points.
    """

    def __init__(self, problem: Problem, engine: Engine) -> None:
        super().__init__(problem)
        m, k = self.structure.n_items, self.structure.n_clusters
        require(
            COPIES * 8 * m * k,
            f"{m:,} points in the span of {k:,} centers",
            "Use fewer samples or clusters; `bckm.assign_to` labels further samples in parts.",
        )
        self.engine = engine

    def assign(self, centers: FloatArray, start: IntArray, deadline: Deadline) -> Assignment:
        """Assign; see the module."""
        problem = self.problem
        basis = np.linalg.qr(centers.T)[0]
        flat, flat_centers = problem.points @ basis, centers @ basis
        middle = flat.mean(axis=0)
        flat -= middle
        flat_centers -= middle
        # equal points, of which there are many where centers have few features, become neighbors
        order = np.argsort(flat @ fixed_direction(flat.shape[1]), kind="stable")
        assigner = self.engine.prepare(
            replace(
                problem,
                points=flat[order],
                mass=problem.mass[order],
                cost_weight=problem.cost_weight[order],
            )
        )
        assignment = assigner.assign(flat_centers, start[order], deadline)
        self.work += assigner.work + 2 * cost_work(problem)
        self.counters += assigner.counters
        labels = np.empty_like(assignment.labels)
        labels[order] = assignment.labels
        # flat points are rounded to the size of what they were: the prices are worth what they are
        # at the true costs
        cost, s = problem.cost(centers), self.structure
        total = float(cost[np.arange(labels.size), labels].sum())
        prices = np.zeros(s.n_clusters) if assignment.prices is None else assignment.prices
        bound = dual_value(cost, prices, s.lower, s.upper)
        return Assignment(labels, total, min(bound, total), assignment.prices)
