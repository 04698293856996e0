"""Sums over clusters against NumPy."""

import numpy as np
import pytest

from bckm import kernels
from bckm.kernels import native

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


def drawn(seed, n, d, k):
    rng = np.random.default_rng(seed)
    X, centers = rng.normal(size=(n, d)), rng.normal(size=(k, d))
    return X, centers, rng.integers(k, size=n).astype(np.int32), rng.random(n)


SHAPES = [(1, 1, 1), (10, 3, 4), (8191, 2, 5), (8193, 4, 5), (70_000, 5, 30), (100, 33, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_and_masses(shape, weighted):
    X, centers, label, weight = drawn(0, *shape)
    points = native.Points(X, cost_weight=weight if weighted else None)
    totals = native.totals(points, label, centers, None, 1)
    weight = weight if weighted else np.ones(shape[0])
    squares = np.square(X - centers[label]).sum(axis=1)
    assert totals.cost == pytest.approx(weight @ squares, rel=1e-12)
    for i in range(shape[2]):
        here = label == i
        np.testing.assert_allclose(totals.sums[i], weight[here] @ X[here], rtol=1e-11, atol=1e-10)
        assert totals.mass[i] == pytest.approx(weight[here].sum(), rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_cost_radius_and_reach(shape, weighted):
    X, centers, label, weight = drawn(1, *shape)
    supply = np.random.default_rng(2).integers(1, 4, shape[0])
    points = native.Points(X, None, weight if weighted else None, supply)
    radius = np.zeros(shape[0], np.float32)
    totals = native.totals(points, label, centers, radius, 1)
    distance = np.linalg.norm(X - centers[label], axis=1)
    each = (weight if weighted else 1.0) * supply
    assert totals.cost == pytest.approx(np.sum(each * distance**2), rel=1e-12)
    assert (radius >= distance).all()
    assert (radius <= distance * (1 + 1e-6) + 1e-30).all()
    for i in range(shape[2]):
        assert totals.reach[i] == radius[label == i].max(initial=0.0)
    assert native.totals(points, label, centers, None, 1).cost == totals.cost


@pytest.mark.parametrize("scale", [1e-200, 1e-40, 1e-19, 1e19, 1e100])
def test_a_radius_is_a_bound_at_any_scale(scale):
    X, centers, label, _ = drawn(3, 200, 3, 4)
    radius = np.zeros(200, np.float32)
    native.totals(native.Points(X * scale), label, centers * scale, radius, 1)
    assert (radius >= np.linalg.norm(X - centers[label], axis=1) * scale).all()


def test_views():
    X, centers, _, weight = drawn(4, 500, 3, 6)
    rng = np.random.default_rng(5)
    rows = rng.integers(500, size=300)
    for step in (1, 3, 64):
        seen = rows[::step]
        label = rng.integers(6, size=seen.size).astype(np.int32)
        points = native.Points(X, rows, weight, None, step)
        totals = native.totals(points, label, centers, None, 1)
        squares = np.square(X[seen] - centers[label]).sum(axis=1)
        assert totals.cost == pytest.approx(weight[seen] @ squares, rel=1e-12)
        expected = weight[seen] @ X[seen]
        assert totals.sums.sum(axis=0) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_threads_change_nothing():
    X, centers, label, weight = drawn(6, 90_000, 4, 7)
    points, found = native.Points(X, cost_weight=weight), []
    for threads in (1, 2, 3, 8):
        radius = np.zeros(len(X), np.float32)
        totals = native.totals(points, label, centers, radius, threads)
        arrays = (totals.sums, totals.mass, totals.reach, radius)
        found.append((totals.cost, *(a.tobytes() for a in arrays)))
    assert found[0] == found[1] == found[2] == found[3]


def test_arrays_outlive_the_result_they_belong_to():
    X, centers, label, _ = drawn(8, 5000, 2, 3000)
    sums = native.totals(native.Points(X), label, centers, None, 1).sums
    others = [native.totals(native.Points(2 * X), label, centers, None, 1).sums for _ in range(3)]
    assert not np.shares_memory(sums, others[0])
    np.testing.assert_allclose(2 * sums, others[-1], rtol=1e-12)


@pytest.mark.parametrize("bad", ["short", "large", "negative"])
def test_bad_labels(bad):
    X, centers, label, _ = drawn(7, 50, 2, 3)
    points = native.Points(X)
    wrong = label[:-1].copy() if bad == "short" else label.copy()
    if bad != "short":
        wrong[7] = 3 if bad == "large" else -1
    with pytest.raises(ValueError, match="label"):
        native.totals(points, wrong, centers, None, 1)
    with pytest.raises(ValueError, match="features"):
        native.totals(points, label, np.zeros((3, 5)), None, 1)
    with pytest.raises(ValueError, match="radius"):
        native.totals(points, label, centers, np.zeros(49, np.float32), 1)
