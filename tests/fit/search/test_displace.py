"""Centers in the wrong place are found, and taken to where they are missing."""

from functools import partial

import numpy as np
import pytest

import bckm
from bckm import Constraints
from bckm._core.deadline import Deadline
from bckm._storage.fields import Fields
from bckm.assign import ENGINES
from bckm.fit.lloyd import Limits, Run, alternate, run_from
from bckm.fit.search.attempt import GAIN, MOST_TRIALS
from bckm.fit.search.displace import Displacements, Forecast, Part, worth_no_more
from bckm.fit.search.explore import step
from bckm.fit.search.shared import Search
from bckm.fit.search.state import State
from bckm.fit.seeding import starts_of
from bckm.kernels import missing
from bckm.metric.named import read_metric
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
    pairs = Forecast(plan, 4).next()
    ((leaving, split),) = pairs
    assert leaving in (0, 1)
    assert split == 3
    change = plan.lost[leaving] + plan.gained[split] + plan.both[leaving, split]
    assert change < -0.5 * run.cost
    after = problem.nearest(plan.after(pairs))[1].sum()
    assert after < 0.2 * run.cost
    # no prices, and nothing else has to change here, so it is about right
    if not sizes:
        assert run.cost + change == pytest.approx(after, rel=0.3)


def test_where_sizes_are_fixed_a_center_from_nearby_costs_less():
    X = np.arange(400.0)[:, None]  # ten full clusters in a row: each makes room for the next one
    problem = Problem.build(X, 10, Constraints(size_min=40, size_max=40))
    labels = np.repeat(np.arange(10), 40)
    run = run_from(problem, labels, np.zeros((10, 1)))
    both = planned(problem, run).both
    apart = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    near = (apart > 0) & (apart < 3)
    assert both[near].max() < both[apart > 2].min() <= both[apart > 2].max() < 0.0
    free = Problem.build(X, 10, Constraints())
    assert np.abs(planned(free, run).both).max() < 1e-2 * np.abs(both).max()


def drawn_plan(rng, k=12, cost=1e3):
    terms = rng.normal(size=k), rng.normal(size=k), 0.1 * rng.normal(size=(k, k))
    return Displacements(np.zeros((k, 2)), np.zeros((2, k, 2)), *terms, np.arange(k)[::-1], cost)


def test_each_pair_is_tried_once_until_none_is_left():
    forecast, seen = Forecast(drawn_plan(np.random.default_rng(0), 5)), set()
    while (pairs := forecast.next()) is not None:
        assert seen.isdisjoint(pairs)
        seen.update(pairs)
        forecast.learn(pairs, 1.0)
    assert seen == {(i, j) for i in range(5) for j in range(5) if i != j}


def test_a_trial_tells_about_others_with_one_of_its_clusters():
    plan = drawn_plan(np.random.default_rng(1))
    first = Forecast(plan).next()

    def shared(change):
        forecast = Forecast(plan)
        forecast.learn(first, change)
        (pair,) = forecast.next()
        return sum(one == other for one, other in zip(pair, first[0], strict=True))

    assert shared(1e3) == 0
    assert shared(-1e3) == 1


def test_learning_finds_what_estimates_miss():
    rng = np.random.default_rng(2)
    with_learning, without = [], []
    for _ in range(30):
        plan = drawn_plan(rng, 20)
        estimate = plan.lost[:, None] + plan.gained + plan.both
        truth = estimate + np.add.outer(*(2 * rng.normal(size=(2, 20))))
        np.fill_diagonal(estimate, np.inf)
        forecast, changes = Forecast(plan), []
        for _ in range(25):
            pairs = forecast.next()
            changes.append(truth[pairs[0]])
            forecast.learn(pairs, changes[-1])
        with_learning.append(min(changes))
        without.append(truth.ravel()[estimate.argsort(axis=None)[:25]].min())
    assert np.mean(with_learning) < np.mean(without) - 0.5


