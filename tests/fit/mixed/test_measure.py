"""What no clusters get below, against all clusters there are."""

from itertools import product

import numpy as np
import pytest

from bckm.fit.mixed.measure import least_differences


def every(values, sizes):
    """Least sum of squares between clusters, and least spread, over all labels of these sizes."""
    n, k = len(values), len(sizes)
    found = []
    for labels in product(range(k), repeat=n):
        y = np.array(labels)
        if (np.bincount(y, minlength=k) == sizes).all():
            means = np.array([values[y == i].mean() for i in range(k)])
            found.append((sizes @ np.square(means - values.mean()), np.ptp(means)))
    return np.min(found, axis=0)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(60))
def test_bounds_hold_and_are_reached_by_columns_of_0_and_1(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    sizes = rng.integers(1, 4, k)
    n, binary = int(sizes.sum()), seed % 2 == 0
    values = rng.integers(0, 2 if binary else 4, n) * rng.choice([1.0, 0.3, 7.0]) - 1.7
    between, spread = least_differences(values, sizes)
    true_between, true_spread = every(values, sizes)
    assert between <= true_between + 1e-12
    assert spread <= true_spread + 1e-12
    if binary and np.unique(values).size > 1:
        # any number of ones fits into any cluster that is large enough for them
        assert between == pytest.approx(true_between, rel=1e-9, abs=1e-12)
        assert spread == pytest.approx(true_spread, rel=1e-9, abs=1e-12)


def test_numbers_without_a_common_step_prove_nothing():
    values = np.random.default_rng(0).normal(size=30)
    assert least_differences(values, np.array([10, 20])) == (0.0, 0.0)
    assert least_differences(np.zeros(4), np.array([2, 2])) == (0.0, 0.0)


def test_steps_in_other_units():
    """Marks from 1 to 6 after scaling, in clusters whose mean cannot be the same."""
    marks = np.array([1, 3, 4, 6, 6, 2, 5.0])
    scaled = (marks - marks.mean()) / marks.std()
    sizes = np.array([3, 4])
    expected = every(marks, sizes) / [marks.var(), marks.std()]
    between, spread = least_differences(scaled, sizes)
    assert 0 < between <= expected[0] * (1 + 1e-12)
    assert 0 < spread <= expected[1] * (1 + 1e-12)
