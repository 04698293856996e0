"""`amounts`: what rules bound in each cluster, beside its bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bckm._core.tolerance import group_sums
from bckm._core.types import BoolArray, FloatArray, IntArray
from bckm._core.validation import resolve_sizes
from bckm.constraints import Constraints
from bckm.constraints.expand import Softened
from bckm.constraints.rules import CapacityBound, QuotaBound, SizeMax, SizeMin, SoftRule
from bckm.constraints.statements import Capacity, Quota
from bckm.study import Study
from bckm.verification import verify


@dataclass(frozen=True, eq=False)
class Amount:
    """A quantity of each cluster, and its bounds.

    Attributes
    ----------
    name : str
        "size", the name of a capacity, or that of a quota with the category; unique. It is as the
        user wrote it, so neither short nor safe.
    kind : {"size", "load", "share", "count"}
        Samples in a cluster; sum of their amounts; share, or number, of samples of a category.
    values : array (k,)
        Value for each cluster. A share of an empty cluster is NaN.
    lower, upper : array (k,) or None
        Bounds, infinite where a cluster has none; None if no cluster has one.
    soft : bool
        Whether the bounds are soft.
    unit : str
        "samples", or empty if the name is enough.
    outside : frozenset of int
        Clusters outside their bounds, according to `bckm.verify`.
    clusters : tuple of str
        Names of the clusters; if empty, 0, 1, 2, ...

    Examples
    --------
    >>> import numpy as np
    >>> from bckm.study.views import Amount
    >>> held, upper = np.array([4.0, 9.0]), np.array([5.0, 8.0])
    >>> load = Amount("kg", "load", held, None, upper, outside=frozenset({1}))
    >>> load.broken.tolist()
    [False, True]
    """

    name: str
    kind: str
    values: FloatArray
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    soft: bool = False
    unit: str = ""
    outside: frozenset[int] = frozenset()
    clusters: tuple[str, ...] = ()

    def cluster(self, i: int) -> str:
        """Return the name of a cluster."""
        return self.clusters[i] if self.clusters else str(i)

    @property
    def bounded(self) -> bool:
        """Whether any cluster has a bound."""
        return self.lower is not None or self.upper is not None

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Both bounds of each cluster, (k,); infinite where it has none."""
        k = self.values.size
        lower = np.full(k, -np.inf) if self.lower is None else self.lower
        return lower, np.full(k, np.inf) if self.upper is None else self.upper

    @property
    def broken(self) -> BoolArray:
        """Whether each cluster is outside its bounds, (k,)."""
        return np.isin(np.arange(self.values.size), list(self.outside))


def amounts(study: Study) -> list[Amount]:
    """Return every bounded quantity of the clusters: sizes, capacities, quotas.

    Sizes always come first. Each bounded category of a quota is one amount. Bounds that can never
    bind (``size_min=0``, or a maximum of all samples) are omitted, and so are `LinearRows`, which
    belong to no single cluster.

    Returns
    -------
    list of Amount
        Hard ones first; soft ones are flagged.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> kg = bckm.Capacity([5, 2, 2, 5], max=[10, 8])
    >>> rules = bckm.Constraints(size_max=3, capacities={"kg": kg})
    >>> result = bckm.kmeans(X, 2, rules, init=[[0.0], [9.0]], label_bounds="given")
    >>> for one in views.amounts(bckm.Study.of(result, X, rules)):
    ...     print(one.name, one.values.tolist(), one.upper.tolist())
    size [2.0, 2.0] [3.0, 3.0]
    kg [7.0, 7.0] [10.0, 8.0]
    """
    labels, k = study.result.labels, study.n_clusters
    hard = _Reader(labels, k, study.constraints)
    size = hard.size()
    rest = list(hard.blocks())
    for part in study.constraints.softened:
        if part.weight.ndim or part.weight == 0:  # prices one by one are for links alone
            continue
        reader = _Reader(labels, k, part.constraints, part if part.weight < np.inf else None)
        soft_size = reader.size()
        if soft_size.bounded and not size.bounded:
            size = soft_size
        elif soft_size.bounded:
            rest.append(soft_size)
        rest += reader.blocks()
    names = tuple(map(study.cluster, range(k)))
    found = [replace(one, clusters=names) for one in (size, *rest)]
    return _told_apart(sorted(found, key=lambda one: one.soft and one is not found[0]))


