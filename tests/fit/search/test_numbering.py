"""Which label has which center, and the prices that belong to labels."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import bckm
from bckm import Constraints, Status
from bckm.fit.lloyd import Run
from bckm.fit.search.shared import renumbered
from bckm.problem.problem import Problem
from tests.support.lp_engine import dual_value
from tests.support.searching import (
    K,
    N,
    check,
    every_kind,
    heard,
    kinds,
    modes,
    needs_kernels,
    same,
    searching,
)

pytestmark = needs_kernels


LINE = np.array([[0.0]] * 10 + [[100.0]] * 5 + [[200.0]] * 5)


@pytest.mark.sampled(6)
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


@pytest.mark.sampled(1)
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


@pytest.mark.sampled(2)
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
