"""What search promises, whatever the mode, the engine and the rules."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import bckm
from bckm import Capacity, Constraints, LinearRows, Status, verify
from bckm._core.deadline import Deadline
from bckm.assign import ENGINES
from bckm.assign.base import Engine
from bckm.fit.lloyd import Limits, Run
from bckm.fit.parameters import PARAMETERS
from bckm.fit.search import explore
from bckm.fit.search.evolve import FEWEST, MOST, Child, Population, displaced, mixed
from bckm.fit.search.explore import Phase, renumbered
from bckm.fit.search.local import LocalSearch
from bckm.fit.search.shared import Search
from bckm.fit.search.state import State
from bckm.fit.seeding import Seeds, Starts, starts_of
from bckm.kernels import missing
from bckm.problem.metric import read_metric
from bckm.problem.problem import Problem
from tests.support.families import FAMILIES
from tests.support.instances import Drawn, draw, inertias, obeying
from tests.support.lp_engine import dual_value

SEARCHING = ("local", "auto", "global")
SOLVERS = ("auto", *ENGINES)
N, K = 24, 4

modes = pytest.mark.parametrize("search", PARAMETERS["search"].choices)
searching = pytest.mark.parametrize("search", SEARCHING)
pytestmark = pytest.mark.skipif(bool(missing), reason=missing or "there")


def kinds(seed=0, n=N):
    """Draw blobs, and rules of each kind that hold for hidden labels: never infeasible."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + 2 * rng.normal(size=(K, 2))[rng.integers(K, size=n)]
    each = n // K
    uneven = each + np.array([-2, -1, 1, 2])
    hidden = rng.permutation(np.repeat(np.arange(K), uneven))
    pairs = rng.integers(n, size=(60, 2))
    apart = pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]].tolist()
    together = [rng.permutation(np.flatnonzero(hidden == i))[:3].tolist() for i in range(K)]
    load = rng.integers(1, 6, n)
    sums = np.bincount(hidden, load, K)
    A = rng.integers(-1, 2, (2, n * K)) * (rng.random((2, n * K)) < 0.1)
    value = A @ (hidden[:, None] == np.arange(K)).ravel()
    return X, {
        "free": Constraints(),
        "empty": Constraints(size_min=0),
        "even": Constraints(size_min=each, size_max=each),
        "loose": Constraints(size_min=each - 2, size_max=each + 2),
        "uneven": Constraints(size_min=uneven.tolist(), size_max=uneven.tolist()),
        "classes": Constraints(size_min=[2, 6, 2, 6], size_max=[5, 10, 5, 10]),
        "together": Constraints(together),
        "apart": Constraints(cannot_link=apart),
        "links and sizes": Constraints(together, apart, size_min=each - 4, size_max=each + 4),
        "sums": Constraints(capacities={"kg": Capacity(load, sums.min(), sums.max())}),
        "a sum each": Constraints(capacities={"kg": Capacity(load, sums - 6, sums + 6)}),
        "rows": Constraints(linear=LinearRows(A, value - 3, value + 3)),
        "all": Constraints(
            together,
            apart,
            size_min=(uneven - 2).tolist(),
            size_max=(uneven + 2).tolist(),
            capacities={"kg": Capacity(load, max=sums.max() + 2)},
            linear=LinearRows(A, value - 4, value + 4),
        ),
    }


KINDS = tuple(kinds()[1])
every_kind = pytest.mark.parametrize("kind", KINDS)


def weights(n=N):
    return np.random.default_rng(9).choice([0.0, 0.5, 1.0, 3.0], n) + np.eye(1, n)[0]


@pytest.fixture
def hasty(monkeypatch):
    """A global search that gives up soon, where its quality does not matter."""
    monkeypatch.setattr(explore, "PATIENCE", 8)


def heard(X, k, rules, **options):
    """Fit, and all steps."""
    steps = []
    return bckm.kmeans(X, k, rules, on_step=steps.append, **options), steps


def inertia_of(X, labels, weight=None):
    """Inertia from its definition."""
    weight = np.ones(len(X)) if weight is None else weight
    total = 0.0
    for i in np.unique(labels):
        w, x = weight[labels == i], X[labels == i]
        if w.any():
            total += w @ np.square(x - np.average(x, axis=0, weights=w)).sum(axis=1)
    return float(total)


def check(found, steps, X, rules, k, weight=None, max_iter=300):
    """A result is what it says, and so is every step on the way."""
    X = np.asarray(X, float)
    noise = 1e-13 * inertia_of(X, np.zeros(len(X), int), weight) + 1e-24 * np.square(X).sum()
    assert verify(found.labels, k, rules) == []
    assert found.sizes.tolist() == np.bincount(found.labels, minlength=k).tolist()
    assert found.inertia == pytest.approx(inertia_of(X, found.labels, weight), rel=1e-9, abs=noise)
    for i in np.flatnonzero(found.sizes):
        own = found.labels == i
        w = None if weight is None or not weight[own].any() else weight[own]
        mean = np.average(X[own], axis=0, weights=w)
        np.testing.assert_allclose(found.centers[i], mean, rtol=1e-9, atol=1e-9 * np.abs(X).max())
    assert found.lower_bound <= found.inertia
    starts: dict[int, list[bckm.Step]] = {}
    for step in steps:
        starts.setdefault(step.start, []).append(step)
        assert step.kind in ("assign", "moves")
        if step.kind == "moves":
            assert step.status is Status.FEASIBLE
            assert step.assigned == step.objective
        assert step.lower_bound <= step.assigned * (1 + 1e-9) + noise
    for own in starts.values():
        assert [step.iteration for step in own] == list(range(1, len(own) + 1))
        assert len(own) <= max_iter
        assert all(b.objective <= a.objective for a, b in pairwise(own))
    assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)
    assert found.n_iter == len(found.history)
    if steps:
        assert found.inertia <= min(step.objective for step in steps) * (1 + 1e-9) + noise
        assert found.history == tuple(starts[found.history[0].start])
        assert found.history[-1].objective == pytest.approx(found.inertia, rel=1e-12, abs=noise)


