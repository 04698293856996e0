"""COP, BKM and CKM: what their originals promise, against brute force and plain programs."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from bckm.methods import BKM, CKM, COP, CKMFailure, COPFailure
from bckm.methods.bkm import assign_to_slots

pytestmark = pytest.mark.sampled(2)


def total(cost, labels):
    return cost[np.arange(labels.size), labels].sum()


# ---------------------------------------------------------------------------------------- BKM


@pytest.mark.parametrize(("n", "k"), [(20, 4), (23, 4), (7, 5), (31, 2)])
def test_bkm_sizes_differ_by_at_most_one(n, k):
    X = np.random.default_rng(n).normal(size=(n, 3)) ** 3
    sizes = BKM(k, n_init=1, random_state=0).fit(X).cluster_sizes_
    assert sizes.tolist() == [n // k + (i < n % k) for i in range(k)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "k"), [(6, 3), (7, 3), (8, 2)])
def test_bkm_step_is_optimal_against_brute_force(n, k, seed):
    cost = np.random.default_rng(seed).random((n, k))
    sizes = [n // k + (i < n % k) for i in range(k)]
    every = (np.array(labels) for labels in product(range(k), repeat=n))
    best = min(
        total(cost, labels)
        for labels in every
        if np.bincount(labels, minlength=k).tolist() == sizes
    )
    found = assign_to_slots(cost)
    assert np.bincount(found, minlength=k).tolist() == sizes
    assert total(cost, found) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(3))
def test_bkm_step_is_optimal_against_a_linear_program(seed):
    n, k = 50, 4
    cost = np.random.default_rng(seed).random((n, k)) ** 4
    once = np.kron(np.eye(n), np.ones(k))
    sizes = np.kron(np.ones(n), np.eye(k))
    right = np.concatenate([np.ones(n), [13, 13, 12, 12]])
    best = linprog(cost.ravel(), A_eq=np.vstack([once, sizes]), b_eq=right, bounds=(0, 1)).fun
    assert total(cost, assign_to_slots(cost)) == pytest.approx(best)


def test_bkm_inertia_never_rises():
    X = np.random.default_rng(0).exponential(size=(60, 2))
    inertia = [
        BKM(5, max_iter=t, n_init=1, random_state=0).fit(X).inertia_ for t in (1, 2, 3, 5, 100)
    ]
    assert all(a >= b * (1 - 1e-12) for a, b in pairwise(inertia))
    assert inertia[-1] < inertia[0]


def test_one_more_step_from_the_result_changes_nothing():
    X = np.random.default_rng(1).exponential(size=(60, 2))
    model = BKM(5, random_state=0).fit(X)
    again = BKM(5, init=model.cluster_centers_).fit(X)
    np.testing.assert_array_equal(model.labels_, again.labels_)


# ---------------------------------------------------------------------------------------- CKM


@pytest.mark.parametrize("seed", range(4))
def test_ckm_without_links_is_integral_and_keeps_its_bounds(seed):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(70, 3)) ** 2
    model = CKM(5, size_min=[3, 20, 8, 12, 0], size_max=30, n_init=1, random_state=seed).fit(X)
    assert model.n_fractional_ == 0
    assert model.violations_ == []
    assert (model.cluster_sizes_ >= [3, 20, 8, 12, 0]).all()
    assert model.cluster_sizes_.max() <= 30


@pytest.mark.parametrize("seed", range(4))
def test_ckm_with_balanced_bounds_is_bkm(seed):
    X = np.random.default_rng(seed).exponential(size=(60, 3))
    start = {"init": X[:4], "max_iter": 1}
    flow, slots = CKM(4, size_min=15, **start).fit(X), BKM(4, **start).fit(X)
    np.testing.assert_array_equal(flow.labels_, slots.labels_)


@pytest.mark.parametrize("seed", range(6))
def test_ckm_step_solves_the_program_of_single_samples(seed):
    """Contracted must-links give the program that equal shares of samples give."""
    rng = np.random.default_rng(seed)
    n, k = 18, 3
    X = rng.normal(size=(n, 2))
    centers = X[:k] + 0.1
    together, apart = [(0, 5), (5, 7), (9, 10)], [(1, 2), (0, 3), (9, 0)]
    cost = cdist(X, centers, "sqeuclidean")
    share = np.eye(n * k).reshape(n, k, n * k)  # share[p, i] picks S_ip
    equal = np.vstack([share.sum(axis=1), *(share[p] - share[q] for p, q in together)])
    right = np.concatenate([np.ones(n), np.zeros(k * len(together))])
    below = np.vstack([-share.sum(axis=0), *(share[p] + share[q] for p, q in apart)])
    limit = np.concatenate([np.full(k, -5.0), np.ones(k * len(apart))])
    best = linprog(cost.ravel(), below, limit, equal, right, bounds=(0, 1))
    model = CKM(k, size_min=5, init=centers, max_iter=1)
    model.fit(X, must_link=together, cannot_link=apart)
    if model.n_fractional_ == 0:
        assert model.violations_ == []
        assert total(cost, model.labels_) == pytest.approx(best.fun)
    else:
        assert (np.abs(best.x - np.round(best.x)) > 1e-6).any()


def triangle():
    """Three samples between two clusters, a third far away; no two of the three together."""
    X = np.array([[0.0]] * 5 + [[1.0]] * 5 + [[100.0]] * 5 + [[0.5]] * 3)
    return X, [(15, 16), (15, 17), (16, 17)], [[0.0], [1.0], [100.0]]


def test_ckm_splits_a_triangle_and_breaks_a_link():
    X, links, centers = triangle()
    model = CKM(3, init=centers, max_iter=1).fit(X, cannot_link=links)
    assert model.n_fractional_ == 3
    assert len(model.violations_) >= 1
    assert all("cannot-linked" in str(violation) for violation in model.violations_)


def test_ckm_turns_sets_into_pairs():
    X, links, centers = triangle()
    pairs = CKM(3, init=centers, max_iter=1).fit(X, cannot_link=links)
    whole = CKM(3, init=centers, max_iter=1).fit(X, cannot_link=[{15, 16, 17}])
    assert whole.n_fractional_ == pairs.n_fractional_
    np.testing.assert_array_equal(pairs.labels_, whole.labels_)


def test_ckm_reports_a_contradiction_as_violation():
    X = np.arange(8.0)[:, None]
    model = CKM(2, random_state=0).fit(X, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    assert model.n_fractional_ >= 1
    assert len(model.violations_) >= 1


@pytest.mark.parametrize(
    ("parameters", "links", "word"),
    [
        ({"size_min": 4}, {}, "12 samples"),
        ({"size_max": 3}, {}, "allows 9 samples"),
        ({"n_clusters": 1}, {"cannot_link": [(0, 1)]}, "no solution"),
    ],
)
def test_ckm_fails_where_no_labels_exist(parameters, links, word):
    with pytest.raises(CKMFailure, match=word):
        CKM(n_init=1, **{"n_clusters": 3} | parameters).fit(np.arange(10.0)[:, None], **links)


def test_ckm_splits_an_item_that_is_too_large():
    model = CKM(3, size_max=4, random_state=0)
    model.fit(np.arange(10.0)[:, None], must_link=[range(10)])
    assert model.n_fractional_ == 1
    assert model.cluster_sizes_.max() == 10
    assert any("size_max" in str(violation) for violation in model.violations_)


# ---------------------------------------------------------------------------------------- COP


def literal_cop(X, centers, together, apart, max_iter):
    """The original, word by word: samples in order, links closed by hand."""
    n, k = len(X), len(centers)
    same = np.eye(n, dtype=bool)
    for p, q in together:
        same |= np.outer(same[p] | same[q], same[p] | same[q])
    differ = np.zeros((n, n), bool)
    for p, q in apart:
        differ |= np.outer(same[p], same[q]) | np.outer(same[q], same[p])
    labels = None
    for _ in range(max_iter):
        before, labels = labels, np.full(n, -1)
        for p in range(n):
            for i in np.argsort(((X[p] - centers) ** 2).sum(axis=1)):
                placed = labels >= 0
                broken = (placed & same[p] & (labels != i)) | (placed & differ[p] & (labels == i))
                if not broken.any():
                    labels[p] = i
                    break
            else:
                return p
        if before is not None and (before == labels).all():
            break
        centers = np.array(
            [X[labels == i].mean(axis=0) if (labels == i).any() else centers[i] for i in range(k)]
        )
    return labels


@pytest.mark.parametrize("seed", range(30))
def test_cop_is_the_original(seed):
    rng = np.random.default_rng(seed)
    n, k = 24, 3
    X = rng.normal(size=(n, 2))
    truth = rng.integers(k, size=n)
    pairs = rng.integers(n, size=(14, 2))
    together = [(p, q) for p, q in pairs.tolist() if p != q and truth[p] == truth[q]]
    apart = [(p, q) for p, q in pairs.tolist() if truth[p] != truth[q]]
    expected = literal_cop(X, X[:k], together, apart, 10)
    model = COP(k, init=X[:k], max_iter=10)
    if isinstance(expected, int):
        with pytest.raises(COPFailure, match=f"sample {expected}:") as caught:
            model.fit(X, must_link=together, cannot_link=apart)
        assert caught.value.sample == expected
    else:
        model.fit(X, must_link=together, cannot_link=apart)
        np.testing.assert_array_equal(model.labels_, expected)
        assert model.violations_ == []


def ends():
    """Two heavy clusters at 0 and 10, and two samples near 0 that must be apart."""
    return np.array([[0.0]] * 10 + [[10.0]] * 10 + [[1.0], [1.5]])


def test_cop_depends_on_the_order():
    X = ends()
    model = COP(2, init=[[0.0], [10.0]])
    forwards = model.fit(X, cannot_link=[(20, 21)]).labels_
    backwards = model.fit(X[::-1], cannot_link=[(0, 1)]).labels_[::-1]
    assert forwards[20:].tolist() == [0, 1]
    assert backwards[20:].tolist() == [1, 0]


def test_cop_fails_or_not_by_order():
    X = np.array([[0.0], [10.0], [1.0]])
    model, links = COP(2, init=[[0.0], [10.0]]), [(0, 2), (1, 2)]
    with pytest.raises(COPFailure, match="sample 2"):
        model.fit(X, cannot_link=links)
    labels = model.fit(X[[2, 0, 1]], cannot_link=[(0, 1), (0, 2)]).labels_
    assert labels.tolist() == [0, 1, 1]


def test_cop_random_order_draws_orders():
    X = ends()
    found = {
        tuple(
            COP(2, order="random", init=[[0.0], [10.0]], random_state=seed)
            .fit(X, cannot_link=[(20, 21)])
            .labels_[20:]
        )
        for seed in range(20)
    }
    assert found == {(0, 1), (1, 0)}


def test_cop_fails_at_a_contradiction():
    links = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]}
    with pytest.raises(COPFailure, match="sample 2") as caught:
        COP(2, n_init=1).fit([[0.0], [1.0], [2.0], [3.0]], **links)
    assert caught.value.sample == 2


def test_cop_has_no_recursion():
    n = 2500
    X = np.random.default_rng(0).normal(size=(n, 2))
    chain = [(p, p + 2) for p in range(n - 2)]  # two items of 1,250 samples
    model = COP(2, n_init=1, random_state=0).fit(X, must_link=chain, cannot_link=[(0, 1)])
    assert model.cluster_sizes_.tolist() == [n // 2, n // 2]
    assert model.violations_ == []
