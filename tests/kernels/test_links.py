"""Items that links tie together, against brute force."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from bckm.kernels import native
from tests.support.local_search import compiled

pytestmark = compiled


def brute(cost, pairs, tie):
    """Least cost over all labels, and the cost of each."""
    t, k = cost.shape
    every = np.array(list(product(range(k), repeat=t)))
    total = cost[np.arange(t), every].sum(axis=1)
    for (a, b), value in zip(pairs, tie, strict=True):
        together = every[:, a] == every[:, b]
        total += np.where(together, max(-value, 0), max(value, 0))
    return total.min()


def price(cost, pairs, tie, labels):
    total = cost[np.arange(len(cost)), labels].sum()
    for (a, b), value in zip(pairs, tie, strict=True):
        total += max(-value, 0) if labels[a] == labels[b] else max(value, 0)
    return total


def draw(rng, t, number, hard):
    every = np.array(list(combinations(range(t), 2)))
    pairs = every[rng.choice(len(every), min(number, len(every)), replace=False)]
    tie = np.round(rng.normal(size=len(pairs)), 3) + 0.0005
    tie[rng.random(len(pairs)) < hard] = -np.inf
    return pairs, tie


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(100))
def test_small_parts_are_solved_exactly(seed):
    rng = np.random.default_rng(seed)
    t, k = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    pairs, tie = draw(rng, t, int(rng.integers(1, 2 * t)), rng.choice([0.0, 0.5, 1.0]))
    cost = rng.random((t, k)) * rng.choice([0.1, 1.0, 5.0])
    cost[rng.random((t, k)) < 0.1] = np.inf
    best = brute(cost, pairs, tie)
    found = native.Linked(t, pairs, tie).solve(cost.copy(), 1)
    assert found.bound == pytest.approx(best)
    if np.isfinite(best):
        assert found.obeys
        assert price(cost, pairs, tie, found.label) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(6))
def test_cliques_are_assignment_problems(seed):
    rng = np.random.default_rng(seed)
    t, k = int(rng.integers(3, 30)), 30
    cost = rng.random((t, k)) if seed % 2 else rng.integers(0, 4, (t, k)).astype(float)
    cost[rng.random((t, k)) < 0.2] = np.inf
    cost[:, :t][np.eye(t, dtype=bool)] = 9.0
    pairs = np.array(list(combinations(range(t), 2)))
    found = native.Linked(t, pairs, np.full(len(pairs), -np.inf)).solve(cost.copy(), 1)
    item, to = linear_sum_assignment(cost)
    assert found.bound == pytest.approx(cost[item, to].sum())
    assert np.unique(found.label).size == t
    assert cost[item, found.label].sum() == pytest.approx(found.bound)


@pytest.mark.parametrize("seed", range(5))
def test_what_hangs_on_a_clique_is_solved_with_it(seed):
    rng = np.random.default_rng(seed)
    pairs = [*combinations(range(4), 2), (0, 4), (4, 5), (2, 6)]
    tie = [-np.inf] * 6 + [1.0, -0.3, rng.choice([-np.inf, 0.4])]
    cost = rng.random((7, 4))
    best = brute(cost, pairs, tie)
    # a chain that costs nothing, long enough that the part is no small one
    chain = [(p, p + 1) for p in range(6, 50)]
    every, ties = np.array(pairs + chain), np.array(tie + [0.1] * len(chain))
    whole = np.concatenate([cost, np.zeros((44, 4))])
    linked = native.Linked(51, every, ties)
    assert linked.complete
    found = linked.solve(whole.copy(), 1)
    assert found.obeys
    assert found.bound == pytest.approx(best)
    assert price(whole, every, ties, found.label) == pytest.approx(best)


@pytest.mark.parametrize("density", [1.2, 6.0])
def test_large_parts_are_bounded_and_obey(density):
    rng = np.random.default_rng(0)
    t, k = 400, 12
    hidden = rng.integers(k, size=t)
    pairs = np.unique(np.sort(rng.integers(t, size=(int(density * t), 2)), axis=1), axis=0)
    pairs = pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]]
    cost = rng.random((t, k)) + 0.2 * (np.arange(k) != hidden[:, None])
    tie = np.full(len(pairs), -np.inf)
    linked = native.Linked(t, pairs, tie)
    assert not linked.complete
    found = linked.solve(cost.copy(), 1)
    assert found.obeys
    reached = price(cost, pairs, tie, found.label)
    assert cost.min(axis=1).sum() < found.bound <= reached < 1.2 * found.bound
    again = linked.solve(cost.copy(), 3)
    np.testing.assert_array_equal(found.label, again.label)
    assert again.bound == found.bound
    here, there = found.label[pairs], found.label[pairs[:, ::-1]]
    gain = (cost[pairs, here] - cost[pairs, there]).sum(axis=1)
    for pair in pairs[gain > 1e-9]:  # no two items in each other's way had better swap
        swapped = found.label.copy()
        swapped[pair] = swapped[pair[::-1]]
        assert np.isinf(price(cost, pairs, tie, swapped))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_left_out_only_lowers_the_bound(seed):
    """Nine items with many links; a chain that costs nothing makes their part a large one."""
    rng = np.random.default_rng(seed)
    pairs, tie = draw(rng, 9, 24, rng.choice([0.3, 1.0]))
    cost = rng.random((9, 3))
    best = brute(cost, pairs, tie)
    chain = [(int(pairs[0, 0]), 9), *((p, p + 1) for p in range(9, 50))]
    every, ties = np.concatenate([pairs, chain]), np.append(tie, [0.1] * len(chain))
    found = native.Linked(51, every, ties).solve(np.concatenate([cost, np.zeros((42, 3))]), 1)
    assert found.bound <= best + 1e-9
    assert found.obeys <= np.isfinite(best)


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_a_search_that_is_cut_off_still_bounds(nodes):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pairs, tie = draw(rng, 7, 12, 0.5)
        cost = rng.random((7, 4))
        found = native.Linked(7, pairs, tie).solve(cost.copy(), 1, nodes)
        assert found.bound <= brute(cost, pairs, tie) + 1e-9
        conflict = pairs[np.isinf(tie)]
        assert found.obeys == (found.label[conflict[:, 0]] != found.label[conflict[:, 1]]).all()


@pytest.mark.parametrize(
    ("nodes", "pairs", "tie"),
    [(2, [[0, 2]], [1.0]), (2, [[1, 1]], [1.0]), (2, [[0, 1]], [np.nan]), (2, [[0, 1]], [0.0])],
)
def test_what_makes_no_sense_is_refused(nodes, pairs, tie):
    with pytest.raises(ValueError, match=r"pairs|ties"):
        native.Linked(nodes, np.array(pairs), np.array(tie))
