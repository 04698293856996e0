"""What a move does, kept up to date move by move, against sums made anew."""

from types import SimpleNamespace

import numpy as np
import pytest

import bckm
from bckm.kernels import native
from bckm.problem.compiled import as_arrays
from bckm.problem.problem import Problem
from tests.support.local_search import compiled, objective, planted, soft_planted

pytestmark = compiled


def judge(problem, labels, centers, items, to, fixed=False):
    """Whether a move may be made, its change, and what follows."""
    return SimpleNamespace(
        **native._judge(
            *as_arrays(problem.structure, problem.soft, problem.points, problem.mass),
            labels.astype(np.int32),
            centers,
            fixed,
            items,
            to,
        )
    )


def move(rng, m, k):
    """Some items, each with a cluster; it may be the one where it is."""
    items = rng.choice(m, min(m, int(rng.integers(1, 7))), replace=False)
    return items, rng.integers(k, size=items.size)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_change_is_that_of_the_objective(offset):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, k, d = int(rng.integers(2, 25)), int(rng.integers(1, 8)), int(rng.integers(1, 7))
        weight = rng.choice([0, 0, 1, 2.5], n) + rng.random(n) * (seed % 2)
        weight[0] = 1.0
        X = rng.normal(size=(n, d)) + offset
        links = [] if seed % 3 else [(0, n - 1)]
        rules = bckm.Constraints(must_link=links, size_min=0)
        problem = Problem.build(X, min(k, n), rules, weight, few=True)
        m, k = problem.structure.n_items, problem.structure.n_clusters
        labels = rng.integers(k, size=m)  # some clusters are empty, some have one item
        centers = rng.normal(size=(k, d))
        for fixed in (False, True):
            at = centers if fixed else None
            before = objective(problem, labels, at)
            for _ in range(4):
                items, to = move(rng, m, k)
                found = judge(problem, labels, centers, items, to, fixed)
                after = labels.copy()
                after[items] = to
                change = objective(problem, after, at) - before
                scale = max(before, before + change, 1e-3)
                assert found.change == pytest.approx(change, abs=1e-9 * scale), seed
                assert found.admits  # nothing is asked
                held = [problem.mass[after == i].sum() for i in range(k)]
                assert found.weight == pytest.approx(held, abs=1e-12)
                np.testing.assert_array_equal(found.size, problem.structure.sizes(after))
                means = problem.means(after, centers)
                felt = np.array(held) > 0
                expected = centers if fixed else means
                np.testing.assert_allclose(found.centers[felt], expected[felt], atol=1e-9)


@pytest.mark.parametrize("light", [1e-9, 1e-15, 1e-17, 1e-25, 1e-200])
def test_what_is_left_of_a_mass_may_be_round_off(light):
    """A cluster that loses its only item of note: 1 + 1e-17 - 1 is nothing, and still not empty."""
    X = np.array([[0.0, 0.0], [0.3, 0.1], [1.0, 0.7], [1.1, 0.9]])
    problem = Problem.build(X, 2, bckm.Constraints(size_min=0), [1.0, light, 1.0, 1.0])
    label = np.array([0, 0, 1, 1])
    labels = np.empty(4, np.int64)
    labels[problem.structure.item] = label
    goes = problem.structure.item[:1]
    after = labels.copy()
    after[goes] = 1
    found = judge(problem, labels, problem.points[:2].copy(), goes, np.array([1]))
    change = objective(problem, after) - objective(problem, labels)
    assert found.change == pytest.approx(change, rel=1e-9)
    np.testing.assert_allclose(found.centers, problem.means(after, found.centers), atol=1e-9)


def test_admits_what_is_feasible():
    """On moves of one to six items from labels that obey rules of all kinds."""
    yes = no = 0
    for seed in range(60):
        start = planted(seed, n=24)
        s, rng = start.problem.structure, np.random.default_rng(seed)
        for number in range(40):
            items, to = move(rng, s.n_items, s.n_clusters)
            if number % 2:  # exchange clusters among few: sizes often stay
                items = items[:3]
                to = np.roll(start.labels[items], 1)
            after = start.labels.copy()
            after[items] = to
            found = judge(start.problem, start.labels, start.centers, items, to)
            assert found.admits == s.feasible(after), (seed, items, to)
            yes, no = yes + found.admits, no + (not found.admits)
    assert yes > 300
    assert no > 300


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fixed", [False, True])
def test_soft_rules(fixed):
    """Ties inside a move and out of it, leanings and soft sums; then all of it again, backwards."""
    yes = no = 0
    for seed in range(60):
        start = soft_planted(seed, n=24)
        problem, s, rng = start.problem, start.problem.structure, np.random.default_rng(seed)
        at = start.centers if fixed else None
        before = objective(problem, start.labels, at)
        for number in range(12):
            items, to = move(rng, s.n_items, s.n_clusters)
            if number % 2:  # exchange clusters among few: sizes often stay
                items = items[:3]
                to = np.roll(start.labels[items], 1)
            after = start.labels.copy()
            after[items] = to
            found = judge(problem, start.labels, start.centers, items, to, fixed)
            change = objective(problem, after, at) - before
            scale = max(before, before + change)
            assert found.change == pytest.approx(change, abs=1e-9 * scale), (seed, number)
            assert found.change_back == pytest.approx(-change, abs=1e-9 * scale), (seed, number)
            assert found.cost == pytest.approx(before + change, abs=1e-9 * scale)
            assert found.admits == s.feasible(after), (seed, number)
            assert found.admits_back or not found.admits
            yes, no = yes + found.admits, no + (not found.admits)
    assert min(yes, no) > 100
