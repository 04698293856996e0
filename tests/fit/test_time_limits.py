"""Time limits: every phase hears them, and what they leave is worth having."""

import time

import numpy as np
import pytest

import bckm
from bckm import Constraints, Status, verify
from bckm._core.deadline import Deadline, TimeUp
from bckm.assign import ENGINES
from bckm.assign._patch import patched
from bckm.assign.exact import ExactAssigner
from bckm.assign.transport import Transport
from bckm.assign.transport_state import SizeBounds, TransportState
from bckm.fit.seeding import spread
from bckm.kernels import missing, native
from bckm.problem.problem import Problem
from tests.support.ctrl_c import interrupt_after, needs_signals

compiled = pytest.mark.skipif(bool(missing), reason=missing)


def blobs(n, k, d=2):
    rng = np.random.default_rng(0)
    return 3 * rng.normal(size=(k, d))[np.arange(n) % k] + rng.normal(size=(n, d))


def state_of(X, k):
    bounds = SizeBounds(np.zeros(k), np.full(k, len(X), float))
    return TransportState(native.Points(X), None, bounds, (1.0, 1.0), 1)


@compiled
def test_a_look_at_all_points_hears_the_deadline():
    X = blobs(20_000, 5)
    state, whole = state_of(X, 5), state_of(X, 5)
    with pytest.raises(TimeUp):
        state.evaluate(X[:5].copy(), np.zeros(5), Deadline.after(0))
    for each in (state, whole):
        each.evaluate(X[:5].copy(), np.zeros(5), Deadline())
    assert np.array_equal(state.label, whole.label), "it begins anew"
    assert state.units.tolist() == np.bincount(state.label, minlength=5).tolist()


@compiled
@needs_signals
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_is_heard_in_the_middle_of_a_look(threads):
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(400_000, 32)), rng.normal(size=(4_000, 32))
    state = state_of(X, 4_000)
    state.threads = threads
    with interrupt_after(0.1), pytest.raises(KeyboardInterrupt):
        state.evaluate(centers, np.zeros(4_000), Deadline())
    assert (state.slack < 0).any(), "it was not over"


def test_seeding_hears_the_deadline():
    problem = Problem.build(blobs(500, 9), 9)
    seeds = spread(problem, np.random.default_rng(0), Deadline.after(0))
    assert not seeds.complete
    assert seeds.centers.shape == (9, 2)
    rows = {row.tobytes() for row in problem.points}
    assert all(row.tobytes() in rows for row in seeds.centers)
    assert spread(problem, np.random.default_rng(0), Deadline()).complete


@pytest.fixture
def slow(monkeypatch):
    """An engine that thinks until the time is up."""

    def think(self, cost, start, deadline):
        while not deadline.passed:
            time.sleep(0.01)
        deadline.check()

    monkeypatch.setattr(ExactAssigner, "from_cost", think)


@compiled
@pytest.mark.parametrize("search", ["none", "auto"])
def test_quick_moves_come_before_a_slow_engine(slow, search):
    X, links = blobs(300, 6), Constraints(cannot_link=[(0, 6), (1, 7), (2, 8)], size_min=30)
    good = bckm.kmeans(X, 6, Constraints(size_min=30), random_state=0).inertia
    options = {"solver": "exact", "search": search, "time_limit": 0.5, "random_state": 0}
    found = bckm.kmeans(X, 6, links, **options)
    assert found.status is Status.TIME_LIMIT
    assert verify(found.labels, 6, links) == []
    assert found.inertia < 1.5 * good
    assert all(step.kind == "moves" for step in found.history)


@compiled
def test_quick_moves_come_before_a_slow_engine_of_given_centers(slow):
    X, links = blobs(300, 6), Constraints(cannot_link=[(0, 6), (1, 7), (2, 8)], size_min=30)
    good = bckm.kmeans(X, 6, Constraints(size_min=30), random_state=0)
    found = bckm.assign_to(X, good.centers, links, solver="exact", time_limit=0.5)
    assert found.status is Status.TIME_LIMIT
    assert verify(found.labels, 6, links) == []
    assert found.inertia < 1.1 * good.inertia
    assert found.lower_bound <= good.inertia


