"""An engine with prices, for tests: the transport problem as one linear program of SciPy."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from bckm.assign.base import Assigner, Assignment, Engine
from bckm.problem.feature import Feature


def dual_value(cost, count, lower, upper, prices):
    """What no labels within the size bounds can get below, whatever the prices."""
    items = (cost - np.outer(count, prices)).min(axis=1).sum()
    return items + (lower * np.maximum(prices, 0) - upper * np.maximum(-prices, 0)).sum()


class PricedAssigner(Assigner):
    """Optimal labels under size bounds, with their prices; counts its calls."""

    def assign(self, centers, start, deadline):
        self.counters["calls"] += 1
        s, cost = self.structure, self.problem.cost(centers)
        m, k = cost.shape
        column = np.arange(m * k)
        once = sp.csr_array((np.ones(m * k), (column // k, column)))
        sizes = sp.csr_array((np.repeat(s.count, k).astype(float), (column % k, column)))
        found = linprog(
            cost.ravel(),
            sp.vstack([sizes, -sizes]),
            np.concatenate([s.upper, -s.lower]),
            once,
            np.ones(m),
            method="highs-ds",
        )
        labels = found.x.reshape(m, k).argmax(axis=1)
        assert s.feasible(labels), "unit counts: the vertices of the polytope are integral"
        most, least = found.ineqlin.marginals.reshape(2, k)  # not positive
        prices = most - least
        total = float(cost[np.arange(m), labels].sum())
        bound = dual_value(cost, s.count, s.lower, s.upper, prices)
        return Assignment(labels, total, min(bound, total), prices)


class Priced(Engine):
    name = "priced"
    handles = Feature.NONEMPTY | Feature.SIZES

    def prepare(self, problem):
        return PricedAssigner(problem)
