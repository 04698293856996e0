"""The search for mixed groups: what it says its labels cost, against sums made anew."""

import numpy as np
import pytest

import bckm
from bckm.kernels import native
from bckm.problem.compiled import as_arrays
from bckm.problem.problem import Problem
from tests.support.local_search import compiled

pytestmark = compiled


def between(points, mass, labels, k):
    """Sum of squares between clusters, from the definition."""
    middle = np.average(points, axis=0, weights=mass)
    inside = [labels == i for i in range(k) if mass[labels == i].sum() > 0]
    means = [np.average(points[one], axis=0, weights=mass[one]) for one in inside]
    return sum(
        mass[one].sum() * np.square(mean - middle).sum()
        for one, mean in zip(inside, means, strict=True)
    )


def mixed(problem, effort=2e6, seed=0, enough=0.0):
    """Search from any labels; the labels, and what the search says of them."""
    points = problem.points - np.average(problem.points, axis=0, weights=problem.mass)
    s = problem.structure
    labels = (np.arange(s.n_items) % s.n_clusters).astype(np.int32)
    arrays = as_arrays(s, problem.soft, points, problem.mass)
    kinds = np.unique(problem.mass, return_inverse=True)[1].astype(np.int64)
    told = native.mix(*arrays, labels, kinds, kinds, effort, enough, seed, 1e9)
    return labels.astype(np.int64), told


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "rules", [{}, {"must_link": [(0, 1), (2, 3, 4)]}, {"cannot_link": [(0, 1, 2)]}]
)
def test_costs_are_those_of_the_labels(rules, weighted):
    rng = np.random.default_rng(len(rules))
    X, weight = rng.normal(size=(60, 3)), rng.uniform(0.5, 2, 60) if weighted else None
    asked = bckm.Constraints(**rules, size_min=8, size_max=12)
    wishes = bckm.Constraints(must_link=[(10, 11)], cannot_link=[(12, 13)]).soft(confidence=1)
    problem = Problem.build(X, 6, asked & wishes, weight)
    labels, told = mixed(problem)
    assert told.feasible
    assert problem.structure.feasible(labels)
    cost = between(problem.points, problem.mass, labels, 6) + problem.penalty(labels)
    assert told.cost == pytest.approx(cost, rel=1e-9)


def test_large_clusters_and_few_features():
    """Clusters of which only some items are looked at, near each other."""
    X = np.random.default_rng(0).normal(size=(2000, 1))
    problem = Problem.build(X, 2, bckm.Constraints(size_min=1000, size_max=1000))
    labels, told = mixed(problem, effort=1e7)
    cost = between(problem.points, problem.mass, labels, 2)
    assert cost < 1e-12 * np.square(problem.points).sum()
    assert problem.structure.feasible(labels)
    assert told.swapped > 0


def test_it_ends_where_no_labels_cost_less():
    X = np.repeat(np.arange(6.0), 4)[:, None]
    problem = Problem.build(X, 4, bckm.Constraints(size_min=6, size_max=6))
    told = mixed(problem, effort=1e12, enough=1e-12)[1]
    assert told.cost < 1e-12
    assert told.work < 1e8


def test_wrong_arguments():
    problem = Problem.build(np.zeros((4, 1)), 2)
    arrays = as_arrays(problem.structure, None, problem.points, problem.mass)
    labels, kinds = np.zeros(4, np.int32), np.zeros(4, np.int64)
    with pytest.raises(ValueError, match="one kind per point"):
        native.mix(*arrays, labels, kinds[:3], kinds, 1.0, 0.0, 0, 1.0)
    with pytest.raises(ValueError, match="finite effort"):
        native.mix(*arrays, labels, kinds, kinds, np.inf, 0.0, 0, 1.0)
    with pytest.raises(ValueError, match="label"):
        native.mix(*arrays, labels + 2, kinds, kinds, 1.0, 0.0, 0, 1.0)