@pytest.mark.parametrize("rules", [None, Constraints(size_max=60), Constraints([(0, 1)])])
def test_a_fit_that_could_not_begin_says_so(rules):
    X = blobs(300, 6)
    found = bckm.kmeans(X, 6, rules, time_limit=0, random_state=0)
    assert found.status is Status.NOT_STARTED
    assert found.status.stopped
    assert "nothing was optimized" in found.status.message
    assert verify(found.labels, 6, rules) == []
    assert found.lower_bound < 0.1 * found.inertia
    assert bckm.kmeans(X, 6, rules, random_state=0).status is Status.CONVERGED


@compiled
@pytest.mark.parametrize("n_init", [1, 3])
def test_the_last_bound_needs_no_new_engine(monkeypatch, n_init):
    """A step from nothing for the bound alone took a third of a fit."""
    prepared, inner = [], Transport.prepare

    def counted(self, problem):
        prepared.append(inner(self, problem))
        return prepared[-1]

    monkeypatch.setattr(Transport, "prepare", counted)
    X, sizes = blobs(3_000, 6, 8), Constraints(size_min=400, size_max=600)
    options = {"n_init": n_init, "search": "none", "random_state": 0, "max_iter": 3, "tol": 0}
    found = bckm.kmeans(X, 6, sizes, **options)
    assert len(prepared) == n_init
    assert found.status is Status.ITERATION_LIMIT
    assert found.prices is not None
    assert 0.9 * found.inertia < found.lower_bound <= found.inertia
    again = bckm.assign_to(X, found.centers, sizes)
    assert again.inertia == pytest.approx(found.lower_bound, rel=1e-9)


def test_labels_that_break_few_bounds_are_patched():
    done = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(10, 60)), int(rng.integers(1, 40 if seed % 3 == 0 else 6))
        X, centers = rng.normal(size=(n, 2)), rng.normal(size=(k, 2))
        value = np.square(X[:, None] - centers).sum(axis=2)
        sizes = np.bincount(rng.integers(k, size=n), minlength=k)
        lower, upper = sizes - rng.integers(0, 3, k), sizes + rng.integers(0, 3, k)
        lower = np.maximum(lower, 0)
        # nearly right: few samples left the cluster that has this size
        labels = np.repeat(np.arange(k), sizes)
        strays = rng.choice(n, n // 8, replace=False)
        labels[strays] = rng.integers(k, size=strays.size)
        two = np.sort(value, axis=1)
        slack = two[:, 1] - two[:, 0] if k > 1 else np.zeros(n)
        found = patched(X, centers, labels, slack, lower, upper)
        if found is None:
            continue
        done += 1
        got = np.bincount(found, minlength=k)
        assert (lower <= got).all(), seed
        assert (got <= upper).all(), seed
        assert (found != labels).sum() <= 2 * strays.size
    assert done > 250


@compiled
def test_an_exact_step_without_time_leaves_more_than_its_start():
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    sizes, centers = Constraints(size_min=95, size_max=105), X[:200].copy()
    problem = Problem.build(X, 200, sizes)
    start = np.arange(20_000) % 200
    assigner = Transport().prepare(problem)
    at = problem.centers_in(centers)
    best = assigner(at, start, Deadline())
    hurried = assigner._time_cut(at + 1e-3, start)
    assert problem.structure.feasible(hurried.labels)
    assert hurried.cost < 1.1 * best.cost < 0.5 * problem.within(start, at)


class Late(bckm.assign.Engine):
    """A first step that was cut short, so it is poor; then time is up."""

    name = "late"
    handles = ENGINES["greedy"].handles

    def prepare(self, problem):
        return LateAssigner(problem)


class LateAssigner(bckm.assign.Assigner):
    steps = 0

    def assign(self, centers, start, deadline):
        self.steps += 1
        if self.steps > 1:
            raise TimeUp
        labels = np.random.default_rng(0).permutation(start)  # sizes stay as they are
        return bckm.assign.Assignment(labels, self.problem.within(labels, centers), 0.0)


@compiled
def test_quick_labels_count_where_the_first_step_was_poor():
    X = blobs(200, 4)
    rules = Constraints(size_min=50, size_max=50)
    options = {"search": "none", "init": X[:4], "time_limit": 1000}
    found = bckm.kmeans(X, 4, rules, solver=Late(), **options)
    poor, quick = found.history
    assert found.status is Status.TIME_LIMIT
    assert [poor.kind, quick.kind] == ["assign", "moves"]
    assert found.inertia == pytest.approx(quick.objective)
    assert found.inertia < 0.5 * poor.objective
    assert verify(found.labels, 4, rules) == []
