"""Which label has which bound, and whether a cluster may be empty."""

from functools import partial

import numpy as np
import pytest

import bckm
from bckm import Constraints, verify

SOLVERS = ("auto", "exact", "pump", "greedy")

kmeans = partial(bckm.kmeans, search="none")  # the loop alone; see tests/fit/search for the rest

solvers = pytest.mark.parametrize("solver", SOLVERS)

LINE = np.array([[0.0]] * 10 + [[100.0]] * 5 + [[200.0]] * 5)


@solvers
def test_fixed_bounds_keep_label_i_with_center_i(solver):
    # the large group lies at center 1, but only label 0 may be large
    asked = Constraints(size_min=0, size_max=[10, 5, 5])
    init = [[100.0], [0.0], [200.0]]
    fixed = kmeans(LINE, 3, asked, solver=solver, init=init, label_bounds="given")
    assert fixed.labels[10:15].tolist() == [0] * 5
    assert fixed.labels[15:].tolist() == [2] * 5
    assert sorted(fixed.labels[:10].tolist()) == [0] * 5 + [1] * 5
    assert fixed.centers.ravel() == pytest.approx([50, 0, 200])
    matched = kmeans(LINE, 3, asked, solver=solver, init=init)
    assert matched.inertia == pytest.approx(0)
    assert matched.labels[:10].tolist() == [0] * 10


@solvers
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_without_bounds_label_i_stays_with_center_i_too(solver, order):
    centers = np.array([[1.0], [101.0], [201.0]])
    for bounds in ("given", "matched"):
        found = kmeans(LINE, 3, solver=solver, init=centers[list(order)], label_bounds=bounds)
        assert found.centers.ravel() == pytest.approx(np.array([0.0, 100, 200])[list(order)])


@pytest.mark.full
def test_every_label_obeys_its_own_bound():
    X = np.random.default_rng(0).normal(size=(40, 2))
    for sizes in ([1, 2, 3, 34], [34, 3, 2, 1], [10, 20, 5, 5]):
        for solver in SOLVERS:
            asked = Constraints(size_min=sizes, size_max=sizes)
            found = kmeans(X, 4, asked, solver=solver, random_state=0)
            assert found.sizes.tolist() == sizes


# -- empty clusters ---------------------------------------------------------------------------

FAR = [[0.0], [1.0], [1000.0]]  # nothing lies near the last center


@pytest.mark.parametrize("solver", ["nearest", *SOLVERS])
def test_size_min_zero_allows_empty_clusters(solver):
    X = [[0.0], [0.1], [1.0], [1.1]]
    found = kmeans(X, 3, Constraints(size_min=0), solver=solver, init=FAR)
    assert found.sizes.tolist() == [2, 2, 0]
    assert found.centers[2] == pytest.approx(1000.0), "an empty cluster keeps its center"
    assert found.inertia == pytest.approx(0.01)


@pytest.mark.parametrize("solver", ["nearest", *SOLVERS])
def test_no_cluster_is_empty_otherwise(solver):
    X = [[0.0], [0.1], [1.0], [1.1]]
    for asked in (None, Constraints(), Constraints(size_min=1), Constraints([(0, 1)])):
        found = kmeans(X, 3, asked, solver=solver, init=FAR)
        assert found.sizes.min() >= 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("solver", ["nearest", *SOLVERS])
@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("distinct", [1, 2, 5])
def test_no_cluster_is_empty_among_duplicates(solver, init, distinct):
    X = np.repeat(np.arange(distinct, dtype=float), 20 // distinct)[:, None]
    for seed in range(3):
        found = kmeans(X, 5, solver=solver, init=init, random_state=seed)
        assert found.sizes.min() >= 1
        assert verify(found.labels, 5, Constraints()) == []
        if distinct < 5:
            assert found.inertia == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("solver", ["nearest", *SOLVERS])
def test_the_smallest_problems(solver):
    one = kmeans([[3.0, 4.0]], 1, solver=solver)
    assert (one.labels.tolist(), one.centers.tolist(), one.inertia) == ([0], [[3.0, 4.0]], 0.0)
    each = kmeans([[1.0], [2.0], [3.0]], 3, solver=solver, random_state=0)
    assert sorted(each.labels.tolist()) == [0, 1, 2]
    assert each.inertia == 0.0


@pytest.mark.parametrize("solver", ["nearest", *SOLVERS])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_fewer_items_than_clusters(solver, init):
    X = [[0.0], [1.0], [8.0], [9.0]]
    asked = Constraints([(0, 1), (2, 3)], size_min=0)
    found = kmeans(X, 4, asked, solver=solver, init=init, random_state=0)
    assert sorted(found.sizes.tolist()) == [0, 0, 2, 2]
    assert found.inertia == pytest.approx(1.0)
