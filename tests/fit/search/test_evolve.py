"""Children of two clusterings, and the population to breed from."""

from itertools import pairwise

import numpy as np
import pytest

from bckm.fit.lloyd import Run
from bckm.fit.search.evolve import FEWEST, MOST, Child, Population, displaced, mixed
from bckm.problem.problem import Problem
from tests.support.searching import needs_kernels

pytestmark = needs_kernels


def run_of(cost):
    return Run(np.zeros(2, np.int64), np.zeros((1, 1)), cost)


def test_a_population_is_small_and_sorted_and_holds_nothing_twice():
    rng = np.random.default_rng(0)
    population, seen = Population(), []
    for cost in rng.integers(1, 300, 500):
        population = population.add(run_of(float(cost)))
        population = population.add(run_of(cost * (1 + 1e-10)))
        seen.append(float(cost))
        costs = [run.cost for run in population.runs]
        assert costs == sorted(costs)
        assert len(costs) <= MOST
        assert all(b - a > 1e-9 * a for a, b in pairwise(costs))
        assert population.best == costs[0] == min(seen)
        least = sorted(set(seen))[: min(FEWEST, len(set(seen)))]
        assert costs[: len(least)] == least, "the best ones stay"


def test_parents_are_the_better_ones_of_two():
    population = Population()
    for cost in range(1, 11):
        population = population.add(run_of(float(cost)))
    rng = np.random.default_rng(0)
    drawn = np.array([population.parent(rng).cost for _ in range(2000)])
    number = np.bincount(drawn.astype(int), minlength=11)[1:]
    # the first of ten with 19 of 100, the last with 1 of 100
    assert number == pytest.approx(20 * np.arange(19, 0, -2), abs=60)
    alone = Population().add(run_of(0.0)).add(run_of(0.0))
    assert len(alone.runs) == 1
    assert alone.parent(rng) is alone.runs[0]


def test_a_clustering_mixed_with_itself_stays():
    rng = np.random.default_rng(0)
    for k in (1, 2, 7):
        for centers in (rng.normal(size=(k, 3)), np.ones((k, 3))):
            other = centers[rng.permutation(k)]
            assert mixed(centers, centers, rng).tolist() == centers.tolist()
            assert mixed(centers, other, rng).tolist() == centers.tolist()


def test_mixed_takes_one_center_of_each_pair():
    rng = np.random.default_rng(0)
    one = 100.0 * np.arange(12)[:, None] + np.array([0.0, 5.0])
    other = (one + 1)[rng.permutation(12)]
    taken = np.zeros(2, int)
    for _ in range(20):
        child = mixed(one, other, rng)
        first, second = (child == one).all(axis=1), (child == one + 1).all(axis=1)
        assert (first ^ second).all()
        taken += first.sum(), second.sum()
    assert taken.min() > 80


def test_displaced_moves_one_center_to_an_item():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    problem = Problem.build(X, 5)
    centers = rng.normal(size=(5, 2))
    left, went = np.zeros(5, int), set()
    for _ in range(400):
        after = displaced(problem, centers, rng)
        gone = np.flatnonzero((after != centers).any(axis=1))
        assert gone.size == 1
        left[gone] += 1
        item = np.flatnonzero((problem.points == after[gone]).all(axis=1))
        assert item.size == 1
        went.add(int(item[0]))
    assert left.min() > 20, "each may leave"
    assert len(went) > 30, "to nearly everywhere"


def test_displaced_prefers_what_is_far_and_weighs():
    X = np.r_[np.zeros(50), np.ones(50), 50.0][:, None]
    problem = Problem.build(X, 2)
    centers = problem.centers_in(np.array([[0.0], [1.0]]))
    rng = np.random.default_rng(0)
    far = sum(problem.points.max() in displaced(problem, centers, rng) for _ in range(400))
    assert 100 < far < 300, "half of the time, and not one in a hundred"
    light = Problem.build(X, 2, sample_weight=np.r_[np.ones(100), 0.0])
    centers = light.centers_in(np.array([[0.0], [1.0]]))
    assert not any(light.points.max() in displaced(light, centers, rng) for _ in range(200))


def test_displaced_prefers_to_take_from_where_centers_are_close():
    rng = np.random.default_rng(0)
    problem = Problem.build(rng.normal(size=(40, 1)), 4)
    centers = np.array([[-2.0], [0.0], [0.001], [2.0]])
    left = np.zeros(4, int)
    for _ in range(400):
        left += (displaced(problem, centers, rng) != centers).any(axis=1)
    assert (left[[1, 2]] > 100).all()
    assert (left[[0, 3]] > 20).all()


@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.repeat(np.eye(2), 3, axis=0)])
def test_displaced_without_error_and_with_duplicates(X):
    rng = np.random.default_rng(0)
    for k in (1, 2, 4):
        problem = Problem.build(X, k)
        centers = problem.points[np.arange(k) % 2 * 3]
        for _ in range(50):
            after = displaced(problem, centers, rng)
            assert np.isfinite(after).all()
            assert (after != centers).any(axis=1).sum() <= 1
            assert k > 1 or after.tolist() == centers.tolist()
        assert centers.tolist() == problem.points[np.arange(k) % 2 * 3].tolist(), "not written to"


def test_a_child_has_the_labels_of_the_parent_whose_order_it_has():
    rng = np.random.default_rng(0)
    X = 100.0 * np.repeat(np.arange(6), 5)[:, None] + rng.normal(size=(30, 1))
    problem = Problem.build(X, 6)
    population, place = Population(), problem.structure.item
    for cost, order in ((1.0, np.arange(6)), (2.0, rng.permutation(6))):
        labels = np.empty(30, np.int64)
        labels[place] = np.repeat(order, 5)
        population = population.add(Run(labels, problem.means(labels, np.zeros((6, 1))), cost))
    for _ in range(40):
        child = Child.of(problem, population, rng)
        nearest = problem.nearest(child.centers)[0]
        # but for one center that left, and its cluster that goes elsewhere
        assert (nearest == child.labels).sum() >= 20
