"""Annealing: it may pass through labels that violate rules, and never returns any."""

import itertools

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm.fit.search import shared
from bckm.fit.search.anneal import Annealing
from bckm.problem.problem import Problem
from tests.support.ctrl_c import interrupt_after, needs_signals
from tests.support.instances import draw, obeying
from tests.support.local_search import Start, compiled, objective, planted, soft_planted

pytestmark = compiled


def run(start, effort=3e6, seed=0, *, labels=None, deadline=None, fixed=False):
    search = Annealing(start.problem)
    first = start.labels if labels is None else labels
    return search(first, start.centers, deadline or Deadline(), effort, seed, fixed=fixed)


def check(start, found, centers=None):
    """Rules hold and nothing got worse; whether it got better."""
    s = start.problem.structure
    assert found.labels.dtype == np.int64
    assert s.feasible(found.labels)
    assert not bckm.verify(s.expand(found.labels), s.n_clusters, start.constraints)
    before = objective(start.problem, start.labels, centers)
    after = objective(start.problem, found.labels, centers)
    assert after <= before * (1 + 1e-12)
    return after < before * (1 - 1e-9)


def least(problem, allowed, centers=None):
    s, best = problem.structure, np.inf
    items = np.empty(s.n_items, np.int64)
    for labels in allowed:
        items[s.item] = labels
        best = min(best, objective(problem, items, centers))
    return best


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fixed", [False, True])
def test_small_instances(fixed):
    """N <= 9 with all kinds of rules: the optimum, from labels that obey and from any others."""
    seen = optimal = constructed = 0
    for seed in range(0, 160, 2):
        drawn = draw(seed)
        allowed = obeying(drawn)
        if not len(allowed):
            continue
        rng = np.random.default_rng(seed)
        first = allowed[rng.integers(len(allowed))]
        start = Start.of(drawn.X, drawn.k, drawn.constraints, first, drawn.weight)
        centers = start.centers if fixed else None
        found = run(start, 1e6, seed, fixed=fixed)
        check(start, found, centers)
        value = least(start.problem, allowed, centers)
        noise = 1e-12 * start.problem.mass.sum()
        seen += 1
        optimal += objective(start.problem, found.labels, centers) <= value * (1 + 1e-9) + noise
        anywhere = rng.integers(drawn.k, size=start.labels.size)
        found = run(start, 1e6, seed, labels=anywhere, fixed=fixed)
        constructed += start.problem.structure.feasible(found.labels)
    assert seen > 20
    assert optimal >= 0.9 * seen
    assert constructed >= 0.9 * seen


@pytest.mark.parametrize("make", [planted, soft_planted])
def test_rules_of_all_kinds(make):
    better = 0
    for seed in range(40):
        start = make(seed)
        fixed = seed % 4 == 3
        better += check(start, run(start, seed=seed, fixed=fixed), start.centers if fixed else None)
    assert better > 25


def test_no_labels_obey():
    """What violates rules is never returned for labels that violate them too: they stay."""
    X = np.random.default_rng(0).normal(size=(6, 2))
    pairs = list(itertools.combinations(range(4), 2))
    problem = Problem.build(X, 3, bckm.Constraints(cannot_link=pairs))
    labels = np.arange(6) % 3
    found = Annealing(problem)(labels, problem.points[:3].copy(), Deadline(), 1e6, 0)
    np.testing.assert_array_equal(found.labels, labels)


def test_the_same_every_time():
    start = planted(5)
    one, two = run(start, seed=3), run(start, seed=3)
    np.testing.assert_array_equal(one.labels, two.labels)
    assert one.counts == two.counts
    assert one.work == two.work
    assert run(start, seed=4).counts != one.counts