def usable(solver, X, k, rules):
    problem = Problem.build(X, k, rules)
    return solver == "auto" or not problem.features & ~ENGINES[solver].handles


# -- the result -------------------------------------------------------------------------------


@pytest.mark.sampled(12)
@modes
@every_kind
def test_every_mode_solver_and_kind_of_rules(search, kind, hasty):
    X, asked = kinds(1)
    rules = asked[kind]
    for number, solver in enumerate(s for s in SOLVERS if usable(s, X, K, rules)):
        weight = weights() if number % 2 else None
        options = {"search": search, "solver": solver, "sample_weight": weight}
        found, steps = heard(X, K, rules, n_init=2, random_state=number, **options)
        check(found, steps, X, rules, K, weight)
        assert found.status is Status.CONVERGED
        assert {0, 1} <= {step.start for step in steps}
        if search in ("none", "local"):
            assert {step.start for step in steps} == {0, 1}
        if search == "none":
            assert {step.kind for step in steps} == {"assign"}


@pytest.mark.full
@modes
def test_tiny_instances_of_all_kinds(search, hasty):
    seen = 0
    for seed in range(200, 260):
        drawn = draw(seed)
        if not len(obeying(drawn)):
            continue
        seen += 1
        solver = SOLVERS[seed % len(SOLVERS)]
        solver = solver if usable(solver, drawn.X, drawn.k, drawn.constraints) else "greedy"
        options = {"sample_weight": drawn.weight, "solver": solver, "random_state": seed}
        found, steps = heard(drawn.X, drawn.k, drawn.constraints, search=search, **options)
        check(found, steps, drawn.X, drawn.constraints, drawn.k, drawn.weight)
        assert found.status is Status.CONVERGED
    assert seen > 20


@pytest.mark.sampled(2)
@searching
@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_no_start_has_more_iterations_than_allowed(search, max_iter, hasty):
    X, asked = kinds(2)
    limited = 0
    for kind in ("free", "loose", "classes", "apart", "all"):
        options = {"search": search, "max_iter": max_iter, "tol": 0, "random_state": 0}
        found, steps = heard(X, K, asked[kind], n_init=3, **options)
        check(found, steps, X, asked[kind], K, max_iter=max_iter)
        assert found.n_iter <= max_iter
        if found.n_iter < max_iter:
            assert found.status is Status.CONVERGED
        limited += found.status is Status.ITERATION_LIMIT
        if max_iter == 1:
            assert found.status is Status.ITERATION_LIMIT
    assert limited > 0
    for seed in range(12):  # many children, and none of them rises above its first labels
        drawn = draw(seed)
        if len(obeying(drawn)):
            found, steps = heard(drawn.X, drawn.k, drawn.constraints, **options)
            check(found, steps, drawn.X, drawn.constraints, drawn.k, max_iter=max_iter)


@searching
@pytest.mark.parametrize("kind", ["free", "even", "uneven", "classes", "apart", "all"])
def test_converged_means_that_one_more_step_brings_nothing(search, kind, hasty):
    X, asked = kinds(3)
    options = {"search": search, "solver": "exact", "tol": 0, "random_state": 1, "n_init": 2}
    found = bckm.kmeans(X, K, asked[kind], **options)
    assert found.status is Status.CONVERGED
    assert found.assignment_status is Status.OPTIMAL
    again = bckm.kmeans(
        X,
        K,
        asked[kind],
        solver="exact",
        search="none",
        init=found.centers,
        label_bounds="given",
        max_iter=1,
        tol=0,
    )
    assert again.inertia >= found.inertia * (1 - 1e-9)


def test_a_local_search_leaves_no_better_move():
    for seed in range(4):
        X, asked = kinds(seed, 20)
        for rules in (asked["free"], asked["loose"], asked["apart"]):
            found = bckm.kmeans(X, K, rules, search="local", n_init=2, random_state=0)
            for p in range(20):
                for i in range(K):
                    labels = found.labels.copy()
                    labels[p] = i
                    if not verify(labels, K, rules):
                        assert inertia_of(X, labels) >= found.inertia * (1 - 1e-9)


# -- quality ----------------------------------------------------------------------------------


