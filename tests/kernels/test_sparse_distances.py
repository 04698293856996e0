"""Squared distances of sparse rows, against fractions; and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from bckm._core import sparse_distances as _sparse_distances
from bckm.kernels import missing, native
from tests.support import exact_costs as exactly

compiled = pytest.mark.skipif(bool(missing), reason="needs the compiled kernels")


def hard(seed):
    """Rows and centers, near zero and far from it, some nearly equal."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(12, 9)) * (rng.random((12, 9)) < 0.6)
    rows[:6] += 1e9 * (rng.random(9) < 0.4) * (rows[:6] != 0)
    centers = np.concatenate([rows[:3] * (1 + 1e-12), rng.normal(size=(2, 9)), np.zeros((1, 9))])
    return rows, centers


@pytest.mark.parametrize("pure", [True, pytest.param(False, marks=compiled)])
@pytest.mark.parametrize("seed", range(5))
def test_distances_have_their_digits(seed, pure, monkeypatch):
    rows, centers = hard(seed)
    if pure:
        monkeypatch.setattr(_sparse_distances, "missing", "left out")
    points, exact = sp.csr_array(rows), exactly.costs(rows, centers)
    labels = np.random.default_rng(seed).integers(len(centers), size=len(rows))
    found = _sparse_distances.to_all(points, centers)
    own = _sparse_distances.to_own(points, centers, labels)
    for p, i in np.ndindex(*found.shape):
        sizes = sum(Fraction(value) ** 2 for value in centers[i])
        allowed = exact[p][i] * Fraction(1e-14) + sizes * Fraction(2.0**-90)
        assert abs(Fraction(found[p, i]) - exact[p][i]) <= allowed
        if labels[p] == i:
            assert abs(Fraction(own[p]) - exact[p][i]) <= allowed
    assert (np.diag(_sparse_distances.to_all(points, rows)) == 0).all()


@compiled
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_indices_that_lead_out_are_refused(kind):
    values, centers = np.ones(3), np.ones((2, 4))
    for start, index, label in (
        ([0, 1, 3], [0, 1, 4], None),
        ([0, 1, 3], [0, -1, 2], None),
        ([0, 4, 3], [0, 1, 2], None),
        ([0, 1, 4], [0, 1, 2], None),
        ([1, 1, 3], [0, 1, 2], None),
        ([0, 1, 3], [0, 1, 2], [0, 2]),
        ([0, 1, 3], [0, 1, 2], [-1, 0]),
        ([0, 1, 3], [0, 1, 2], [0]),
    ):
        label = None if label is None else np.array(label)
        with pytest.raises(ValueError, match=r"entries|label"):
            native.sparse_distances(
                np.array(start, kind), np.array(index, kind), values, centers, label
            )
    with pytest.raises(ValueError, match="one value per entry"):
        native.sparse_distances(
            np.array([0, 3], kind), np.array([0, 1, 2], kind), values[:2], centers
        )
