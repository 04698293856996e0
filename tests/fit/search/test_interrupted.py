"""Ctrl-C and time limits: the best so far is never lost."""

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import bckm
from bckm import Constraints, Status, verify
from bckm.fit.search.local import LocalSearch
from bckm.problem.problem import Problem
from tests.support.ctrl_c import interrupted, needs_signals
from tests.support.families import FAMILIES
from tests.support.searching import (
    K,
    check,
    give_up_soon,
    heard,
    inertia_of,
    kinds,
    needs_kernels,
    searching,
    timeless,
)

pytestmark = needs_kernels


SMALL = {"empty": "nearest", "uneven": "transport", "apart": "exact", "all": "greedy"}


@pytest.mark.sampled(2)
@searching
@pytest.mark.parametrize("kind", SMALL)
def test_ctrl_c_at_any_step_gives_the_best_so_far(search, kind, monkeypatch):
    give_up_soon(monkeypatch, patience=3)
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


def test_ctrl_c_keeps_displacements_that_gained_too_little(monkeypatch):
    """The search does not go on from them, but they are the best so far."""
    give_up_soon(monkeypatch, patience=3)
    monkeypatch.setattr("bckm.fit.search.attempt.GAIN", 0.9)
    X = np.random.default_rng(1).normal(size=(3000, 2)) + 9 * (np.arange(3000) % 7 == 0)[:, None]
    rules = Constraints(size_min=100, size_max=800)
    options = {"search": "global", "init": "random", "n_init": 1, "random_state": 1}
    fit = partial(bckm.kmeans, X, 8, rules, **options)
    whole = []
    fit(on_step=whole.append)
    best = [
        int(np.argmin([step.objective for step in whole[: at + 1]])) for at in range(len(whole))
    ]
    later = [at for at in range(len(whole)) if 0 < whole[best[at]].start < whole[at].start]
    assert later
    for at in later[:: -(-len(later) // 8)]:
        steps = []

        def stop(step, at=at, steps=steps):
            steps.append(step)
            if len(steps) == at + 1:
                raise KeyboardInterrupt

        found = fit(on_step=stop)
        assert found.status is Status.INTERRUPTED
        assert found.inertia == pytest.approx(min(step.objective for step in steps), rel=1e-9)


@pytest.mark.sampled(2)
@searching
@pytest.mark.parametrize("kind", ["uneven", "all"])
def test_ctrl_c_between_steps_gives_the_best_so_far(search, kind, monkeypatch):
    """Wherever the interrupt comes, what was heard of is not lost."""
    give_up_soon(monkeypatch, patience=3)
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


@searching
def test_ctrl_c_in_moves_keeps_those_made(search, monkeypatch):
    """They are the last step of the fit."""
    X, asked = kinds(0, 60)
    inner = LocalSearch.__call__

    def cut(*args, **options):
        return replace(inner(*args, **options), interrupted=True)

    monkeypatch.setattr(LocalSearch, "__call__", cut)
    found, steps = heard(X, K, asked["all"], search=search, solver="greedy", random_state=0)
    assert found.status is Status.INTERRUPTED
    assert [step.kind for step in steps].index("moves") == len(steps) - 1
    assert found.inertia == pytest.approx(steps[-1].objective)
    check(found, steps, X, asked["all"], K)


@pytest.mark.sampled(1)
@needs_signals
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
    assert interrupted(code, wait=0.3, most=3) == "interrupted [] True\n"


@pytest.mark.sampled(3)
@searching
@pytest.mark.parametrize("limit", [0.05, 0.3])
def test_a_time_limit_gives_the_best_so_far(search, limit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    sizes = Constraints(size_min=140, size_max=160)
    for data, k, rules in ((X, 20, sizes), FAMILIES["planted_coloring"](rng, 300)):
        fit = partial(heard, data, k, rules, search=search, n_init=500, random_state=0)
        began = time.process_time()
        found, steps = fit(time_limit=limit)
        assert time.process_time() - began < limit + 2
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