@pytest.mark.full
def test_search_is_never_worse_and_often_better(hasty):
    better = dict.fromkeys(SEARCHING, 0)
    for seed in range(3):
        X, asked = kinds(10 + seed)
        for kind, rules in asked.items():
            solver = "greedy" if "sum" in kind else "auto"  # exact steps take long there
            options = {"solver": solver, "n_init": 2, "random_state": seed}
            none = bckm.kmeans(X, K, rules, search="none", **options).inertia
            for search in SEARCHING:
                found = bckm.kmeans(X, K, rules, search=search, **options).inertia
                assert found <= none * (1 + 1e-9), (seed, kind, search)
                better[search] += found < none * (1 - 1e-6)
    assert min(better.values()) >= 8, better


@pytest.mark.parametrize("kind", ["even", "apart", "sums", "all"])
def test_global_begins_as_the_default_does(kind, hasty):
    """Step by step: so it is never worse, once it had the time."""
    X, asked = kinds(16)
    fit = partial(heard, X, K, asked[kind], random_state=1)
    (auto, steps), (best, more) = fit(search="auto"), fit(search="global")
    assert timeless(more)[: len(steps)] == timeless(steps)
    assert best.inertia <= auto.inertia * (1 + 1e-9)


def test_with_a_slow_engine_annealing_comes_first():
    """The engine sees but the best clustering, and the result has its bound."""
    X, asked = kinds(17)
    found, steps = heard(X, K, asked["all"], random_state=0)
    first = [step.kind for step in steps].index("assign") if found.n_iter > 1 else len(steps)
    starts = {step.start for step in steps[:first]}
    assert len(starts) >= 4
    assert all(step.kind == "moves" for step in steps[:first])
    assert len({step.start for step in steps[first:]}) <= 1
    assert found.lower_bound > 0.3 * found.inertia
    _, one = heard(X, K, asked["all"], n_init=1, random_state=0)
    assert {step.start for step in one} == {0}


def test_an_engine_that_is_named_makes_the_first_steps():
    X, asked = kinds(17)
    _, steps = heard(X, K, asked["all"], solver="lagrangian", random_state=0)
    assert steps[0].kind == "assign"


def test_global_goes_on_where_auto_ends():
    lower = 0
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(60, 2))
        rules = Constraints(size_min=7, size_max=8)
        auto, best = (
            bckm.kmeans(X, 8, rules, search=search, n_init=1, random_state=0).inertia
            for search in ("auto", "global")
        )
        assert best <= auto * (1 + 1e-9)
        lower += best < auto * (1 - 1e-6)
    assert lower > 0


def test_global_finds_the_optimum_of_tiny_instances(monkeypatch):
    monkeypatch.setattr(explore, "PATIENCE", 60)  # enough here
    hit, seen, missed_by_none = 0, 0, 0
    for seed in range(1000, 1120):
        drawn = draw(seed)
        labels = obeying(drawn)
        if drawn.k == 1 or len(labels) < 2:
            continue
        best = float(inertias(drawn, labels).min())
        limit = best * (1 + 1e-9) + 1e-12 * inertia_of(drawn.X, np.zeros(len(drawn.X), int))
        fit = partial(bckm.kmeans, drawn.X, drawn.k, drawn.constraints, random_state=0)
        found = fit(search="global", sample_weight=drawn.weight, n_init=3)
        none = fit(search="none", sample_weight=drawn.weight, n_init=1)
        assert found.inertia >= best * (1 - 1e-9) - 1e-13
        seen += 1
        hit += found.inertia <= limit
        missed_by_none += none.inertia > limit
    assert seen >= 35
    assert hit >= seen - 1
    assert missed_by_none > 2, "or the instances would be too easy"


# -- seeds and threads ------------------------------------------------------------------------


def same(a, b):
    """Whether two results agree in everything but the time they took."""
    assert np.array_equal(a.labels, b.labels)
    assert np.array_equal(a.centers, b.centers)
    assert timeless(a.history) == timeless(b.history)
    assert (a.inertia, a.lower_bound, a.status) == (b.inertia, b.lower_bound, b.status)
    assert (a.prices is None) == (b.prices is None)
    assert a.prices is None or np.array_equal(a.prices, b.prices)


def timeless(steps):
    return [replace(step, seconds=0.0) for step in steps]


@pytest.mark.sampled(3)
@searching
@pytest.mark.parametrize("kind", ["loose", "classes", "all"])
def test_a_seed_decides_everything(search, kind, hasty):
    X, asked = kinds(4)

    def fit(seed, **options):
        return heard(X, K, asked[kind], search=search, n_init=2, random_state=seed, **options)

    for make in (int, np.random.default_rng, np.random.RandomState):
        (a, steps), (b, others) = fit(make(5)), fit(make(5))
        same(a, b)
        assert timeless(steps) == timeless(others)
    for jobs in (1, 2, 3):
        same(a, fit(np.random.RandomState(5), n_jobs=jobs)[0])
    different = {tuple(timeless(fit(seed)[1])) for seed in range(3)}
    assert len(different) == 3, "the seed matters"


