"""Mending against brute force: it obeys every kind of rule, and costs what it says."""

from itertools import product

import numpy as np
import pytest

import bckm
from bckm._core.deadline import Deadline
from bckm.assign._dual_lp import Prices, Resources
from bckm.assign._mend import Mender
from bckm.problem.problem import Problem
from tests.support.local_search import Start, compiled, objective, planted, soft_planted

pytestmark = compiled


def broken(start, rng, share):
    """Labels that obey, some of them changed at random."""
    k, labels = start.problem.structure.n_clusters, start.labels.copy()
    some = rng.random(labels.size) < share
    labels[some] = rng.integers(k, size=int(some.sum()))
    return labels


def mended(start, labels, rng=None, deadline=None, items=None):
    """Mend at prices of zero, or at wild ones."""
    problem = start.problem
    resources = Resources.of(problem)
    prices = resources.none()
    if rng is not None:
        wild = rng.normal(size=prices.resources.shape) / resources.mean_amount / 10
        prices = resources.clipped(Prices(wild, rng.normal(size=prices.rows.shape) / 10))
    unit = problem.cost(start.centers).min(axis=1).mean() or 1.0
    mender = Mender(problem, resources)
    found = mender(labels, start.centers, prices, float(unit), deadline or Deadline(), items)
    assert mender.work > 0 or deadline is not None
    return found


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(80))
def test_what_is_mended_obeys_and_costs_what_is_said(seed):
    rng = np.random.default_rng(seed)
    start = (soft_planted if seed % 2 else planted)(seed)
    labels = broken(start, rng, 0.15)
    found = mended(start, labels, rng if seed % 3 else None)
    if found is None:
        return
    assert start.problem.structure.feasible(found.labels)
    assert found.cost == pytest.approx(objective(start.problem, found.labels, start.centers))


def test_most_can_be_mended():
    number = 0
    for seed in range(40):
        start = planted(seed)
        number += mended(start, broken(start, np.random.default_rng(seed), 0.1)) is not None
    assert number >= 36


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(40))
def test_labels_that_obey_get_no_dearer(seed):
    start = (soft_planted if seed % 2 else planted)(seed)
    found = mended(start, start.labels, np.random.default_rng(seed))
    assert found is not None
    before = objective(start.problem, start.labels, start.centers)
    assert found.cost <= before * (1 + 1e-9) + 1e-9


def test_few_items_are_mended_at_least_cost_nearly_always():
    """At the centers given, among all labels that obey."""
    tried, best_of = 0, 0
    for seed in range(40):
        start = planted(seed, n=8)
        s = start.problem.structure
        k = s.n_clusters
        if k**s.n_items > 7000:
            continue
        found = mended(start, broken(start, np.random.default_rng(seed), 0.3))
        every = (np.array(y) for y in product(range(k), repeat=s.n_items))
        best = min(objective(start.problem, y, start.centers) for y in every if s.feasible(y))
        tried += 1
        if found is not None:
            assert found.cost >= best * (1 - 1e-9) - 1e-9
            best_of += found.cost <= best * (1 + 1e-6) + 1e-9
    assert tried >= 10
    assert best_of >= 0.6 * tried


def test_threads_change_nothing_and_only_given_items_move():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    kg = rng.integers(1, 9, 300).astype(float)
    load = bckm.Capacity(kg, max=1.05 * kg.sum() / 6)
    answers = []
    for jobs in (1, 2):
        problem = Problem.build(X, 6, bckm.Constraints(capacities={"load": load}), n_jobs=jobs)
        centers = problem.points[:6]
        labels = problem.cost(centers).argmin(axis=1)
        start = Start(problem, bckm.Constraints(), labels, centers)
        answers.append(mended(start, labels))
    assert not problem.structure.feasible(labels)
    assert answers[0] is not None
    np.testing.assert_array_equal(answers[0].labels, answers[1].labels)
    items = rng.choice(300, 280, replace=False)
    few = mended(start, labels, items=items)
    assert few is not None
    assert np.isin(np.flatnonzero(few.labels != labels), items).all()


def test_tight_sums_beside_conflicts_are_mended():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, k = 200, 8
        kg = rng.integers(1, 20, n).astype(float)
        hidden, pairs = rng.integers(k, size=n), rng.integers(n, size=(60, 2))
        asked = bckm.Constraints(
            capacities={"load": bckm.Capacity(kg, max=1.01 * kg.sum() / k)},
            cannot_link=pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]].tolist(),
        )
        problem = Problem.build(rng.normal(size=(n, 2)), k, asked)
        centers = problem.points[rng.choice(n, k, replace=False)]
        labels = problem.cost(centers).argmin(axis=1)
        found = mended(Start(problem, asked, labels, centers), labels)
        assert found is not None, seed
        assert problem.structure.feasible(found.labels), seed


def test_no_time_no_labels():
    start = planted(1)
    labels = broken(start, np.random.default_rng(0), 0.5)
    assert mended(start, labels, deadline=Deadline.after(0)) is None
