"""What any labels cost, also those that violate rules: by the library's one cost function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bckm._core.status import Status
from bckm._core.types import FloatArray, IntArray
from bckm._core.validation import read_weight
from bckm.constraints import Constraints
from bckm.constraints.rules import SoftRule
from bckm.fit.result import SoftViolation
from bckm.metric.embedding import Sample
from bckm.problem.problem import Problem
from bckm.study import Study
from bckm.verification import Violation, verify


@dataclass(frozen=True, eq=False)
class Cost:
    """Labels by hand, and what they cost.

    Attributes
    ----------
    labels : array (n,)
        Cluster of each sample.
    embedded : array (k, e)
        Means, where distances are measured.
    inertia, penalty : float
        As in `bckm.Result`.
    broken, given_up : list of Violation
        Hard and soft rules that are violated.
    """

    labels: IntArray
    embedded: FloatArray
    inertia: float
    penalty: float
    broken: list[Violation]
    given_up: list[Violation]


class Costs:
    """Costs of labels of the samples of a study.

    The problem has the data of the study and its soft rules alone: so any labels have a cost there.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        points = study.result.metric.embedded(study.scaled)
        self._points = points
        given = study.constraints
        soft = tuple(part for part in given.softened if (np.asarray(part.weight) < np.inf).all())
        free = Constraints(size_min=0)._with(softened=soft, stay=given.stay)
        self._problem = Problem.build(points, study.n_clusters, free, study.sample_weight)

    def of(self, labels: IntArray) -> Cost:
        """Cost of labels, with means as centers."""
        study, problem = self._study, self._problem
        items = np.empty(labels.size, np.int64)
        items[problem.structure.item] = labels
        before = problem.centers_in(study.result.embedded)
        means = problem.centers_out(problem.recentered(items, before)[0])
        centers = problem.centers_in(means)
        cost = problem.within(items, centers)
        inertia = problem.inertia(items, means, self._points, study.sample_weight, cost)
        k = study.n_clusters
        broken = verify(labels, k, study.constraints)
        given_up = verify(labels, k, study.constraints, soft=True)
        penalty = problem.penalty_out(items)
        return Cost(labels, means, float(inertia), float(penalty), broken, given_up)

    def objective(self, cost: Cost) -> float:
        """What is minimized."""
        mixed = self._study.result.mixed
        return (cost.inertia if mixed is None else self._between(cost)) + cost.penalty

    def _between(self, cost: Cost) -> float:
        """Of mixed groups: how far their means are from that of all."""
        weight = read_weight(self._study.sample_weight, cost.labels.size)
        held = np.bincount(cost.labels, weight, self._study.n_clusters)
        away = cost.embedded - np.average(self._points, axis=0, weights=weight)
        return float(held @ np.square(away).sum(axis=1))

    def _penalty(self, one: Violation) -> float:
        assert isinstance(one.rule, SoftRule)
        price = self._problem.price_out(one.rule.weight, relative=one.rule.relative)
        return float(price * one.amount)

    def result(self, cost: Cost) -> Any:
        """A `Result` with these labels: proven is nothing, found by a person."""
        study, problem = self._study, self._problem
        weight = read_weight(study.sample_weight, cost.labels.size)
        of = Sample(study.scaled, self._points, problem.structure.item, weight)
        violated = tuple(
            SoftViolation(one.rule, one.message, self._penalty(one), 0.0)
            for one in cost.given_up
            if isinstance(one.rule, SoftRule)
        )
        result, mixed = study.result, study.result.mixed
        if mixed is not None:
            means = cost.embedded[np.bincount(cost.labels, minlength=study.n_clusters) > 0]
            spread = np.ptp(means, axis=0)
            mixed = replace(mixed, between=self._between(cost), spread=spread)
        return replace(
            result,
            mixed=mixed,
            labels=cost.labels,
            centers=study.result.metric.centers(cost.embedded, cost.labels, of),
            embedded=cost.embedded,
            inertia=cost.inertia,
            penalty=cost.penalty,
            lower_bound=0.0,
            sizes=np.bincount(cost.labels, minlength=study.n_clusters),
            prices=None,
            status=Status.ITERATION_LIMIT,
            assignment_status=Status.FEASIBLE,
            violated=violated,
            history=(),
            seconds=0.0,
        )
