"""The one door from raw input to a `Problem`: everything below it trusts what it gets."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto
from typing import Any

import numpy as np
import scipy.sparse as sp

from bckm._reading import read_data, read_n_clusters, read_weight
from bckm._types import FloatArray, IntArray
from bckm.constraints import Constraints, as_constraints
from bckm.rules import Rule
from bckm.structure import Structure, contract


class Feature(Flag):
    """What a problem asks of an engine beyond 'every item in its nearest cluster'."""

    NONE = 0
    NONEMPTY = auto()  # no cluster is empty
    SIZES = auto()  # bounds on the number of samples
    CONFLICTS = auto()  # cannot-links
    ROWS = auto()  # general linear rows

    @property
    def words(self) -> str:
        """The features for a person."""
        return " and ".join(_FEATURE_WORDS[feature] for feature in self)


_FEATURE_WORDS = {
    Feature.NONEMPTY: "clusters that must not be empty",
    Feature.SIZES: "size bounds",
    Feature.CONFLICTS: "cannot-links",
    Feature.ROWS: "linear rows",
}


@dataclass(frozen=True, eq=False)
class Problem:
    """min over labels and centres of sum_j mass_j |point_j - centre_label(j)|^2 + scatter.

    Points are centred and divided by a power of two, so that squares neither cancel nor overflow;
    `inertia` and `centres_out` lead back to the units of X. Items stand in an order that depends on
    the data alone: permuted rows or rules give the same problem.

    Attributes
    ----------
    structure : Structure
        What labels must obey.
    rules : list of Rule
        What was asked, one by one.
    points : array (m, d)
        Weighted mean of each item.
    mass : array (m,)
        Weight of each item in the objective.
    scatter : float
        Inertia inside the items, the same for all labels.
    origin, unit, heavy :
        X = origin + unit * points, sample_weight = heavy * mass.
    variance : float
        Mean variance of the features over the samples.
    """

    structure: Structure
    rules: list[Rule]
    points: FloatArray
    mass: FloatArray
    scatter: float
    origin: FloatArray
    unit: float
    heavy: float
    variance: float

    @classmethod
    def build(
        cls,
        X: Any,  # noqa: N803
        n_clusters: int,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Problem:
        """Validate, contract and normalise."""
        data = read_data(X)
        k = read_n_clusters(n_clusters, len(data))
        weight = read_weight(sample_weight, len(data))
        rules = as_constraints(constraints).rules(len(data), k)
        origin = data.mean(axis=0)
        data = data - origin
        origin_rest = data.mean(axis=0)  # what rounding left in the first mean
        data -= origin_rest
        unit, heavy = _power_of_two(np.abs(data).max()), _power_of_two(weight.max())
        data /= unit
        weight = weight / heavy

        item = contract(rules, len(data))
        points, mass = _item_means(data, weight, item)
        order = _canonical_order(points, mass, np.bincount(item))
        points, mass, item = points[order], mass[order], np.argsort(order)[item]
        scatter = float(weight @ np.square(data - points[item]).sum(axis=1))
        return cls(
            structure=Structure.compile(rules, item, k),
            rules=rules,
            points=points,
            mass=mass,
            scatter=scatter,
            origin=origin + origin_rest,
            unit=unit,
            heavy=heavy,
            variance=float(data.var(axis=0).mean()),
        )

    @property
    def features(self) -> Feature:
        """What an engine must be able to express."""
        s, asked = self.structure, Feature.NONE
        if (s.lower > 0).any():
            asked |= Feature.NONEMPTY
        if (s.lower > 1).any() or (s.upper < s.item.size).any():
            asked |= Feature.SIZES
        if s.conflict_sets:
            asked |= Feature.CONFLICTS
        if s.rows.shape[0]:
            asked |= Feature.ROWS
        return asked

    def cost(self, centres: FloatArray) -> FloatArray:
        """Cost of each item in each cluster, (m, k). The one cost function of the library."""
        from scipy.spatial.distance import cdist  # slow to import, not needed by `import bckm`

        # differences, not |x|^2 - 2xc + |c|^2: cancellation would decide ties between far clusters
        squares = cdist(self.points, centres, "sqeuclidean")
        cost = squares * self.mass[:, None]
        weightless = self.mass == 0
        if weightless.any():
            # the objective is indifferent; a touch of cost leads such items to their nearest centre
            touch = 1e-12 * cost.mean()
            largest = squares[weightless].max(axis=1, keepdims=True)
            cost[weightless] = touch * squares[weightless] / np.maximum(largest, 1e-300)
        return np.asarray(cost)

    def means(self, labels: IntArray, fallback: FloatArray) -> FloatArray:
        """Centres that are best for the labels; an empty cluster keeps its `fallback`."""
        k = self.structure.n_clusters
        mass = np.bincount(labels, self.mass, k)
        # a cluster of weightless samples has no weighted mean: its plain mean is as good
        weightless = mass[labels] == 0
        weight = np.where(weightless, self.structure.count, self.mass)
        total = np.bincount(labels, weight, k)
        where = (labels, np.arange(labels.size))
        sums = sp.csr_array((weight, where), (k, labels.size)) @ self.points
        centres = np.array(fallback)
        held = total > 0
        centres[held] = sums[held] / total[held, None]
        return centres

    def within(self, labels: IntArray, centres: FloatArray) -> float:
        """Sum of the costs of labels, in units of `cost`."""
        return float(self.mass @ np.square(self.points - centres[labels]).sum(axis=1))

    def inertia(self, cost: float) -> float:
        """Inertia in the units of X, from a sum of item costs."""
        return (cost + self.scatter) * self.unit**2 * self.heavy

    def centres_in(self, centres: FloatArray) -> FloatArray:
        """Centres in the units of `points`, from centres in the units of X."""
        return (centres - self.origin) / self.unit

    def centres_out(self, centres: FloatArray) -> FloatArray:
        """Centres in the units of X, from centres in the units of `points`."""
        return centres * self.unit + self.origin


def _item_means(
    data: FloatArray, weight: FloatArray, item: IntArray
) -> tuple[FloatArray, FloatArray]:
    mass = np.bincount(item, weight)
    # an item of weightless samples is placed at their plain mean
    share = np.where(mass[item] > 0, weight, 1.0)
    share = share / np.bincount(item, share)[item]
    where = (item, np.arange(item.size))
    points: FloatArray = sp.csr_array((share, where), (mass.size, item.size)) @ data
    return points, mass.astype(np.float64)


def _power_of_two(value: float) -> float:
    """The power of two below a value: dividing by it is exact."""
    return float(2.0 ** np.floor(np.log2(value))) if value > 0 else 1.0


def _canonical_order(points: FloatArray, mass: FloatArray, count: IntArray) -> IntArray:
    """Order items by their values, so that the order of rows decides nothing but exact ties.

    A fixed random projection tells any two different points apart, whichever features differ; it is
    rounded, so that round-off in the means does not.
    """
    key: FloatArray = points @ np.random.default_rng(0).normal(size=points.shape[1])
    rounded = np.round(key / (float(np.abs(key).max()) or 1.0), 12)
    return np.lexsort((count, mass, rounded)).astype(np.int64)