@pytest.mark.sampled(3)
@searching
@pytest.mark.parametrize("make", [int, np.random.default_rng, np.random.RandomState])
def test_the_first_starts_are_those_without_search(search, make, hasty):
    X, asked = kinds(5)
    # with a slow engine, annealing comes first
    for kind in ("free", "uneven", "all") if search == "local" else ("free", "uneven"):
        fit = partial(heard, X, K, asked[kind], n_init=3, tol=0)
        _, plain = fit(search="none", random_state=make(8))
        _, steps = fit(search=search, random_state=make(8))
        for start in range(3):
            want = timeless(step for step in plain if step.start == start)
            own = timeless(step for step in steps if step.start == start)
            assert own[: len(want)] == want
        more = timeless(step for step in fit(search=search, random_state=make(9))[1])
        assert more != timeless(steps)


@pytest.mark.parametrize("sizes", [{}, {"size_min": 1900, "size_max": 2100}])
def test_threads_change_nothing(sizes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5)) + 2 * rng.normal(size=(10, 5))[rng.integers(10, size=20_000)]
    rules = Constraints(**sizes)
    for search in ("auto", "local"):
        options = {"search": search, "n_init": 1, "random_state": 0, "tol": 1e-3}
        one, two, three = (bckm.kmeans(X, 10, rules, n_jobs=jobs, **options) for jobs in (1, 2, 3))
        same(one, two)
        same(one, three)
        assert any(step.kind == "moves" for step in one.history)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("search", ["local", "auto"])
def test_a_far_time_limit_changes_nothing(search):
    X, asked = kinds(6)
    for kind in ("loose", "classes", "all"):
        fit = partial(bckm.kmeans, X, K, asked[kind], search=search, random_state=3)
        same(fit(n_init=2), fit(n_init=2, time_limit=1e6))


def test_a_global_search_with_time_begins_anew_and_ends_when_the_best_comes_again(hasty):
    X, asked = kinds(7)
    for kind in ("loose", "all"):
        fit = partial(heard, X, K, asked[kind], search="global", n_init=2, random_state=0)
        once, few = fit()
        thrice, many = fit(time_limit=100)
        assert timeless(few) == timeless(many)[: len(few)]
        if kind == "loose":  # annealing begins anew without a limit, too
            assert len({step.start for step in many}) > len({step.start for step in few}) + 15
        assert thrice.status is Status.CONVERGED
        assert thrice.inertia <= once.inertia
        check(thrice, many, X, asked[kind], K)


