"""What the loop promises, whatever the engine."""

import time
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import bckm
from bckm import Capacity, Constraints, Status, check, verify
from bckm._core.deadline import Deadline
from bckm.assign.base import Assigner, Assignment
from bckm.assign.exact import Exact, ExactAssigner
from bckm.feasibility import feasible_start
from bckm.fit.lloyd import Limits, alternate
from bckm.fit.seeding import SEEDINGS, spread
from bckm.kernels import missing
from bckm.problem.problem import Problem
from tests.support.ctrl_c import interrupted, needs_signals
from tests.support.families import FAMILIES

SOLVERS = ("auto", "exact", "pump", "greedy")
N, K = 40, 4

kmeans = partial(bckm.kmeans, search="none")  # the loop alone; see tests/fit/search for the rest


def drawn(seed, kind="even"):
    """Draw blobs, and rules that hold for a hidden labeling: never infeasible."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2)) + 3 * rng.normal(size=(K, 2))[rng.integers(0, K, N)]
    sizes = [10, 10, 10, 10] if kind == "even" else [4, 8, 12, 16]
    hidden = rng.permutation(np.repeat(np.arange(K), sizes))
    together, apart = [], []
    while len(together) < 5 or len(apart) < 12:
        p, q = rng.choice(N, 2, replace=False).tolist()
        links, enough = (together, 5) if hidden[p] == hidden[q] else (apart, 12)
        if len(links) < enough:
            links.append((p, q))
    low, up = (8, 12) if kind == "even" else (np.array(sizes) - 1, np.array(sizes) + 1)
    return X, Constraints(together, apart, size_min=low, size_max=up)


solvers = pytest.mark.parametrize("solver", SOLVERS)
instances = pytest.mark.parametrize(
    "instance", [(0, "even"), (1, "even"), (2, "uneven"), (3, "uneven")], ids=str
)


def direct_inertia(X, labels, centers, weight=None):
    distance = np.square(X - centers[labels]).sum(axis=1)
    return float(distance.sum() if weight is None else weight @ distance)


def timeless(steps):
    return [replace(step, seconds=0.0) for step in steps]


# -- the result -------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@solvers
@instances
def test_a_result_is_what_it_says(solver, instance):
    X, asked = drawn(*instance)
    weight = np.random.default_rng(9).uniform(0.5, 2, N)
    for w in (None, weight):
        found = kmeans(X, K, asked, solver=solver, sample_weight=w, random_state=1)
        assert verify(found.labels, K, asked) == []
        assert found.sizes.tolist() == np.bincount(found.labels, minlength=K).tolist()
        assert found.centers == pytest.approx(
            np.array(
                [
                    np.average(
                        X[found.labels == i],
                        axis=0,
                        weights=None if w is None else w[found.labels == i],
                    )
                    for i in range(K)
                ]
            )
        )
        assert found.inertia == pytest.approx(direct_inertia(X, found.labels, found.centers, w))
        assert found.inertia == found.history[-1].objective
        assert found.n_iter == len(found.history)
        assert found.lower_bound <= found.inertia
        assert found.status is Status.CONVERGED
        assert found.solver == ("exact" if solver == "auto" else solver)


@pytest.mark.sampled(1)
@solvers
@instances
def test_the_lower_bound_holds_for_the_final_centers(solver, instance):
    X, asked = drawn(*instance)
    found = kmeans(X, K, asked, solver=solver, random_state=1)
    # what the exact engine finds for these centers is a labeling that the bound must not exceed
    best = kmeans(
        X, K, asked, solver="exact", init=found.centers, label_bounds="given", max_iter=1, tol=0
    )
    reached = direct_inertia(X, best.labels, found.centers)
    assert found.lower_bound <= reached * (1 + 1e-9)
    if found.assignment_status is Status.OPTIMAL:
        assert found.inertia <= reached * (1 + 1e-9)
    if solver == "exact":
        assert found.assignment_status is Status.OPTIMAL


@pytest.mark.sampled(5)
@solvers
@instances
def test_labels_are_feasible_at_every_step_and_a_stop_returns_them(solver, instance):
    X, asked = drawn(*instance)
    options = {"solver": solver, "random_state": 2, "tol": 0, "n_init": 1}
    whole = kmeans(X, K, asked, **options)
    for at in range(1, whole.n_iter + 1):

        def stop(step, at=at):
            if step.iteration == at:
                raise KeyboardInterrupt

        found = kmeans(X, K, asked, on_step=stop, **options)
        assert verify(found.labels, K, asked) == []
        assert found.status is Status.INTERRUPTED
        assert timeless(found.history) == timeless(whole.history[:at])
        assert found.inertia == whole.history[at - 1].objective
        assert found.inertia == pytest.approx(direct_inertia(X, found.labels, found.centers))


@pytest.mark.sampled(6)
@solvers
@instances
def test_inertia_never_rises(solver, instance):
    X, asked = drawn(*instance)
    steps = []
    kmeans(X, K, asked, solver=solver, n_init=3, random_state=3, tol=0, on_step=steps.append)
    for start in range(3):
        inertia = [step.objective for step in steps if step.start == start]
        assert inertia
        assert all(b < a for a, b in pairwise(inertia))


class Careless(Assigner):
    """Returns any feasible labels, however bad: what the loop must survive."""

    def __init__(self, problem, seed):
        super().__init__(problem)
        self.rng = np.random.default_rng(seed)

    def assign(self, centers, start, deadline):
        cost = self.problem.cost(centers)
        labels = self.rng.permutation(start)  # sizes stay as they are
        total = float(cost[np.arange(labels.size), labels].sum())
        return Assignment(labels, total, 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_a_worse_answer_of_an_engine_is_refused(seed):
    X = np.random.default_rng(seed).normal(size=(12, 2))
    problem = Problem.build(X, 2, Constraints(size_min=6, size_max=6))
    centers, start = np.zeros((2, 2)), np.repeat([0, 1], 6)
    run = alternate(problem, Careless(problem, seed), centers, start, Limits(50, 0.0, Deadline()))
    inertia = [step.objective for step in run.history]
    assert inertia
    assert all(b < a for a, b in pairwise(inertia))
    assert problem.objective(run.cost) == inertia[-1]
    means = problem.means(run.labels, run.centers)
    assert run.cost == pytest.approx(problem.within(run.labels, means), rel=1e-13)
    assert run.status is Status.CONVERGED


@solvers
def test_on_step_is_called_once_per_iteration(solver):
    X, asked = drawn(0)
    steps = []
    found = kmeans(X, K, asked, solver=solver, n_init=1, random_state=0, on_step=steps.append)
    assert tuple(steps) == found.history
    assert [step.iteration for step in steps] == list(range(1, len(steps) + 1))
    seconds = [step.seconds for step in steps]
    assert seconds == sorted(seconds)
    assert seconds[-1] <= found.seconds


def test_other_exceptions_of_on_step_are_not_swallowed():
    def broken(_):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        kmeans(np.eye(4), 2, on_step=broken)


@solvers
@pytest.mark.parametrize("max_iter", [1, 2])
def test_max_iter(solver, max_iter):
    X = np.random.default_rng(0).uniform(size=(80, 2))
    asked = Constraints(size_min=18, size_max=22)
    options = {"solver": solver, "init": X[:K], "tol": 0}
    assert kmeans(X, K, asked, **options).n_iter > 2
    found = kmeans(X, K, asked, max_iter=max_iter, **options)
    assert found.n_iter == max_iter
    assert found.status is Status.ITERATION_LIMIT
    assert verify(found.labels, K, asked) == []


def test_tol_stops_early():
    X, asked = drawn(1)
    steps = [kmeans(X, K, asked, random_state=2, tol=tol).n_iter for tol in (0, 1e9)]
    assert steps[1] == 1 < steps[0]


def test_the_nearest_assignment_is_taken_when_it_obeys():
    X, _ = drawn(0)
    labels = kmeans(X, K, random_state=0).labels
    other = int(np.flatnonzero(labels != labels[0])[0])
    loose = Constraints(cannot_link=[(0, other)], size_max=N - 1)
    for solver in SOLVERS:
        found = kmeans(X, K, loose, random_state=0, solver=solver)
        assert found.labels.tolist() == labels.tolist()
        assert found.assignment_status is Status.OPTIMAL


# -- starts and seeds -------------------------------------------------------------------------


@pytest.mark.sampled(5)
@solvers
@instances
def test_starts_are_a_prefix_and_the_best_one_wins(solver, instance):
    X, asked = drawn(*instance)
    few, many = [], []
    options = {"solver": solver, "random_state": 4, "init": "random"}
    kmeans(X, K, asked, n_init=3, on_step=few.append, **options)
    found = kmeans(X, K, asked, n_init=5, on_step=many.append, **options)
    assert timeless(few) == timeless(step for step in many if step.start < 3)
    ends = {step.start: step.objective for step in many}
    assert sorted(ends) == [0, 1, 2, 3, 4]
    # of starts that end alike the first one wins, whatever rounding says
    assert found.inertia == pytest.approx(min(ends.values()), rel=1e-9)
    assert ends[found.history[0].start] == found.inertia
    assert len({round(step.objective, 9) for step in many if step.iteration == 1}) > 1


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_starts_are_a_prefix_for_generators_too(make):
    X, asked = drawn(0)
    few, many = [], []
    kmeans(X, K, asked, solver="greedy", n_init=3, random_state=make(4), on_step=few.append)
    kmeans(X, K, asked, solver="greedy", n_init=5, random_state=make(4), on_step=many.append)
    assert timeless(few) == timeless(step for step in many if step.start < 3)
    assert len({step.objective for step in few if step.iteration == 1}) > 1


@pytest.mark.sampled(3)
@solvers
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_the_same_seed_gives_the_same_result(solver, init):
    X, asked = drawn(0)

    def fit(seed):
        return kmeans(X, K, asked, solver=solver, init=init, n_init=2, random_state=seed)

    a, b = fit(7), fit(7)
    assert np.array_equal(a.labels, b.labels)
    assert np.array_equal(a.centers, b.centers)
    assert timeless(a.history) == timeless(b.history)
    c, d = fit(np.random.default_rng(7)), fit(np.random.default_rng(7))
    assert np.array_equal(c.labels, d.labels)
    c, d = fit(np.random.RandomState(7)), fit(np.random.RandomState(7))
    assert np.array_equal(c.labels, d.labels)
    assert len({fit(seed).history[0].objective for seed in range(4)}) > 1, "the seed matters"


@pytest.mark.parametrize(
    ("options", "starts"),
    [
        ({}, 1 if missing else 20),  # a small problem
        ({"init": "random"}, 10),
        ({"n_init": 4}, 4),
        ({"init": [[0.0], [9.0]]}, 1),
    ],
)
def test_number_of_starts(options, starts):
    steps = []
    kmeans([[0.0], [1.0], [8.0], [9.0]], 2, random_state=0, on_step=steps.append, **options)
    assert {step.start for step in steps} == set(range(starts))


def test_an_interrupt_in_a_later_start_keeps_the_best():
    X, asked = drawn(0)
    steps = []

    def stop(step):
        steps.append(step)
        if step.start == 2:
            raise KeyboardInterrupt

    found = kmeans(X, K, asked, n_init=5, init="random", random_state=0, on_step=stop)
    assert found.status is Status.INTERRUPTED
    assert {step.start for step in steps} == {0, 1, 2}
    assert found.inertia == min(step.objective for step in steps)
    assert verify(found.labels, K, asked) == []


# -- time -------------------------------------------------------------------------------------


@solvers
@instances
@pytest.mark.parametrize("limit", [0, 1e-9])
def test_no_time_returns_feasible_labels(solver, instance, limit):
    X, asked = drawn(*instance)
    found = kmeans(X, K, asked, solver=solver, n_init=3, time_limit=limit, random_state=0)
    assert found.status is Status.NOT_STARTED
    assert found.history == ()
    assert verify(found.labels, K, asked) == []
    assert found.inertia == pytest.approx(direct_inertia(X, found.labels, found.centers))
    assert found.lower_bound <= found.inertia


@solvers
@pytest.mark.parametrize("limit", [0.002, 0.01, 0.03])
def test_a_tiny_time_limit_ends_with_a_true_status(solver, limit):
    X, asked = drawn(2, "uneven")
    began = time.process_time()  # others may keep the machine busy
    found = kmeans(X, K, asked, solver=solver, n_init=2000, time_limit=limit, random_state=0)
    assert time.process_time() - began < limit + 2
    assert found.status is Status.TIME_LIMIT or not found.history
    assert verify(found.labels, K, asked) == []
    assert found.lower_bound <= found.inertia


def test_enough_time_changes_nothing():
    X, asked = drawn(0)
    free, limited = (
        kmeans(X, K, asked, random_state=0, time_limit=limit) for limit in (None, 1000)
    )
    assert np.array_equal(free.labels, limited.labels)
    assert limited.status is Status.CONVERGED


def test_undecided_when_time_ends_before_any_labels():
    # a partition into exact sums: feasible by construction, hopeless to guess
    rng = np.random.default_rng(0)
    values = rng.integers(10**5, 10**6, 24)
    sums = [int(values[i::3].sum()) for i in range(3)]
    asked = Constraints(capacities={"kg": Capacity(values, sums, sums)})
    with pytest.raises(bckm.UndecidedError, match="raise time_limit"):
        kmeans(rng.normal(size=(24, 2)), 3, asked, time_limit=0)
    answer = check(24, 3, asked, time_limit=0)
    assert answer.verdict == "unknown"
    assert not answer
    assert "raise time_limit" in answer.message


def test_weightless_samples_join_their_nearest_cluster():
    X = [[0.0], [10.0], [0.1], [9.9], [10.1]]
    found = kmeans(X, 2, sample_weight=[1, 1, 0, 0, 0], init=[[0.0], [10.0]])
    assert found.centers.ravel().tolist() == [0.0, 10.0]
    assert found.labels.tolist() == [0, 1, 0, 1, 1]


def test_starts_do_not_depend_on_those_before_them():
    """Grid data tie often, so an engine that remembers its last basis would give itself away."""
    differ = 0
    for seed in range(5):
        X = np.random.default_rng(seed).integers(0, 4, (40, 2)).astype(float)
        asked = Constraints(size_min=8, size_max=12, cannot_link=[(0, 1), (2, 3)])
        steps = []
        kmeans(
            X, 4, asked, n_init=3, tol=0, random_state=seed, solver="exact", on_step=steps.append
        )
        last = [s.objective for s in steps if s.start == 2]
        # the third start on its own: its generator, an engine that has seen nothing
        problem = Problem.build(X, 4, asked)
        rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
        start = feasible_start(problem.structure, problem.rules, Deadline())
        centers = spread(problem, rng, Deadline()).centers
        fresh, used = Exact().prepare(problem), Exact().prepare(problem)
        limits = Limits(300, 0.0, Deadline())
        alone = alternate(problem, fresh, centers, start, limits)
        assert [s.objective for s in alone.history] == last
        # an engine that has seen other centers: were starts to share it, this would show
        alternate(
            problem,
            used,
            spread(problem, np.random.default_rng(99), Deadline()).centers,
            start,
            limits,
        )
        again = alternate(problem, used, centers, start, limits)
        differ += [s.objective for s in again.history] != last
    assert differ > 0


def test_an_optimum_that_breaks_a_rule_proves_nothing(monkeypatch):
    """A solver may accept by its tolerance what our arithmetic refuses: no claim then."""
    X, k, rules = FAMILIES["packing"](np.random.default_rng(60), 60)
    problem = Problem.build(X, k, rules)
    start = feasible_start(problem.structure, problem.rules, Deadline())
    cost = problem.cost(problem.points[:k])
    assert Exact().prepare(problem).from_cost(cost, start, Deadline()).status is Status.OPTIMAL
    monkeypatch.setattr(ExactAssigner, "_offer", lambda *_: False)
    refused = Exact().prepare(problem).from_cost(cost, start, Deadline())
    np.testing.assert_array_equal(refused.labels, start)
    assert refused.status is Status.FEASIBLE


def test_ctrl_c_between_starts_keeps_the_best(monkeypatch):
    calls = []

    def seeding(problem, rng, deadline, first):
        calls.append(first)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return spread(problem, rng, deadline, first)

    monkeypatch.setitem(SEEDINGS, "k-means++", seeding)
    X = np.random.default_rng(0).normal(size=(60, 2))
    asked = Constraints(size_max=20)
    found = kmeans(X, 4, asked, n_init=5, random_state=0)
    assert found.status is Status.INTERRUPTED
    assert found.n_iter > 0
    assert verify(found.labels, 4, asked) == []


def test_ctrl_c_before_the_first_start_still_gives_labels(monkeypatch):
    def seeding(problem, rng, deadline, first):
        raise KeyboardInterrupt

    monkeypatch.setitem(SEEDINGS, "k-means++", seeding)
    asked = Constraints(size_max=20)
    found = kmeans(np.random.default_rng(0).normal(size=(60, 2)), 4, asked)
    assert found.status is Status.NOT_STARTED
    assert verify(found.labels, 4, asked) == []


@pytest.mark.parametrize("order", [[1, 0, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1]])
def test_order_of_bounds_with_equal_middles(order):
    low, up = np.array([5, 15, 10, 0]), np.array([25, 15, 20, 30])
    X = np.random.default_rng(1).normal(size=(60, 2))
    found = [
        kmeans(X, 4, Constraints(size_min=low[o], size_max=up[o]), random_state=0, tol=0).inertia
        for o in (np.arange(4), np.array(order))
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_a_sum_that_no_sample_touches_keeps_its_bound():
    """Checker and engines must agree on what counts as kept, for empty sums too."""
    load = Capacity([1, 1, 1, 1], min=1e-10)
    X = [[0.0], [0.1], [0.2], [0.3]]
    asked = Constraints(size_min=0, capacities={"kg": load})
    found = kmeans(X, 2, asked, init=[[0.0], [100.0]])
    assert verify(found.labels, 2, asked) == []


@needs_signals
def test_a_real_ctrl_c_inside_the_solver_gives_the_best_labels():
    """A tree search that would take minutes is interrupted from outside."""
    code = """
import numpy as np, bckm
from tests.support.families import FAMILIES
# imports take a while
bckm.kmeans([[0.0], [1.0], [2.0]], 2, bckm.Constraints(cannot_link=[(0, 1)]), solver="exact")
X, k, rules = FAMILIES["planted_coloring"](np.random.default_rng(300), 300)
print("begun", flush=True)
result = bckm.kmeans(X, k, rules, solver="exact", random_state=0)
print(result.status, bckm.verify(result.labels, k, rules))
"""
    # the first step is not over: there is nothing better than any labels that obey
    assert interrupted(code, wait=2, most=30) == "not_started []\n"
