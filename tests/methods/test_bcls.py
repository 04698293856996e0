"""BCLS: its closed forms, and balance that grows with its weight."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge as TheirRidge

from bckm.methods import BCLS
from bckm.methods.bcls import Ridge, solve_copy

pytestmark = pytest.mark.full


def test_copy_solves_its_equation():
    rng = np.random.default_rng(0)
    F, multiplier = rng.normal(size=(2, 12, 3))
    lam, mu = 0.7, 0.3
    left = 2 * lam * np.ones((12, 12)) + mu * np.eye(12)
    expected = np.linalg.solve(left, mu * F + multiplier)
    np.testing.assert_allclose(solve_copy(F, multiplier, lam, mu), expected)


@pytest.mark.parametrize("d", [4, 50])
def test_regression_is_ridge_in_both_forms(d):
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(20, d)) * 1e4, np.eye(3)[rng.integers(3, size=20)]
    centered = X - X.mean(axis=0)
    unit = np.sqrt(np.square(centered).sum() / 20)
    theirs = TheirRidge(alpha=0.5).fit(X / unit, target).predict(X / unit)
    np.testing.assert_allclose(Ridge(X, 0.5)(target), theirs)


def unbalanced(seed):
    rng = np.random.default_rng(seed)
    centers = 2 * rng.normal(size=(4, 15))
    y = np.repeat(range(4), [120, 40, 25, 15])
    return centers[y] + 1.5 * rng.normal(size=(200, 15))


def spread_of_sizes(lam, seed):
    model = BCLS(4, lam=lam, n_init=3, random_state=seed).fit(unbalanced(seed))
    return model.cluster_sizes_.std()


def test_balance_improves_as_lam_grows():
    spreads = [np.mean([spread_of_sizes(lam, s) for s in range(6)]) for lam in (0, 1, 3, 10, 30)]
    assert all(a > b for a, b in pairwise(spreads)), spreads
    assert spreads[-1] < 0.1 * spreads[0]


def test_ends_before_the_last_round_or_at_it():
    X = unbalanced(0)
    assert BCLS(4, random_state=0).fit(X).n_iter_ < 2000
    assert BCLS(4, max_iter=7, random_state=0).fit(X).n_iter_ == 7


def literal_bcls(X, labels, k, lam, mu, rho, rounds):
    """The method by dense solves, each step written out."""
    n = len(X)
    X = X / np.sqrt(np.square(X - X.mean(axis=0)).sum() / n)
    F, multiplier = np.eye(k)[labels], np.zeros((n, k))
    for _ in range(rounds):
        fitted = TheirRidge(alpha=1.0).fit(X, F).predict(X)
        left = 2 * lam * k / n * np.ones((n, n)) + mu * np.eye(n)
        Z = np.linalg.solve(left, mu * F + multiplier)
        F = np.eye(k)[(2 * fitted + mu * Z - multiplier).argmax(axis=1)]
        multiplier = multiplier + mu * (F - Z)
        mu *= rho
    return F.argmax(axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_rounds_are_those_of_the_original(seed):
    X = unbalanced(seed)
    first = KMeans(4, n_init=3, max_iter=100, random_state=seed).fit(X).labels_
    expected = literal_bcls(X, first, 4, 10.0, 1.0, 1.02, 60)
    model = BCLS(4, rho=1.02, max_iter=60, tol=0, n_init=3, random_state=seed).fit(X)
    assert (expected != first).any()
    np.testing.assert_array_equal(model.labels_, expected)
