"""The one door from raw input to a `Problem`: everything below it trusts what it gets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from bckm._core import arrays
from bckm._core.memory import require
from bckm._core.rounding import SAFETY, Rounding, read_scale, rounded_down, too_far
from bckm._core.types import FloatArray, IntArray, PointArray
from bckm._core.validation import (
    read_cluster_count,
    read_data,
    read_jobs,
    read_n_clusters,
    read_weight,
)
from bckm.constraints import Constraints, as_constraints
from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import MovedMax
from bckm.problem.feature import Feature
from bckm.problem.normalize import (
    Groups,
    Normal,
    canonical_order,
    cost_weights,
    first_members,
    inertia_from_data,
    mean_cost,
)
from bckm.problem.soft import Soft
from bckm.problem.sparse import SparseNormal, replaced
from bckm.problem.structure import Structure, contract

HELD = 6  # sparse points, and their dense centers, are held so many times
SHOWS = 1e-10  # share of the inertia beyond which rounding is worth a second look
ZERO = 1e-28  # squared distances that rounding may leave of none, where points reach to 1


@dataclass(frozen=True, eq=False)
class Problem:
    """min over labels, centers of sum_j mass_j |point_j - center_label(j)|^2 + scatter + penalty.

    Points are centered and divided by a power of two, so that squares neither cancel nor overflow
    (of sparse ones only the columns far from zero, which are dense anyway); `inertia` and
    `centers_out` lead back to the units of X. Items stand in an order that depends on the data
    alone: permuted rows or rules give the same problem.

    Attributes
    ----------
    structure : Structure
        What labels must obey.
    soft : Soft
        What labels should obey, and what it costs if they do not.
    rules : Rules
        What was asked, one by one.
    points : array (m, d)
        Weighted mean of each item; a csr_array where X is sparse.
    mass : array (m,)
        Weight of each item in the objective.
    cost_weight : array (m,)
        Weight of each item in `cost`: its mass, or, for an item without any, a number so small that
        it leads the item to its nearest center without changing the objective.
    scatter : float
        Inertia inside the items, the same for all labels.
    confidence_price : float
        What a confidence of 1 costs; zero where no rule is soft.
    origin, x_scale, weight_scale :
        X = origin + x_scale * points, sample_weight = weight_scale * mass.
    scale : float
        x_scale^2 * weight_scale: from costs to the units of the inertia.
    variance : float
        Mean variance of the features over the samples.
    rounding : Rounding
        How far all this may be from exact arithmetic.
    threads : int
        How many threads compiled code may use; no result depends on it.
    """

    structure: Structure
    soft: Soft
    rules: Rules
    points: PointArray
    mass: FloatArray
    cost_weight: FloatArray
    scatter: float
    confidence_price: float
    origin: FloatArray
    x_scale: float
    weight_scale: float
    scale: float
    variance: float
    rounding: Rounding
    threads: int

    @classmethod
    def build(
        cls,
        X: Any,  # noqa: N803
        n_clusters: int,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
        *,
        n_jobs: Any = None,
        few: bool = False,
    ) -> Problem:
        """Validate, contract and normalize.

        X is read block by block and neither changed nor kept; `points` is the only array of its
        size that is made. `few` permits fewer samples than clusters.
        """
        data = read_data(X)
        n, d = data.shape
        k = read_cluster_count(n_clusters) if few else read_n_clusters(n_clusters, n)
        threads = read_jobs(n_jobs)
        weight = read_weight(sample_weight, n)
        constraints = as_constraints(constraints)
        rules, soft_rules = constraints.rules(n, k), constraints.soft_rules(n, k)
        size, what = n * d, f"a copy of the {n:,} × {d:,} data"
        if sp.issparse(data):
            size = HELD * (data.nnz + k * d)
            what = f"the {data.nnz:,} entries of the data and the {k:,} × {d:,} dense centers"
        require(
            8 * (size + 8 * n),
            what,
            "Pass fewer samples or features; `bckm.assign_to` labels further samples in parts.",
        )
        normal = SparseNormal.of(data) if sp.issparse(data) else Normal.of(data)
        weight_scale = arrays.power_of_two(weight.max())
        scale = read_scale(normal.x_scale, weight_scale, n * d)
        weight /= weight_scale
        item = contract(rules, n)
        count = np.bincount(item)
        mass = np.bincount(item, weight).astype(np.float64, copy=False)
        groups = Groups.of(normal, weight, item, count)
        seen = normal.key(weight)
        first = first_members(item, count.size)
        key = seen.place[first]
        key[groups.items] = groups.means @ normal.direction
        order = canonical_order(key, mass, count)
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        points = normal.gathered(first[order], threads)
        if sp.issparse(points):
            points = replaced(points, place[groups.items], groups.means)
        else:
            points[place[groups.items]] = groups.means
        mass = mass[order]
        confidence_price, price = 0.0, 1 / scale
        if soft_rules:  # samples that are all alike have no scale: a confidence is then a price
            confidence_price = mean_cost(points, mass, groups.scatter, n) or price
        return cls(
            structure=Structure.compile(rules, place[item], k, soft_rules),
            soft=Soft.compile(soft_rules, place[item], k, confidence_price, price),
            rules=rules,
            points=points,
            mass=mass,
            cost_weight=cost_weights(points, mass),
            scatter=groups.scatter,
            confidence_price=confidence_price,
            origin=normal.origin,
            x_scale=normal.x_scale,
            weight_scale=weight_scale,
            scale=scale,
            variance=seen.variance,
            rounding=Rounding.of(
                samples=n,
                features=d,
                largest_item=int(count.max()),
                moment=seen.moment,
                moved=bool(normal.origin.any()),
                sparse=sp.issparse(data),
            ),
            threads=threads,
        )

    @property
    def sparse(self) -> bool:
        """Whether points are sparse: compiled code and moves need dense ones."""
        return bool(sp.issparse(self.points))

    @property
    def features(self) -> Feature:
        """What an engine must be able to express."""
        s, features = self.structure, Feature.NONE
        if (s.lower > 0).any():
            features |= Feature.NONEMPTY
        if (s.lower > 1).any() or (s.upper < s.item.size).any():
            features |= Feature.SIZES
        if s.conflict_sets:
            features |= Feature.CONFLICTS
        if s.linear.number or s.loads.number:
            features |= Feature.ROWS
        if s.forbidden.size or self.soft.has_cluster_costs:
            features |= Feature.FIXED
        if self.soft.has_ties:
            features |= Feature.SOFT_LINKS
        if self.soft.loads.number:
            features |= Feature.SOFT_SUMS
        if Feature.SIZES in features and (s.count > 1).any():
            features |= Feature.MUST_LINKS_AND_SIZES
        return features

    @property
    def pinned(self) -> bool:
        """Whether rules say which cluster is which: samples are fixed, or forbidden, or stay."""
        return Feature.FIXED in self.features or any(
            isinstance(r, MovedMax) for r in self.rules.others
        )

    def cost(self, centers: FloatArray) -> FloatArray:
        """Cost of each item in each cluster, (m, k). The one cost function of the library.

        Penalties of items on their own are part of it, those of ties and loads are not.
        """
        cost = arrays.squared_distances(self.points, centers)
        cost *= self.cost_weight[:, None]
        self.soft.add_to(cost)
        return cost

    def nearest(self, centers: FloatArray) -> tuple[IntArray, FloatArray]:
        """Nearest cluster of each item and its cost there, without the matrix of all costs.

        Penalties, which are never negative, play no part.
        """
        labels, squares = arrays.nearest(self.points, centers, threads=self.threads)
        return labels, squares * self.cost_weight

    def means(self, labels: IntArray, fallback: FloatArray) -> FloatArray:
        """Centers that are best for the labels; an empty cluster keeps its `fallback`."""
        return self.recentered(labels, fallback)[0]

    def recentered(
        self, labels: IntArray, centers: FloatArray, known: arrays.Totals | None = None
    ) -> tuple[FloatArray, float]:
        """Means of the clusters (centers where there are none), and what labels cost there.

        An engine may know the totals of the labels at the centers already.
        """
        sums = self._totals(labels, centers) if known is None else known
        mass, weighted = sums.mass, sums.sums
        if mass.all():
            means = weighted / mass[:, None]
        else:
            # a cluster of weightless samples has no weighted mean: its plain mean is as good
            weight = np.where(mass[labels] == 0, self.structure.count, self.mass)
            plain = arrays.totals(self.points, weight, labels, centers, self.threads)
            means, held = np.array(centers), plain.mass > 0
            means[held] = plain.sums[held] / plain.mass[held, None]
        # points cost as much less around their mean as its distance says; not where it cancels
        gain = float(sums.mass @ np.square(means - centers).sum(axis=1))
        if not gain <= sums.cost / 2:
            return means, self.within(labels, means)
        return means, sums.cost - gain + self.penalty(labels)

    def within(self, labels: IntArray, centers: FloatArray) -> float:
        """What labels cost, with all penalties that they can change, in units of `cost`."""
        return self._totals(labels, centers).cost + self.penalty(labels)

    def penalty(self, labels: IntArray) -> float:
        """What labels cost beyond the distances, and can change."""
        return self.soft.alone(labels) + self.soft.coupled(labels) if self.soft.active else 0.0

    def _totals(self, labels: IntArray, centers: FloatArray) -> arrays.Totals:
        return arrays.totals(self.points, self.mass, labels, centers, self.threads)

    def objective(self, cost: float) -> float:
        """Inertia and penalties in the units of X, from what labels cost."""
        return (cost + self.constant) * self.scale

    def bound_out(self, bound: float) -> float:
        """A bound on inertia and penalties in the units of X, from one on what labels cost."""
        return rounded_down(self.objective(bound))

    def safe_bound(
        self,
        bound: float,
        cost: float,
        centers: FloatArray | None = None,
        prices: FloatArray | None = None,
    ) -> float:
        """A bound on what labels cost, as one that holds in exact arithmetic too.

        `cost` is what some labels that obey cost. A bound at given centers may be one on items by
        their `cost_weight`; where it has prices, it is their dual value.
        """
        whole = cost + self.constant
        if self.soft.active:
            whole += 2 * float(self.soft.base_cost.sum())
        lost = self.rounding.of_bound(whole)
        if centers is not None:
            lost += self.weightless_margin(centers, prices)
        return max(min(bound, cost) - lost, -self.constant)

    @cached_property
    def _weightless(self) -> IntArray:
        return np.flatnonzero(self.mass == 0)

    def weightless_margin(self, centers: FloatArray, prices: FloatArray | None = None) -> float:
        """The most that weightless items, no part of the objective, add to a bound.

        Without prices of clusters, that is their cost in the farthest one.
        """
        weightless = self._weightless
        if weightless.size == 0:
            return 0.0
        cost = arrays.squared_distances(self.points[weightless], centers)
        cost *= self.cost_weight[weightless, None]
        if prices is None:
            return float(cost.max(axis=1).sum())
        paid = np.outer(self.structure.count[weightless], prices)
        return float(((cost - paid).min(axis=1) + paid.max(axis=1)).clip(0.0).sum())

    @property
    def constant(self) -> float:
        """What all labels cost alike, and is no part of `cost`."""
        return self.scatter + self.soft.constant

    @cached_property
    def zero_tolerance(self) -> float:
        """What labels cost at most where rounding alone keeps samples from their centers."""
        return ZERO * float(self.mass.sum())

    def inertia(
        self,
        labels: IntArray,
        centers: FloatArray,
        data: PointArray,
        sample_weight: Any,
        cost: float,
    ) -> float:
        """Inertia of labels in the units of X, from what they cost with all penalties.

        Centers and data are in these units too: where clusters are so tight, compared to how far
        apart they are, that the rounding of points shows, the data are looked at once more.
        """
        if self.penalty(labels) > 0:  # however much larger than the inertia
            cost = self._totals(labels, self.centers_in(centers)).cost
        cost += self.scatter
        if self.rounding.of_bound(cost) > SHOWS * cost:
            weight = read_weight(sample_weight, self.structure.item.size) / self.weight_scale
            expanded = self.structure.expand(labels)
            cost = inertia_from_data(read_data(data), weight, expanded, centers, self.x_scale)
        return cost * self.scale

    def price_out(self, weight: float, *, relative: bool) -> float:
        """A price or a confidence in the units of the inertia."""
        return weight * self.confidence_price * self.scale if relative else weight

    def penalty_out(self, labels: IntArray) -> float:
        """All penalties of labels, in the units of the inertia."""
        return (self.penalty(labels) + self.soft.constant) * self.scale

    def prices_out(self, prices: FloatArray) -> FloatArray:
        """Prices of the size bounds in the units of X, from those in units of `cost`."""
        return prices * self.scale

    def given_centers(self, centers: FloatArray, what: str) -> FloatArray:
        """Centers from outside in the units of `points`; none so far away that squares overflow."""
        inside = self.centers_in(centers)
        most = float(np.abs(inside).max())
        if too_far(most, self.scale, self.points.size):
            raise ValueError(
                f"{what} are {most * self.x_scale:.3g} from X, whose values differ by no more than "
                f"{4 * self.x_scale:.3g}: squared distances overflow; check the units of both."
            )
        return inside

    def centers_in(self, centers: FloatArray) -> FloatArray:
        """Centers in the units of `points`, from centers in the units of X."""
        return (centers - self.origin) / self.x_scale

    def centers_out(self, centers: FloatArray) -> FloatArray:
        """Centers in the units of X, from centers in the units of `points`."""
        return centers * self.x_scale + self.origin

    def lost_between(self, centers: FloatArray, others: FloatArray, bound: float) -> float:
        """By how much a bound on what labels cost at some centers may be too high at others.

        By the triangle inequality: roots of costs differ by no more than that of what centers, each
        with all items, are apart.
        """
        far = float(np.square(centers - others).sum(axis=1).max(initial=0.0))
        apart = np.sqrt(SAFETY * far * float(self.cost_weight.sum()))
        return float(apart * (2 * np.sqrt(max(bound, 0.0)) + apart) * SAFETY)
