"""Distances of seeds against NumPy: the same numbers, whatever float32 can tell."""

import numpy as np
import pytest

from bckm import kernels
from bckm.fit.greedy_seeds import SeedDistances
from bckm.kernels import native

pytestmark = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


@pytest.mark.parametrize("tight", [1.0, 1e-3, 1e-9])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (50, 3), (700, 130), (9000, 5)])
def test_gains_and_distances_are_those_of_numpy(n, d, tight):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(5, d))[rng.integers(5, size=n)] + tight * rng.normal(size=(n, d))
    X[n // 2 :] = X[: n - n // 2]  # copies
    part, mass = rng.permutation(n)[: max(1, n // 2)], rng.uniform(0, 2, max(1, n // 2))
    plain = SeedDistances(X[part], mass)
    compiled = [native.SeedDistances(native.Points(X, part), mass, threads) for threads in (1, 3)]
    for near in (plain, *compiled):
        near.add(X[:2])
    for _ in range(4):
        candidates = X[rng.integers(n, size=7)]
        wanted = plain.gains(candidates)
        gains = [near.gains(candidates) for near in compiled]
        assert np.array_equal(*gains)
        assert gains[0] == pytest.approx(wanted, rel=1e-9, abs=1e-12 * wanted.max())
        for near in (plain, *compiled):
            near.take(3)
        assert compiled[0].distance == pytest.approx(plain.distance, rel=1e-13, abs=1e-300)
        assert np.array_equal(compiled[0].distance, compiled[1].distance)


def test_wrong_arguments_are_refused():
    X = np.zeros((3, 2))
    near = native.SeedDistances(native.Points(X), np.ones(3), 1)
    with pytest.raises(ValueError, match="one mass per point"):
        native.SeedDistances(native.Points(X), np.ones(2), 1)
    with pytest.raises(ValueError, match="features"):
        near.gains(np.zeros((1, 3)))
    near.gains(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="last candidates"):
        near.take(2)
