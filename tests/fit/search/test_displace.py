"""Centers in the wrong place are found, and taken to where they are missing."""

from functools import partial
from itertools import islice

import numpy as np
import pytest

import bckm
from bckm import Constraints
from bckm._core.deadline import Deadline
from bckm.assign import ENGINES
from bckm.fit.lloyd import Limits, Run, alternate
from bckm.fit.search.displace import Displacements, Part, worth_no_more
from bckm.kernels import missing
from bckm.problem.problem import Problem

pytestmark = pytest.mark.skipif(bool(missing), reason=missing or "there")

PLACES = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])


def misplaced(rng, sizes, d=2):
    """Four blobs; one has two centers, and two have one in common."""
    X = np.repeat(PLACES @ np.eye(2, d), 50, axis=0)
    X = X + 0.3 * rng.normal(size=X.shape)
    problem = Problem.build(X, 4, Constraints(**sizes))
    centers = problem.centers_in(np.array([[-0.2, 0], [0.2, 0], [10, 0], [5, 10]]) @ np.eye(2, d))
    limits = Limits(300, 1e-4, Deadline())
    start = np.arange(200) % 4
    assigner = ENGINES["transport"]().prepare(problem)
    return problem, alternate(problem, assigner, centers, start, limits)


def planned(problem, run):
    labels = run.labels[Part.some(problem)]
    return Displacements.of(Part.of(problem), labels, run.centers, run.prices, run.cost)


@pytest.mark.parametrize("sizes", [{}, {"size_min": 10, "size_max": 120}])
@pytest.mark.parametrize("d", [2, 5])
def test_the_center_that_is_worth_least_goes_where_one_is_missing(sizes, d):
    problem, run = misplaced(np.random.default_rng(7), sizes, d)
    plan = planned(problem, run)
    first = next(plan.trials())
    assert len(first) == 1
    ((leaving, split),) = first
    assert leaving in (0, 1)
    assert split == 3
    assert plan.change[leaving, split] < -0.5 * run.cost
    after = problem.nearest(plan.after(first))[1].sum()
    assert after < 0.2 * run.cost
    # first order: nothing else has to change here, so it is about right
    if not sizes:
        assert run.cost + plan.change[leaving, split] == pytest.approx(after, rel=0.3)


def test_trials_come_in_order_and_each_center_once():
    change = np.random.default_rng(0).normal(size=(6, 6))
    np.fill_diagonal(change, np.inf)
    plan = Displacements(np.zeros((6, 2)), np.zeros((2, 6, 2)), change, np.arange(6)[::-1], 1e3)
    trials = list(plan.trials())
    many = [pairs for pairs in trials if len(pairs) > 1]
    assert [len(pairs) for pairs in many] == sorted((len(pairs) for pairs in many), reverse=True)
    for pairs in many:
        clusters = [cluster for pair in pairs for cluster in pair]
        assert len(set(clusters)) == len(clusters)
    single = [pairs[0] for pairs in trials if len(pairs) == 1]
    assert len(set(single)) == len(single)
    values = [change[pair] for pair in single]
    assert values == sorted(values)
    assert np.bincount([i for i, _ in single]).max() == 1
    assert np.bincount([j for _, j in single]).max() == 1


def test_no_more_at_once_than_is_credible_or_asked():
    change = np.full((20, 20), np.inf)
    change[np.arange(0, 20, 2), np.arange(1, 20, 2)] = -10.0 - np.arange(10)
    heir = np.arange(20) ^ 1

    def first(cost, most=None):
        plan = Displacements(np.zeros((20, 2)), np.zeros((2, 20, 2)), change, heir, cost)
        return len(next(plan.trials(most)))

    assert first(1e3) == 10
    assert first(1e3, 4) == 4
    assert first(100.0) == 3  # 19 + 18 + 17 of 100
    assert first(1.0) == 1


def test_equal_samples_cannot_be_split():
    X = np.repeat(PLACES, 10, axis=0)
    problem = Problem.build(X, 4, Constraints())
    labels = np.repeat(np.arange(4), 10)
    run = Run(labels, problem.means(labels, np.zeros((4, 2))), 0.0)
    assert list(islice(planned(problem, run).trials(), 1)) == []


def test_when_a_trial_is_decided():
    enough = worth_no_more(100.0)
    assert enough(201.0, 200.0)  # would take a hundred such steps
    assert not enough(120.0, 105.0)
    assert not enough(110.0, 99.0)
    assert enough(99.001, 99.0)


def test_rounding_has_no_say_in_the_effort_of_steps():
    rng = np.random.default_rng(1)
    X = 1.5 * rng.normal(size=(20, 4))[rng.integers(20, size=2000)] + rng.normal(size=(2000, 4))
    for seed in range(3):
        fit = partial(bckm.kmeans, random_state=seed, n_jobs=1)
        one, other = (fit(Y, 20, Constraints(size_min=100)) for Y in (X, 1e6 * X))
        assert one.history[-1].start == other.history[-1].start  # so many displacements
        assert (one.labels == other.labels).all()


@pytest.mark.parametrize("sizes", [{}, {"size_min": 55, "size_max": 65}])
def test_auto_displaces_and_global_is_never_worse(sizes, hasty):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 2)) + 8 * rng.normal(size=(20, 2))[np.arange(1200) % 20]
    rules = Constraints(**sizes)
    total = {"none": 0.0, "auto": 0.0}
    for seed in range(3):
        for search in total:
            found = bckm.kmeans(X, 20, rules, search=search, n_init=1, random_state=seed)
            total[search] += found.inertia
        best = bckm.kmeans(X, 20, rules, search="global", n_init=1, random_state=seed)
        assert best.inertia <= found.inertia * (1 + 1e-9)
    assert total["auto"] < total["none"]