@pytest.mark.parametrize(("factor", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1.0, 1e6)])
def test_units_do_not_matter(factor, shift):
    rng = np.random.default_rng(1)
    X, load = rng.normal(size=(60, 3)), rng.random(60)
    labels = np.arange(60) % 4
    sums = np.bincount(labels, load, 4)
    rules = bckm.Constraints(
        size_min=12, size_max=18, capacities={"load": bckm.Capacity(load, sums - 0.2, sums + 0.2)}
    )
    found = []
    for data in (X, X * factor + shift):
        start = Start.of(data, 4, rules, labels)
        found.append(start.problem.structure.expand(run(start).labels))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("effort", [0.0, 1e4, 1e6, 1e7])
def test_work_is_limited(effort):
    start = planted(7, n=200)
    found = run(start, effort)
    check(start, found)
    assert found.work <= effort + 3e5


def test_time_is_limited():
    start = planted(8, n=200)
    found = run(start, 1e15, deadline=Deadline.after(0.05))
    check(start, found)
    assert found.work < 1e9
    assert found.hurried


def test_the_clock_has_no_say_where_there_is_time():
    start = planted(8, n=200)
    one, two = run(start), run(start, deadline=Deadline.after(1000))
    assert not two.hurried
    np.testing.assert_array_equal(one.labels, two.labels)


def test_it_is_cold_when_time_is_up():
    """However much work was asked for."""
    start = planted(8, n=200)
    found = run(start, 1e15, deadline=Deadline.after(0.3))
    cooled = run(start, 3e6)
    assert found.hurried
    assert objective(start.problem, found.labels) < 1.01 * objective(start.problem, cooled.labels)


def test_one_cluster_and_no_mass():
    X = np.random.default_rng(2).normal(size=(12, 2))
    check(one := Start.of(X, 1, bckm.Constraints(), np.zeros(12, int)), run(one))
    weight = np.r_[1.0, np.zeros(11)]
    start = Start.of(X, 3, bckm.Constraints(size_min=4, size_max=4), np.arange(12) % 3, weight)
    check(start, run(start))


@needs_signals
def test_ctrl_c_keeps_what_was_found():
    start = planted(8, n=200)
    with interrupt_after(0.1):
        found = run(start, 1e15)
    assert found.interrupted
    assert check(start, found), "it found something by then"


@needs_signals
def test_ctrl_c_where_nothing_obeys_yet():
    X = np.random.default_rng(0).normal(size=(6, 2))
    pairs = list(itertools.combinations(range(4), 2))
    problem = Problem.build(X, 3, bckm.Constraints(cannot_link=pairs))
    labels = np.arange(6) % 3
    with interrupt_after(0.1):
        found = Annealing(problem)(labels, problem.points[:3].copy(), Deadline(), 1e15, 0)
    assert found.interrupted
    np.testing.assert_array_equal(found.labels, labels)


@needs_signals
def test_ctrl_c_in_the_first_annealing_of_a_fit(monkeypatch):
    """There is no step yet; what was found is the answer, and is told as a step."""
    rng = np.random.default_rng(0)
    X, load = rng.normal(size=(300, 2)), rng.random(300)
    rules = bckm.Constraints(capacities={"load": bckm.Capacity(load, max=1.05 * load.sum() / 6)})
    first = bckm.kmeans(X, 6, rules, time_limit=0, random_state=0)
    monkeypatch.setattr(shared, "BASE", 1e15)
    monkeypatch.setattr(shared, "EACH_PAIR", 1e15)
    monkeypatch.setattr(shared, "LITTLE", np.inf)  # no steps of the engine before it
    inner, steps = Annealing.__call__, []

    def annealed(*args):
        with interrupt_after(0.2):
            return inner(*args)

    monkeypatch.setattr(Annealing, "__call__", annealed)
    found = bckm.kmeans(X, 6, rules, n_init=2, random_state=0, on_step=steps.append)
    assert found.status is bckm.Status.INTERRUPTED
    assert [step.kind for step in steps] == ["moves"]
    assert found.inertia == pytest.approx(steps[0].objective)
    assert found.inertia < 0.7 * first.inertia
    assert not bckm.verify(found.labels, 6, rules)