class _Reader:
    """Reads bounds off rules, for these labels; of soft ones also what they are part of."""

    def __init__(
        self, labels: IntArray, n_clusters: int, c: Constraints, part: Softened | None = None
    ) -> None:
        self.labels, self.k, self.c, self.soft = labels, n_clusters, c, part is not None
        self.sizes = np.bincount(labels, minlength=n_clusters).astype(float)
        bounds = Constraints()._with(
            size_min=c.size_min, size_max=c.size_max, statements=(*c.capacities, *c.quotas)
        )
        if part is not None:
            bounds = Constraints()._with(softened=(replace(part, constraints=bounds),))
        self.outside: dict[object, set[int]] = {}
        for one in verify(labels, n_clusters, bounds, soft=self.soft):
            rule = one.rule.rule if isinstance(one.rule, SoftRule) else one.rule
            if one.cluster is not None:
                self.outside.setdefault(_mark(rule), set()).add(one.cluster)

    def _outside(self, *mark: object) -> frozenset[int]:
        return frozenset(self.outside.get(mark, ()))

    def _bound(self, bound: object, free: float) -> FloatArray | None:
        if bound is None:
            return None
        found = np.broadcast_to(np.asarray(bound, float), self.k).copy()
        return found if (found != free).any() else None

    def size(self) -> Amount:
        n = self.labels.size
        lower = self._bound(resolve_sizes(self.c.size_min, n, "size_min"), -np.inf)
        upper = self._bound(resolve_sizes(self.c.size_max, n, "size_max"), np.inf)
        if lower is not None:
            lower = self._bound(np.where(lower <= 0, -np.inf, lower), -np.inf)
        if upper is not None:
            upper = self._bound(np.where(upper >= n, np.inf, upper), np.inf)
        outside = self._outside("size")
        return Amount(
            "size", "size", self.sizes, lower, upper, self.soft, "samples", outside=outside
        )

    def blocks(self) -> Iterator[Amount]:
        for one in self.c.statements:
            if isinstance(one, Capacity):
                values = group_sums(one.values, self.labels, self.k)
                lower, upper = self._bound(one.min, -np.inf), self._bound(one.max, np.inf)
                outside = self._outside(one)
                yield Amount(one.name, "load", values, lower, upper, self.soft, outside=outside)
            elif isinstance(one, Quota):
                yield from self._quota(one)

    def _quota(self, quota: Quota) -> Iterator[Amount]:
        bounds = quota.bounds()
        for at, category in enumerate(quota.categories):
            counts = np.bincount(self.labels[quota.values == at], minlength=self.k).astype(float)
            for share in (True, False):
                mine = [(side, value) for c, side, value, of in bounds if c == at and of == share]
                if not mine:
                    continue
                # `within` and `share_max` may both bound a side
                low = max((value for side, value in mine if side == "min"), default=-np.inf)
                up = min((value for side, value in mine if side == "max"), default=np.inf)
                values, name = counts, f"{quota.name}: number of {category}"
                if share:
                    empty = self.sizes == 0
                    values = np.where(empty, np.nan, counts / np.where(empty, 1.0, self.sizes))
                    name = f"{quota.name}: {category}"
                lower, upper = self._bound(low, -np.inf), self._bound(up, np.inf)
                kind, unit = ("share", "") if share else ("count", "samples")
                outside = self._outside(quota, at, share)
                yield Amount(name, kind, values, lower, upper, self.soft, unit, outside)


def _mark(rule: object) -> tuple[object, ...]:
    """What tells the amounts apart that rules are about."""
    match rule:
        case SizeMin() | SizeMax():
            return ("size",)
        case CapacityBound(source):
            return (source,)
        case QuotaBound(source, category, _, _, share):
            return (source, category, share)
    return (rule,)


def _told_apart(found: list[Amount]) -> list[Amount]:
    """Give different names to what is called the same."""
    used: set[str] = set()
    for at, one in enumerate(found):
        stem = name = f"{one.name} (soft)" if one.soft and one.name in used else one.name
        number = 1
        while name in used:
            number += 1
            name = f"{stem} ({number})"
        used.add(name)
        found[at] = replace(one, name=name)
    return found
