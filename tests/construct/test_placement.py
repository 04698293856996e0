"""Placing items without costs, many at once."""

import time

import numpy as np
import pytest

from bckm import Capacity, Constraints, Stay, check
from bckm._core.deadline import Deadline, TimeUp
from bckm.assign.greedy import place
from bckm.problem.problem import Problem


def test_many_at_once_are_placed_like_one_by_one():
    feasible = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, k = 25, 4
        low = rng.integers(0, 7, k)
        asked = Constraints(
            rng.choice(n, (2, 3), replace=False).tolist() if seed % 2 else None,
            rng.choice(n, (3, 2), replace=False).tolist() if seed % 3 else None,
            size_min=low,
            size_max=low + rng.integers(1, 8, k),
        )
        s = Problem.build(rng.normal(size=(n, 2)), k, asked).structure
        one_by_one = place(s, np.zeros((s.n_items, k)), Deadline())
        at_once = place(s, None, Deadline())
        assert at_once.min() >= 0
        assert at_once.max() < k
        if s.feasible(one_by_one):
            feasible += 1
            assert s.feasible(at_once)
            assert s.sizes(at_once).tolist() == s.sizes(one_by_one).tolist()
    assert 50 < feasible < 190


def test_samples_stay_at_once_like_one_by_one():
    feasible = quick = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, k = 20, 3
        asked = Constraints(
            rng.choice(n, (2, 2), replace=False).tolist() if seed % 2 else None,
            size_min=rng.integers(0, 6, k),
            size_max=rng.integers(6, 12, k),
            stay=Stay(rng.integers(-1, k, n), at_most=int(rng.integers(0, 8))),
        )
        s = Problem.build(rng.normal(size=(n, 2)), k, asked).structure
        one_by_one = place(s, np.zeros((s.n_items, k)), Deadline())
        at_once = place(s, None, Deadline())
        assert (at_once >= 0).all()
        feasible += s.feasible(one_by_one)
        quick += s.feasible(at_once)
    assert quick >= feasible > 20


def test_placing_hears_the_deadline():
    s = Problem.build(np.zeros((9, 1)), 3, Constraints(cannot_link=[(0, 1)])).structure
    with pytest.raises(TimeUp):
        place(s, None, Deadline.after(0))


def test_feasibility_of_many_samples_is_quick():
    began = time.perf_counter()
    answer = check(1_000_000, 500, Constraints(size_min=1990, size_max=2010))
    assert time.perf_counter() - began < 5, "a loop over samples takes longer"
    sizes = np.bincount(answer.labels, minlength=500)
    assert sizes.min() >= 1990
    assert sizes.max() <= 2010


def test_many_items_in_conflict_are_spread_evenly_where_sums_are_bounded():
    rng = np.random.default_rng(0)
    n, k = 3000, 10
    amount = rng.integers(1, 20, n)
    mean = amount.sum() / k
    pairs = rng.permutation(n)[:2400].reshape(-1, 2)
    load = Capacity(amount, min=0.99 * mean, max=1.01 * mean)
    asked = Constraints(cannot_link=pairs, capacities={"kg": load})
    s = Problem.build(np.zeros((n, 1)), k, asked).structure
    labels = place(s, None, Deadline())
    assert (labels[pairs[:, 0]] != labels[pairs[:, 1]]).all()
    assert s.feasible(labels)
