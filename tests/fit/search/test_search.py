"""What search promises, whatever the mode, the engine and the rules."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import bckm
from bckm import Constraints, Status, verify
from bckm._core.deadline import Deadline
from bckm.assign import ENGINES
from bckm.assign.base import Engine
from bckm.fit.greedy_seeds import Seeds
from bckm.fit.lloyd import Limits
from bckm.fit.search import explore, shared
from bckm.fit.search.anneal import Annealing
from bckm.fit.search.shared import Search
from bckm.fit.search.state import State
from bckm.fit.seeding import Starts
from bckm.problem.problem import Problem
from tests.support.instances import Drawn, draw, inertias, obeying
from tests.support.searching import (
    SEARCHING,
    SOLVERS,
    K,
    N,
    check,
    every_kind,
    give_up_soon,
    heard,
    inertia_of,
    kinds,
    modes,
    needs_kernels,
    searching,
    timeless,
    usable,
    weights,
)
from tests.support.waiting import SECONDS

pytestmark = needs_kernels


# -- the result -------------------------------------------------------------------------------


@pytest.mark.sampled(8)
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


@pytest.mark.sampled(1)
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


@pytest.mark.sampled(6)
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


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", ["even", "apart", "sums", "all"])
@pytest.mark.parametrize("given", ["nothing", "n_init", "init", "solver"])
def test_global_begins_as_the_default_does(kind, given, hasty, monkeypatch):
    """Step by step: so it is never worse, once it had the time."""
    monkeypatch.setattr(explore, "COOLED", 2)
    X, asked = kinds(16)
    options = {"n_init": 2, "init": X[::6], "solver": "greedy"}
    options = {name: value for name, value in options.items() if name == given}
    fit = partial(heard, X, K, asked[kind], random_state=1, **options)
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


@needs_kernels
def test_what_the_engine_takes_alone_limits_annealing(monkeypatch):
    """One start of the engine comes first: so `auto` takes a few times as long as `none`."""
    inner, efforts = Annealing.__call__, []

    def annealed(self, labels, centers, deadline, effort, seed):
        efforts.append(effort)
        return inner(self, labels, centers, deadline, effort, seed)

    monkeypatch.setattr(Annealing, "__call__", annealed)
    rng = np.random.default_rng(3)
    X, load = rng.normal(size=(300, 2)), rng.integers(1, 9, 300)
    rules = bckm.Constraints(capacities={"load": bckm.Capacity(load, max=1.1 * load.sum() / 4)})
    fit = partial(heard, X, 4, rules, n_init=1, random_state=0)
    (_, alone), (found, steps) = fit(search="none"), fit()
    gauged = [step for step in steps if step.start == 0]
    assert timeless(gauged) == timeless(alone)
    assert {step.kind for step in steps if step.start == 1} == {"moves"}
    assert found.inertia < alone[-1].objective
    assert 0 < sum(efforts) < 0.7 * (shared.BASE + shared.EACH * 300)


def test_an_engine_that_is_named_makes_the_first_steps():
    X, asked = kinds(17)
    steps = []

    def first(step):
        steps.append(step)
        raise KeyboardInterrupt

    bckm.kmeans(X, K, asked["all"], solver="lagrangian", random_state=0, on_step=first)
    assert [step.kind for step in steps] == ["assign"]


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
    give_up_soon(monkeypatch, patience=20)  # enough here
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


@pytest.mark.sampled(7)
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

    monkeypatch.setattr("bckm.fit.in_memory.explore", stop)
    with pytest.raises(ZeroDivisionError):
        bckm.kmeans(np.random.default_rng(0).normal(size=(n, 2)), 5, random_state=0, **options)
    assert seen == [starts]


PURE = """
import bckm
from bckm.kernels import missing
from tests.support.searching import K, kinds, timeless
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
        [sys.executable, "-c", PURE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.stdout == "as promised\n", done.stderr