def test_where_nothing_can_be_better_a_global_search_ends(hasty):
    """A perfect clustering costs what rounding leaves of zero: there is nothing to gain from it."""
    rng = np.random.default_rng(0)
    for n, k in ((3, 5), (5, 7), (3, 3), (15, 15)):
        X = np.repeat(rng.normal(size=(n, 2)), 15 // n, axis=0)
        for solver in ("transport", "exact"):
            options = {"solver": solver, "search": "global", "n_init": 2, "time_limit": 100}
            weight = rng.uniform(0.1, 1, 15)
            found, steps = heard(X, k, None, sample_weight=weight, random_state=0, **options)
            assert found.status is Status.CONVERGED
            assert found.inertia < 1e-28
            # three populations, none of which goes on after its first children
            assert max(step.start for step in steps) < 60


# -- the best so far --------------------------------------------------------------------------

SMALL = {"empty": "nearest", "uneven": "transport", "apart": "exact", "all": "greedy"}


@pytest.mark.sampled(3)
@searching
@pytest.mark.parametrize("kind", SMALL)
def test_ctrl_c_at_any_step_gives_the_best_so_far(search, kind, monkeypatch):
    monkeypatch.setattr(explore, "PATIENCE", 3)
    X, asked = kinds(0, 16)
    options = {"search": search, "solver": SMALL[kind], "n_init": 2, "random_state": 1, "tol": 0}
    fit = partial(bckm.kmeans, X, K, asked[kind], **options)
    whole = []
    fit(on_step=whole.append)
    assert len(whole) > 1
    for at in range(1, len(whole) + 1):
        steps = []

        def stop(step, at=at, steps=steps):
            steps.append(step)
            if len(steps) == at:
                raise KeyboardInterrupt

        found = fit(on_step=stop)
        assert timeless(steps) == timeless(whole[:at]), "nothing is done after it"
        assert found.status is Status.INTERRUPTED
        assert verify(found.labels, K, asked[kind]) == []
        assert found.inertia == pytest.approx(min(step.objective for step in steps), rel=1e-9)
        assert found.inertia == pytest.approx(inertia_of(X, found.labels), rel=1e-9)
        assert found.lower_bound <= found.inertia


@pytest.mark.sampled(2)
@searching
@pytest.mark.parametrize("kind", ["uneven", "all"])
def test_ctrl_c_between_steps_gives_the_best_so_far(search, kind, monkeypatch):
    """Wherever the interrupt comes, what was heard of is not lost."""
    monkeypatch.setattr(explore, "PATIENCE", 3)
    X, asked = kinds(0, 16)
    inner, calls, at = Problem.recentered, 0, 0

    def counted(*args):
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt
        return inner(*args)

    monkeypatch.setattr(Problem, "recentered", counted)
    options = {"search": search, "solver": SMALL[kind], "n_init": 2, "random_state": 1, "tol": 0}
    fit = partial(heard, X, K, asked[kind], **options)
    fit()
    for number in range(2, calls + 1):
        calls, at = 0, number
        found, steps = fit()
        assert found.status is (Status.INTERRUPTED if steps else Status.NOT_STARTED)
        assert verify(found.labels, K, asked[kind]) == []
        if steps:
            assert found.inertia <= min(step.objective for step in steps) * (1 + 1e-9)


def test_ctrl_c_in_a_child_that_is_the_best_so_far():
    """It would be worth all steps."""
    X = np.random.default_rng(1).normal(size=(120, 2))
    X += 8 * np.random.default_rng(51).normal(size=(20, 2))[np.arange(120) % 20]
    rules = Constraints(size_min=5, size_max=7)
    options = {"search": "global", "n_init": 1, "init": "random"}
    stops = []
    for nth in range(1, 5):
        steps, better = [], 0

        def stop(step, nth=nth, steps=steps):
            nonlocal better
            best = min((one.objective for one in steps), default=np.inf)
            steps.append(step)
            better += step.start > 0 and step.objective < best * (1 - 1e-6)
            if better == nth:
                raise KeyboardInterrupt

        found = bckm.kmeans(X, 20, rules, on_step=stop, random_state=0, **options)
        if better == nth:
            stops.append(steps[-1].kind)
            assert found.status is Status.INTERRUPTED
            assert found.inertia == pytest.approx(steps[-1].objective, rel=1e-12)
            assert timeless(found.history)[-1] == timeless(steps)[-1]
    assert set(stops) == {"assign", "moves"}


@searching
def test_ctrl_c_inside_the_moves_gives_the_best_so_far(search, monkeypatch):
    X, asked = kinds(0)
    inner, calls = LocalSearch.__call__, 0

    def counted(*args, **options):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return inner(*args, **options)

    monkeypatch.setattr(LocalSearch, "__call__", counted)
    found, steps = heard(X, K, asked["all"], search=search, n_init=4, random_state=0)
    assert found.status is Status.INTERRUPTED
    check(found, steps, X, asked["all"], K)


@pytest.mark.sampled(1)
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("solver", ["transport", "greedy"])
def test_a_real_ctrl_c_during_a_global_search(solver):
    instance = {
        "transport": "rng.normal(size=(20_000, 8)), 20, bckm.Constraints(size_max=1100)",
        "greedy": "FAMILIES['planted_coloring'](rng, 600)",
    }[solver]
    code = f"""
import numpy as np, bckm
from tests.support.families import FAMILIES
rng = np.random.default_rng(0)
X, k, rules = {instance}
steps, told = [], False
def hear(step):
    global told
    steps.append(step)
    if not told and step.start > 0:
        told = True
        print("begun", flush=True)
options = {{"search": "global", "solver": "{solver}", "n_init": 2, "random_state": 0}}
result = bckm.kmeans(X, k, rules, on_step=hear, **options)
best = min(step.objective for step in steps)
print(result.status, bckm.verify(result.labels, k, rules), result.inertia <= best * (1 + 1e-9))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        # a shell that starts tests in the background makes its children ignore the signal
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.3)
    began = time.perf_counter()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted [] True\n"
    assert process.returncode == 0
    assert time.perf_counter() - began < 3


@searching
@pytest.mark.parametrize("limit", [0.05, 0.3])
def test_a_time_limit_gives_the_best_so_far(search, limit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    sizes = Constraints(size_min=140, size_max=160)
    for data, k, rules in ((X, 20, sizes), FAMILIES["planted_coloring"](rng, 300)):
        fit = partial(heard, data, k, rules, search=search, n_init=500, random_state=0)
        began = time.perf_counter()
        found, steps = fit(time_limit=limit)
        assert time.perf_counter() - began < limit + 2
        assert found.status.stopped
        check(found, steps, data, rules, k)


@searching
@pytest.mark.parametrize("kind", ["free", "even", "all"])
def test_no_time_at_all(search, kind):
    X, asked = kinds()
    found, steps = heard(X, K, asked[kind], search=search, time_limit=0, random_state=0)
    assert found.status is Status.NOT_STARTED
    assert steps == []
    assert found.prices is None
    check(found, steps, X, asked[kind], K)
    plain = bckm.kmeans(X, K, asked[kind], search="none", time_limit=0, random_state=0)
    assert found.inertia == pytest.approx(plain.inertia, rel=1e-12)


# -- which label has which center -------------------------------------------------------------

LINE = np.array([[0.0]] * 10 + [[100.0]] * 5 + [[200.0]] * 5)


@modes
@pytest.mark.parametrize("solver", ["auto", "exact", "greedy"])
def test_fixed_bounds_keep_label_i_with_row_i(search, solver):
    asked = Constraints(size_min=0, size_max=[10, 5, 5])
    options = {"search": search, "solver": solver, "random_state": 0}
    init = [[100.0], [0.0], [200.0]]
    fixed = bckm.kmeans(LINE, 3, asked, init=init, label_bounds="given", **options)
    assert fixed.labels[10:15].tolist() == [0] * 5
    assert fixed.labels[15:].tolist() == [2] * 5
    assert fixed.centers.ravel() == pytest.approx([50, 0, 200])
    matched = bckm.kmeans(LINE, 3, asked, init=init, **options)
    assert matched.inertia == pytest.approx(0)
    X = np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]], 12, axis=0)
    X += np.random.default_rng(0).normal(size=X.shape)
    for order in ([0, 1, 2], [2, 0, 1], [1, 0, 2]):
        centers = X[::12][order]
        found = bckm.kmeans(X, 3, init=centers, label_bounds="given", **options)
        assert cdist(found.centers, centers).argmin(axis=1).tolist() == [0, 1, 2]


@pytest.mark.sampled(2)
@searching
@pytest.mark.parametrize("solver", ["auto", "exact", "greedy"])
def test_fixed_bounds_see_the_engine_and_are_never_worse(search, solver):
    for seed in range(3):
        X, asked = kinds(40 + seed)
        for kind in ("free", "even", "classes", "apart", "links and sizes", "all"):
            fit = partial(bckm.kmeans, X, K, asked[kind], init=X[:K], label_bounds="given", tol=0)
            plain = fit(search="none", solver=solver)
            found, steps = heard(
                X,
                K,
                asked[kind],
                init=X[:K],
                label_bounds="given",
                tol=0,
                search=search,
                solver=solver,
            )
            check(found, steps, X, asked[kind], K)
            assert found.inertia <= plain.inertia * (1 + 1e-9)
            if solver == "exact":
                assert found.assignment_status is Status.OPTIMAL


@pytest.mark.sampled(2)
@pytest.mark.parametrize("search", ["none", "local", "auto"])
@pytest.mark.parametrize("bounds", ["matched", "given"])
def test_given_centers_leave_nothing_to_chance(search, bounds):
    X, asked = kinds(8)
    for kind in ("free", "even", "classes", "all"):
        fit = partial(
            bckm.kmeans, X, K, asked[kind], init=X[:K], search=search, label_bounds=bounds
        )
        first = fit(random_state=0)
        assert {step.start for step in first.history} == {0}
        for seed in (1, 2):
            same(first, fit(random_state=seed))


@pytest.mark.full
def test_a_global_search_from_given_centers_is_never_worse(hasty):
    lower = 0
    for seed in range(3):
        X, asked = kinds(20 + seed)
        for rules in asked.values():
            fit = partial(bckm.kmeans, X, K, rules, init=X[:K], random_state=0)
            one, best = fit(search="local"), fit(search="global")
            assert best.inertia <= one.inertia * (1 + 1e-9)
            lower += best.inertia < one.inertia * (1 - 1e-6)
    assert lower > 5


@pytest.mark.sampled(4)
@searching
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [6, [3, 5, 7, 9], [4, 8, 4, 8]], ids=str)
def test_prices_belong_to_the_labels(search, weighted, sizes, hasty):
    """Their dual value proves the last assignment, so they went along when labels were numbered."""
    weight = np.random.default_rng(1).uniform(5, 90, N) if weighted else np.ones(N)
    bound = 0
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(N, 2))
        rules = Constraints(size_min=sizes, size_max=sizes)
        options = {"search": search, "random_state": seed, "tol": 0, "solver": "transport"}
        found = bckm.kmeans(X, K, rules, sample_weight=weight, **options)
        assert found.prices is not None
        cost = weight[:, None] * cdist(X, found.centers, "sqeuclidean")
        exact = np.broadcast_to(sizes, K)
        value = dual_value(cost, np.ones(N), exact, exact, found.prices)
        assert found.lower_bound == pytest.approx(value, rel=1e-9)
        assert found.inertia == pytest.approx(value, rel=1e-9)
        own = (cost - found.prices)[np.arange(N), found.labels]
        assert (own <= (cost - found.prices).min(axis=1) + 1e-9 * cost.max()).all()
        bound += (cost.argmin(axis=1) != found.labels).any()
    assert bound, "sizes matter here"


@pytest.mark.sampled(1)
@searching
def test_predict_returns_the_labels_of_the_fit(search, hasty):
    for seed in range(3):
        X, asked = kinds(30 + seed)
        for kind in ("loose", "classes"):
            low, up = asked[kind].size_min, asked[kind].size_max
            model = bckm.ConstrainedKMeans(
                K, size_min=low, size_max=up, search=search, tol=0, random_state=seed
            ).fit(X)
            assert model.search == search
            wrong = model.predict(X) != model.labels_
            assert wrong.sum() < K, "but for samples on a border"
            adjusted = cdist(X, model.cluster_centers_, "sqeuclidean") - model.result_.prices
            gap = adjusted[wrong, model.labels_[wrong]] - adjusted[wrong].min(axis=1)
            assert (gap <= 1e-9 * adjusted.max()).all()


@every_kind
def test_numbering_keeps_every_rule(kind):
    """Any numbering of one clustering that obeys comes to the same labels, which obey."""
    X, asked = kinds(11)
    problem = Problem.build(X, K, asked[kind])
    s = problem.structure
    found = bckm.kmeans(X, K, asked[kind], search="none", n_init=1, random_state=0)
    labels = np.empty(s.n_items, np.int64)
    labels[s.item] = found.labels
    rng = np.random.default_rng(0)
    numbered = set()
    for _ in range(20):
        order = np.arange(K)  # old label of each new one, within the classes
        for one in np.unique(s.cluster_class):
            members = np.flatnonzero(s.cluster_class == one)
            order[members] = rng.permutation(members)
        run = Run(np.argsort(order)[labels], problem.means(labels, np.zeros((K, 2)))[order], 0.0)
        assert s.feasible(run.labels)
        run = renumbered(problem, replace(run, prices=run.centers[:, 0].copy()))
        assert s.feasible(run.labels)
        np.testing.assert_allclose(run.centers, problem.means(run.labels, run.centers), rtol=1e-12)
        assert run.prices.tolist() == run.centers[:, 0].tolist()
        numbered.add(tuple(run.labels))
    assert len(numbered) == 1


def test_numbers_follow_the_first_items_that_weigh():
    X = [[1.0], [2.0], [3.0], [4.0], [5.0]]
    weight = [0.0, 1.0, 1.0, 1.0, 1.0]
    problem = Problem.build(X, 4, Constraints(size_min=0), weight)
    place = problem.structure.item  # of each sample
    labels = np.empty(5, np.int64)
    labels[place] = [3, 2, 2, 1, 1]  # a weightless sample alone in 3, nothing in 0
    run = renumbered(problem, Run(labels, np.arange(4.0)[:, None], 0.0))
    mine = run.labels[place]
    first = int(mine[1] != 0)  # the order of items is that of the values, up or down
    assert mine[1:].tolist() == [first, first, 1 - first, 1 - first]
    assert mine[0] == 3, "as good as absent, and after the empty one by its number"
    assert run.centers.ravel().tolist() == [*([1.0, 2.0] if first else [2.0, 1.0]), 0.0, 3.0]


# -- edges ------------------------------------------------------------------------------------

EDGES = {
    "one sample": ([[3.0, 4.0]], 1, {}, None),
    "one cluster": (np.arange(12.0).reshape(6, 2), 1, {}, None),
    "a cluster each": (np.arange(12.0).reshape(6, 2) ** 2, 6, {}, None),
    "all alike": (np.full((8, 2), 0.1), 3, {}, None),
    "all alike, sizes": (np.full((8, 2), 0.1), 3, {"size_min": 2, "size_max": 3}, None),
    "all alike, links": (np.full((8, 2), 0.1), 3, {"cannot_link": [(0, 1, 2), (3, 4)]}, None),
    "duplicates": (np.repeat([[0.1], [0.7], [5.3]], 5, axis=0), 3, {}, None),
    "fewer points than clusters": (np.repeat([[0.1], [0.7]], 5, axis=0), 4, {}, None),
    "few points, sizes": (np.repeat([[0.1], [0.7]], 6, axis=0), 4, {"size_max": 3}, None),
    "may be empty": (np.repeat([[0.1], [0.7]], 5, axis=0), 4, {"size_min": 0}, None),
    "must be empty": (np.arange(8.0)[:, None], 3, {"size_min": 0, "size_max": [8, 0, 8]}, None),
    "must be empty, links": (
        np.arange(8.0)[:, None],
        3,
        {"size_min": 0, "size_max": [8, 0, 8], "cannot_link": [(0, 1)]},
        None,
    ),
    "one weighs": (np.arange(8.0)[:, None], 3, {}, np.eye(1, 8)[0]),
    "few weigh": (np.arange(8.0)[:, None], 3, {"size_max": 4}, np.arange(8) % 4 == 0),
    "few weigh, links": (
        np.arange(8.0)[:, None],
        3,
        {"cannot_link": [(0, 1), (2, 3)], "must_link": [(0, 5)]},
        np.arange(8) % 4 == 0,
    ),
    "one item": (np.arange(8.0)[:, None], 2, {"must_link": [range(8)], "size_min": 0}, None),
    "nothing to choose": (
        np.arange(6.0)[:, None],
        2,
        {"cannot_link": [(0, 1)], "must_link": [(0, 2, 4), (1, 3, 5)]},
        None,
    ),
    "no features that differ": (np.c_[np.arange(8.0), np.ones(8)], 2, {}, None),
}


@pytest.mark.sampled(10)
@searching
@pytest.mark.parametrize("edge", EDGES)
def test_edges(search, edge, hasty):
    X, k, asked, weight = EDGES[edge]
    rules = Constraints(**asked)
    weight, best = None if weight is None else weight.astype(float), None
    if search == "global" and len(X) <= 8 and k <= 3:
        drawn = Drawn(np.asarray(X), k, rules, weight)
        best = float(inertias(drawn, obeying(drawn)).min())
    for solver in SOLVERS:
        if not usable(solver, X, k, rules):
            continue
        for init in ("k-means++", "random"):
            options = {"init": init, "sample_weight": weight, "random_state": 0, "n_init": 2}
            found, steps = heard(X, k, rules, search=search, solver=solver, **options)
            check(found, steps, X, rules, k, weight)
            assert found.status is Status.CONVERGED
            assert best is None or found.inertia == pytest.approx(best, abs=1e-12)


# -- the population ---------------------------------------------------------------------------


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


class Lazy(Engine):
    """Keeps the labels it is given, and counts no work."""

    name = "lazy"
    handles = ENGINES["greedy"].handles

    def prepare(self, problem):
        return LazyAssigner(problem)


class LazyAssigner(bckm.assign.Assigner):
    def assign(self, centers, start, deadline):
        cost = self.problem.cost(centers)
        total = float(cost[np.arange(start.size), start].sum())
        return bckm.assign.Assignment(start, total, 0.0)


@searching
def test_an_engine_that_does_nothing(search, hasty):
    """Search alone must then do the work."""
    X, asked = kinds(12)
    problem = Problem.build(X, K, asked["even"])
    start = np.arange(N) % K
    starts = Starts(
        (lambda: Seeds(problem.points[:K]),),
        lambda _: Seeds(problem.points[:K]),
        np.random.default_rng(0),
    )
    asked_for = Search(problem, Lazy(), Limits(9, 0.0, Deadline()), search, starts)
    found = explore.explore(asked_for, State.first(problem, start))
    assert problem.structure.feasible(found.best.labels)
    first = problem.within(start, problem.means(start, problem.points[:K]))
    assert found.best.cost < 0.9 * first


# -- states -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["transport", "greedy"])
def test_a_step_depends_on_the_state_alone(solver, hasty):
    """The same state leads to the same next one, whatever was done in between."""
    X, asked = kinds(15)
    problem = Problem.build(X, K, asked["even"])
    limits = Limits(300, 1e-4, Deadline.after(1e6))
    space = read_metric("euclidean")
    starts = starts_of(problem, space, "k-means++", 2, "global", 0, limits.deadline)
    search = Search(problem, ENGINES[solver](), limits, "global", starts)
    states, phases = [State.first(problem, np.arange(N) % K)], []
    while (phase := explore.phase(search, states[-1])) is not Phase.DONE:
        states.append(explore.step(search, states[-1]))
        phases.append(phase)
    third = Phase.CHILD if solver == "transport" else Phase.CLOSE
    assert phases[:3] == [Phase.START, Phase.START, third]
    assert phases.count(Phase.CLOSE) == states[-1].n_populations >= explore.AGREE
    assert explore.phase(search, states[-1]) is Phase.DONE
    for before, after in list(pairwise(states))[::-1]:
        again, same = explore.step(search, before), after
        for name in ("n_runs", "n_drawn", "n_starts", "n_stale", "n_agree", "search_work"):
            assert getattr(again, name) == getattr(same, name)
        assert again.best.labels.tolist() == same.best.labels.tolist()
        assert [run.cost for run in again.population.runs] == [
            run.cost for run in same.population.runs
        ]


# -- the doors --------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["Local", "", None, True, 3, ["auto"]])
def test_a_wrong_search_names_the_choices(wrong):
    X = [[0.0], [1.0], [8.0]]
    words = r"search must be one of 'auto', 'none', 'local', 'global'; got "
    with pytest.raises(ValueError, match=words):
        bckm.kmeans(X, 2, search=wrong)
    with pytest.raises(ValueError, match=words):
        bckm.ConstrainedKMeans(2, search=wrong).fit(X)


@pytest.mark.sampled(2)
@modes
def test_the_estimator_hands_search_on(search, hasty):
    X, asked = kinds(13)
    options = {"search": search, "n_init": 2, "random_state": 3}
    model = bckm.ConstrainedKMeans(K, **options).fit(X, constraints=asked["all"])
    found = bckm.kmeans(X, K, asked["all"], **options)
    assert model.labels_.tolist() == found.labels.tolist()
    assert model.inertia_ == found.inertia
    assert model.n_iter_ == found.n_iter
    assert len({model.inertia_} | {bckm.kmeans(X, K, random_state=0).inertia}) == 2


@pytest.mark.parametrize(
    ("n", "options", "starts"),
    [
        (50, {}, 20),
        (2000, {}, 2),  # 20,000 costs in all
        (2000, {"init": "random"}, 10),
        (2000, {"n_init": 3}, 3),
        (6000, {}, 1),
        (6000, {"search": "global"}, 1),  # it begins as the default does
        (6000, {"constraints": Constraints(cannot_link=[range(5)] * 40)}, 1),
        (6000, {"constraints": Constraints([range(100, 300)], [(0, 100)])}, 5),  # many have links
    ],
)
def test_number_of_starts(n, options, starts, monkeypatch):
    seen = []

    def stop(search, state, *_):
        seen.append(len(search.starts.seeds))
        assert search.n_starts(state) == options.get("n_init", max(10, starts))
        raise ZeroDivisionError

    monkeypatch.setattr("bckm.fit.kmeans.explore", stop)
    with pytest.raises(ZeroDivisionError):
        bckm.kmeans(np.random.default_rng(0).normal(size=(n, 2)), 5, random_state=0, **options)
    assert seen == [starts]


PURE = """
import bckm
from bckm.kernels import missing
from tests.fit.search.test_search import K, kinds, timeless
assert missing
X, asked = kinds(14, 16)
for kind, solver in ("empty", "auto"), ("uneven", "auto"), ("all", "greedy"):
    options = {"solver": solver, "n_init": 3, "random_state": 0}
    none, auto = (
        bckm.kmeans(X, K, asked[kind], search=search, **options) for search in ("none", "auto")
    )
    assert timeless(none.history) == timeless(auto.history)
print("as promised")
"""


def test_without_the_kernels():
    environment = os.environ | {"BCKM_PURE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PURE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "as promised\n", done.stderr
