"""Lists of contenders decide as all features would; the softened dual is what it says."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from bckm import kernels
from bckm.kernels import native
from tests.kernels.test_sweep import Known, assert_best, values

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


def sweep(points, centers, prices, known, contenders, *, keep=False, threads=1):
    none = np.zeros(len(centers))
    arrays = known.arrays()
    return native.sweep(
        points, centers, prices, *arrays, None, none, none, keep, threads, np.inf, contenders
    )


def instance(seed, n=600, d=20, k=40, *, weighted=False, noise=(0.1, 1.0)):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    X = centers[rng.integers(k, size=n)] + rng.normal(size=(n, d)) * rng.choice(noise)
    X[:50] = X[50:100]  # copies
    X[100:150] = (centers[0] + centers[-1]) / 2  # ties
    weight = rng.uniform(0.1, 3, n) if weighted else None
    return rng, X, centers, weight


@pytest.mark.sampled(6)
@pytest.mark.parametrize("k", [1, 2, 3, 9, 17, 40, 130])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("step", [0.0, 0.01, 0.3, 10.0])
@pytest.mark.parametrize("rows", [False, True])
def test_looks_from_lists_are_exact(k, weighted, step, rows):
    rng, X, centers, weight = instance(k, k=k, weighted=weighted)
    n, points = len(X), native.Points(X, cost_weight=weight)
    contenders = native.Contenders(n, k * rows)
    known, prices, evaluated = Known(n), np.zeros(k), []
    for look in range(6):
        prices = prices + step * rng.normal(size=k)
        prices[rng.integers(k)] += 3 * step  # one rises far
        known.slack[:] = -1
        before = known.label.copy()
        swept = sweep(points, centers, prices, known, contenders, keep=look == 4)
        evaluated.append(swept.evaluated)
        value = values(X, centers, prices, 1.0 if weight is None else weight)
        cost = value + prices
        if look == 4:
            assert (known.label == before).all()
            here = value[np.arange(n), known.label]
            assert swept.regret == pytest.approx((here - value.min(axis=1)).sum(), abs=1e-9)
            rest = value.copy()
            rest[np.arange(n), known.label] = np.inf
            assert (known.slack <= np.minimum(rest.min(axis=1) - here, 3e38) + 1e-12).all()
            continue
        assert_best(value, known)
        grown = cost[np.arange(n), known.label] - cost[np.arange(n), before]
        assert swept.change == pytest.approx(grown.sum(), abs=1e-9)
    assert evaluated[0] == n
    if rows:
        assert not any(evaluated[1:]), "values are kept"
    elif step <= 0.01:
        assert max(evaluated[1:]) < n // 4, "lists decide most points"


@pytest.mark.parametrize("rows", [False, True])
def test_lists_are_void_at_other_centers(rows):
    rng, X, centers, _ = instance(1)
    points, contenders = native.Points(X), native.Contenders(len(X), rows * len(centers))
    known = Known(len(X))
    none = np.zeros(len(centers))
    sweep(points, centers, none, known, contenders)
    other = centers + rng.normal(size=centers.shape)
    known.slack[:] = -1
    assert sweep(points, other, none, known, contenders).evaluated == len(X)
    assert_best(values(X, other, none), known)
    with pytest.raises(ValueError, match="one list of contenders"):
        sweep(points, centers, none, known, native.Contenders(3))
    with pytest.raises(ValueError, match="one value per cluster"):
        sweep(points, centers, none, known, native.Contenders(len(X), 3))


@pytest.mark.parametrize("clusters", [0, 60])
def test_what_float32_cannot_tell_is_not_decided_by_it(clusters):
    """Points between two centers, by less than the rounding of sums over many features."""
    rng = np.random.default_rng(0)
    n, d, k = 200, 3000, 60
    centers = rng.normal(size=(k, d)) / np.sqrt(d)
    side = np.where(np.arange(n) % 2, 0.5 + 3e-8, 0.5 - 3e-8)[:, None]
    X = side * centers[0] + (1 - side) * centers[1] + 0.5 * rng.normal(size=(n, d)) / np.sqrt(d)
    apart = centers[0] - centers[1]
    X -= ((X - (centers[0] + centers[1]) / 2) @ apart)[:, None] * apart / (apart @ apart)
    X += (side - 0.5) * apart
    points, contenders, known = native.Points(X), native.Contenders(n, clusters), Known(n)
    for price in (-2.0, 0.0, 0.1):  # of more clusters than lists tell, not listed at first
        known.slack[:] = -1
        prices = price * (np.arange(k) < 12)
        sweep(points, centers, prices, known, contenders)
        assert_best(values(X, centers, prices), known)
        assert price < 0 or np.array_equal(known.label, np.arange(n) % 2 == 0)


def test_a_row_that_is_no_number_is_not_kept():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[7] = 1e39  # more than a float can be
    centers = X[:40].copy()
    centers[7] = 0
    points, contenders, known = native.Points(X), native.Contenders(200, 40), Known(200)
    for price in (0.0, 0.5):
        known.slack[:] = -1
        prices = price * np.arange(40.0)
        swept = sweep(points, centers, prices, known, contenders)
        assert_best(values(X, centers, prices), known)
    assert swept.evaluated == 1


@pytest.mark.parametrize("rows", [False, True])
def test_threads_do_not_matter(rows):
    _, X, centers, _ = instance(2, n=20_000)
    answers = []
    for threads in (1, 3):
        draw = np.random.default_rng(0)
        points, known = native.Points(X), Known(len(X))
        contenders = native.Contenders(len(X), rows * len(centers))
        for _ in range(3):
            known.slack[:] = -1
            prices = 0.3 * draw.normal(size=len(centers))
            sweep(points, centers, prices, known, contenders, threads=threads)
        soft = native.soft_dual(
            points, contenders, prices, known.label, known.slack, prices + 0.1, 0.2, threads
        )
        answers.append((*known.arrays(), soft.shared, soft.edge, soft.soft))
    for one, three in zip(*answers, strict=True):
        assert np.array_equal(one, three)


@pytest.mark.parametrize("temperature", [0.02, 1.0])
def test_the_softened_dual(temperature):
    """With few clusters lists are complete, and the model is the dual itself."""
    rng, X, centers, _ = instance(3, d=4, k=12, noise=[1.0])
    k, points, contenders, known = 12, native.Points(X), native.Contenders(len(X)), Known(len(X))
    first = rng.normal(size=k)
    sweep(points, centers, first, known, contenders)
    prices = first + 0.3 * rng.normal(size=k)
    soft = native.soft_dual(
        points, contenders, first, known.label, known.slack, prices, temperature, 1
    )
    cost = cdist(X, centers, "sqeuclidean")
    value, own = cost - prices, cost[np.arange(len(X)), known.label]
    share = np.exp(-(value - value.min(axis=1, keepdims=True)) / temperature)
    share /= share.sum(axis=1, keepdims=True)
    assert soft.units.tolist() == np.bincount(value.argmin(axis=1), minlength=k).tolist()
    assert soft.hard == pytest.approx((value.min(axis=1) - own).sum(), rel=1e-5)
    minimum = -temperature * logsumexp(-value / temperature, axis=1)
    assert soft.soft == pytest.approx((minimum - own).sum(), rel=1e-5)
    assert soft.shared == pytest.approx(share.sum(axis=0), abs=0.1)
    edge = share.T @ share / temperature
    np.fill_diagonal(edge, 0)
    assert soft.edge == pytest.approx(edge, abs=0.01 * edge.max())
    gradient = rng.normal(size=k)
    active = np.arange(k) != 4
    step = native.damped_step(soft.edge, gradient, active, 0.1)
    degree = soft.edge.sum(axis=1)
    matrix = np.diag(degree + 0.1 * (degree + degree.mean())) - soft.edge
    wanted = np.linalg.solve(matrix[np.ix_(active, active)], gradient[active])
    assert step[active] == pytest.approx(wanted, abs=1e-3 * np.abs(wanted).max())
    assert step[4] == 0
    assert native.damped_step(np.zeros((k, k)), gradient, active, 0.1) is None


@pytest.mark.parametrize("seed", range(4))
def test_paths_that_begin_with_lists_end_as_well(seed):
    rng, X, centers, _ = instance(seed, n=2000, d=8, k=40, noise=[1.0])
    n, k, points = len(X), len(centers), native.Points(X)
    cost, prices = cdist(X, centers, "sqeuclidean"), rng.normal(size=k)
    lower, upper = np.full(k, n // k - 3), np.full(k, n // k + 3)
    found = []
    for listed in (None, 0, k):  # without lists, with them, with all values
        contenders, known = None if listed is None else native.Contenders(n, listed), Known(n)
        for shift in (1.0, 0.0):  # lists are older than the prices
            known.slack[:] = -1
            sweep(points, centers, prices + shift * rng.normal(size=k), known, contenders)
        arrays = (known.label, known.slack, lower, upper)
        settled = native.settle(
            points, centers, prices, *arrays, 60, np.inf, 1, seed % 2 == 0, contenders
        )
        sizes = np.bincount(known.label, minlength=k)
        assert (lower <= sizes).all()
        assert (sizes <= upper).all()
        value = cost - settled.prices
        dual = value.min(axis=1).sum()
        dual += np.maximum(settled.prices, 0) @ lower - np.maximum(-settled.prices, 0) @ upper
        total = cost[np.arange(n), known.label].sum()
        assert total == pytest.approx(dual, rel=1e-11), "optimal: cost and dual value agree"
        found.append(total)
    assert found == pytest.approx(3 * found[:1], rel=1e-11)
