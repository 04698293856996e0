"""What breaking a soft rule saved, against moves made one by one."""

import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import bckm
from bckm import Capacity, Constraints, Quota, Stay

N, K = 14, 3


def inertia(X, weight, y):
    total = 0.0
    for i in range(K):
        here = y == i
        mass = weight[here].sum()
        if mass > 0:
            mean = weight[here] @ X[here] / mass
            total += float(weight[here] @ np.square(X[here] - mean).sum(axis=1))
    return total


def moved(y, items, item, i):
    """Labels with all samples of an item in cluster i."""
    other = y.copy()
    other[item == items] = i
    return other


def case(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2)) + 3 * rng.integers(0, 3, (N, 1))
    weight = rng.integers(1, 4, N).astype(float)
    item = np.arange(N)
    item[1] = 0  # samples 0 and 1 must share their cluster
    return rng, X, weight, item


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(25))
def test_links_and_places_are_single_moves(seed):
    rng, X, weight, item = case(seed)
    pairs = [tuple(rng.choice(np.arange(1, N), 2, replace=False).tolist()) for _ in range(8)]
    asked = (
        Constraints([(0, 1)], size_min=0)
        & Constraints(pairs[:4], pairs[4:]).soft(price=1e-3)
        & Constraints(fixed={3: 0, 0: 1}, forbidden=[(4, 1), (5, 2)]).soft(price=1e-3)
    )
    result = bckm.kmeans(X, K, asked, sample_weight=weight, random_state=seed)
    y = result.labels
    now = inertia(X, weight, y)
    for one in result.violated:
        rule, kind = one.rule.rule, type(one.rule.rule).__name__
        if kind == "MustLink":
            p, q = rule.samples
            tries = [moved(y, item[p], item, y[q]), moved(y, item[q], item, y[p])]
        elif kind == "Fixed":
            tries = [moved(y, item[rule.sample], item, rule.cluster)]
        else:
            ends = rule.samples if kind == "CannotLink" else [rule.sample]
            tries = [moved(y, item[p], item, i) for p in ends for i in range(K) if i != y[p]]
        best = min(inertia(X, weight, other) - now for other in tries)
        assert one.saved == pytest.approx(max(best, 0), rel=1e-7, abs=1e-9), one
        assert f"saved: {one.saved:.6g}" in str(one)


@pytest.mark.full
def test_links_and_places_are_violated_at_all():
    kinds = set()
    for seed in range(8):
        rng, X, _, _ = case(seed)
        pairs = [tuple(rng.choice(N, 2, replace=False).tolist()) for _ in range(8)]
        fixed = dict.fromkeys(range(6), 0)  # some of them must be broken
        asked = Constraints(pairs[:4], pairs[4:], fixed=fixed, forbidden=[(4, 1), (5, 2)])
        found = bckm.kmeans(X, K, asked.soft(price=1e-3), random_state=seed)
        kinds |= {type(one.rule.rule).__name__ for one in found.violated}
    assert kinds == {"MustLink", "CannotLink", "Fixed", "Forbidden"}


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_bounds_are_the_cheapest_moves(seed):
    """One unit too much, or too little: one move of a sample."""
    _, X, _, _ = case(seed)
    ones = np.ones(N)
    y = bckm.kmeans(X, K, random_state=seed).labels
    sizes = np.bincount(y, minlength=K)
    now = inertia(X, ones, y)
    fixed = Constraints(fixed=dict(enumerate(y.tolist())))
    every = np.arange(N)
    for i in range(K):
        over = [(j, e) for j in every for e in range(K) if y[j] == i != e]
        out = [inertia(X, ones, moved(y, j, every, e)) - now for j, e in over]
        into = [inertia(X, ones, moved(y, j, every, i)) - now for j in every if y[j] != i]
        bound = np.array(sizes)
        bound[i] -= 1
        limit = np.where(np.arange(K) == i, sizes[i] - 1, np.inf)
        more = [
            (Constraints(size_max=bound), out),
            (Constraints(capacities={"kg": Capacity(ones, max=limit)}), out),
        ]
        bound = np.array(sizes)
        bound[i] += 1
        more.append((Constraints(size_min=bound), into))
        for asked, rises in more:
            (one,) = bckm.kmeans(X, K, fixed & asked.soft(price=1.0), random_state=0).violated
            assert one.saved == pytest.approx(max(min(rises), 0), rel=1e-7, abs=1e-9)