def test_a_promise_far_beyond_the_others_is_not_believed_for_long():
    rng = np.random.default_rng(5)
    plan = drawn_plan(rng, 20)
    plan.gained[7] = -40.0  # as little true as that of any other
    forecast, to = Forecast(plan), []
    for _ in range(8):
        (pair,) = forecast.next()
        to.append(pair[1])
        forecast.learn((pair,), 1.0)
    assert to[0] == 7
    assert to.count(7) < 4


def pairs_that_help(cost, k=20):
    """Each even cluster is to go to the next one, which is its heir, for 10 to 19."""
    lost = np.where(np.arange(k) % 2, 100.0, 0.0)
    gained = np.where(np.arange(k) % 2, -10.0 - np.arange(k) // 2, 100.0)
    both = np.where(np.arange(k)[:, None] == np.arange(k) - 1, 0.0, 50.0)
    heir = np.arange(k) ^ 1
    return Displacements(np.zeros((k, 2)), np.zeros((2, k, 2)), lost, gained, both, heir, cost)


def test_no_more_at_once_than_is_credible_or_asked():
    def first(cost, most):
        return len(Forecast(pairs_that_help(cost), most).next())

    assert first(1e3, 20) == 10
    assert first(1e3, 4) == 4
    assert first(100.0, 20) == 3  # 19 + 18 + 17 of 100
    assert first(1.0, 20) == 1


def test_half_of_what_was_too_much_at_once():
    forecast, numbers = Forecast(pairs_that_help(1e3), 20), []
    for _ in range(6):
        pairs = forecast.next()
        clusters = [cluster for pair in pairs for cluster in pair]
        assert len(set(clusters)) == len(clusters)
        numbers.append(len(pairs))
        forecast.learn(pairs, 1.0)
    assert numbers == [10, 5, 2, 1, 1, 1]


def test_no_center_leaves_whose_heir_leaves():
    plan = pairs_that_help(1e3)
    plan.heir[18] = 16
    assert (16, 17) not in Forecast(plan, 20).next()
    plan.heir[18], plan.heir[16] = 19, 18
    assert (16, 17) not in Forecast(plan, 20).next()
    plan.heir[16] = 17
    assert (16, 17) in Forecast(plan, 20).next()


def test_rounding_does_not_choose_a_displacement():
    rng = np.random.default_rng(3)
    plan = drawn_plan(rng)
    equal = np.round(2 * plan.lost), np.round(2 * plan.gained), np.zeros_like(plan.both)
    off = [term + 1e-9 * rng.normal(size=term.shape) for term in equal]
    one, other = (
        Forecast(Displacements(plan.centers, plan.halves, *terms, plan.heir, plan.cost))
        for terms in (equal, off)
    )
    for _ in range(20):
        pairs = one.next()
        assert other.next() == pairs
        one.learn(pairs, 1.0)
        other.learn(pairs, 1.0 + 1e-9)


def test_equal_samples_cannot_be_split():
    X = np.repeat(PLACES, 10, axis=0)
    problem = Problem.build(X, 4, Constraints())
    labels = np.repeat(np.arange(4), 10)
    run = Run(labels, problem.means(labels, np.zeros((4, 2))), 0.0)
    assert Forecast(planned(problem, run)).next() is None


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


def test_what_trials_taught_is_part_of_the_state():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1300, 2)) + 8 * rng.normal(size=(20, 2))[np.arange(1300) % 20]
    problem = Problem.build(X, 20, Constraints(size_min=60, size_max=70))
    limits = Limits(300, 1e-4, Deadline())
    space = read_metric("euclidean")
    starts = starts_of(problem, space, "k-means++", 1, "global", 0, limits.deadline)
    search = Search(problem, ENGINES["transport"](), limits, "global", starts)
    state, seen = State.first(problem, np.arange(1300) % 20), []
    while not state.n_populations and state.n_stale < MOST_TRIALS:
        seen += [state] if state.tried else []
        state = step(search, state)
    assert max(len(state.tried) for state in seen) > 8
    for state in seen[::3]:
        tree = state.to_tree()
        assert tree["changes"].min() > -state.best.cost * GAIN
        one, other = (
            step(search, each)
            for each in (state, State.from_tree(Fields(tree, "a state"), problem))
        )
        assert one.tried == other.tried
        assert one.best.labels.tolist() == other.best.labels.tolist()
