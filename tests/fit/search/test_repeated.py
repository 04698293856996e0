"""The same search again: seeds, threads and states decide everything."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import bckm
from bckm import Constraints, Status
from bckm._core.deadline import Deadline
from bckm.assign import ENGINES
from bckm.fit.lloyd import Limits
from bckm.fit.search import explore
from bckm.fit.search.explore import Phase
from bckm.fit.search.shared import Search
from bckm.fit.search.state import State
from bckm.fit.seeding import starts_of
from bckm.metric.named import read_metric
from bckm.problem.problem import Problem
from tests.support.searching import (
    K,
    N,
    check,
    heard,
    kinds,
    needs_kernels,
    same,
    searching,
    timeless,
)

pytestmark = needs_kernels


# -- seeds and threads ------------------------------------------------------------------------


@pytest.mark.sampled(1)
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


@pytest.mark.sampled(1)
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


@pytest.mark.sampled(1)
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
        assert search == "auto" or any(step.kind == "moves" for step in one.history)


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
            # what the default does, and three populations, none of which goes on after its first
            # children
            assert max(step.start for step in steps) < 100


# -- states -----------------------------------------------------------------------------------


@pytest.mark.sampled(1)
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