def test_quotas_count_both_ways_out():
    """Too small a share of a category: members come, or others leave."""
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    color = ["red", "red", "blue", "blue", "blue", "blue"]
    wish = Constraints(quotas=Quota(color, share_max={"blue": 0.9})).soft(price=0.01)
    (one,) = bckm.kmeans(X, 2, wish, random_state=0).violated
    # sample 1 comes, which leaves 3 of 4 blue
    before = inertia(X, np.ones(6), np.array([0, 0, 0, 1, 1, 1]))
    after = inertia(X, np.ones(6), np.array([0, 1, 0, 1, 1, 1]))
    assert one.saved == pytest.approx(after - before)


def test_previous_labels_are_the_way_back():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    before = np.array([0, 1, 0, 1, 0, -1])
    stay = Stay(before, price=[0, 1, 1, 1, 1, 1])
    result = bckm.kmeans(X, 2, Constraints(stay=stay), random_state=0)
    back = np.where((before >= 0) & (np.arange(6) > 0), before, result.labels)  # 0 costs nothing
    rise = inertia(X, np.ones(6), back) - result.inertia
    assert result.violated[0].saved == pytest.approx(rise)


def test_centers_that_stay():
    """Where centers are given, they do not follow."""
    X, centers = [[0.0], [1.0], [9.0]], [[0.0], [10.0]]
    wish = Constraints(must_link=[(0, 2)]).soft(price=1.0)
    (one,) = bckm.assign_to(X, centers, wish).violated
    assert one.saved == pytest.approx(min(100.0 - 0.0, 81.0 - 1.0))


def test_what_cannot_be_kept_saves_without_end():
    asked = Constraints(must_link=[(0, 1)]) & Constraints(cannot_link=[(0, 1)]).soft(price=1.0)
    (one,) = bckm.kmeans([[0.0], [1.0], [9.0]], 2, asked, random_state=0).violated
    assert one.saved == np.inf


def test_many_violated_links_cost_little():
    rng = np.random.default_rng(0)
    n, k = 100_000, 20
    X = rng.normal(size=(n, 4)) + 6 * rng.normal(size=(k, 4))[rng.integers(k, size=n)]
    pairs = rng.integers(n, size=(6_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]].tolist()
    wish = Constraints(pairs[:3000], pairs[3000:]).soft(confidence=1e-9)
    wish = wish & Constraints(size_max=n // k).soft(confidence=1e-9)
    centers = X[rng.choice(n, k, replace=False)]
    from bckm.fit.violations import Moves, soft_violations
    from bckm.problem.problem import Problem

    problem = Problem.build(X, k, wish)
    at = problem.centers_in(centers)
    labels = problem.nearest(at)[0]
    began = time.process_time()
    found = soft_violations(Moves(problem, labels, at, still=True), wish)
    assert time.process_time() - began < 10
    assert len(found) > 2_500
    assert min(one.saved for one in found) >= 0


def test_sparse_points_stay_sparse():
    rng = np.random.default_rng(0)
    X = sp.random_array((800, 100_000), density=1e-4, rng=rng, format="csr")
    which = sp.csr_array((np.full(800, 9.0), (np.arange(800), np.arange(800) % 3)), X.shape)
    rules = Constraints(rng.permutation(800).reshape(-1, 2)).soft(price=1e-6)
    tracemalloc.start()
    result = bckm.kmeans(X + which, 3, rules, max_iter=2, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(result.violated) > 100
    assert peak < 60e6  # dense ends of these links take more than 100 MB
