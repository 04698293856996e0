"""Kernels of the coordinator against NumPy."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bckm.blocks import price_range
from bckm.blocks.pairs import Pairs
from bckm.kernels import missing, native

if missing:
    pytest.skip(missing, allow_module_level=True)


def drawn(n=300, k=20, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return rng, X, X[:k].copy(), 0.3 * rng.normal(size=k)


def looked(lists, prices, n, threads=1):
    label, runner = np.zeros(n, np.int32), np.zeros(n, np.int32)
    margin = np.zeros(n, np.float32)
    cost, units = lists.look(prices, label, runner, margin, threads)
    return cost, units, label, runner, margin


@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_lists_know_the_best_two_clusters(k):
    rng, X, centers, prices = drawn(k=k)
    supply = rng.integers(1, 5, len(X))
    lists = native.RowLists(native.Points(X, None, None, supply), centers, prices, 1)
    cost, units, label, runner, margin = looked(lists, prices, len(X))
    costs = cdist(X, centers, "sqeuclidean")
    order = np.argsort(costs - prices, axis=1)
    each = np.arange(len(X))
    assert np.array_equal(label, order[:, 0])
    assert np.array_equal(units, np.bincount(label, supply, k))
    assert cost == pytest.approx(supply @ costs[each, label], rel=1e-12)
    if k > 1:
        assert np.array_equal(runner, order[:, 1])
        np.testing.assert_allclose(margin, costs[each, runner] - costs[each, label], rtol=1e-5)


def test_lists_see_inside_of_groups_that_are_far_from_each_other():
    # in float32 all clusters of a narrow group cost its rows the same
    rng, spread = np.random.default_rng(0), np.repeat([1e-4, 1e-2, 1.0], [400, 300, 1300])
    group = np.repeat(range(3), [400, 300, 1300])
    X = (1000 * rng.normal(size=(3, 4)))[group] + spread[:, None] * rng.normal(size=(2000, 4))
    centers, prices = X[::40].copy(), np.zeros(50)
    lists = native.RowLists(native.Points(X), centers, prices, 1)
    costs = np.square(X[:, None] - centers).sum(axis=2)
    order = np.argsort(costs, axis=1)
    _, _, label, runner, _ = looked(lists, prices, 2000)
    assert np.array_equal(label, order[:, 0])
    assert np.array_equal(runner, order[:, 1])
    # rows of a wide group, which come after narrow ones, know more than two clusters as well
    prices = 0.3 * np.square(spread[::40]) * rng.normal(size=50)
    best = np.argmin(costs - prices, axis=1)
    among = (order[:, :4] == best[:, None]).any(axis=1)
    assert (among & (best != order[:, 0]) & (best != order[:, 1])).sum() > 20
    assert np.array_equal(looked(lists, prices, 2000)[2][among], best[among])


def test_climbing_brings_samples_where_bounds_want_them():
    _, X, centers, prices = drawn(n=6000, k=12)
    n, k = len(X), 12
    heat, found = np.full(n, 0.02, np.float32), []
    for threads in (1, 3):
        lists = native.RowLists(native.Points(X), centers, prices, threads)
        units = looked(lists, prices, n)[1].astype(float)
        bound = 0.6 * units + 0.4 * n / k
        found.append(lists.climb(heat, bound, bound, units, prices, 1.0, 30, threads))
    after, left = found[0]
    assert np.abs(left).sum() / 2 <= 1.0
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
    there = looked(lists, after, n)[1]
    assert np.abs(there - bound).sum() < 0.2 * np.abs(units - bound).sum()


def test_cheapest_moves():
    rng, X, centers, _ = drawn()
    which, cluster = rng.integers(0, len(X), 100), rng.integers(0, 19, 100)  # none in the last
    move = np.empty((20, 20))
    native.cheapest_moves(native.Points(X), centers, which, cluster, move, 2)
    costs = cdist(X, centers, "sqeuclidean")
    known = np.full((20, 20), np.inf)
    for j, a in zip(which, cluster, strict=True):
        known[a] = np.minimum(known[a], costs[j] - costs[j, a])
    np.testing.assert_allclose(move, known, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows(dtype):
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 2, (500, 4)).astype(dtype)
    rows[rows == 0] *= -1  # minus zero is zero
    group, different = native.equal_rows(rows, 2)
    known = {}
    expected = [known.setdefault(tuple(row + 0.0), len(known)) for row in rows]
    assert group.tolist() == expected
    assert different == len(known)


@pytest.mark.parametrize("free", [False, True])
def test_prices_in_the_middle_of_what_arcs_permit(free, monkeypatch):
    rng = np.random.default_rng(3)
    k = 9
    prices = np.append(rng.normal(size=k), 0.0)
    lengths = prices - prices[:, None] + rng.random((k + 1, k + 1))
    np.fill_diagonal(lengths, np.inf)
    start = prices + 0.05 * rng.normal(size=k + 1)
    found = price_range.middle(lengths, start, 2, free=free)
    monkeypatch.setattr(price_range, "missing", "yes")
    np.testing.assert_allclose(found, price_range.middle(lengths, start, free=free), rtol=1e-9)
    lengths[0, 1] = lengths[1, 0] = -1.0  # a cycle that no prices obey
    assert price_range.middle(lengths, start, free=free) is None


def test_pairs_as_without_kernels(monkeypatch):
    rng, X, centers, prices = drawn()
    k = len(centers)
    label = (cdist(X, centers, "sqeuclidean") - prices).argmin(axis=1)
    farthest = np.zeros(k)
    np.maximum.at(farthest, label, np.square(X - centers[label]).sum(axis=1))
    told = rng.random((k, k)).astype(np.float32), rng.random(k)
    rest, moves, beside = rng.integers(0, 2, k), rng.normal(size=(k, 4)), rng.random(k) / 9
    went, ways = 0.1 * rng.normal(size=k), rng.normal(size=(2, k))

    def all_of_them():
        pairs = Pairs(centers, 2)
        reach = pairs.reach(prices, farthest, told, rest, 1e-9)
        yield reach
        yield pairs.beyond(went, reach)
        yield pairs.limits(prices, farthest, moves, 0.1, beside, 1e-3)
        yield pairs.ways(prices, farthest, ways)

    compiled = list(all_of_them())
    monkeypatch.setattr("bckm.blocks.pairs.missing", "yes")
    for one, other in zip(compiled, all_of_them(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
