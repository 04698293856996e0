"""The benchmark of counted work: every engine that a problem admits, and moves."""

import numpy as np
import pytest

from bckm import Constraints
from bckm.kernels import missing
from bckm.problem.problem import Problem
from benchmarks.mixed.accounting import measured


@pytest.mark.skipif(bool(missing), reason="moves are compiled")
@pytest.mark.parametrize(
    ("asked", "engines"),
    [
        (Constraints(size_max=30), ["transport", "lagrangian", "exact", "moves"]),
        (
            Constraints(cannot_link=[(0, 1)], size_max=30),
            ["lagrangian", "exact", "moves"],
        ),
    ],
    ids=["sizes", "links"],
)
def test_every_engine_counts_its_work(asked, engines):
    X = np.random.default_rng(0).normal(size=(100, 2))
    rows = list(measured("drawn", Problem.build(X, 4, asked, n_jobs=1), 2))
    assert [row.engine for row in rows] == engines
    assert all(row.work > 0 and row.cpu >= 0 for row in rows)
